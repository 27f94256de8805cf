/* SPDX-License-Identifier: Apache-2.0 */
/* From recordings to what `gnomon render` shows, and `record` too where its output is not JFR. */
#ifndef GNOMON_CLI_RENDERING_H
#define GNOMON_CLI_RENDERING_H

#include "cli/filter.h"

enum format {
	FMT_TEXT,
	FMT_TREE,
	FMT_COLLAPSED,
	FMT_HTML,
	FMT_PPROF,
	FMT_CSV,
	FMT_XML,
	FMT_SVG,
	FMT_SPEEDSCOPE,
	FMT_FIREFOX,
	FMT_FLAME, /* another name of FMT_HTML */
	FMT_JFR,   /* as it was recorded; not for rendering_run() */
};

/* For an option table, in the order of enum format; FMT_JFR is left to who knows it. */
#define FORMAT_CHOICES                                                                             \
	"text", "tree", "collapsed", "html", "pprof", "csv", "xml", "svg", "speedscope",           \
		"firefox", "flame"

struct rendering {
	const char *out;
	int format; /* enum format; -1: by the name of `out` */
	int dim;    /* enum dim; -1: CPU if there is any */
	bool force, by_thread, lines, split_tiers, causes, unmounted;
	uint64_t top, min_percent;
	struct filter filter;
};

#define RENDERING_INIT                                                                             \
	{                                                                                          \
		.format = -1, .dim = -1, .top = 10, .min_percent = 1                               \
	}

/* By the end of a file's name; -1 where that says nothing. */
int format_by_name(const char *name);
/* EXIT_USAGE for an output that is a page, and whose name is that of something else. */
int format_page(const char *name, struct error *e);
/* The usual end of the name of such a file, with its dot. */
const char *format_suffix(enum format f);

/* Render n recordings, added up. `title` NULL: the first one's name. */
int rendering_run(struct rendering *r, char **files, int n, const char *title, struct error *e);

#endif
