/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmds.h"
#include "cli/filter.h"
#include "out/findings.h"
#include "out/summary.h"
#include "out/unmounted.h"

static struct {
	bool events;
	uint64_t top;
	struct filter filter;
} o = {.top = 20};

static const struct opt opts[] = {
	{OPT_FLAG, 0, "events", NULL, "also list every kind of event with its number", &o.events},
	{OPT_COUNT, 'n', "top", "N", "thread groups shown (20)", &o.top, .min = 1, .max = 100000},
	FILTER_OPTS(o.filter),
	{OPT_END},
};

/* The virtual threads that nobody ran: of the same time, by a look of their own. */
static int unmounted(const struct profile *p, const struct stretch *s, struct error *e)
{
	struct profile_options po = {.unmounted = JFR_UNMOUNTED_ALONE, .show_idle = true};
	struct profile *alone = NULL;
	int rc;

	if (!p->facts.unmounted.period_ns || !strcmp(s->path, "-"))
		return 0;
	filter_apply(&o.filter, &po);
	po.unmounted = JFR_UNMOUNTED_ALONE;
	po.threads = (struct pattern_list){0};
	po.no_facts = true;
	rc = profile_take(&alone, &po, s, NULL, e);
	if (!rc)
		rc = unmounted_print(alone, &p->facts, (unsigned int)o.top, stdout, e);
	profile_free(alone);
	return rc;
}

static int summary(const char *path, struct error *e)
{
	struct profile_options po = {0};
	struct profile *p = NULL;
	struct findings *found = NULL;
	struct jfr_report r;
	struct stretch s;
	int rc = filter_stretch(path, &o.filter.from, &o.filter.to, &s, e);

	if (rc)
		return rc;
	filter_apply(&o.filter, &po);
	po.causes = strcmp(path, "-") != 0; /* which reads it twice */
	po.show_idle = true;		    /* by group and state it is one column */
	rc = profile_take(&p, &po, &s, &r, e);
	if (!rc) {
		report_warn(path, &r);
		filter_nothing_warn(&o.filter, p);
		summary_head(p, &r, path, stdout);
		summary_quality(p, &r, stdout);
		rc = summary_groups(p, (unsigned int)o.top, stdout, e);
	}
	if (!rc)
		rc = unmounted(p, &s, e);
	if (!rc)
		rc = findings_new(&found, p, e);
	if (!rc)
		findings_print(found, stdout);
	findings_free(found);
	if (!rc && o.events)
		rc = summary_events(p, stdout, e);
	profile_free(p);
	stretch_free(&s);
	return rc;
}

static int run(int argc, char **argv, struct error *e)
{
	return filter_one(argc, "summary", e) || summary(argv[0], e) ? (int)e->exit : EXIT_OK;
}

const struct command cmd_summary = {
	.name = "summary",
	.summary = "what a recording holds, its quality, and time by thread group",
	.usage = "summary FILE.jfr|DIR [options]",
	.examples = "  gnomon summary app.jfr\n"
		    "  gnomon summary app.jfr --events\n"
		    "  gnomon summary app.jfr --from 30s --to 1m -t 'http-*'\n"
		    "  gnomon summary /var/lib/gnomon/shop-host-4711-* --from -5m\n",
	.notes = "What stands out is said in words: threads that were blocked throughout or waited "
		 "for "
		 "CPUs, a\nlock that many waited for, an exhausted pool, the share of garbage "
		 "collection. "
		 "Reads\nrecordings of any producer. DIR is a directory of 'gnomon daemon', which "
		 "is read as one\nrecording.\n\n" FILTER_TIME_NOTES FILTER_NOTES,
	.opts = opts,
	.takes = TAKES_RECORDINGS,
	.run = run,
};
