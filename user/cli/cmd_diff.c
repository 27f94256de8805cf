/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmds.h"
#include "cli/filter.h"
#include "out/diff.h"
#include "out/html.h"
#include "out/output.h"

static struct {
	const char *out;
	int dim;
	bool force, split_tiers, causes;
	uint64_t top;
	struct filter filter;
} o = {.dim = -1, .top = 20};

static const struct opt opts[] = {
	{OPT_STRING, 'o', "output", "FILE.html", "write a differential flame graph", &o.out},
	{OPT_ENUM, 'D', "dim", "DIM", "cpu, wall or off (CPU)", &o.dim,
	 .choices = {"cpu", "wall", "off"}},
	{OPT_COUNT, 'n', "top", "N", "methods in the table (20)", &o.top, .min = 1, .max = 100000},
	{OPT_FLAG, 0, "split-tiers", NULL, "tell interpreted, C1, C2 and inlined frames apart",
	 &o.split_tiers},
	{OPT_FLAG, 0, "causes", NULL,
	 "below the method that waits, what it waits for: peers, files, pipes", &o.causes},
	{OPT_FLAG, 0, "force", NULL, "write over an existing file", &o.force},
	FILTER_OPTS(o.filter),
	{OPT_END},
};

static int diff_write(const struct profile *p, char **files, FILE *f, struct error *e)
{
	bool cpu = p->total_ns[0][DIM_CPU] || p->total_ns[1][DIM_CPU];
	enum dim dim = o.dim >= 0 ? (enum dim)o.dim : cpu ? DIM_CPU : DIM_WALL;
	const char *a = strrchr(files[0], '/'), *b = strrchr(files[1], '/');
	struct html_options h = {.first = dim, .diff = true, .idle = o.filter.idle};
	char title[512];

	if (!o.out)
		return diff_table(p, dim, (unsigned int)o.top, f, e);
	snprintf(title, sizeof(title), "A: %s  B: %s", a ? a + 1 : files[0], b ? b + 1 : files[1]);
	h.title = title;
	return html_write(p, &h, f, e);
}

static int diff(char **files, struct error *e)
{
	struct profile_options po = {.split_tiers = o.split_tiers, .causes = o.causes};
	struct profile *p = NULL;
	struct output out;
	int rc = filter_apply(&o.filter, &po, e);

	if (!rc)
		rc = output_apart(o.out, files, 2, e);
	if (!rc)
		rc = output_open(&out, o.out, o.force, e);
	if (rc)
		return rc;
	o.filter.idle = po.show_idle;
	po.show_idle |= o.out != NULL; /* the page can hide it */
	rc = profile_new(&p, &po, e);
	for (int side = 0; side < 2 && !rc; side++) {
		struct jfr_report r;

		rc = profile_load(p, files[side], side, &r, e);
		if (!rc)
			report_warn(files[side], &r);
	}
	if (!rc)
		rc = profile_finish(p, e);
	if (!rc) {
		filter_nothing_warn(&o.filter, p);
		rc = diff_write(p, files, out.f, e);
	}
	rc = output_close(&out, rc, e);
	profile_free(p);
	return rc;
}

static int run(int argc, char **argv, struct error *e)
{
	if (argc != 2) {
		error_set(e, -EINVAL, EXIT_USAGE, "two recordings are compared, got %d", argc);
		error_hint(e, "usage: gnomon diff BEFORE.jfr AFTER.jfr");
		return EXIT_USAGE;
	}
	return diff(argv, e) ? (int)e->exit : EXIT_OK;
}

const struct command cmd_diff = {
	.name = "diff",
	.summary = "compare two recordings: a table or a differential flame graph",
	.usage = "diff BEFORE.jfr AFTER.jfr [-o OUT.html] [options]",
	.examples = "  gnomon diff before.jfr after.jfr\n"
		    "  gnomon diff before.jfr after.jfr -o diff.html\n"
		    "  gnomon diff before.jfr after.jfr -D off -t 'http-*'\n",
	.notes = "Compared are shares of each recording's time, as recordings differ in length. "
		 "Wall and\noff-CPU time is charged to the innermost Java method, by state, with "
		 "what it calls natively.\n\n" FILTER_NOTES,
	.opts = opts,
	.takes = TAKES_RECORDINGS,
	.run = run,
};
