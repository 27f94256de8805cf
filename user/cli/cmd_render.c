/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "cli/cmds.h"
#include "cli/rendering.h"

static struct rendering o = RENDERING_INIT;

static const struct opt opts[] = {
	{OPT_STRING, 'o', "output", "FILE", "write to FILE; its suffix says the format", &o.out},
	{OPT_ENUM, 'f', "format", "FORMAT",
	 "text, tree, collapsed, html, pprof, svg, speedscope, firefox, csv or xml", &o.format,
	 .choices = {FORMAT_CHOICES}},
	{OPT_ENUM, 'D', "dim", "DIM", "cpu, wall or off (CPU); the page can switch", &o.dim,
	 .choices = {"cpu", "wall", "off"}},
	{OPT_COUNT, 'n', "top", "N", "text: lines per table (10)", &o.top, .min = 1, .max = 100000},
	{OPT_COUNT, 0, "min", "PERCENT", "tree: leave out what is below (1)", &o.min_percent,
	 .max = 100},
	{OPT_FLAG, 0, "by-thread", NULL,
	 "collapsed: begin each stack with its thread; speedscope: one profile for each",
	 &o.by_thread},
	{OPT_FLAG, 0, "lines", NULL, "tell lines of a method apart", &o.lines},
	{OPT_FLAG, 0, "split-tiers", NULL, "tell interpreted, C1, C2 and inlined frames apart",
	 &o.split_tiers},
	{OPT_FLAG, 0, "causes", NULL,
	 "below the method that waits, what it waits for: peers, files, locks, and who has these",
	 &o.causes},
	{OPT_FLAG, 0, "unmounted", NULL,
	 "unmounted virtual threads, too: they are one thread, and so named", &o.unmounted},
	{OPT_FLAG, 0, "force", NULL, "write over an existing file", &o.force},
	FILTER_OPTS(o.filter),
	{OPT_END},
};

static int run(int argc, char **argv, struct error *e)
{
	if (!argc) {
		error_set(e, -EINVAL, EXIT_USAGE, "no recording given");
		error_hint(e, "usage: gnomon render FILE.jfr|DIR ...");
		return EXIT_USAGE;
	}
	return rendering_run(&o, argv, argc, NULL, e) ? (int)e->exit : EXIT_OK;
}

const struct command cmd_render = {
	.name = "render",
	.summary = "show recordings as tables, a page with timeline and flame graph, or for others",
	.usage = "render FILE.jfr|DIR ... [-o OUT] [options]",
	.examples =
		"  gnomon render app.jfr                        # the hottest methods and stacks\n"
		"  gnomon render app.jfr -o app.html            # a page: findings, threads, "
		"flames\n"
		"  gnomon render app.jfr -o app.svg             # flame graph, a picture\n"
		"  gnomon render app.jfr -o app.json.gz         # for profiler.firefox.com\n"
		"  gnomon render app.jfr -o app.speedscope.json # for speedscope.app\n"
		"  gnomon render app.jfr -f tree -D off -t 'http-*'\n"
		"  gnomon render app.jfr -f tree -D off --causes # for whom threads wait\n"
		"  gnomon render app.jfr -f tree -D wall --unmounted -t 'virtual threads that*'\n"
		"  gnomon render app.jfr -f collapsed -D wall | sort -k2 -n | tail\n"
		"  gnomon render a.jfr b.jfr -o cpu.pb.gz -D cpu --from 10s --to 1m\n"
		"  gnomon render /var/lib/gnomon/shop-host-4711-* --from 14:00 --to 14:05 -o "
		"a.html\n",
	.notes = "Reads recordings of any producer: gnomon, the JDK, async-profiler. Several files "
		 "are\nadded up. '-' reads a recording from stdin. Nothing needs root. What "
		 "collapsed,\n"
		 "csv and xml say is in nanoseconds. DIR is a directory of 'gnomon daemon', which "
		 "is "
		 "read as\none recording; of its files only those of the time are read that is "
		 "asked for.\n\n" FILTER_TIME_NOTES FILTER_NOTES,
	.opts = opts,
	.takes = TAKES_RECORDINGS,
	.run = run,
};
