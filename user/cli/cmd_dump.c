/* SPDX-License-Identifier: Apache-2.0 */
/* gnomon dump: what the daemon has recorded lately, as a recording or a page. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "cli/cmds.h"
#include "cli/jvmlist.h"
#include "cli/rendering.h"
#include "out/output.h"

#define LAST_NS 300000000000ull

static struct {
	const char *socket;
	uint64_t last_ns;
	struct rendering render;
} o = {.socket = CONTROL_PATH, .render = RENDERING_INIT};

static const struct opt opts[] = {
	{OPT_DURATION, 0, "last", "TIME", "what was in the last TIME (default 5m)", &o.last_ns,
	 .min = 1, .max = 365ull * 24 * 3600 * 1000000000, .bare = true},
	{OPT_INSTANT, 0, "from", "TIME", "what was from then on: 14:00, -10m, date T time",
	 &o.render.filter.from},
	{OPT_INSTANT, 0, "to", "TIME", "until then", &o.render.filter.to},
	{OPT_STRING, 'o', "output", "FILE", "FILE.jfr, FILE.html ..., or - for stdout",
	 &o.render.out, .once = true},
	{OPT_ENUM, 'f', "format", "FORMAT", "where no name says it: jfr, html, text ...",
	 &o.render.format, .choices = {FORMAT_CHOICES, "jfr"}},
	{OPT_FLAG, 0, "force", NULL, "write over an existing file", &o.render.force},
	FILTER_SAMPLE_OPTS(o.render.filter),
	SOCKET_OPT(o.socket),
	{OPT_END},
};

/* What is dumped: of each JVM that has something of that time, its directory. */
struct dumped {
	char **dirs;
	const char *first; /* name */
	int n;
};

static int time_check(struct error *e)
{
	struct filter *f = &o.render.filter;
	struct timespec ts;

	if (o.last_ns && (f->from.kind || f->to.kind))
		return error_set(e, -EINVAL, EXIT_USAGE, "--last and --from or --to are two times");
	if (f->from.kind || f->to.kind)
		return 0;
	clock_gettime(CLOCK_REALTIME, &ts);
	f->from = (struct instant){
		.kind = INSTANT_UNIX,
		.ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec -
		      (o.last_ns ? o.last_ns : LAST_NS),
	};
	return 0;
}

/* JFR, unless the output's name or the format says otherwise. */
static int format_choose(struct error *e)
{
	if (!o.render.out) {
		error_set(e, -EINVAL, EXIT_USAGE, "where to? no output is given");
		return error_hint(e, "-o x.jfr, -o page.html, or -o - for stdout");
	}
	if (o.render.format < 0 && !strcmp(o.render.out, "-"))
		o.render.format = FMT_JFR;
	if (o.render.format < 0)
		o.render.format = format_by_name(o.render.out);
	if (o.render.format != FMT_JFR || !filter_samples_given(&o.render.filter))
		return 0; /* of a name that says nothing rendering_run() says so */
	error_set(e, -EINVAL, EXIT_USAGE, "a recording is dumped whole: it cannot be filtered");
	return error_hint(
		e, "dump it to a file, and give these options to what reads that; or -f html ...");
}

/* One JVM that has nothing of that time is passed over where there are others. */
static int stretch_of(const struct control_jvm *j, struct stretch *s, struct error *e)
{
	const struct filter *f = &o.render.filter;

	return filter_stretch(j->dir, &f->from, &f->to, s, e);
}

static int dirs_choose(struct dumped *d, const struct control_answer *a, struct error *e)
{
	struct error why = {0};

	d->dirs = calloc(a->state.njvms + 1, sizeof(*d->dirs));
	if (!d->dirs)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	for (uint32_t i = 0; i < a->state.njvms; i++) {
		struct stretch s;

		if (stretch_of(&a->jvms[i], &s, &why)) {
			log_info("process %d is not in it: %s", a->jvms[i].pid, why.msg);
			continue;
		}
		stretch_free(&s);
		if (!d->n)
			d->first = a->jvms[i].name;
		d->dirs[d->n++] = a->jvms[i].dir;
	}
	if (d->n)
		return 0;
	*e = why;
	return why.rc;
}

/* Whole chunks, one JVM behind the other. */
static int jfr_write(const struct dumped *d, struct error *e)
{
	const struct filter *f = &o.render.filter;
	struct output out;
	int rc = output_open(&out, o.render.out, o.render.force, e);

	if (rc)
		return rc;
	for (int i = 0; i < d->n && !rc; i++) {
		struct stretch s;

		rc = filter_stretch(d->dirs[i], &f->from, &f->to, &s, e);
		if (rc)
			break;
		rc = stretch_copy(&s, out.f, e);
		stretch_free(&s);
	}
	return output_close(&out, rc, e);
}

static int dump(const struct control_answer *a, struct error *e)
{
	struct dumped d = {0};
	char title[200];
	int rc = dirs_choose(&d, a, e);

	if (!rc)
		snprintf(title, sizeof(title), "%s%s", d.first, d.n > 1 ? " and others" : "");
	if (!rc && o.render.format == FMT_JFR)
		rc = jfr_write(&d, e);
	else if (!rc)
		rc = rendering_run(&o.render, d.dirs, d.n, title, e);
	free(d.dirs);
	return rc;
}

static int run(int argc, char **argv, struct error *e)
{
	const struct control_request r = {.what = CONTROL_STATUS};
	struct control_answer a = {0};
	int rc = 0;

	if (argc > 1)
		rc = error_set(e, -EINVAL, EXIT_USAGE, "one JVM at a time, or all: got %d", argc);
	if (!rc)
		rc = time_check(e);
	if (!rc)
		rc = format_choose(e);
	if (!rc)
		rc = control_ask(o.socket, &r, &a, e);
	if (!rc)
		rc = jvmlist_choose(&a, argc ? argv[0] : NULL, e);
	if (!rc)
		rc = dump(&a, e);
	control_answer_free(&a);
	return rc ? (int)e->exit : EXIT_OK;
}

const struct command cmd_dump = {
	.name = "dump",
	.summary = "what the daemon has recorded lately: a recording, or a page",
	.usage = "dump [PID|NAME] [--last 5m | --from TIME --to TIME] -o FILE.jfr|FILE.html|-",
	.opts = opts,
	.notes =
		"Up to the last second, and without a word to the recording, which goes on. "
		"Without "
		"a PID\nor NAME it is of all JVMs that are recorded. What is rendered is cut to "
		"the "
		"time; a JFR file\nhas whole chunks, which are up to a minute longer. Of JVMs that "
		"have ended: gnomon render DIR.\n\n" FILTER_NOTES,
	.examples = "  gnomon dump shop -o page.html\n"
		    "  gnomon dump shop -e 'GET /cart' --slower-than 500ms -o slow.html\n"
		    "  gnomon dump 4711 --last 10m -o x.jfr\n"
		    "  gnomon dump --from 14:00 --to 14:05 -o all.html\n"
		    "  gnomon dump 4711 -o - | jfr summary /dev/stdin\n",
	.takes = TAKES_PID,
	.run = run,
};
