/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/shipping.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "out/format.h"
#include "push/otlp.h"

struct shipping {
	struct pushing to[DELIVERY_MOST];
	struct destination destinations[DELIVERY_MOST];
	struct pushing_spool spools[DELIVERY_MOST];
	char paths[DELIVERY_MOST][1024]; /* of the spools that were asked for */
	struct pods_source pods;
	struct follower_config cfg;
	struct follower follower;
};

static int label(void *ctx, const char *service, struct labels *l)
{
	const struct pushing *p = ctx;
	struct error e = {0};

	return pushing_labels(p, service, l, &e);
}

static void shipping_free(struct shipping *l)
{
	for (size_t i = 0; i < DELIVERY_MOST; i++) {
		pushing_spool_close(&l->spools[i]);
		destination_free(&l->destinations[i]);
	}
	podding_end(&l->pods);
	free(l);
}

/* ---- destinations ---------------------------------------------------------------------------- */

static bool is_repeated(const struct shipping *l, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(l->destinations[k].url, l->destinations[i].url) &&
		    (l->cfg.to[k].protocol == &otlp) == (l->cfg.to[i].protocol == &otlp))
			return true;
	return false;
}

/* "DIR/otlp-collector_4318": one below DIR for each. */
static int spool_path(struct shipping *l, size_t i, struct error *e)
{
	const struct pushing *p = &l->to[i];
	const char *host = strstr(p->url, "://");
	char name[128];
	int n = snprintf(name, sizeof(name), "%s-%s",
			 l->cfg.to[i].protocol == &otlp ? "otlp" : "pyroscope",
			 host ? host + 3 : "");

	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '.')
			*c = '_';
	if (mkdir(p->spool, 0700) && errno != EEXIST)
		return error_create(e, p->spool, errno);
	if (n < 0 || snprintf(l->paths[i], sizeof(l->paths[i]), "%s/%s", p->spool, name) >=
			     (int)sizeof(l->paths[i]))
		return error_set(e, -ENAMETOOLONG, EXIT_USAGE,
				 "the name of '%.100s...' is too long", p->spool);
	l->to[i].spool = l->paths[i];
	return 0;
}

static int destination_add(struct shipping *l, const struct shipping_options *o, size_t i,
			   struct error *e)
{
	struct follower_to *to = &l->cfg.to[i];
	struct pushing *p = &l->to[i];
	int rc;

	*p = o->to;
	p->url = o->urls.v[i];
	p->own_cap = p->spool_cap;
	to->protocol = pushing_protocol(&p->url, o->by_thread);
	rc = pushing_destination(p, &l->destinations[i], e);
	if (!rc && is_repeated(l, i))
		rc = error_set(e, -EINVAL, EXIT_USAGE, "'%s' is given twice", o->urls.v[i]);
	if (!rc && p->spool)
		rc = spool_path(l, i, e);
	if (!rc)
		rc = pushing_spool_open(p, &l->spools[i], e);
	to->spool = l->spools[i].s;
	to->destination = &l->destinations[i];
	return rc;
}

static int labels_check(const struct shipping_options *o, struct error *e)
{
	struct labels l = {0};
	int rc = pushing_labels(&o->to, "any", &l, e);

	labels_free(&l);
	return rc;
}

static int destinations_add(struct shipping *l, const struct shipping_options *o, struct error *e)
{
	int rc = labels_check(o, e);

	if (!rc && o->urls.n > DELIVERY_MOST)
		rc = error_set(e, -E2BIG, EXIT_USAGE, "more than %d servers to send to",
			       DELIVERY_MOST);
	for (size_t i = 0; i < o->urls.n && !rc; i++)
		rc = destination_add(l, o, i, e);
	l->cfg.dir = o->dir;
	l->cfg.n = o->urls.n;
	l->cfg.window_ns = o->window_ns;
	l->cfg.label = label;
	l->cfg.ctx = &l->to[0];
	l->cfg.links = !o->to.no_spans;
	return rc;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

int shipping_start(struct shipping **out, const struct shipping_options *o,
		   struct session_config *session, struct error *e)
{
	struct shipping *l;
	bool pods = false;
	int rc;

	*out = NULL;
	if (!o->urls.n)
		return 0;
	l = calloc(1, sizeof(*l));
	if (!l)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	rc = destinations_add(l, o, e);
	if (!rc)
		rc = podding_source(&o->pods, o->to.timeout_ns, &l->pods, &pods, e);
	if (!rc && pods)
		l->cfg.pods = &l->pods;
	if (!rc)
		rc = follower_start(&l->follower, &l->cfg, e);
	if (rc) {
		shipping_free(l);
		return rc;
	}
	session->form.window_ns = o->window_ns;
	session->finished = follower_to(&l->follower);
	*out = l;
	return 0;
}

void shipping_read(const struct shipping *l, struct delivery *d)
{
	*d = (struct delivery){0};
	if (l)
		follower_read(&l->follower, d);
}

static uint64_t refused_of(const struct delivery_to *d)
{
	uint64_t sum = 0;

	for (unsigned int r = 0; r < REFUSALS; r++)
		sum += d->refused[r];
	return sum;
}

static void sent_say(const struct delivery_to *d)
{
	fprintf(stderr, "  sent          %s profiles, %s, to %s\n", format_count(d->sent).s,
		format_bytes(d->bytes).s, d->to);
}

static int unsent_say(const struct shipping *l, size_t i, const struct delivery_to *d,
		      struct error *e)
{
	uint64_t refused = refused_of(d);

	if (!refused && !d->spooled)
		return 0;
	return error_set(
		e, -EIO, EXIT_OUTPUT,
		"%s profiles not taken by %s: %s refused, too old or too large, %s %s; the "
		"recording is whole",
		format_count(refused + d->spooled).s, d->to, format_count(refused).s,
		format_count(d->spooled).s, l->spools[i].own[0] ? "given up" : "kept in the spool");
}

int shipping_finish(struct shipping *l, bool quiet, struct error *e)
{
	struct delivery d;
	int rc = 0;

	if (!l)
		return 0;
	if (!follower_finish(&l->follower, &d))
		rc = error_set(e, -EIO, EXIT_OUTPUT,
			       "the process that sends has ended early; the recording is whole");
	for (uint64_t i = 0; i < d.n; i++) {
		if (!quiet)
			sent_say(&d.to[i]);
		if (!rc)
			rc = unsent_say(l, i, &d.to[i], e);
	}
	if (!rc && d.unreadable + d.untold)
		rc = error_set(e, -EIO, EXIT_OUTPUT,
			       "%s windows were not sent; the recording is whole",
			       format_count(d.unreadable + d.untold).s);
	shipping_free(l);
	return rc;
}

void shipping_options_free(struct shipping_options *o)
{
	free(o->urls.v);
	free(o->pods.labels.v);
	free(o->to.labels.v);
	free(o->to.renames.v);
	free(o->to.headers.v);
	*o = (struct shipping_options)SHIPPING_INIT;
}
