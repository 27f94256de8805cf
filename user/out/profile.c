/* SPDX-License-Identifier: Apache-2.0 */
#include "model/threadname.h"
#include "out/idle.h"
#include "out/profile_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const dim_names[DIMS + 1] = {"cpu", "wall", "off", NULL};

/* ---- hashes over the arrays ---- */

typedef bool (*same_fn)(const struct profile *p, uint32_t i, const void *key);

static bool index_grow(struct index32 *x)
{
	size_t cap = x->cap ? x->cap * 2 : 1024;
	uint64_t *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < x->cap; i++) {
		size_t at;

		if (!x->slots[i])
			continue;
		at = (x->slots[i] >> 32) & (cap - 1);
		while (slots[at])
			at = (at + 1) & (cap - 1);
		slots[at] = x->slots[i];
	}
	free(x->slots);
	x->slots = slots;
	x->cap = cap;
	return true;
}

void index32_free(struct index32 *x)
{
	free(x->slots);
	*x = (struct index32){0};
}

/*
 * The slot of the element with that key, or the empty one where it belongs. Of elements with
 * another hash nothing is read: most of them are in no cache.
 */
static uint64_t *index_slot(struct index32 *x, const struct profile *p, uint64_t h, same_fn same,
			    const void *key)
{
	uint32_t tag = (uint32_t)h;
	size_t at;

	if (x->n * 4 >= x->cap * 3 && !index_grow(x))
		return NULL;
	at = tag & (x->cap - 1);
	while (x->slots[at] &&
	       (x->slots[at] >> 32 != tag || !same(p, (uint32_t)x->slots[at] - 1, key)))
		at = (at + 1) & (x->cap - 1);
	return &x->slots[at];
}

/* The element of number `i`, the last one, is in that slot from now on. */
static void index_fill(struct index32 *x, uint64_t *slot, uint64_t h, uint32_t i)
{
	*slot = h << 32 | (i + 1);
	x->n++;
}

bool array_room(void **array, size_t n, size_t *cap, size_t size)
{
	size_t want = *cap ? *cap + *cap / 2 : 256;
	void *v;

	if (n < *cap)
		return true;
	v = reallocarray(*array, want, size);
	if (!v)
		return false;
	*array = v;
	*cap = want;
	return true;
}

/* ---- patterns ---- */

static uint8_t frame_match(const struct profile *p, const char *name)
{
	const struct profile_options *o = &p->opt;
	uint8_t m = 0;

	if (pattern_match(&o->include, name))
		m |= MATCH_INCLUDE;
	if (pattern_match(&o->exclude, name))
		m |= MATCH_EXCLUDE;
	if (pattern_match(&o->focus, name))
		m |= MATCH_FOCUS;
	if (pattern_match(&o->hide, name))
		m |= MATCH_HIDE;
	if (idle_frame(p->index->idle, name))
		m |= MATCH_IDLE;
	return m;
}

/* ---- frames ---- */

static bool frame_same(const struct profile *p, uint32_t i, const void *key)
{
	const struct prof_frame *k = key;

	return p->frames[i].name == k->name && p->frames[i].type == k->type;
}

uint32_t profile_frame(struct profile *p, uint32_t name, uint8_t type)
{
	struct prof_frame f = {.name = name, .type = type};
	struct prof_index *x = p->index;
	uint64_t h = idmap_mix((uint64_t)name << 8 | type);
	uint64_t *slot = index_slot(&x->frames, p, h, frame_same, &f);

	if (!slot || !array_room((void **)&p->frames, p->nframes, &x->frames_cap, sizeof(f)))
		return NODE_NONE;
	if (*slot)
		return (uint32_t)*slot - 1;
	f.match = frame_match(p, names_get(&p->names, name));
	p->frames[p->nframes++] = f;
	index_fill(&x->frames, slot, h, p->nframes - 1);
	return p->nframes - 1;
}

/* ---- nodes ---- */

static bool node_same(const struct profile *p, uint32_t i, const void *key)
{
	return !memcmp(&p->nodes[i], key, sizeof(struct prof_node));
}

uint32_t profile_node(struct profile *p, uint32_t parent, uint32_t frame)
{
	struct prof_node n = {.parent = parent, .frame = frame};
	struct prof_index *x = p->index;
	uint64_t h = idmap_mix((uint64_t)parent << 32 | frame);
	uint64_t *slot = index_slot(&x->nodes, p, h, node_same, &n);

	if (!slot || p->nnodes == NODE_NONE ||
	    !array_room((void **)&p->nodes, p->nnodes, &x->nodes_cap, sizeof(n)))
		return NODE_NONE;
	if (*slot)
		return (uint32_t)*slot - 1;
	p->nodes[p->nnodes++] = n;
	index_fill(&x->nodes, slot, h, p->nnodes - 1);
	return p->nnodes - 1;
}

/* ---- threads ---- */

static uint64_t thread_mix(const struct prof_thread *t)
{
	return idmap_mix(idmap_mix((uint64_t)t->os_id ^ (uint64_t)t->name << 32) ^
			 (uint64_t)t->java_id);
}

static bool thread_same(const struct profile *p, uint32_t i, const void *key)
{
	const struct prof_thread *a = &p->threads[i], *b = key;

	return a->name == b->name && a->os_id == b->os_id && a->java_id == b->java_id;
}

static uint32_t group_name(struct profile *p, uint32_t name)
{
	struct buffer *b = &p->index->text;

	buffer_clear(b);
	threadname_group(names_get(&p->names, name), b);
	return b->failed ? NAME_NONE : names_add(&p->names, b->data, b->len, NULL);
}

uint32_t profile_thread(struct profile *p, uint32_t name, int64_t os_id, int64_t java_id)
{
	struct prof_thread t = {.name = name, .os_id = os_id, .java_id = java_id};
	struct prof_index *x = p->index;
	uint64_t h = thread_mix(&t), *slot = index_slot(&x->threads, p, h, thread_same, &t);

	if (!slot || !array_room((void **)&p->threads, p->nthreads, &x->threads_cap, sizeof(t)))
		return NODE_NONE;
	if (*slot)
		return (uint32_t)*slot - 1;
	t.group = group_name(p, name);
	if (t.group == NAME_NONE)
		return NODE_NONE;
	p->threads[p->nthreads++] = t;
	index_fill(&x->threads, slot, h, p->nthreads - 1);
	return p->nthreads - 1;
}

/* The JVM's states in short; whether a wait has a time limit makes no difference here. */
static const char *state_short(const char *s)
{
	static const char *const known[][2] = {
		{"BLOCKED_ON_MONITOR_ENTER", "BLOCKED"},
		{"IN_OBJECT_WAIT", "WAITING"},
		{"IN_OBJECT_WAIT_TIMED", "WAITING"},
		{"PARKED_TIMED", "PARKED"},
	};

	if (!strncmp(s, "STATE_", 6) && s[6])
		s += 6;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(s, known[i][0]))
			return known[i][1];
	return s;
}

static bool state_waits(const char *s)
{
	static const char *const no[] = {"RUNNING", "RUNNABLE", "DEFAULT",
					 "QUEUED",  "BLOCKED",	"STOPPED"};

	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (!strcmp(s, no[i]))
			return false;
	return true;
}

uint32_t profile_state(struct profile *p, const char *s)
{
	uint32_t name;

	s = state_short(s);
	name = names_add(&p->names, s, strlen(s), NULL);
	for (uint32_t i = 0; i < p->nstates; i++)
		if (p->states[i].name == name)
			return i;
	if (name == NAME_NONE || p->nstates >= UINT16_MAX ||
	    !array_room((void **)&p->states, p->nstates, &p->index->states_cap, sizeof(*p->states)))
		return NODE_NONE;
	s = names_get(&p->names, name);
	p->states[p->nstates] = (struct prof_state){
		.name = name,
		.waits = state_waits(s),
		.wanted = !p->opt.states.n || pattern_match(&p->opt.states, s),
	};
	return p->nstates++;
}

uint32_t profile_idle_state(const struct profile *p)
{
	for (uint32_t i = 0; i < p->nstates; i++)
		if (!strcmp(names_get(&p->names, p->states[i].name), "IDLE"))
			return i;
	return NODE_NONE;
}

/* ---- cells ---- */

static uint64_t cell_mix(const struct prof_cell *c)
{
	return idmap_mix(((uint64_t)c->node << 32 | c->thread) ^
			 idmap_mix(((uint64_t)c->state << 16 | c->source << 8 | c->side) ^
				   c->period_ns << 32 ^
				   idmap_mix((uint64_t)c->below << 32 | c->link)));
}

static bool cell_same(const struct profile *p, uint32_t i, const void *key)
{
	const struct prof_cell *a = &p->cells[i], *b = key;

	return a->node == b->node && a->thread == b->thread && a->state == b->state &&
	       a->source == b->source && a->side == b->side && a->period_ns == b->period_ns &&
	       a->link == b->link && a->below == b->below;
}

uint32_t profile_cell(struct profile *p, const struct prof_cell *of)
{
	struct prof_cell c = {.node = of->node,
			      .below = of->below,
			      .thread = of->thread,
			      .state = of->state,
			      .source = of->source,
			      .side = of->side,
			      .link = of->link,
			      .period_ns = of->period_ns};
	struct prof_index *x = p->index;
	uint64_t h = cell_mix(&c), *slot = index_slot(&x->cells, p, h, cell_same, &c);

	if (!slot || !array_room((void **)&p->cells, p->ncells, &x->cells_cap, sizeof(c)))
		return NODE_NONE;
	if (*slot)
		return (uint32_t)*slot - 1;
	p->cells[p->ncells++] = c;
	index_fill(&x->cells, slot, h, p->ncells - 1);
	return p->ncells - 1;
}

static uint32_t link_add(struct profile *p, const char *trace, const char *span)
{
	struct prof_link k = {.trace = names_add(&p->names, trace, strlen(trace), NULL),
			      .span = names_add(&p->names, span, strlen(span), NULL)};
	struct prof_index *x = p->index;
	uint64_t *slot;
	bool fresh;

	if (k.trace == NAME_NONE || k.span == NAME_NONE ||
	    !array_room((void **)&p->links, p->nlinks + 1, &x->links_cap, sizeof(k)))
		return NODE_NONE;
	if (!p->nlinks)
		p->links[p->nlinks++] = (struct prof_link){0};
	slot = idmap_put(&x->links, (uint64_t)k.trace << 32 | k.span, p->nlinks, &fresh);
	if (!slot)
		return NODE_NONE;
	if (fresh)
		p->links[p->nlinks++] = k;
	return (uint32_t)*slot;
}

static bool is_id(const char *s, size_t n)
{
	return strlen(s) == n && strspn(s, "0123456789abcdef") == n && strspn(s, "0") < n;
}

uint32_t profile_link(struct profile *p, const char *trace, const char *span)
{
	if (!is_id(trace, 32) || !is_id(span, 16))
		return 0;
	return link_add(p, trace, span);
}

int profile_count(struct profile *p, const char *name, uint64_t events, uint64_t bytes)
{
	uint32_t id = names_add(&p->names, name, strlen(name), NULL), i = 0;

	while (i < p->ncounts && p->counts[i].name != id)
		i++;
	if (id == NAME_NONE ||
	    !array_room((void **)&p->counts, p->ncounts, &p->index->counts_cap, sizeof(*p->counts)))
		return -ENOMEM;
	if (i == p->ncounts)
		p->counts[p->ncounts++] = (struct prof_count){.name = id};
	p->counts[i].events += events;
	p->counts[i].bytes += bytes;
	return 0;
}

/* ---- the whole ---- */

int profile_root(struct profile *p)
{
	/* it is its own parent and has no frame: frame 0 stands in */
	if (profile_frame(p, names_add(&p->names, "all", 3, NULL), FRAME_NATIVE) == NODE_NONE ||
	    !array_room((void **)&p->nodes, 0, &p->index->nodes_cap, sizeof(*p->nodes)))
		return -ENOMEM;
	p->nodes[p->nnodes++] = (struct prof_node){0};
	return 0;
}

int profile_new(struct profile **out, const struct profile_options *o, struct error *e)
{
	struct profile *p = calloc(1, sizeof(*p));
	int rc = -ENOMEM;

	if (p)
		p->index = calloc(1, sizeof(*p->index));
	if (!p || !p->index)
		goto fail;
	if (o)
		p->opt = *o;
	p->facts.pid = -1;
	rc = idle_rules_new(&p->index->idle, &p->opt.idle_rules, e);
	if (!rc)
		rc = profile_root(p);
	if (rc)
		goto fail;
	*out = p;
	return 0;
fail:
	profile_free(p);
	return rc == -ENOMEM ? error_set(e, rc, EXIT_INTERNAL, "out of memory") : rc;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	if (p->index) {
		index32_free(&p->index->frames);
		index32_free(&p->index->nodes);
		index32_free(&p->index->threads);
		index32_free(&p->index->cells);
		idmap_free(&p->index->links);
		buffer_free(&p->index->text);
		idle_rules_free(p->index->idle);
		free(p->index);
	}
	names_free(&p->names);
	free(p->frames);
	free(p->nodes);
	free(p->tiers);
	free(p->threads);
	free(p->states);
	free(p->cells);
	free(p->times);
	free(p->links);
	free(p->counts);
	lanes_free(&p->lanes);
	blame_free(&p->blame);
	native_files_free(&p->files);
	free(p);
}

static bool state_runs(const struct profile *p, uint32_t state)
{
	const char *s = names_get(&p->names, p->states[state].name);

	return !strcmp(s, "RUNNABLE") || !strcmp(s, "DEFAULT") || !strcmp(s, "RUNNING");
}

static uint8_t cell_dims(const struct profile *p, const struct prof_cell *c)
{
	bool runs = state_runs(p, c->state);

	switch (c->source) {
	case JFR_SOURCE_EXECUTION:
		if (p->execution_dropped[c->side])
			return 0;
		if (!runs) /* an old recording of a wall clock has every state in one event */
			return 1 << DIM_WALL | 1 << DIM_OFF;
		return p->wall_runs[c->side] ? 1 << DIM_CPU : 1 << DIM_CPU | 1 << DIM_WALL;
	case JFR_SOURCE_CPU_TIME:
		return p->wall_runs[c->side] ? 1 << DIM_CPU : 1 << DIM_CPU | 1 << DIM_WALL;
	default:
		return runs && c->source == JFR_SOURCE_WALL ? 1 << DIM_WALL
							    : 1 << DIM_WALL | 1 << DIM_OFF;
	}
}

/* What counts where is decided for each side: they may be of different producers. */
static void sides_look(struct profile *p)
{
	bool has[2][JFR_SOURCES] = {0};

	for (uint32_t i = 0; i < p->ncells; i++) {
		const struct prof_cell *c = &p->cells[i];

		has[c->side][c->source] |= c->samples != 0;
		if (c->source == JFR_SOURCE_WALL && state_runs(p, c->state))
			p->wall_runs[c->side] = true;
	}
	for (int i = 0; i < 2; i++)
		p->execution_dropped[i] =
			has[i][JFR_SOURCE_CPU_TIME] && has[i][JFR_SOURCE_EXECUTION];
}

int profile_finish(struct profile *p, struct error *e)
{
	uint32_t idle = profile_idle_state(p);

	sides_look(p);
	for (uint32_t i = 0; i < p->ncells; i++) {
		struct prof_cell *c = &p->cells[i];

		c->dims = cell_dims(p, c);
		if (c->state == idle && !p->opt.show_idle) {
			p->idle_ns[c->side] += c->dims & 1 << DIM_WALL ? c->ns : 0;
			c->dims = 0;
		}
		for (int d = 0; d < DIMS; d++)
			if (c->dims & 1 << d)
				p->total_ns[c->side][d] += c->ns;
	}
	lanes_finish(&p->lanes);
	if (profile_selves(p) || (!p->opt.split_tiers && profile_merge_tiers(p)))
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	return 0;
}

bool profile_frame_is_java(const struct profile *p, uint32_t frame)
{
	switch (p->frames[frame].type) {
	case FRAME_INTERPRETED:
	case FRAME_JIT:
	case FRAME_INLINED:
	case FRAME_C1:
	case PROF_JAVA:
		return true;
	default:
		return false;
	}
}

static bool is_own(const char *name)
{
	static const char *const others[] = {"java.", "javax.", "jdk.", "sun.", "com.sun."};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(name, others[i], strlen(others[i])))
			return false;
	return true;
}

bool profile_frame_is_own(const struct profile *p, uint32_t frame)
{
	return profile_frame_is_java(p, frame) && is_own(profile_frame_name(p, frame));
}

uint32_t profile_node_java(const struct profile *p, uint32_t node)
{
	while (node != NODE_ROOT && !profile_frame_is_java(p, p->nodes[node].frame))
		node = p->nodes[node].parent;
	return node;
}

uint32_t profile_node_place(const struct profile *p, uint32_t node)
{
	uint32_t java = profile_node_java(p, node), n = java;

	while (n != NODE_ROOT && !profile_frame_is_own(p, p->nodes[n].frame))
		n = p->nodes[n].parent;
	n = n != NODE_ROOT ? n : java;
	return n != NODE_ROOT ? p->frames[p->nodes[n].frame].name : NAME_NONE;
}

void profile_weigh(const struct profile *p, enum dim dim, int side, uint64_t *self, uint64_t *total)
{
	for (uint32_t i = 0; i < p->nnodes; i++) {
		if (self)
			self[i] = 0;
		if (total)
			total[i] = 0;
	}
	for (uint32_t i = 0; i < p->ncells; i++) {
		const struct prof_cell *c = &p->cells[i];

		if (c->side != side || !(c->dims & 1 << dim))
			continue;
		if (self)
			self[c->node] += c->ns;
		if (total)
			total[c->node] += c->ns;
	}
	for (uint32_t i = p->nnodes; total && --i > 0;)
		total[p->nodes[i].parent] += total[i];
}

void profile_weigh_java(const struct profile *p, enum dim dim, int side, uint32_t state,
			bool causes, uint64_t *self, uint64_t *total)
{
	memset(self, 0, sizeof(*self) * p->nnodes);
	memset(total, 0, sizeof(*total) * p->nnodes);
	for (uint32_t i = 0; i < p->ncells; i++) {
		const struct prof_cell *c = &p->cells[i];
		uint32_t java, at;

		if (c->side != side || !(c->dims & 1 << dim) ||
		    (state != PROF_ANY_STATE && c->state != state))
			continue;
		java = profile_node_java(p, c->node);
		if (causes && p->frames[p->nodes[c->node].frame].type == PROF_CAUSE)
			java = c->node;
		at = java != NODE_ROOT ? java : c->node;
		self[at] += c->ns;
		total[at] += c->ns;
	}
	for (uint32_t i = p->nnodes; --i > 0;)
		total[p->nodes[i].parent] += total[i];
}
