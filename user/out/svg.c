/* SPDX-License-Identifier: Apache-2.0 */
#include "out/svg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "out/format.h"
#include "out/tree.h"
#include "out/xml.h"

/* Pixels. */
#define WIDTH	 1200
#define SIDE	 10 /* left and right of the graph */
#define TOP	 66 /* above it: title, what it is of, buttons */
#define ROW	 17
#define LETTER	 6.7 /* of the font below, about */
#define NARROW	 0.3 /* is not drawn */
#define GRAPH	 (WIDTH - 2 * SIDE)
#define TEXT_MIN (3 * LETTER)

/* user/out/assets.S */
extern const char asset_svg_js[], asset_svg_js_end[];

static const char style[] =
	"text{font:11px ui-monospace,'DejaVu Sans Mono',Menlo,monospace;fill:#22211f}\n"
	"#title{font-size:15px;font-weight:600;font-family:system-ui,sans-serif}\n"
	".note,#found{font-family:system-ui,sans-serif;fill:#6f6b64}\n"
	".button{font-family:system-ui,sans-serif;fill:#9a5b13;cursor:pointer}\n"
	"#ground{fill:#fbfaf8}\n"
	"g.f{cursor:pointer}g.f text{pointer-events:none}\n"
	"g.f rect{stroke:#fbfaf8;stroke-width:.5}g.f:hover rect{stroke:#22211f}\n"
	".java{fill:#8fc7a4}.native{fill:#e8b49c}.cpp{fill:#e9cd8f}.kernel{fill:#bda9da}\n"
	".other{fill:#c9c6bf}.match rect{fill:#e26bd0}.out rect{opacity:.55}\n";

static const char *class_of(const struct profile *p, uint32_t node)
{
	uint32_t frame = p->nodes[node].frame;

	if (node == NODE_ROOT)
		return "other";
	if (profile_frame_is_java(p, frame))
		return "java";
	switch (p->frames[frame].type) {
	case FRAME_KERNEL:
		return "kernel";
	case FRAME_CPP:
		return "cpp";
	default:
		return "native";
	}
}

/* As many characters as there is room for, with dots for the rest. */
static void label_put(const char *name, double width, FILE *f)
{
	size_t room = (size_t)(width / LETTER), n = 0;
	const char *end = name;
	uint32_t code;

	while (*end && n < room) {
		size_t k = utf8_char(end, &code);

		end += k ? k : 1;
		n++;
	}
	if (!*end) {
		xml_text(name, strlen(name), f);
		return;
	}
	for (n = 0, end = name; n + 2 < room; n++) {
		size_t k = utf8_char(end, &code);

		end += k ? k : 1;
	}
	xml_text(name, (size_t)(end - name), f);
	fputs("..", f);
}

struct picture {
	const struct profile *p;
	struct tree tree;
	uint64_t *self, *total; /* by node */
	double *left;		/* by depth: where the next frame begins, in ns */
	uint32_t depth;		/* of what is drawn */
	uint64_t least;		/* ns that are drawn at least */
	uint32_t narrow;	/* nodes that are not */
	FILE *f;
};

static double pixels(const struct picture *x, double ns)
{
	double all = (double)x->total[NODE_ROOT];

	return all > 0 ? ns / all * GRAPH : 0;
}

static void frame_put(const struct picture *x, uint32_t node, uint32_t depth)
{
	const char *name =
		node == NODE_ROOT ? "all" : profile_frame_name(x->p, x->p->nodes[node].frame);
	uint64_t all = x->total[NODE_ROOT];
	double left = SIDE + pixels(x, x->left[depth]);
	double width = pixels(x, (double)x->total[node]);
	struct text32 share = format_share(x->total[node], all);
	int y = TOP + (int)depth * ROW;

	fprintf(x->f, "<g class=\"f\" data-s=\"%.9f\" data-w=\"%.9f\"><title>",
		(left - SIDE) / GRAPH, width / GRAPH);
	xml_text(name, strlen(name), x->f);
	fprintf(x->f, "\n%s, %s of all", format_ns(x->total[node]).s,
		share.s + strspn(share.s, " "));
	if (x->self[node])
		fprintf(x->f, ", itself %s", format_ns(x->self[node]).s);
	fprintf(x->f,
		"</title><rect class=\"%s\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" "
		"rx=\"2\"/><text x=\"%.2f\" y=\"%d\">",
		class_of(x->p, node), left, y, width, ROW - 1, left + 3, y + 12);
	if (width >= TEXT_MIN)
		label_put(name, width - 6, x->f);
	fputs("</text></g>\n", x->f);
}

/* Each frame begins where its caller or the one before it below the same caller leaves off. */
static int frames_put(struct picture *x, struct error *e)
{
	struct tree_walk w;
	int rc = tree_walk_begin(&w, &x->tree, e);

	if (rc)
		return rc;
	x->left[0] = 0;
	for (bool more = true; more; more = tree_walk_next(&w, x->total, x->least)) {
		frame_put(x, w.node, w.depth);
		x->left[w.depth + 1] = x->left[w.depth];
		x->left[w.depth] += (double)x->total[w.node];
	}
	tree_walk_end(&w);
	return 0;
}

static int picture_measure(struct picture *x, struct error *e)
{
	struct tree_walk w;
	uint32_t drawn = 0, any = 0;
	int rc = tree_walk_begin(&w, &x->tree, e);

	if (rc)
		return rc;
	while (tree_walk_next(&w, x->total, x->least)) {
		drawn++;
		if (w.depth > x->depth)
			x->depth = w.depth;
	}
	tree_walk_end(&w);
	for (uint32_t i = 1; i < x->p->nnodes; i++)
		any += x->total[i] != 0;
	x->narrow = any - drawn;
	return 0;
}

static void head_put(const struct picture *x, const char *title, enum dim dim)
{
	static const char *const what[DIMS] = {"CPU time", "Wall time", "Time off the CPU"};
	int height = TOP + (int)(x->depth + 1) * ROW + SIDE;
	FILE *f = x->f;

	fprintf(f,
		"<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
		"height=\"%d\" viewBox=\"0 0 %d %d\" data-side=\"%d\" data-graph=\"%d\" "
		"data-letter=\"%.1f\">\n<style>%s</style>\n"
		"<rect id=\"ground\" width=\"100%%\" height=\"100%%\"/>\n",
		WIDTH, height, WIDTH, height, SIDE, GRAPH, LETTER, style);
	fprintf(f, "<text id=\"title\" x=\"%d\" y=\"24\">", SIDE);
	xml_text(title, strlen(title), f);
	fprintf(f, "</text>\n<text class=\"note\" x=\"%d\" y=\"44\">%s: %s", SIDE, what[dim],
		format_ns(x->total[NODE_ROOT]).s);
	if (x->p->idle_ns[0] && dim != DIM_CPU)
		fprintf(f, "; %s of threads that wait for work left out",
			format_ns(x->p->idle_ns[0]).s);
	if (x->narrow)
		fprintf(f, "; %s frames are too narrow to be drawn", format_count(x->narrow).s);
	/* what needs the script shows itself with it */
	fprintf(f,
		"</text>\n<text id=\"reset\" class=\"button\" x=\"%d\" y=\"60\" "
		"style=\"display:none\">Reset zoom</text>\n"
		"<text id=\"search\" class=\"button\" x=\"%d\" y=\"24\" text-anchor=\"end\" "
		"style=\"display:none\">Search</text>\n"
		"<text id=\"found\" x=\"%d\" y=\"44\" text-anchor=\"end\"></text>\n",
		SIDE, WIDTH - SIDE, WIDTH - SIDE);
}

static int picture_put(struct picture *x, const char *title, enum dim dim, struct error *e)
{
	int rc;

	profile_weigh(x->p, dim, 0, x->self, x->total);
	tree_sort(&x->tree, x->total);
	x->least = (uint64_t)(NARROW / GRAPH * (double)x->total[NODE_ROOT]) + 1;
	rc = picture_measure(x, e);
	if (rc)
		return rc;
	x->left = calloc((size_t)x->depth + 2, sizeof(*x->left));
	if (!x->left)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	head_put(x, title, dim);
	rc = frames_put(x, e);
	fputs("<script><![CDATA[\n", x->f);
	fwrite(asset_svg_js, 1, (size_t)(asset_svg_js_end - asset_svg_js), x->f);
	fputs("]]></script>\n</svg>\n", x->f);
	return rc;
}

int svg_write(const struct profile *p, const char *title, enum dim dim, FILE *f, struct error *e)
{
	struct picture x = {
		.p = p,
		.self = malloc(sizeof(*x.self) * p->nnodes),
		.total = malloc(sizeof(*x.total) * p->nnodes),
		.f = f,
	};
	int rc = -ENOMEM;

	if (!x.self || !x.total)
		error_set(e, rc, EXIT_INTERNAL, "out of memory");
	else
		rc = tree_new(&x.tree, p, e);
	if (!rc)
		rc = picture_put(&x, title, dim, e);
	tree_free(&x.tree);
	free(x.self);
	free(x.total);
	free(x.left);
	return rc;
}
