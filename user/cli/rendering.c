/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/rendering.h"

#include <errno.h>
#include <string.h>

#include "out/firefox.h"
#include "out/html.h"
#include "out/methods.h"
#include "out/output.h"
#include "out/pprof.h"
#include "out/speedscope.h"
#include "out/svg.h"
#include "out/text.h"
#include "out/told.h"

static const struct {
	const char *suffix;
	enum format format;
} known[] = {
	/* the first of a format is its usual one */
	{".html", FMT_HTML},
	{".collapsed", FMT_COLLAPSED},
	{".folded", FMT_COLLAPSED},
	{".pb.gz", FMT_PPROF},
	{".pprof", FMT_PPROF},
	{".csv", FMT_CSV},
	{".xml", FMT_XML},
	{".svg", FMT_SVG},
	{".speedscope.json", FMT_SPEEDSCOPE},
	{".firefox.json", FMT_FIREFOX},
	{".json.gz", FMT_FIREFOX}, /* as samply calls it */
	{".tree", FMT_TREE},
	{".txt", FMT_TEXT},
	{".jfr", FMT_JFR},
};

static bool ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);

	return n >= k && !strcmp(s + n - k, suffix);
}

int format_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (ends(name, known[i].suffix))
			return known[i].format;
	return -1;
}

int format_page(const char *name, struct error *e)
{
	int format = name ? format_by_name(name) : -1;

	if (format < 0 || format == FMT_HTML)
		return 0;
	error_set(e, -EINVAL, EXIT_USAGE, "'%s': only a page, HTML, is made here", name);
	return error_hint(e, "call it FILE.html; gnomon render makes other formats");
}

const char *format_suffix(enum format f)
{
	if (f == FMT_FLAME)
		f = FMT_HTML;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].format == f)
			return known[i].suffix;
	return "";
}

static int format_infer(struct rendering *o, struct error *e)
{
	if (o->format == FMT_FLAME)
		o->format = FMT_HTML;
	if (o->format >= 0)
		return 0;
	o->format = FMT_TEXT;
	if (!o->out || !strcmp(o->out, "-"))
		return 0;
	o->format = format_by_name(o->out);
	if (o->format >= 0 && o->format != FMT_JFR)
		return 0;
	error_set(e, -EINVAL, EXIT_USAGE, "cannot tell a format from the name '%s'", o->out);
	return error_hint(e, "say it with --format, or use .html .collapsed .pb.gz "
			     ".csv .xml .svg .speedscope.json .firefox.json .json.gz .tree .txt");
}

/* The dim that is shown: if none was asked for, CPU time if there is any, else wall time. */
static enum dim dim_chosen(const struct rendering *o, const struct profile *p)
{
	if (o->dim >= 0)
		return (enum dim)o->dim;
	return p->total_ns[0][DIM_CPU] ? DIM_CPU : DIM_WALL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Whether the format itself tells that idle threads are left out, or can show them. */
static bool format_tells_idle(int format)
{
	return format == FMT_TEXT || format == FMT_HTML || format == FMT_SVG;
}

/* What the page's Requests tab tells. */
struct told_requests {
	struct served *served; /* NULL: of none */
	struct told told;
};

static void told_requests_free(struct told_requests *r)
{
	told_free(&r->told);
	served_free(r->served);
}

/*
 * The requests of one recording, where it tells of any or rules do: of several each has its own.
 * That it tells of none is said by who loads it, if any are wanted.
 */
static int requests_tell(const struct rendering *o, struct told_requests *r, char **files, int n,
			 struct error *e)
{
	struct error why = {0};
	struct served_options so;
	struct stretch s;
	int rc;

	if (o->format != FMT_HTML || n != 1 || !strcmp(files[0], "-"))
		return 0;
	rc = filter_stretch(files[0], &o->filter.from, &o->filter.to, &s, e);
	if (rc)
		return rc;
	filter_served(&o->filter, &so);
	rc = served_read(&r->served, &s, &so, &why);
	if (!rc && told_make(&r->told, r->served))
		rc = error_set(&why, -ENOMEM, EXIT_INTERNAL, "out of memory");
	stretch_free(&s);
	if (rc == -ENODATA)
		return 0;
	if (rc && e)
		*e = why;
	return rc;
}

static int profile_write(const struct rendering *o, const struct profile *p,
			 const struct served *served, const char *title, FILE *f, struct error *e)
{
	struct html_options h = {
		.title = title,
		.first = dim_chosen(o, p),
		.idle = o->filter.idle,
		.served = served,
	};

	if (!format_tells_idle(o->format))
		filter_idle_note(p);

	switch (o->format) {
	case FMT_TREE:
		return text_tree(p, dim_chosen(o, p), (double)o->min_percent / 100, f, e);
	case FMT_COLLAPSED:
		return text_collapsed(p, dim_chosen(o, p), o->by_thread, f, e);
	case FMT_HTML:
		return html_write(p, &h, f, e);
	case FMT_PPROF:
		return pprof_write(p, o->dim, f, e);
	case FMT_SVG:
		return svg_write(p, title, dim_chosen(o, p), f, e);
	case FMT_SPEEDSCOPE:
		return speedscope_write(
			p, &(struct speedscope_options){title, o->dim, o->by_thread}, f, e);
	case FMT_FIREFOX:
		return firefox_write(
			p, &(struct firefox_options){title, o->dim, o->out && ends(o->out, ".gz")},
			f, e);
	case FMT_CSV:
		return methods_csv(p, f, e);
	case FMT_XML:
		return methods_xml(p, f, e);
	default:
		return text_top(p, (unsigned int)o->top, f, e);
	}
}

static int files_load(const struct rendering *o, struct profile *p, int argc, char **argv,
		      struct error *e)
{
	for (int i = 0; i < argc; i++) {
		struct jfr_report rep;
		struct stretch s;
		int rc = filter_stretch(argv[i], &o->filter.from, &o->filter.to, &s, e);

		if (rc)
			return rc;
		rc = profile_load_stretch(p, &s, 0, &rep, e);
		stretch_free(&s);
		if (rc)
			return rc;
		report_warn(argv[i], &rep);
	}
	if (profile_finish(p, e))
		return -ENOMEM;
	filter_nothing_warn(&o->filter, p);
	return 0;
}

/* The page tells what waits wait for, unless asked to read what can be read once only. */
static bool page_causes(const struct rendering *o, char **files, int n)
{
	bool twice = o->format == FMT_HTML;

	for (int i = 0; i < n; i++)
		twice = twice && strcmp(files[i], "-") != 0;
	return twice;
}

int rendering_run(struct rendering *o, char **files, int n, const char *title, struct error *e)
{
	struct profile_options po = {
		.lines = o->lines, .split_tiers = o->split_tiers, .causes = o->causes};
	struct told_requests requests = {0};
	struct profile *p = NULL;
	struct output out;
	int rc = format_infer(o, e);

	if (!rc)
		rc = output_apart(o->out, files, n, e);
	if (rc)
		return rc;
	filter_apply(&o->filter, &po);
	po.keep_times = o->format == FMT_HTML || o->format == FMT_FIREFOX ||
			(o->format == FMT_SPEEDSCOPE && o->by_thread);
	o->filter.idle = po.show_idle;
	po.unmounted = o->unmounted ? JFR_UNMOUNTED_TOO : JFR_UNMOUNTED_NONE;
	po.owners = po.causes && o->format != FMT_HTML;
	po.causes |= page_causes(o, files, n);
	po.owners_aside = po.causes && o->format == FMT_HTML;
	po.show_idle |= o->format == FMT_HTML; /* the page can hide it */
	rc = output_open(&out, o->out, o->force, e);
	if (rc)
		return rc;
	rc = requests_tell(o, &requests, files, n, e);
	po.told = requests.served ? &requests.told : NULL;
	if (!rc)
		rc = profile_new(&p, &po, e);
	if (!rc)
		rc = files_load(o, p, n, files, e);
	if (!rc)
		rc = profile_write(o, p, requests.served, title ? title : base_name(files[0]),
				   out.f, e);
	rc = output_close(&out, rc, e);
	profile_free(p);
	told_requests_free(&requests);
	return rc;
}
