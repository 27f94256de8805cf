/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/opened.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "jfr/write.h"
#include "jfr/write_file.h"

static void opened_free(struct opened *o)
{
	if (o->fd >= 0)
		close(o->fd);
	free(o->path);
	free(o);
}

int opened_new(struct opened_list *l, pid_t tgid, const char *path, bool overwrite, bool segments,
	       struct opened **out, struct error *e)
{
	struct opened *o = calloc(1, sizeof(*o));

	if (o)
		o->path = strdup(path);
	if (!o || !o->path) {
		free(o);
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	o->fd = segments ? -1 : outfile_create(path, overwrite, e);
	if (o->fd < 0 && !segments) {
		int rc = o->fd;

		opened_free(o);
		return rc;
	}
	o->tgid = tgid;
	o->serial = ++l->serial;
	o->next = l->first;
	l->first = o;
	*out = o;
	return 0;
}

struct opened *opened_find(const struct opened_list *l, uint32_t serial)
{
	struct opened *o = l->first;

	while (o && o->serial != serial)
		o = o->next;
	return o;
}

struct opened *opened_of(const struct opened_list *l, pid_t tgid)
{
	struct opened *o = l->first;

	while (o && o->tgid != tgid)
		o = o->next;
	return o;
}

void opened_drop(struct opened_list *l, struct opened *o)
{
	struct opened **at = &l->first;

	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	opened_free(o);
}

void opened_remove(struct opened_list *l, struct opened *o)
{
	outfile_remove(o->fd, o->path);
	opened_drop(l, o);
}

/* ---- the end without naming ---- */

static void loss_write(struct jfrw *w, uint64_t time, unsigned int reason, uint64_t count)
{
	struct jfr_samples_lost e = {
		.kind = loss_kind(reason),
		.reason = loss_name(reason),
		.count = count,
	};

	if (count)
		jfrw_samples_lost(w, time, &e);
}

int opened_close(const struct opened *o, const struct jfrw_form *form,
		 const struct opened_loss *lost, struct error *e)
{
	uint64_t now = now_ns();
	struct jfrw_config cfg = {
		.path = o->path,
		.opened = !form->segments,
		.fd = form->segments ? -1 : dup(o->fd),
		.form = *form,
		.resumed = JFRW_RESUMED_MAX,
		.resumed_mono_ns = lost->time_ns,
		.start_mono_ns = o->start_ns ? o->start_ns : lost->time_ns,
	};
	struct jfrw *w;
	int rc;

	if (form->segments && !lost->cpu && !lost->wall)
		return 0; /* its files are whole */
	if (cfg.opened && cfg.fd < 0)
		return error_set(e, -errno, EXIT_OUTPUT, "cannot end '%s': %s", o->path,
				 strerror(errno));
	cfg.start_unix_ns = clock_ns(CLOCK_REALTIME) - (now - cfg.start_mono_ns);
	rc = jfrw_open(&w, &cfg, e);
	if (rc)
		return rc;
	loss_write(w, lost->time_ns, LOSS_NAMER_CPU, lost->cpu);
	if (lost->cpu && (form->cpu_event == JFRW_CPUTIME || form->plain))
		jfrw_cpu_lost(w, lost->time_ns, 0,
			      lost->cpu < INT32_MAX ? (uint32_t)lost->cpu : INT32_MAX);
	loss_write(w, lost->time_ns, LOSS_NAMER_WALL, lost->wall);
	return jfrw_close(w, e);
}
