/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/filter.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "out/format.h"

static struct pattern_list patterns(const struct opt_list *l)
{
	return (struct pattern_list){.v = l->v, .n = l->n};
}

void filter_apply(const struct filter *f, struct profile_options *o)
{
	o->threads = patterns(&f->threads);
	o->states = patterns(&f->states);
	o->endpoints = patterns(&f->endpoints);
	o->endpoint_rules = patterns(&f->endpoint_rules);
	o->traces = patterns(&f->traces);
	o->spans = patterns(&f->spans);
	o->slower_ns = f->slower_ns;
	o->include = patterns(&f->include);
	o->exclude = patterns(&f->exclude);
	o->focus = patterns(&f->focus);
	o->hide = patterns(&f->hide);
	o->idle_rules = patterns(&f->idle_rules);
	o->show_idle = f->idle || (f->states.n && pattern_match(&o->states, "IDLE"));
}

void filter_served(const struct filter *f, struct served_options *o)
{
	*o = (struct served_options){.filter = {.endpoints = patterns(&f->endpoints),
						.traces = patterns(&f->traces),
						.spans = patterns(&f->spans),
						.slower_ns = f->slower_ns},
				     .threads = patterns(&f->threads),
				     .rules = patterns(&f->endpoint_rules)};
}

/* Why a file that should be a recording is none; 0: it is no file, and may be one. */
static int unreadable(const char *path, struct error *e)
{
	struct jfr_reader *r;
	struct stat st;
	int rc;

	if (!strcmp(path, "-") || (!stat(path, &st) && !S_ISREG(st.st_mode)))
		return 0;
	rc = jfr_reader_open(&r, path, NULL, e);
	if (!rc)
		jfr_reader_close(r);
	return rc;
}

/* Of what cannot be looked at before it is read, such as stdin. */
static int span_unseen(const struct instant *from, const struct instant *to, struct stretch *s,
		       struct error *e)
{
	int64_t from_ns, to_ns;
	int rc = unreadable(s->path, e);

	if (rc)
		return rc;
	if ((from->kind && from->kind != INSTANT_AFTER) ||
	    (to->kind && to->kind != INSTANT_AFTER)) {
		error_set(e, -EINVAL, EXIT_USAGE,
			  "'%s': only a time since its start can be had of it, such as 30s",
			  s->path);
		return error_hint(e, "put it into a file first");
	}
	s->from_ns = from->ns;
	s->to_ns = to->kind ? to->ns : 0;
	return instant_range(from, to, 0, 0, &from_ns, &to_ns, e);
}

int filter_one(int argc, const char *command, struct error *e)
{
	if (argc == 1)
		return 0;
	error_set(e, -EINVAL, EXIT_USAGE, argc ? "one recording at a time" : "no recording given");
	return error_hint(e, "usage: gnomon %s FILE.jfr|DIR", command);
}

int filter_stretch(const char *path, const struct instant *from, const struct instant *to,
		   struct stretch *s, struct error *e)
{
	int64_t from_ns, to_ns;
	int rc = stretch_open(s, path, e);

	if (rc || (!from->kind && !to->kind))
		return rc;
	if (s->known)
		rc = instant_range(from, to, s->start_ns, s->end_ns, &from_ns, &to_ns, e);
	else
		rc = span_unseen(from, to, s, e);
	if (!rc && s->known)
		rc = stretch_cut(s, from_ns, to_ns, e);
	if (rc)
		stretch_free(s);
	return rc;
}

bool filter_samples_given(const struct filter *f)
{
	return f->threads.n || f->states.n || f->endpoints.n || f->endpoint_rules.n ||
	       f->traces.n || f->spans.n || f->slower_ns || f->include.n || f->exclude.n ||
	       f->focus.n || f->hide.n;
}

static bool filter_given(const struct filter *f)
{
	return f->from.kind || f->to.kind || filter_samples_given(f);
}

void filter_idle_note(const struct profile *p)
{
	uint64_t ns = p->idle_ns[0] + p->idle_ns[1];

	if (ns)
		log_warn("%s of idle threads left out: --idle counts them", format_ns(ns).s);
}

void filter_nothing_warn(const struct filter *f, const struct profile *p)
{
	struct buffer b = BUFFER_INIT;

	for (int i = 0; i < JFR_SOURCES; i++)
		if (p->samples[i])
			return;
	log_warn("no samples %s", filter_given(f) ? "are left by the filter" : "in the recording");
	for (uint32_t i = 0; f->states.n && i < p->nstates; i++)
		buffer_printf(&b, "%s %s", i ? "," : "", names_get(&p->names, p->states[i].name));
	buffer_byte(&b, 0);
	if (f->states.n && p->nstates && !b.failed)
		log_warn("states in it:%s", (char *)b.data);
	buffer_free(&b);
}

void report_warn(const char *path, const struct jfr_report *r)
{
	uint64_t shown = sizeof(r->problem) / sizeof(r->problem[0]);

	if (r->chunks_unfinished)
		log_info("'%s': %llu of %llu chunks unfinished", path,
			 (unsigned long long)r->chunks_unfinished, (unsigned long long)r->chunks);
	if (r->events_unknown)
		log_info("'%s': %llu events of undeclared types skipped", path,
			 (unsigned long long)r->events_unknown);
	if (!r->problems)
		return;
	if (r->bytes_lost)
		log_warn("'%s' is damaged: %s of %s could not be read", path,
			 format_bytes(r->bytes_lost).s, format_bytes(r->file_size).s);
	for (uint64_t i = 0; i < r->problems && i < shown; i++)
		log_warn("'%s': %s", path, r->problem[i]);
	if (r->problems > shown)
		log_warn("'%s': and %llu more", path, (unsigned long long)(r->problems - shown));
}
