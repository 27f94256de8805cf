/* SPDX-License-Identifier: Apache-2.0 */
/* From the events of a recording to the cells of a profile. Keys are translated once per chunk. */
#include "out/contexts.h"
#include "out/endpoint.h"
#include "out/idle.h"
#include "out/joins.h"
#include "out/profile_int.h"
#include "out/stable.h"
#include "out/told.h"
#include "out/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define NODE_FILTERED (UINT64_MAX - 1)

struct chain {
	struct chain_link {
		const char *cause, *owner; /* in words; the thread's name */
		uint64_t who;
		struct did did; /* what the owner did, if that is known */
		bool known;
	} v[BLAME_DEPTH];
	uint32_t n;
	bool circle; /* the last one waits for the first, which is the thread of the sample */
};

struct load {
	struct profile *p;
	struct jfr_reader *r;
	struct jfr_sampler *s;
	struct endpoints *endpoints; /* NULL: any */
	struct contexts *contexts;   /* NULL: whichever request it was */
	struct context_filter requests;
	bool chosen;	     /* not all requests are wanted */
	struct idmap links;  /* contexts to the profile's */
	uint32_t link;	     /* of the sample at hand */
	uint32_t request;    /* likewise, as in struct prof_time */
	struct waits *waits; /* NULL: what waits waited for is not asked */
	struct joins *joins; /* with waits */
	const char *cause;   /* of the sample at hand, or NULL */
	struct chain chain;  /* whom it waited for, and that one, and so on */
	int side;
	uint64_t chunk;
	const struct jfr_class *file_class; /* gnomon.NativeFile, with keep_files; or NULL */
	const struct stretch *of;	    /* this recording, and what is wanted of it */
	int64_t start_ns;		    /* since 1970 */
	int64_t end_ns;			    /* of its chunks that are not `behind` */
	bool behind;			    /* this chunk begins after what is wanted */
	struct idmap stacks, methods, types, threads, states, places; /* of this chunk */
	struct buffer text;
	uint32_t *path; /* frames of the stack at hand, leaf first */
	size_t path_cap;
	uint32_t *touched; /* cells with pending samples */
	size_t ntouched, touched_cap;
};

static const uint64_t default_period_ns[JFR_SOURCES] = {
	[JFR_SOURCE_EXECUTION] =
		20000000, /* JDK's default.jfc; profile.jfc has 10 ms and says so */
	[JFR_SOURCE_NATIVE] = 20000000,
	[JFR_SOURCE_CPU_TIME] = 10000000,
	[JFR_SOURCE_WALL] = 50000000, /* async-profiler */
};

static uint8_t type_of_name(const char *s)
{
	static const struct {
		const char *name;
		enum frame_type type;
	} types[] = {
		{"Interpreted", FRAME_INTERPRETED},
		{"JIT compiled", FRAME_JIT},
		{"Inlined", FRAME_INLINED},
		{"Native", FRAME_NATIVE},
		{"C++", FRAME_CPP},
		{"Kernel", FRAME_KERNEL},
		{"C1 compiled", FRAME_C1},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcasecmp(s, types[i].name))
			return types[i].type;
	return FRAME_JIT;
}

static int frame_type(struct load *l, const struct jfr_value *ref, uint8_t *type)
{
	bool fresh;
	uint64_t *v = idmap_put(&l->types, (uint64_t)ref->i, FRAME_JIT, &fresh);

	if (!v)
		return -ENOMEM;
	if (fresh) {
		buffer_clear(&l->text);
		jfr_value_string(l->r, ref, &l->text);
		buffer_byte(&l->text, 0);
		*v = type_of_name((char *)l->text.data);
	}
	*type = (uint8_t)*v;
	return 0;
}

/* Names come from the recorded process and go to terminals and pages: no control characters. */
static void controls_strip(struct buffer *b)
{
	utf8_clean((char *)b->data, b->len, false);
}

static uint64_t method_load(struct load *l, const struct jfr_frame *f, uint8_t type)
{
	bool hidden = false;
	uint32_t name;

	buffer_clear(&l->text);
	if (!jfr_method_name(l->r, &f->method_ref, &l->text, &hidden))
		buffer_printf(&l->text, "[unknown method]");
	if (hidden)
		return NODE_FILTERED;
	stable_name(&l->text);
	controls_strip(&l->text);
	if (l->p->opt.lines && f->line > 0)
		buffer_printf(&l->text, ":%d", f->line);
	if (l->text.failed)
		return NODE_NONE;
	name = names_add(&l->p->names, l->text.data, l->text.len, NULL);
	return name == NAME_NONE ? NODE_NONE : profile_frame(l->p, name, type);
}

/* The frame's number, NODE_FILTERED to leave it out, or NODE_NONE when out of memory. */
static uint64_t frame_load(struct load *l, const struct jfr_frame *f)
{
	uint64_t key, v, *slot;
	uint8_t type;
	bool fresh;

	key = idmap_mix((uint64_t)f->method) + (uint64_t)f->frame_type;
	if (l->p->opt.lines)
		key = idmap_mix(key) ^ (uint32_t)f->line;
	slot = idmap_put(&l->methods, key, 0, &fresh);
	if (!slot)
		return NODE_NONE;
	if (!fresh)
		return *slot;
	if (frame_type(l, &f->type_ref, &type))
		return NODE_NONE;
	v = method_load(l, f, type);
	*slot = v;
	return v;
}

/* Frames from the outermost to the leaf become nodes; the filter may reject or cut. */
static uint64_t path_insert(struct load *l, size_t n)
{
	struct profile *p = l->p;
	uint32_t node = NODE_ROOT;
	size_t from = n;
	uint8_t seen = 0;

	for (size_t i = n; i-- > 0;) {
		uint8_t m = p->frames[l->path[i]].match;

		if (m & MATCH_FOCUS && !(seen & MATCH_FOCUS))
			from = i + 1;
		seen |= m;
	}
	if ((seen & MATCH_EXCLUDE) || (p->opt.include.n && !(seen & MATCH_INCLUDE)) ||
	    (p->opt.focus.n && !(seen & MATCH_FOCUS)))
		return NODE_FILTERED;
	while (from-- > 0 && node != NODE_NONE)
		node = profile_node(p, node, l->path[from]);
	return node;
}

static uint64_t no_stack(struct load *l, bool failed)
{
	const char *s = failed ? "[stack not walked]" : "[no stack]";
	uint32_t name = names_add(&l->p->names, s, strlen(s), NULL);
	uint32_t f = name == NAME_NONE ? NODE_NONE : profile_frame(l->p, name, FRAME_NATIVE);

	if (f == NODE_NONE || !array_room((void **)&l->path, 0, &l->path_cap, sizeof(*l->path)))
		return NODE_NONE;
	l->path[0] = f;
	return path_insert(l, 1);
}

#define TRUNCATED (1ULL << 40) /* flag of a remembered stack */
#define EMPTY	  (1ULL << 41)
#define IDLE	  (1ULL << 42) /* the stack is idle if its thread waits */

/* Whether `frame`, which called `callee` (NODE_NONE: nothing), makes its stack an idle one. */
static bool frame_idle(const struct profile *p, uint32_t frame, uint64_t callee)
{
	if (!(p->frames[frame].match & MATCH_IDLE))
		return false;
	return idle_call(p->index->idle, profile_frame_name(p, frame),
			 callee < NODE_NONE ? profile_frame_name(p, (uint32_t)callee) : NULL);
}

static uint64_t stack_load(struct load *l, const struct jfr_sample *s)
{
	struct jfr_value frames;
	struct jfr_frame f;
	bool truncated = false, idle = false;
	uint64_t v, callee = NODE_NONE;
	size_t n = 0;

	if (!jfr_stack_get(l->r, &s->stack, &frames, &truncated) || !frames.n) {
		v = no_stack(l, s->failed);
		return v >= NODE_NONE ? v : v | EMPTY;
	}
	while (jfr_stack_next(l->r, &frames, &f)) {
		uint64_t id = frame_load(l, &f);

		if (id == NODE_FILTERED)
			continue;
		if (id == NODE_NONE)
			return NODE_NONE;
		idle = idle || frame_idle(l->p, (uint32_t)id, callee);
		callee = id;
		if (l->p->frames[id].match & MATCH_HIDE)
			continue;
		if (!array_room((void **)&l->path, n, &l->path_cap, sizeof(*l->path)))
			return NODE_NONE;
		l->path[n++] = (uint32_t)id;
	}
	v = path_insert(l, n);
	if (v >= NODE_NONE)
		return v;
	return v | (truncated ? TRUNCATED : 0) | (idle ? IDLE : 0);
}

/* The stack's node with its flags, NODE_FILTERED, or NODE_NONE when out of memory. */
static uint64_t sample_node(struct load *l, const struct jfr_sample *s)
{
	uint64_t v, *slot;
	bool fresh;

	slot = idmap_put(&l->stacks, (uint64_t)s->stack.i * 2 + s->failed, 0, &fresh);
	if (!slot)
		return NODE_NONE;
	if (fresh) {
		v = stack_load(l, s);
		*slot = v;
	}
	return *slot;
}

/*
 * A virtual thread is one thread on whatever carrier. Those without a name, which may be millions,
 * count as one.
 */
static void virtual_load(struct jfr_thread *t, struct buffer *name)
{
	t->os_id = 0;
	if (name->len)
		return;
	t->java_id = 0;
	buffer_printf(name, "[virtual thread]");
}

static uint64_t thread_load(struct load *l, const struct jfr_sample *s)
{
	struct jfr_thread t = {0};
	struct buffer *b = &l->text;
	uint32_t name, id;

	buffer_clear(b);
	if (s->unmounted) {
		buffer_printf(b, PROFILE_UNMOUNTED);
		t.is_virtual = true;
	} else if (jfr_thread_get(l->r, &s->thread, &t)) {
		jfr_thread_name(l->r, &t, b);
		if (t.is_virtual)
			virtual_load(&t, b);
		if (!b->len)
			buffer_printf(b, "[thread %lld]", (long long)t.os_id);
	} else {
		buffer_printf(b, "[unknown thread]");
	}
	controls_strip(b);
	buffer_byte(b, 0);
	if (b->failed)
		return NODE_NONE;
	if (l->p->opt.threads.n && !pattern_match(&l->p->opt.threads, (char *)b->data))
		return NODE_FILTERED;
	name = names_add(&l->p->names, b->data, strlen((char *)b->data), NULL);
	id = name == NAME_NONE ? NODE_NONE : profile_thread(l->p, name, t.os_id, t.java_id);
	if (id != NODE_NONE)
		l->p->threads[id].is_virtual = t.is_virtual;
	return id;
}

static uint64_t state_load(struct load *l, const struct jfr_sample *s)
{
	struct buffer *b = &l->text;

	buffer_clear(b);
	if (s->source == JFR_SOURCE_NATIVE)
		buffer_printf(b, "IN_NATIVE");
	else if (!jfr_value_string(l->r, &s->state, b) || !b->len)
		buffer_printf(b, s->source == JFR_SOURCE_WALL ? "UNKNOWN" : "RUNNING");
	/*
	 * the JDK and async-profiler have different states for CPU samples, which all mean running
	 */
	if (s->source != JFR_SOURCE_WALL && b->len > 6 && !b->failed &&
	    (!memcmp(b->data, "STATE_RUNNA", b->len < 11 ? b->len : 11) ||
	     !memcmp(b->data, "STATE_DEFAU", b->len < 11 ? b->len : 11))) {
		buffer_clear(b);
		buffer_printf(b, "RUNNING");
	}
	controls_strip(b);
	buffer_byte(b, 0);
	if (b->failed)
		return NODE_NONE;
	return profile_state(l->p, (char *)b->data);
}

static uint64_t remembered(struct load *l, struct idmap *map, uint64_t key,
			   const struct jfr_sample *s,
			   uint64_t (*load)(struct load *, const struct jfr_sample *))
{
	bool fresh;
	uint64_t v, *slot = idmap_put(map, key, 0, &fresh);

	if (!slot)
		return NODE_NONE;
	if (!fresh)
		return *slot;
	v = load(l, s);
	*slot = v;
	return v;
}

/* A file may hold any number: one that does not fit becomes the largest that does. */
static uint64_t whole(double v)
{
	return v < 0x1p63 ? (uint64_t)(v + .5) : 1ull << 63;
}

static int cell_add(struct load *l, uint32_t cell, const struct jfr_sample *s, int64_t at,
		    uint64_t ticks)
{
	struct profile *p = l->p;
	struct prof_cell *c = &p->cells[cell];
	uint64_t span = s->step_ns > 0 ? (uint64_t)s->step_ns * (ticks - 1) : 0;
	int64_t later; /* than the first recording's start */

	c->samples += ticks;
	p->samples[s->source] += ticks;
	if (s->period_ns) {
		c->ns += whole((double)ticks * s->scale * (double)s->period_ns);
		if (!p->period_ns[s->source] || s->period_ns < p->period_ns[s->source])
			p->period_ns[s->source] = s->period_ns;
	} else {
		bool first = !(c->pending > 0);

		if (first && !array_room((void **)&l->touched, l->ntouched, &l->touched_cap,
					 sizeof(*l->touched)))
			return -ENOMEM;
		if (first)
			l->touched[l->ntouched++] = cell;
		c->pending += (double)ticks * s->scale;
	}
	if (!p->opt.keep_times)
		return 0;
	if (__builtin_sub_overflow(l->start_ns, p->start_ns, &later) ||
	    __builtin_add_overflow(at, later, &at))
		at = INT64_MAX;
	return profile_time(p, &(struct prof_time){
				       .start_ns = at,
				       .span_ns = span,
				       .cell = cell,
				       .ticks = ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks,
				       .request = l->request,
			       });
}

/*
 * What the sample waited for, called by the Java method that waits for it: what lies between is the
 * same for all. Where there is none, by the leaf.
 */
static uint64_t caused_node(struct load *l, uint64_t node)
{
	struct profile *p = l->p;
	uint32_t java = profile_node_java(p, (uint32_t)node), name, frame;

	name = names_add(&p->names, l->cause, strlen(l->cause), NULL);
	frame = name == NAME_NONE ? NODE_NONE : profile_frame(p, name, PROF_CAUSE);
	if (frame == NODE_NONE)
		return NODE_NONE;
	frame = profile_node(p, java == NODE_ROOT ? (uint32_t)node : java, frame);
	return frame == NODE_NONE ? NODE_NONE : frame | (node & (TRUNCATED | EMPTY | IDLE));
}

/* ---- whom waits wait for ---- */

static uint64_t text_node(struct load *l, uint64_t node, const char *text)
{
	struct profile *p = l->p;
	uint32_t name = names_add(&p->names, text, strlen(text), NULL), frame;

	frame = name == NAME_NONE ? NODE_NONE : profile_frame(p, name, PROF_CAUSE);
	return frame == NODE_NONE ? NODE_NONE : profile_node(p, (uint32_t)node, frame);
}

/* The stack of that key: another sample's of the chunk. */
static bool stack_of(struct load *l, const struct jfr_sample *s, int64_t stack,
		     struct jfr_value *frames)
{
	struct jfr_value ref = s->stack;
	bool truncated;

	ref.i = stack;
	return jfr_stack_get(l->r, &ref, frames, &truncated);
}

/* Calls the owner's frames: from its first Java method on, and of one that waits up to the last. */
static uint64_t owner_frames(struct load *l, uint64_t node, const struct jfr_sample *s,
			     const struct did *d)
{
	struct jfr_value frames;
	size_t n = 0, inner = SIZE_MAX, outer = 0;
	struct jfr_frame f;

	if (!stack_of(l, s, d->stack, &frames))
		return node;
	while (jfr_stack_next(l->r, &frames, &f)) {
		uint64_t id = frame_load(l, &f);

		if (id == NODE_NONE ||
		    !array_room((void **)&l->path, n, &l->path_cap, sizeof(*l->path)))
			return NODE_NONE;
		if (id == NODE_FILTERED || l->p->frames[id].match & MATCH_HIDE)
			continue;
		l->path[n] = (uint32_t)id;
		if (profile_frame_is_java(l->p, (uint32_t)id)) {
			inner = inner == SIZE_MAX ? n : inner;
			outer = n;
		}
		n++;
	}
	if (inner != SIZE_MAX)
		n = outer + 1;
	if (d->ran || inner == SIZE_MAX)
		inner = 0;
	while (n-- > inner && node != NODE_NONE)
		node = profile_node(l->p, (uint32_t)node, l->path[n]);
	return node;
}

/* Below what the sample waited for: who had it, what that one did, what it waited for ... */
static uint64_t owners_node(struct load *l, uint64_t node, const struct jfr_sample *s)
{
	uint64_t flags = node & (TRUNCATED | EMPTY | IDLE);

	node &= ~flags;
	for (uint32_t i = 0; i < l->chain.n && node != NODE_NONE; i++) {
		const struct chain_link *c = &l->chain.v[i];

		buffer_clear(&l->text);
		buffer_printf(&l->text, "[%s]", c->owner);
		buffer_byte(&l->text, 0);
		if (l->text.failed)
			return NODE_NONE;
		if (i)
			node = text_node(l, node, c->cause);
		if (node != NODE_NONE)
			node = text_node(l, node, (const char *)l->text.data);
		if (node != NODE_NONE && c->known)
			node = owner_frames(l, node, s, &c->did);
	}
	if (node != NODE_NONE && l->chain.circle)
		node = text_node(l, node, "[deadlock]");
	return node == NODE_NONE ? NODE_NONE : node | flags;
}

/* The innermost of the program's methods, or of Java's; NAME_NONE: there is none. */
static uint32_t stack_place(struct load *l, const struct jfr_sample *s, int64_t stack)
{
	bool fresh;
	uint64_t *slot = idmap_put(&l->places, (uint64_t)stack, NAME_NONE, &fresh);
	struct jfr_value frames;
	struct jfr_frame f;
	uint32_t place = NAME_NONE;

	if (!slot || !fresh)
		return slot ? (uint32_t)*slot : NAME_NONE;
	if (stack_of(l, s, stack, &frames))
		while (jfr_stack_next(l->r, &frames, &f)) {
			uint64_t id = frame_load(l, &f);

			if (id >= NODE_FILTERED || !profile_frame_is_java(l->p, (uint32_t)id))
				continue;
			if (place == NAME_NONE || profile_frame_is_own(l->p, (uint32_t)id))
				place = l->p->frames[id].name;
			if (profile_frame_is_own(l->p, (uint32_t)id))
				break;
		}
	*slot = place;
	return place;
}

static uint32_t name_of(struct load *l, const char *text)
{
	return names_add(&l->p->names, text, strlen(text), NULL);
}

static int circle_note(struct load *l, const struct jfr_sample *s, int64_t at, uint64_t ticks)
{
	const struct chain *c = &l->chain;
	struct blame_link v[BLAME_DEPTH];

	for (uint32_t i = 0; i < c->n; i++) {
		const struct chain_link *who = &c->v[i ? i - 1 : c->n - 1];

		v[i] = (struct blame_link){
			.thread = name_of(l, who->owner),
			.cause = name_of(l, c->v[i].cause),
			.place = stack_place(l, s, i ? who->did.stack : s->stack.i),
		};
	}
	return blame_circle_add(&l->p->blame, v, c->n, ticks,
				at + s->step_ns * (int64_t)(ticks - 1));
}

static int blame_note(struct load *l, const struct jfr_sample *s, int64_t at, uint64_t ticks)
{
	const struct chain *c = &l->chain;
	const struct chain_link *first = &c->v[0];
	uint32_t place;
	int rc;

	if (!c->n)
		return 0;
	place = first->known ? stack_place(l, s, first->did.stack) : NAME_NONE;
	rc = blame_add(&l->p->blame, name_of(l, first->cause), name_of(l, first->owner), place,
		       (double)ticks * s->scale);
	return !rc && c->circle ? circle_note(l, s, at, ticks) : rc;
}

static bool chain_has(const struct chain *c, uint64_t who)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->v[i].who == who)
			return true;
	return false;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Whom the sample waited for at that tick, and so on; the same holds up to what is returned. */
static uint64_t chain_follow(struct load *l, uint64_t chunk, const struct jfr_sample *s,
			     uint64_t tick, struct waited w)
{
	uint64_t me = waits_thread(l->r, &s->thread), until = tick + s->ticks, end;
	struct chain *c = &l->chain;

	while (w.owner && c->n < BLAME_DEPTH && !chain_has(c, w.owner)) {
		struct chain_link *link = &c->v[c->n++];

		*link = (struct chain_link){
			.cause = w.cause, .owner = w.owner_name, .who = w.owner};
		c->circle = w.owner == me;
		if (c->circle)
			break;
		link->known = joins_at(l->joins, chunk, w.owner, tick, s->time_ns, &link->did);
		if (!link->known)
			return tick + 1;
		until = least(until, link->did.until);
		if (link->did.ran ||
		    !waits_at(l->waits, chunk,
			      (int64_t[]){link->did.thread, link->did.stack, link->did.state}, tick,
			      &w, &end))
			break;
		until = least(until, end);
	}
	return until;
}

/* Who woke the sample's thread is to blame for the whole of its wait, and where that one was then.
 */
static void chain_wake(struct load *l, const struct waited *w)
{
	if (!w->waker)
		return;
	l->chain.n = 1;
	l->chain.v[0] = (struct chain_link){
		.cause = w->cause,
		.owner = w->waker,
		.did = {.stack = w->waker_stack, .ran = true},
		.known = w->waker_stack,
	};
}

/* ---- samples ---- */

static int sample_add(struct load *l, const struct jfr_sample *s)
{
	struct profile *p = l->p;
	uint64_t node, below, thread, state, ticks;
	int64_t at;
	uint32_t cell;

	if (__builtin_sub_overflow(s->time_ns, l->start_ns, &at))
		at = s->time_ns < 0 ? INT64_MIN : INT64_MAX;
	ticks = stretch_ticks(l->of, &at, s->step_ns, s->ticks);
	if (!ticks)
		return 0;
	thread = remembered(l, &l->threads, (uint64_t)s->thread.i * 2 + s->unmounted, s,
			    thread_load);
	state = remembered(l, &l->states, (uint64_t)s->state.i * JFR_SOURCES + s->source, s,
			   state_load);
	if (thread == NODE_FILTERED)
		return 0;
	node = sample_node(l, s);
	if (node == NODE_FILTERED)
		return 0;
	if (l->cause && node != NODE_NONE)
		node = caused_node(l, node);
	below = node;
	if ((p->opt.owners || p->opt.owners_aside) && node != NODE_NONE)
		below = owners_node(l, node, s);
	if (p->opt.owners)
		node = below;
	if (thread == NODE_NONE || state == NODE_NONE || node == NODE_NONE || below == NODE_NONE)
		return -ENOMEM;
	if (node & IDLE && p->states[state].waits)
		state = profile_state(p, "IDLE");
	if (state == NODE_NONE)
		return -ENOMEM;
	if (!p->states[state].wanted)
		return 0;
	if (blame_note(l, s, at, ticks))
		return -ENOMEM;
	p->facts.truncated_samples[s->source] += node & TRUNCATED ? ticks : 0;
	p->facts.no_stack_samples[s->source] += node & EMPTY ? ticks : 0;
	cell = profile_cell(p, &(struct prof_cell){.node = (uint32_t)node,
						   .below = (uint32_t)below,
						   .thread = (uint32_t)thread,
						   .state = (uint16_t)state,
						   .source = (uint8_t)s->source,
						   .side = (uint8_t)l->side,
						   .period_ns = s->period_ns,
						   .link = l->link});
	return cell == NODE_NONE ? -ENOMEM : cell_add(l, cell, s, at, ticks);
}

/* The chunk's settings are complete: give its samples their time. */
static void chunk_settle(struct load *l)
{
	struct profile *p = l->p;

	for (size_t i = 0; i < l->ntouched; i++) {
		struct prof_cell *c = &p->cells[l->touched[i]];
		uint64_t ns = jfr_sampler_period(l->s, c->source);

		if (!ns) {
			ns = default_period_ns[c->source];
			p->period_assumed[c->source] = true;
		}
		c->ns += whole(c->pending * (double)ns);
		c->pending = 0;
		p->period_ns[c->source] = ns;
	}
	l->ntouched = 0;
}

static void chunk_begin(struct load *l, uint64_t chunk)
{
	const struct jfr_chunk *c = jfr_reader_chunk(l->r);
	int64_t end;

	chunk_settle(l);
	if (!l->chunk)
		l->start_ns = l->of->known ? l->of->start_ns : c->start_ns;
	l->chunk = chunk;
	profile_begin(l->p, c->start_ns < l->start_ns ? c->start_ns : l->start_ns);
	l->behind = l->of->to_ns && (__int128)c->start_ns - l->start_ns >= (__int128)l->of->to_ns;
	if (__builtin_add_overflow(c->start_ns, c->duration_ns, &end))
		end = c->start_ns;
	if (!l->behind && end > l->end_ns)
		l->end_ns = end;
	if (l->p->opt.keep_files)
		l->file_class = jfr_class_find(l->r, "gnomon.NativeFile");
	idmap_clear(&l->stacks);
	idmap_clear(&l->methods);
	idmap_clear(&l->types);
	idmap_clear(&l->threads);
	idmap_clear(&l->states);
	idmap_clear(&l->places);
}

/* Adds what of the sample was taken while the endpoint was served. */
static int sample_add_served(struct load *l, const struct jfr_event *ev, const struct jfr_sample *s)
{
	struct jfr_sample rest = *s, part;
	int rc;

	while ((rc = endpoints_next(l->endpoints, l->r, ev, &rest, &part)) > 0) {
		rc = sample_add(l, &part);
		if (rc)
			return rc;
	}
	return rc;
}

/* When the last tick of any thread was. */
static void wall_end_note(struct load *l, const struct jfr_sample *s)
{
	int64_t end;

	if (!__builtin_mul_overflow(s->step_ns, (int64_t)(s->ticks - 1), &end) &&
	    !__builtin_add_overflow(end, s->time_ns - l->start_ns, &end) &&
	    end > l->p->blame.last_ns)
		l->p->blame.last_ns = end;
}

/* Adds a part of one cause: in pieces in which all that it waited for did one thing. */
static int part_add(struct load *l, const struct jfr_event *ev, const struct jfr_sample *part,
		    uint64_t tick, const struct waited *w)
{
	struct jfr_sample rest = *part, piece;
	int rc = 0;

	l->cause = w->cause;
	while (!rc && rest.ticks) {
		piece = rest;
		chain_wake(l, w);
		if (w->owner && tick != TICK_NONE) {
			uint64_t until = chain_follow(l, ev->chunk, &rest, tick, *w);

			piece.ticks = least(rest.ticks, until - tick);
			tick += piece.ticks;
		}
		rc = l->endpoints ? sample_add_served(l, ev, &piece) : sample_add(l, &piece);
		rest.ticks -= piece.ticks;
		rest.time_ns += rest.step_ns * (int64_t)piece.ticks;
		l->chain = (struct chain){0};
	}
	l->cause = NULL;
	return rc;
}

/* Which of the profile's links a context is. */
static int link_note(struct load *l, uint32_t context)
{
	const struct contexts *x = l->contexts;
	uint64_t *known;
	bool fresh;

	l->link = 0;
	if (!l->p->opt.keep_links || context == CONTEXT_NONE)
		return 0;
	known = idmap_put(&l->links, context, 0, &fresh);
	if (!known)
		return -ENOMEM;
	if (fresh)
		*known = profile_link(l->p, names_get(&x->names, x->contexts[context].trace),
				      names_get(&x->names, x->contexts[context].span));
	l->link = (uint32_t)*known;
	return l->link == NODE_NONE ? -ENOMEM : 0;
}

/* As in struct prof_time. */
static uint32_t request_told(const struct load *l, uint32_t context)
{
	const struct told *t = l->p->opt.told;

	if (!t || context == CONTEXT_NONE)
		return 0;
	return told_number(t, l->contexts->contexts[context].request);
}

/* Adds the sample, or, with causes, its parts of one cause each. */
static int sample_add_caused(struct load *l, const struct jfr_event *ev, const struct jfr_sample *s)
{
	struct jfr_sample rest = *s, part;
	uint64_t tick = TICK_NONE, at;
	struct waited w;
	int rc = 0;

	if (s->unmounted) /* of no thread, for no request that is known */
		return l->chosen ? 0 : sample_add(l, s);
	if (l->contexts) {
		uint32_t context = contexts_of(l->contexts, ev->chunk, s);

		if (l->chosen && !contexts_pass(l->contexts, context, &l->requests))
			return 0;
		rc = link_note(l, context);
		if (rc)
			return rc;
		l->request = request_told(l, context);
	}
	if (!l->waits || s->source != JFR_SOURCE_WALL)
		return l->endpoints ? sample_add_served(l, ev, s) : sample_add(l, s);
	if (waits_tick(l->waits, ev->chunk, s->time_ns, &at))
		tick = at;
	wall_end_note(l, s);
	for (at = tick; !rc && waits_next(l->waits, ev->chunk, &rest, &tick, &part, &w); at = tick)
		rc = part_add(l, ev, &part, at, &w);
	return rc;
}

/* What is no sample. Of chunks behind the time wanted it says nothing about it. */
static int event_note(struct load *l, const struct jfr_event *ev)
{
	struct profile *p = l->p;

	if (l->behind)
		return 0;
	if (l->file_class && ev->cls == l->file_class)
		return native_files_event(&p->files, l->r, ev);
	if (p->opt.no_facts)
		return 0;
	facts_event(&p->facts, l->r, ev);
	vitals_event(&p->vitals[l->side], l->r, ev);
	return p->opt.keep_times ? lanes_event(&p->lanes, l->r, ev, l->start_ns) : 0;
}

static int events_load(struct load *l)
{
	struct jfr_sample s;
	struct jfr_event ev;
	int rc;

	while ((rc = jfr_sampler_next(l->s, &ev, &s)) > 0) {
		if (ev.chunk != l->chunk)
			chunk_begin(l, ev.chunk);
		l->p->facts.failed_stacks += s.ticks && s.failed && !l->behind;
		if (!s.ticks)
			rc = event_note(l, &ev);
		else
			rc = sample_add_caused(l, &ev, &s);
		if (rc)
			break;
	}
	if (!rc)
		chunk_settle(l);
	return rc;
}

/* What is shown of all recordings reaches from what is of the first to what is of the last one. */
static void span_add(struct load *l, uint64_t recorded_ns)
{
	uint64_t begins = (uint64_t)l->start_ns - (uint64_t)l->p->start_ns;
	uint64_t from = begins + l->of->from_ns, to = l->of->to_ns;
	struct profile *p = l->p;
	bool first = p->lanes.recordings == 1;

	if (first || from < p->from_ns)
		p->from_ns = from;
	if (first || !to || (p->to_ns && begins + to > p->to_ns))
		p->to_ns = to ? begins + to : 0;
	if (!to || to > recorded_ns)
		to = recorded_ns;
	p->side_ns[l->side] += recorded_ns;
	p->chosen_ns[l->side] += to > l->of->from_ns ? to - l->of->from_ns : 0;
}

static int count_take(struct load *l, const struct jfr_count *c)
{
	struct buffer *b = &l->text;

	buffer_clear(b);
	buffer_printf(b, "%s", c->name);
	controls_strip(b);
	buffer_byte(b, 0);
	return b->failed ? -ENOMEM : profile_count(l->p, (char *)b->data, c->events, c->bytes);
}

static int report_take(struct load *l, struct jfr_report *rep)
{
	const struct jfr_report *r = jfr_reader_report(l->r);
	int64_t end_ns = l->behind ? l->end_ns : r->end_ns;
	struct profile *p = l->p;
	int rc = 0;

	if (rep) {
		*rep = *r;
		rep->end_ns = end_ns;
		rep->counts = NULL;
		rep->ncounts = 0;
	}
	if (!l->chunk) /* there are no events */
		l->start_ns = r->start_ns;
	if (r->chunks) {
		profile_begin(p, r->start_ns);
		span_add(l, end_ns > r->start_ns ? (uint64_t)end_ns - (uint64_t)r->start_ns : 0);
	}
	if (r->chunks && end_ns > p->end_ns)
		p->end_ns = end_ns;
	for (size_t i = 0; i < r->ncounts && !rc; i++)
		rc = count_take(l, &r->counts[i]);
	return rc;
}

static void load_free(struct load *l)
{
	idmap_free(&l->stacks);
	idmap_free(&l->methods);
	idmap_free(&l->types);
	idmap_free(&l->threads);
	idmap_free(&l->states);
	idmap_free(&l->places);
	idmap_free(&l->links);
	buffer_free(&l->text);
	free(l->path);
	free(l->touched);
	endpoints_free(l->endpoints);
	contexts_free(l->contexts);
	waits_free(l->waits);
	joins_free(l->joins);
	jfr_sampler_free(l->s);
	jfr_reader_close(l->r);
}

/*
 * Which requests are wanted, by the recording's contexts. An endpoint may be one of other events,
 * where it has no contexts.
 */
static int requests_choose(struct load *l, const struct stretch *s, struct error *e)
{
	const struct profile_options *o = &l->p->opt;
	bool by_ids = o->traces.n || o->spans.n || o->slower_ns || o->endpoint_rules.n;
	int rc = 0;

	l->requests = (struct context_filter){.endpoints = o->endpoints,
					      .traces = o->traces,
					      .spans = o->spans,
					      .slower_ns = o->slower_ns};
	l->chosen = by_ids || o->endpoints.n;
	/* standard input can be read once only */
	if (l->chosen || o->told || (o->keep_links && strcmp(s->path, "-") != 0))
		rc = contexts_read(&l->contexts, s, &o->endpoint_rules, e);
	if (rc || !l->contexts || l->contexts->ncontexts)
		return rc;
	contexts_free(l->contexts);
	l->contexts = NULL;
	if (!l->chosen)
		return 0;
	if (!by_ids)
		return endpoints_read(&l->endpoints, s, &o->endpoints, e);
	return contexts_missing(s, &o->endpoint_rules, e);
}

int profile_load_stretch(struct profile *p, const struct stretch *s, int side,
			 struct jfr_report *rep, struct error *e)
{
	struct load l = {
		.p = p,
		.side = side,
		.of = s,
	};
	const char *path = s->path;
	int rc = 0;

	if (!p->lanes.recordings)
		lanes_init(&p->lanes, s->from_ns, s->to_ns);
	p->lanes.recordings++;
	rc = requests_choose(&l, s, e);
	if (!rc && p->opt.causes)
		rc = waits_read(&l.waits, s, e);
	if (!rc && l.waits)
		rc = joins_read(&l.joins, s, l.waits, e);
	if (!rc)
		rc = stretch_reader(s, &l.r, e);
	if (rc) {
		endpoints_free(l.endpoints);
		contexts_free(l.contexts);
		waits_free(l.waits);
		joins_free(l.joins);
		return rc;
	}
	l.s = jfr_sampler_new(l.r, true);
	if (l.s)
		jfr_sampler_unmounted(l.s, p->opt.unmounted);
	rc = l.s ? events_load(&l) : -ENOMEM;
	if (!rc)
		rc = report_take(&l, rep);
	if (!rc && !jfr_reader_report(l.r)->chunks) {
		rc = error_set(e, -EBADMSG, EXIT_INPUT, "'%s' has no readable chunk", path);
		error_hint(e, "it may have been cut while its first chunk was written");
	} else if (rc == -ENOMEM) {
		error_set(e, rc, EXIT_INTERNAL, "out of memory reading '%s'", path);
	} else if (rc) {
		error_set(e, rc, EXIT_INPUT, "cannot read '%s': %s", path, strerror(-rc));
	}
	load_free(&l);
	return rc;
}

int profile_load(struct profile *p, const char *path, int side, struct jfr_report *rep,
		 struct error *e)
{
	struct stretch s = stretch_unseen(path);

	s.from_ns = p->opt.from_ns;
	s.to_ns = p->opt.to_ns;
	return profile_load_stretch(p, &s, side, rep, e);
}

int profile_take(struct profile **p, const struct profile_options *o, const struct stretch *s,
		 struct jfr_report *rep, struct error *e)
{
	int rc;

	*p = NULL;
	rc = profile_new(p, o, e);
	if (!rc)
		rc = profile_load_stretch(*p, s, 0, rep, e);
	if (!rc)
		rc = profile_finish(*p, e);
	if (rc) {
		profile_free(*p);
		*p = NULL;
	}
	return rc;
}
