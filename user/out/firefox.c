/* SPDX-License-Identifier: Apache-2.0 */
#include "out/firefox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/json.h"
#include "out/gzip.h"
#include "out/moments.h"
#include "out/tree.h"

/* ---- categories ---- */

enum category { CAT_OTHER, CAT_JAVA, CAT_NATIVE, CAT_KERNEL, CAT_FIRST_STATE, CATS = 8 };

static const struct {
	const char *name, *color; /* one that the format knows; grey is the default's */
} categories[CATS] = {
	[CAT_OTHER] = {"Other", "grey"},
	[CAT_JAVA] = {"Java", "green"},
	[CAT_NATIVE] = {"Native", "yellow"},
	[CAT_KERNEL] = {"Kernel", "orange"},
	[CAT_FIRST_STATE] = {"Waiting", "lightblue"},
	{"Blocked", "red"},
	{"Queued for a CPU", "magenta"},
	{"Idle", "transparent"},
};

static uint8_t category_of_state(const char *state)
{
	if (!strcmp(state, "BLOCKED"))
		return CAT_FIRST_STATE + 1;
	if (!strcmp(state, "QUEUED"))
		return CAT_FIRST_STATE + 2;
	return strcmp(state, "IDLE") ? CAT_FIRST_STATE : CAT_FIRST_STATE + 3;
}

static uint8_t category_of_frame(const struct profile *p, uint32_t frame)
{
	if (profile_frame_is_java(p, frame))
		return CAT_JAVA;
	return p->frames[frame].type == FRAME_KERNEL ? CAT_KERNEL : CAT_NATIVE;
}

/* ---- the tables of one thread ---- */

/* What is known by a number of our own, in the order of being met: rows of one of its tables. */
struct rows {
	uint64_t *key;
	size_t n, cap;
	struct idmap by_key;
};

#define NO_STATE 0xffffu /* of a row that is as its frame is; else a number of profile.states */

static uint64_t key_of(uint32_t what, uint32_t state)
{
	return (uint64_t)what << 32 | state;
}

static uint32_t key_what(uint64_t key)
{
	return (uint32_t)(key >> 32);
}

struct fox {
	const struct profile *p;
	const struct firefox_options *o;
	struct json j;
	enum dim dim;
	struct moments m;
	uint32_t *path;
	/* of the thread at hand */
	struct rows stacks; /* node and state */
	struct rows frames; /* frame of the profile and state */
	struct rows funcs;  /* frame of the profile */
	bool failed;	    /* no memory */
};

/* The number of the row of `key`, which is added if it is new. */
static uint64_t row_add(struct fox *x, struct rows *r, uint64_t key)
{
	bool fresh = false;
	uint64_t *at = idmap_put(&r->by_key, key, r->n, &fresh);

	if (fresh && r->n == r->cap) {
		size_t cap = r->cap ? 2 * r->cap : 256;
		uint64_t *v = reallocarray(r->key, cap, sizeof(*v));

		x->failed |= !v;
		r->key = v ? v : r->key;
		r->cap = v ? cap : r->cap;
	}
	if (!at || x->failed) {
		x->failed = true;
		return 0;
	}
	if (fresh)
		r->key[r->n++] = key;
	return *at;
}

static void rows_clear(struct rows *r)
{
	r->n = 0;
	idmap_clear(&r->by_key);
}

static void rows_free(struct rows *r)
{
	free(r->key);
	idmap_free(&r->by_key);
}

/* A row refers to that of its callers, which stands before it. */
static void stack_add(struct fox *x, uint32_t node, uint32_t state)
{
	const struct profile *p = x->p;
	uint32_t n = 0;

	if (node == NODE_ROOT)
		return;
	for (uint32_t i = state == NO_STATE ? node : p->nodes[node].parent;
	     i != NODE_ROOT && !idmap_get(&x->stacks.by_key, key_of(i, NO_STATE));
	     i = p->nodes[i].parent)
		x->path[n++] = i;
	while (n)
		row_add(x, &x->stacks, key_of(x->path[--n], NO_STATE));
	row_add(x, &x->stacks, key_of(node, state));
}

static uint32_t state_of_cell(const struct fox *x, const struct prof_cell *c)
{
	return c->dims & 1 << DIM_OFF ? c->state : NO_STATE;
}

static void tables_fill(struct fox *x, const struct moments_thread *t)
{
	const struct profile *p = x->p;

	rows_clear(&x->stacks);
	rows_clear(&x->frames);
	rows_clear(&x->funcs);
	for (size_t i = 0; i < t->n; i++) {
		const struct prof_cell *c = &p->cells[x->m.v[t->first + i].cell];

		stack_add(x, c->node, state_of_cell(x, c));
	}
	for (size_t i = 0; i < x->stacks.n && !x->failed; i++) {
		uint64_t key = x->stacks.key[i];
		uint32_t frame = p->nodes[key_what(key)].frame;

		row_add(x, &x->frames, key_of(frame, (uint32_t)key));
		row_add(x, &x->funcs, frame);
	}
}

/* ---- columns ---- */

/* A column that is the same in all rows: "null", "-1", "false". */
static void column_same(struct fox *x, const char *name, size_t n, int64_t value, bool null)
{
	json_open(&x->j, name, '[');
	for (size_t i = 0; i < n; i++) {
		if (null)
			json_null(&x->j, NULL);
		else
			json_integer(&x->j, NULL, value);
	}
	json_close(&x->j, ']');
}

static void column_false(struct fox *x, const char *name, size_t n)
{
	json_open(&x->j, name, '[');
	for (size_t i = 0; i < n; i++)
		json_bool(&x->j, NULL, false);
	json_close(&x->j, ']');
}

/* A table that we have no rows for; the format wants it all the same. */
static void table_empty(struct fox *x, const char *name, const char *const *columns)
{
	json_open(&x->j, name, '{');
	for (; *columns; columns++)
		column_same(x, *columns, 0, 0, true);
	json_number(&x->j, "length", 0);
	json_close(&x->j, '}');
}

static void stack_table(struct fox *x)
{
	const struct profile *p = x->p;
	const struct rows *r = &x->stacks;

	json_open(&x->j, "stackTable", '{');
	json_open(&x->j, "frame", '[');
	for (size_t i = 0; i < r->n; i++)
		json_number(
			&x->j, NULL,
			row_add(x, &x->frames,
				key_of(p->nodes[key_what(r->key[i])].frame, (uint32_t)r->key[i])));
	json_close(&x->j, ']');
	json_open(&x->j, "prefix", '[');
	for (size_t i = 0; i < r->n; i++) {
		uint32_t parent = p->nodes[key_what(r->key[i])].parent;

		if (parent == NODE_ROOT)
			json_null(&x->j, NULL);
		else
			json_number(&x->j, NULL, row_add(x, &x->stacks, key_of(parent, NO_STATE)));
	}
	json_close(&x->j, ']');
	json_number(&x->j, "length", r->n);
	json_close(&x->j, '}');
}

static void frame_table(struct fox *x)
{
	const struct profile *p = x->p;
	const struct rows *r = &x->frames;

	json_open(&x->j, "frameTable", '{');
	json_open(&x->j, "func", '[');
	for (size_t i = 0; i < r->n; i++)
		json_number(&x->j, NULL, row_add(x, &x->funcs, key_what(r->key[i])));
	json_close(&x->j, ']');
	json_open(&x->j, "category", '[');
	for (size_t i = 0; i < r->n; i++) {
		uint32_t state = (uint32_t)r->key[i];

		json_number(&x->j, NULL,
			    state == NO_STATE ? category_of_frame(p, key_what(r->key[i]))
					      : category_of_state(names_get(
							&p->names, p->states[state].name)));
	}
	json_close(&x->j, ']');
	json_open(&x->j, "subcategory", '[');
	for (size_t i = 0; i < r->n; i++) /* of states: all of them in each category */
		json_number(&x->j, NULL,
			    (uint32_t)r->key[i] == NO_STATE ? 0 : (uint32_t)r->key[i] + 1);
	json_close(&x->j, ']');
	column_same(x, "address", r->n, -1, false);
	column_same(x, "inlineDepth", r->n, 0, false);
	column_same(x, "nativeSymbol", r->n, 0, true);
	column_same(x, "innerWindowID", r->n, 0, false);
	column_same(x, "line", r->n, 0, true);
	column_same(x, "column", r->n, 0, true);
	json_number(&x->j, "length", r->n);
	json_close(&x->j, '}');
}

static void func_table(struct fox *x)
{
	const struct rows *r = &x->funcs;

	json_open(&x->j, "funcTable", '{');
	json_open(&x->j, "name", '['); /* string i is name i of the profile */
	for (size_t i = 0; i < r->n; i++)
		json_number(&x->j, NULL, x->p->frames[r->key[i]].name);
	json_close(&x->j, ']');
	column_false(x, "isJS", r->n);
	column_false(x, "relevantForJS", r->n);
	column_same(x, "resource", r->n, -1, false);
	column_same(x, "fileName", r->n, 0, true);
	column_same(x, "lineNumber", r->n, 0, true);
	column_same(x, "columnNumber", r->n, 0, true);
	json_number(&x->j, "length", r->n);
	json_close(&x->j, '}');
}

static double ms(int64_t ns)
{
	return (double)ns / 1e6;
}

static void sample_table(struct fox *x, const struct moments_thread *t)
{
	const struct profile *p = x->p;
	const struct moment *v = x->m.v + t->first;

	json_open(&x->j, "samples", '{');
	json_open(&x->j, "stack", '[');
	for (size_t i = 0; i < t->n; i++) {
		const struct prof_cell *c = &p->cells[v[i].cell];

		if (c->node == NODE_ROOT)
			json_null(&x->j, NULL);
		else
			json_number(&x->j, NULL,
				    row_add(x, &x->stacks, key_of(c->node, state_of_cell(x, c))));
	}
	json_close(&x->j, ']');
	json_open(&x->j, "time", '[');
	for (size_t i = 0; i < t->n; i++)
		json_double(&x->j, NULL, ms(v[i].start_ns));
	json_close(&x->j, ']');
	json_open(&x->j, "weight", '[');
	for (size_t i = 0; i < t->n; i++)
		json_double(&x->j, NULL, ms((int64_t)v[i].ns));
	json_close(&x->j, ']');
	json_text(&x->j, "weightType", "tracing-ms");
	json_open(&x->j, "threadCPUDelta", '[');
	for (size_t i = 0; i < t->n; i++)
		json_number(&x->j, NULL, p->cells[v[i].cell].dims & 1 << DIM_OFF ? 0 : v[i].ns);
	json_close(&x->j, ']');
	json_number(&x->j, "length", t->n);
	json_close(&x->j, '}');
}

/* ---- threads ---- */

/* The page shows it first: where there is none of the process's number, what has most time. */
static size_t thread_main(const struct fox *x)
{
	for (size_t i = 0; i < x->m.nthreads; i++)
		if (x->p->threads[x->m.threads[i].thread].os_id == x->p->facts.pid)
			return i;
	return 0;
}

static void thread_put(struct fox *x, const struct moments_thread *t, bool is_main)
{
	static const char *const markers[] = {"data",  "name",	   "startTime", "endTime",
					      "phase", "category", NULL};
	static const char *const resources[] = {"lib", "name", "host", "type", NULL};
	static const char *const symbols[] = {"libIndex", "address", "name", "functionSize", NULL};
	const struct prof_thread *pt = &x->p->threads[t->thread];
	char pid[24], tid[48];

	snprintf(pid, sizeof(pid), "%lld", (long long)x->p->facts.pid);
	/* virtual threads have none of the kernel's */
	if (pt->os_id > 0)
		snprintf(tid, sizeof(tid), "%lld", (long long)pt->os_id);
	else
		snprintf(tid, sizeof(tid), "java-%lld-%u", (long long)pt->java_id, pt->self);
	json_open(&x->j, NULL, '{');
	json_text(&x->j, "processType", "default");
	json_number(&x->j, "processStartupTime", 0);
	json_null(&x->j, "processShutdownTime");
	json_double(&x->j, "registerTime", 0);
	json_null(&x->j, "unregisterTime");
	json_open(&x->j, "pausedRanges", '[');
	json_close(&x->j, ']');
	json_text(&x->j, "name", names_get(&x->p->names, pt->name));
	json_text(&x->j, "processName", x->o->title);
	json_bool(&x->j, "isMainThread", is_main);
	json_text(&x->j, "pid", pid);
	json_text(&x->j, "tid", tid);
	tables_fill(x, t);
	sample_table(x, t);
	stack_table(x);
	frame_table(x);
	func_table(x);
	table_empty(x, "markers", markers);
	table_empty(x, "resourceTable", resources);
	table_empty(x, "nativeSymbols", symbols);
	json_close(&x->j, '}');
}

/* ---- the whole ---- */

static void categories_put(struct fox *x)
{
	json_open(&x->j, "categories", '[');
	for (int i = 0; i < CATS; i++) {
		json_open(&x->j, NULL, '{');
		json_text(&x->j, "name", categories[i].name);
		json_text(&x->j, "color", categories[i].color);
		json_open(&x->j, "subcategories", '[');
		json_text(&x->j, NULL, "Other");
		for (uint32_t s = 0; s < x->p->nstates && i >= CAT_FIRST_STATE; s++)
			json_text(&x->j, NULL, names_get(&x->p->names, x->p->states[s].name));
		json_close(&x->j, ']');
		json_close(&x->j, '}');
	}
	json_close(&x->j, ']');
}

static uint64_t interval_ns(const struct profile *p, enum dim dim)
{
	uint64_t cpu = p->period_ns[p->samples[JFR_SOURCE_CPU_TIME] ? JFR_SOURCE_CPU_TIME
								    : JFR_SOURCE_EXECUTION];
	uint64_t wall = p->period_ns[JFR_SOURCE_WALL];

	return (dim == DIM_OFF || !cpu) && wall ? wall : cpu;
}

static void meta_put(struct fox *x)
{
	const struct profile *p = x->p;
	const struct profile_facts *facts = &p->facts;

	json_open(&x->j, "meta", '{');
	json_double(&x->j, "interval", ms((int64_t)interval_ns(p, x->dim)));
	json_double(&x->j, "startTime", ms(p->start_ns));
	json_double(&x->j, "profilingStartTime", 0);
	json_double(&x->j, "profilingEndTime", ms((int64_t)profile_recorded_ns(p)));
	json_number(&x->j, "processType", 0);
	categories_put(x);
	json_text(&x->j, "product", x->o->title);
	json_number(&x->j, "stackwalk", 1);
	json_number(&x->j, "version", 31); /* Gecko's own, of which it would have been made */
	json_number(&x->j, "preprocessedProfileVersion", FIREFOX_FORMAT);
	json_text(&x->j, "importedFrom", "gnomon");
	json_text(&x->j, "arguments", facts->java_args);
	json_text(&x->j, "oscpu", facts->os);
	json_text(&x->j, "CPUName", facts->cpu);
	json_number(&x->j, "logicalCPUs", facts->hw_threads);
	json_bool(&x->j, "symbolicated", true);
	json_bool(&x->j, "symbolicationNotSupported", true);
	json_bool(&x->j, "usesOnlyOneStackType", true);
	json_bool(&x->j, "sourceCodeIsNotOnSearchfox", true);
	json_bool(&x->j, "keepProfileThreadOrder", true);
	json_open(&x->j, "initialSelectedThreads", '[');
	if (x->m.nthreads)
		json_number(&x->j, NULL, 0);
	json_close(&x->j, ']');
	json_open(&x->j, "markerSchema", '[');
	json_close(&x->j, ']');
	json_open(&x->j, "sampleUnits", '{');
	json_text(&x->j, "time", "ms");
	json_text(&x->j, "eventDelay", "ms");
	json_text(&x->j, "threadCPUDelta", "ns");
	json_close(&x->j, '}');
	json_close(&x->j, '}');
}

static void fox_put(struct fox *x, FILE *f)
{
	size_t main = thread_main(x);

	json_begin_dense(&x->j, f);
	json_open(&x->j, NULL, '{');
	meta_put(x);
	json_open(&x->j, "libs", '[');
	json_close(&x->j, ']');
	json_open(&x->j, "shared", '{');
	json_open(&x->j, "stringArray", '[');
	for (uint32_t i = 0; i < x->p->names.n; i++)
		json_text(&x->j, NULL, names_get(&x->p->names, i));
	json_close(&x->j, ']');
	json_close(&x->j, '}');
	json_open(&x->j, "threads", '[');
	for (size_t i = 0; i < x->m.nthreads && !x->failed; i++)
		thread_put(x, &x->m.threads[i], i == main);
	json_close(&x->j, ']');
	json_close(&x->j, '}');
	json_end(&x->j);
}

static int fox_put_gzip(struct fox *x, FILE *f)
{
	FILE *packed = gzip_open(f);

	if (!packed)
		return -ENOMEM;
	fox_put(x, packed);
	fclose(packed);
	return 0;
}

int firefox_write(const struct profile *p, const struct firefox_options *o, FILE *f,
		  struct error *e)
{
	struct fox x = {.p = p, .o = o, .dim = o->dim >= 0 ? (enum dim)o->dim : DIM_WALL};
	int rc = moments_gather(&x.m, p, x.dim);

	x.path = tree_path_new(p);
	if (!rc && !x.path)
		rc = -ENOMEM;
	if (!rc && o->gzip)
		rc = fox_put_gzip(&x, f);
	else if (!rc)
		fox_put(&x, f);
	if (!rc && x.failed)
		rc = -ENOMEM;
	rows_free(&x.stacks);
	rows_free(&x.frames);
	rows_free(&x.funcs);
	moments_free(&x.m);
	free(x.path);
	return rc ? error_set(e, rc, EXIT_INTERNAL, "cannot encode the profile: %s", strerror(-rc))
		  : 0;
}
