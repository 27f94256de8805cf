/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmds.h"
#include "cli/filter.h"
#include "out/html.h"
#include "out/methods.h"
#include "out/output.h"
#include "out/pprof.h"
#include "out/text.h"

enum format {
	FMT_TEXT,
	FMT_TREE,
	FMT_COLLAPSED,
	FMT_FLAME,
	FMT_TIMELINE,
	FMT_PPROF,
	FMT_CSV,
	FMT_XML,
};

static struct {
	const char *out;
	int format, dim;
	bool force, by_thread, lines, split_tiers;
	uint64_t top, min_percent;
	struct filter filter;
} o = {.format = -1, .dim = -1, .top = 10, .min_percent = 1};

static const struct opt opts[] = {
	{OPT_STRING, 'o', "output", "FILE", "write to FILE; its suffix says the format", &o.out},
	{OPT_ENUM, 'f', "format", "FORMAT",
	 "text, tree, collapsed, flame, timeline, pprof, csv or xml", &o.format,
	 .choices = {"text", "tree", "collapsed", "flame", "timeline", "pprof", "csv", "xml"}},
	{OPT_ENUM, 'd', "dim", "DIM", "cpu, wall or off (CPU); the page can switch", &o.dim,
	 .choices = {"cpu", "wall", "off"}},
	{OPT_COUNT, 'n', "top", "N", "text: lines per table (10)", &o.top, .min = 1, .max = 100000},
	{OPT_COUNT, 0, "min", "PERCENT", "tree: leave out what is below (1)", &o.min_percent,
	 .max = 100},
	{OPT_FLAG, 0, "by-thread", NULL, "collapsed: begin each stack with its thread",
	 &o.by_thread},
	{OPT_FLAG, 0, "lines", NULL, "tell lines of a method apart", &o.lines},
	{OPT_FLAG, 0, "split-tiers", NULL, "tell interpreted, C1, C2 and inlined frames apart",
	 &o.split_tiers},
	{OPT_FLAG, 0, "force", NULL, "write over an existing file", &o.force},
	FILTER_OPTS(o.filter),
	{OPT_END},
};

static bool ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);

	return n >= k && !strcmp(s + n - k, suffix);
}

static int format_infer(struct error *e)
{
	static const struct {
		const char *suffix;
		enum format format;
	} known[] = {
		{".timeline.html", FMT_TIMELINE},
		{".html", FMT_FLAME},
		{".collapsed", FMT_COLLAPSED},
		{".folded", FMT_COLLAPSED},
		{".pb.gz", FMT_PPROF},
		{".pprof", FMT_PPROF},
		{".csv", FMT_CSV},
		{".xml", FMT_XML},
		{".tree", FMT_TREE},
		{".txt", FMT_TEXT},
	};

	if (o.format >= 0)
		return 0;
	o.format = FMT_TEXT;
	if (!o.out || !strcmp(o.out, "-"))
		return 0;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (ends(o.out, known[i].suffix)) {
			o.format = known[i].format;
			return 0;
		}
	error_set(e, -EINVAL, EXIT_USAGE, "cannot tell a format from the name '%s'", o.out);
	return error_hint(e, "say it with --format, or use .html .timeline.html .collapsed .pb.gz "
			     ".csv .xml .tree .txt");
}

/* What was not asked for: CPU if there is any, else the whole. */
static enum dim dim_chosen(const struct profile *p, enum dim otherwise)
{
	if (o.dim >= 0)
		return (enum dim)o.dim;
	return p->total_ns[0][otherwise] ? otherwise : DIM_WALL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* What tells by itself, or can show, that idle threads are left out. */
static bool format_tells_idle(int format)
{
	return format == FMT_TEXT || format == FMT_FLAME || format == FMT_TIMELINE;
}

static int profile_write(const struct profile *p, const char *name, FILE *f, struct error *e)
{
	struct html_options h = {
		.title = base_name(name),
		.first = dim_chosen(p, DIM_CPU),
		.timeline = o.format == FMT_TIMELINE,
		.idle = o.filter.idle,
	};

	if (!format_tells_idle(o.format))
		filter_idle_note(p);

	switch (o.format) {
	case FMT_TREE:
		return text_tree(p, dim_chosen(p, DIM_CPU), (double)o.min_percent / 100, f, e);
	case FMT_COLLAPSED:
		return text_collapsed(p, dim_chosen(p, DIM_CPU), o.by_thread, f, e);
	case FMT_FLAME:
	case FMT_TIMELINE:
		return html_write(p, &h, f, e);
	case FMT_PPROF:
		return pprof_write(p, o.dim, f, e);
	case FMT_CSV:
		return methods_csv(p, f, e);
	case FMT_XML:
		return methods_xml(p, f, e);
	default:
		return text_top(p, (unsigned int)o.top, f, e);
	}
}

static int files_load(struct profile *p, int argc, char **argv, struct error *e)
{
	for (int i = 0; i < argc; i++) {
		struct jfr_report rep;
		int rc = profile_load(p, argv[i], 0, &rep, e);

		if (rc)
			return rc;
		report_warn(argv[i], &rep);
	}
	if (profile_finish(p, e))
		return -ENOMEM;
	filter_nothing_warn(&o.filter, p);
	return 0;
}

static int render(int argc, char **argv, struct error *e)
{
	struct profile_options po = {.lines = o.lines, .split_tiers = o.split_tiers};
	struct profile *p = NULL;
	struct output out;
	int rc;

	if (!argc) {
		error_set(e, -EINVAL, EXIT_USAGE, "no recording given");
		return error_hint(e, "usage: gnomon render FILE.jfr ...");
	}
	rc = format_infer(e);
	if (!rc)
		rc = output_apart(o.out, argv, argc, e);
	if (!rc)
		rc = filter_apply(&o.filter, &po, e);
	if (rc)
		return rc;
	po.keep_times = o.format == FMT_TIMELINE;
	o.filter.idle = po.show_idle;
	po.show_idle |=
		o.format == FMT_FLAME || o.format == FMT_TIMELINE; /* the page can hide it */
	rc = output_open(&out, o.out, o.force, e);
	if (rc)
		return rc;
	rc = profile_new(&p, &po, e);
	if (!rc)
		rc = files_load(p, argc, argv, e);
	if (!rc)
		rc = profile_write(p, argv[0], out.f, e);
	rc = output_close(&out, rc, e);
	profile_free(p);
	return rc;
}

static int run(int argc, char **argv, struct error *e)
{
	return render(argc, argv, e) ? (int)e->exit : EXIT_OK;
}

const struct command cmd_render = {
	.name = "render",
	.summary = "show recordings as tables, flame graph, timeline or pprof",
	.usage = "render FILE.jfr ... [-o OUT] [options]",
	.examples =
		"  gnomon render app.jfr                        # the hottest methods and stacks\n"
		"  gnomon render app.jfr -o app.html            # flame graph, one file\n"
		"  gnomon render app.jfr -o app.timeline.html   # threads over time, and flames\n"
		"  gnomon render app.jfr -f tree -d off -t 'http-*'\n"
		"  gnomon render app.jfr -f collapsed -d wall | sort -k2 -n | tail\n"
		"  gnomon render a.jfr b.jfr -o cpu.pb.gz -d cpu --from 10s --to 1m\n",
	.notes = "Reads recordings of any producer: gnomon, the JDK, async-profiler. Several files "
		 "are\nadded up. '-' reads a recording from stdin. Nothing needs root. What "
		 "collapsed,\n"
		 "csv and xml say is in nanoseconds.\n\n" FILTER_NOTES,
	.opts = opts,
	.takes = TAKES_RECORDINGS,
	.run = run,
};
