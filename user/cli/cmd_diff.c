/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmds.h"
#include "cli/rendering.h"
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

/* What is compared: recordings, and a time of each. */
struct sides {
	char *paths[2];
	const char *ranges[2]; /* NULL: the options' */
	struct instant from[2], to[2];
};

static int diff_write(const struct profile *p, const struct sides *x, FILE *f, struct error *e)
{
	bool cpu = p->total_ns[0][DIM_CPU] || p->total_ns[1][DIM_CPU];
	enum dim dim = o.dim >= 0 ? (enum dim)o.dim : cpu ? DIM_CPU : DIM_WALL;
	const char *a = strrchr(x->paths[0], '/'), *b = strrchr(x->paths[1], '/');
	struct html_options h = {.first = dim, .diff = true, .idle = o.filter.idle};
	char title[512];

	if (!o.out)
		return diff_table(p, dim, (unsigned int)o.top, f, e);
	snprintf(title, sizeof(title), "A: %s %s  B: %s %s", a && a[1] ? a + 1 : x->paths[0],
		 x->ranges[0] ? x->ranges[0] : "", b && b[1] ? b + 1 : x->paths[1],
		 x->ranges[1] ? x->ranges[1] : "");
	h.title = title;
	return html_write(p, &h, f, e);
}

static int side_load(struct profile *p, const struct sides *x, int side, struct error *e)
{
	struct jfr_report r;
	struct stretch s;
	int rc = filter_stretch(x->paths[side], &x->from[side], &x->to[side], &s, e);

	if (rc)
		return rc;
	rc = profile_load_stretch(p, &s, side, &r, e);
	stretch_free(&s);
	if (!rc)
		report_warn(x->paths[side], &r);
	return rc;
}

static int diff(struct sides *x, struct error *e)
{
	struct profile_options po = {.split_tiers = o.split_tiers, .causes = o.causes};
	struct profile *p = NULL;
	struct output out;
	int rc = format_page(o.out, e);

	filter_apply(&o.filter, &po);
	if (!rc)
		rc = output_apart(o.out, x->paths, 2, e);
	if (!rc)
		rc = output_open(&out, o.out, o.force, e);
	if (rc)
		return rc;
	o.filter.idle = po.show_idle;
	po.show_idle |= o.out != NULL; /* the page can hide it */
	rc = profile_new(&p, &po, e);
	for (int side = 0; side < 2 && !rc; side++)
		rc = side_load(p, x, side, e);
	if (!rc)
		rc = profile_finish(p, e);
	if (!rc) {
		filter_nothing_warn(&o.filter, p);
		rc = diff_write(p, x, out.f, e);
	}
	rc = output_close(&out, rc, e);
	profile_free(p);
	return rc;
}

/* A range is of the recording before it; two ranges are of one. */
static int sides_read(struct sides *x, int argc, char **argv)
{
	struct instant from, to;
	int n = 0, ranges = 0;

	for (int i = 0; i < argc; i++) {
		if (access(argv[i], F_OK) && !instant_range_parse(argv[i], &from, &to)) {
			int side = n - 1;

			if (side >= 0 && x->ranges[side] && n < 2) {
				x->paths[n] = x->paths[side];
				side = n++;
			}
			if (side < 0 || x->ranges[side])
				return -EINVAL;
			x->ranges[side] = argv[i];
			x->from[side] = from;
			x->to[side] = to;
			ranges++;
		} else if (n == 2) {
			return -EINVAL;
		} else {
			x->paths[n++] = argv[i];
		}
	}
	return n == 2 ? ranges : -EINVAL;
}

static int run(int argc, char **argv, struct error *e)
{
	struct sides x = {.from = {o.filter.from, o.filter.from}, .to = {o.filter.to, o.filter.to}};
	int n = sides_read(&x, argc, argv);

	if (n < 0) {
		error_set(e, -EINVAL, EXIT_USAGE,
			  "two recordings are compared, or two times of one");
		error_hint(e, "usage: gnomon diff BEFORE.jfr AFTER.jfr, or "
			      "gnomon diff DIR 14:00..14:05 14:10..14:15");
		return EXIT_USAGE;
	}
	if (n && (o.filter.from.kind || o.filter.to.kind)) {
		error_set(e, -EINVAL, EXIT_USAGE, "--from and --to are not for ranges");
		return EXIT_USAGE;
	}
	return diff(&x, e) ? (int)e->exit : EXIT_OK;
}

const struct command cmd_diff = {
	.name = "diff",
	.summary = "compare two recordings: a table or a differential flame graph",
	.usage = "diff BEFORE.jfr|DIR [A..B] [AFTER.jfr|DIR] [C..D] [-o OUT.html] [options]",
	.examples = "  gnomon diff before.jfr after.jfr\n"
		    "  gnomon diff before.jfr after.jfr -o diff.html\n"
		    "  gnomon diff before.jfr after.jfr -D off -t 'http-*'\n"
		    "  gnomon diff /var/lib/gnomon/shop-host-4711-* 14:00..14:05 15:00..15:05\n",
	.notes = "Compared are shares of each recording's time, as recordings differ in length. "
		 "Wall and\noff-CPU time is charged to the innermost Java method, by state, with "
		 "what it calls natively.\n\nA range, such as 14:00..14:05 or -10m..-5m, is of the "
		 "recording or directory before it;\ntwo ranges are of the "
		 "same.\n\n" FILTER_TIME_NOTES FILTER_NOTES,
	.opts = opts,
	.takes = TAKES_RECORDINGS,
	.run = run,
};
