/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data is a row of unsigned LEB128 numbers and strings (length, UTF-8):
 *
 *	frames   n, then each: type (byte), name
 *	nodes    n, then each but the first: distance back to its parent, frame; what is below a
 *	         node follows it at once
 *	tiers    0, or 1 and of each node whose frame is Java's (byte): the one tier that it ran in,
 *	         TIERS if that is not known, or TIERS + 1 and the percent of each tier (bytes)
 *	threads  n, then each: name, group
 *	states   n, then each: name
 *	cells    n, then each, by node: node less the previous one's, thread, state,
 *	         dims | side << 3 (byte), time in us, samples
 *	times    n, then each, by start: start less the previous one's in us, span in us, cell,
 *ticks
 */
#include "out/html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "out/format.h"

extern const char asset_flame_html[], asset_flame_html_end[];
extern const char asset_flame_css[], asset_flame_css_end[];
extern const char asset_flame_js[], asset_flame_js_end[];

static void put(struct buffer *b, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		bytes[n++] = (uint8_t)(v | 0x80);
	bytes[n++] = (uint8_t)v;
	buffer_add(b, bytes, n);
}

static void put_string(struct buffer *b, const char *s)
{
	size_t n = strlen(s);

	put(b, n);
	buffer_add(b, s, n);
}

/* Where cells and nodes of the profile stand in the page. */
struct places {
	const struct profile *p;
	uint32_t *node;	 /* by node */
	uint32_t *cell;	 /* by cell */
	uint32_t *order; /* scratch, as long as the longer of both */
};

/*
 * A node's number in the order in which what is below it follows it. Parents come before their
 * children in a profile: one pass backwards counts what is below each, one forwards gives each the
 * next place that its parent has left.
 */
static void nodes_place(struct places *w)
{
	const struct profile *p = w->p;
	uint32_t *next = w->order, *size = w->node;

	for (uint32_t i = 0; i < p->nnodes; i++)
		size[i] = 1;
	for (uint32_t i = p->nnodes; --i > 0;)
		size[p->nodes[i].parent] += size[i];
	w->node[0] = 0;
	next[0] = 1;
	for (uint32_t i = 1; i < p->nnodes; i++) {
		uint32_t parent = p->nodes[i].parent, at = next[parent];

		next[parent] += size[i];
		w->node[i] = at;
		next[i] = at + 1;
	}
}

static int by_node(const void *a, const void *b, void *arg)
{
	const struct places *w = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t nx = w->node[w->p->cells[x].node], ny = w->node[w->p->cells[y].node];

	if (nx != ny)
		return nx < ny ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int by_start(const void *a, const void *b)
{
	const struct prof_time *x = a, *y = b;

	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static void put_nodes(struct buffer *b, const struct places *w)
{
	const struct profile *p = w->p;

	for (uint32_t i = 0; i < p->nnodes; i++)
		w->order[w->node[i]] = i;
	put(b, p->nnodes);
	for (uint32_t k = 1; k < p->nnodes; k++) {
		const struct prof_node *n = &p->nodes[w->order[k]];

		put(b, k - w->node[n->parent]);
		put(b, n->frame);
	}
}

static void put_node_tiers(struct buffer *b, const struct prof_tiers *t)
{
	uint8_t tier = TIERS;

	for (uint8_t i = 0; i < TIERS; i++) {
		if (t->percent[i] == 100)
			tier = i;
		else if (t->percent[i])
			tier = TIERS + 1;
	}
	buffer_byte(b, tier);
	if (tier > TIERS)
		buffer_add(b, t->percent, sizeof(t->percent));
}

/* After put_nodes(), which leaves the nodes' order. */
static void put_tiers(struct buffer *b, const struct places *w)
{
	const struct profile *p = w->p;

	put(b, p->tiers != NULL);
	for (uint32_t k = 1; k < p->nnodes && p->tiers; k++)
		if (p->frames[p->nodes[w->order[k]].frame].type == PROF_JAVA)
			put_node_tiers(b, &p->tiers[w->order[k]]);
}

static void put_tree(struct buffer *b, const struct places *w)
{
	const struct profile *p = w->p;

	put(b, p->nframes);
	for (uint32_t i = 0; i < p->nframes; i++) {
		buffer_byte(b, p->frames[i].type);
		put_string(b, profile_frame_name(p, i));
	}
	put_nodes(b, w);
	put_tiers(b, w);
	put(b, p->nthreads);
	for (uint32_t i = 0; i < p->nthreads; i++) {
		put_string(b, names_get(&p->names, p->threads[i].name));
		put_string(b, names_get(&p->names, p->threads[i].group));
	}
	put(b, p->nstates);
	for (uint32_t i = 0; i < p->nstates; i++)
		put_string(b, names_get(&p->names, p->states[i].name));
}

static void put_cells(struct buffer *b, struct places *w)
{
	const struct profile *p = w->p;
	uint32_t n = 0, node = 0;

	for (uint32_t i = 0; i < p->ncells; i++)
		if (p->cells[i].dims)
			w->order[n++] = i;
	qsort_r(w->order, n, sizeof(*w->order), by_node, w);
	put(b, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct prof_cell *c = &p->cells[w->order[i]];

		w->cell[w->order[i]] = i;
		put(b, w->node[c->node] - node);
		node = w->node[c->node];
		put(b, c->thread);
		put(b, c->state);
		buffer_byte(b, (uint8_t)(c->dims | c->side << 3));
		put(b, c->ns / 1000);
		put(b, c->samples);
	}
}

static void put_times(struct buffer *b, const struct places *w)
{
	const struct profile *p = w->p;
	uint64_t last = 0;
	size_t n = 0;

	if (p->ntimes)
		qsort(p->times, p->ntimes, sizeof(*p->times), by_start);
	for (size_t i = 0; i < p->ntimes; i++)
		n += p->cells[p->times[i].cell].dims != 0;
	put(b, n);
	for (size_t i = 0; i < p->ntimes; i++) {
		const struct prof_time *t = &p->times[i];
		uint64_t us = t->start_ns > 0 ? (uint64_t)t->start_ns / 1000 : 0;

		if (!p->cells[t->cell].dims)
			continue;
		put(b, us - last);
		last = us;
		put(b, t->span_ns / 1000);
		put(b, w->cell[t->cell]);
		put(b, t->ticks);
	}
}

int html_data(const struct profile *p, const struct html_options *o, struct buffer *b)
{
	size_t longer = p->ncells > p->nnodes ? p->ncells : p->nnodes;
	struct places w = {
		.p = p,
		.node = malloc(sizeof(*w.node) * p->nnodes),
		.cell = malloc(sizeof(*w.cell) * ((size_t)p->ncells + 1)),
		.order = malloc(sizeof(*w.order) * longer),
	};
	int rc = -ENOMEM;

	if (w.node && w.cell && w.order) {
		nodes_place(&w);
		put_tree(b, &w);
		put_cells(b, &w);
		if (o->timeline)
			put_times(b, &w);
		else
			put(b, 0);
		rc = b->failed ? -ENOMEM : 0;
	}
	free(w.node);
	free(w.cell);
	free(w.order);
	return rc;
}

/* Multiples of three bytes at a time, so that only the end is padded. */
static void base64(const uint8_t *p, size_t n, FILE *f)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char out[4096];
	size_t k = 0;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16;

		v |= i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0;
		v |= i + 2 < n ? p[i + 2] : 0;
		out[k++] = digits[v >> 18];
		out[k++] = digits[v >> 12 & 63];
		out[k++] = i + 1 < n ? digits[v >> 6 & 63] : '=';
		out[k++] = i + 2 < n ? digits[v & 63] : '=';
		if (k == sizeof(out)) {
			fwrite(out, 1, k, f);
			k = 0;
		}
	}
	fwrite(out, 1, k, f);
}

static int data_write(const struct profile *p, const struct html_options *o, FILE *f)
{
	struct buffer b = BUFFER_INIT;
	int rc = html_data(p, o, &b);
	uLongf len = rc ? 0 : compressBound(b.len);
	uint8_t *z = rc ? NULL : malloc(len);

	/* level 1: within 15% of the best on such data, at a fifth of the time */
	if (!z || compress2(z, &len, b.data, b.len, 1) != Z_OK)
		rc = -ENOMEM;
	else
		base64(z, len, f);
	free(z);
	buffer_free(&b);
	return rc;
}

/* A JSON string that cannot end the script element it stands in. */
static void json_string(const char *s, FILE *f)
{
	fputc('"', f);
	for (; *s; s++) {
		uint8_t c = (uint8_t)*s;

		if (c < ' ' || c == '<' || c == '"' || c == '\\' || c == 0x7f)
			fprintf(f, "\\u%04x", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}

static void note_write(const struct profile *p, const struct html_options *o, FILE *f)
{
	struct buffer b = BUFFER_INIT;
	char share[80];
	uint64_t n = 0;

	for (int i = 0; i < JFR_SOURCES; i++)
		n += p->samples[i];
	if (o->diff)
		buffer_printf(&b, "A %s, B %s recorded", format_ns(p->side_ns[0]).s,
			      format_ns(p->side_ns[1]).s);
	else
		buffer_printf(&b, "%s recorded", format_ns(p->side_ns[0]).s);
	buffer_printf(&b, " · %s samples", format_count(n).s);
	buffer_printf(&b, " · %s threads", format_count(p->nselves).s);
	if (profile_sampled_threads(p, share, sizeof(share)))
		buffer_printf(&b, " · wall times estimated from %s", share);
	if (*p->facts.jvm_version && !o->diff)
		buffer_printf(&b, " · pid %lld", (long long)p->facts.pid);
	buffer_byte(&b, 0);
	json_string(b.failed ? "" : (char *)b.data, f);
	buffer_free(&b);
}

static void head_write(const struct profile *p, const struct html_options *o, FILE *f)
{
	uint32_t idle = profile_idle_state(p);

	fprintf(f, "{\"title\":");
	json_string(o->title, f);
	fprintf(f, ",\"note\":");
	note_write(p, o, f);
	fprintf(f, ",\"dims\":[\"cpu\",\"wall\",\"off\"],\"totals_us\":[");
	for (int d = 0; d < DIMS; d++)
		fprintf(f, "%s%llu", d ? "," : "",
			(unsigned long long)(p->total_ns[0][d] +
					     (o->diff ? p->total_ns[1][d] : 0)) /
				1000);
	fprintf(f,
		"],\"first\":%d,\"duration_us\":%llu,\"timeline\":%s,\"diff\":%s,\"idle\":%d,"
		"\"show_idle\":%s}",
		o->first, (unsigned long long)profile_recorded_ns(p) / 1000,
		o->timeline ? "true" : "false", o->diff ? "true" : "false",
		idle == NODE_NONE ? -1 : (int)idle, o->idle ? "true" : "false");
}

int html_write(const struct profile *p, const struct html_options *o, FILE *f, struct error *e)
{
	const char *at = asset_flame_html, *mark;
	int rc = 0;

	/* the template is ours, and ends with a NUL */
	while (!rc && (mark = strstr(at, "@@"))) {
		fwrite(at, 1, (size_t)(mark - at), f);
		if (!strncmp(mark, "@@CSS@@", 7))
			fwrite(asset_flame_css, 1, (size_t)(asset_flame_css_end - asset_flame_css),
			       f);
		else if (!strncmp(mark, "@@JS@@", 6))
			fwrite(asset_flame_js, 1, (size_t)(asset_flame_js_end - asset_flame_js), f);
		else if (!strncmp(mark, "@@HEAD@@", 8))
			head_write(p, o, f);
		else
			rc = data_write(p, o, f);
		at = strstr(mark + 2, "@@") + 2;
	}
	fputs(at, f);
	return rc ? error_set(e, rc, EXIT_INTERNAL, "out of memory") : 0;
}
