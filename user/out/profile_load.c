/* SPDX-License-Identifier: Apache-2.0 */
/* From the events of a recording to the cells of a profile. Keys are translated once per chunk. */
#include "out/endpoint.h"
#include "out/idle.h"
#include "out/profile_int.h"
#include "out/stable.h"
#include "out/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define NODE_FILTERED (UINT64_MAX - 1)

struct load {
	struct profile *p;
	struct jfr_reader *r;
	struct jfr_sampler *s;
	struct endpoints *endpoints; /* NULL: any */
	struct waits *waits;	     /* NULL: what waits waited for is not asked */
	const char *cause;	     /* of the sample at hand, or NULL */
	int side;
	uint64_t chunk;
	int64_t start_ns;	 /* of this recording */
	int64_t end_ns;		 /* of its chunks that are not `behind` */
	uint64_t from_ns, to_ns; /* what is wanted of it, since its start; to 0: to its end */
	bool behind;		 /* this chunk begins after that */
	struct idmap stacks, methods, types, threads, states; /* of this chunk */
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
	if (jfr_thread_get(l->r, &s->thread, &t)) {
		jfr_value_string(l->r, &t.java_name, b);
		if (t.is_virtual)
			virtual_load(&t, b);
		else if (!b->len)
			jfr_value_string(l->r, &t.os_name, b);
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

/* How many ticks of a batch lie in the range asked for; moves its start to the first of these. */
static uint64_t ticks_within(const struct load *l, int64_t *at, int64_t step, uint64_t n)
{
	__int128 from = l->from_ns, to = l->to_ns ? (__int128)l->to_ns : INT64_MAX, first = 0, last;

	if (step <= 0)
		return *at >= from && *at < to ? n : 0;
	if (*at < from)
		first = (from - *at + step - 1) / step;
	last = (to - *at + step - 1) / step; /* one past */
	if (last > (__int128)n)
		last = n;
	if (first >= last)
		return 0;
	*at += (int64_t)(first * step);
	return (uint64_t)(last - first);
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

	c->samples += ticks;
	p->samples[s->source] += ticks;
	if (s->period_ns) {
		c->ns += whole((double)ticks * s->scale * (double)s->period_ns);
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
	return profile_time(p, &(struct prof_time){
				       .start_ns = at,
				       .span_ns = span,
				       .cell = cell,
				       .ticks = ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks,
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

static int sample_add(struct load *l, const struct jfr_sample *s)
{
	struct profile *p = l->p;
	uint64_t node, thread, state, ticks;
	int64_t at;
	uint32_t cell;

	if (__builtin_sub_overflow(s->time_ns, l->start_ns, &at))
		at = s->time_ns < 0 ? INT64_MIN : INT64_MAX;
	ticks = ticks_within(l, &at, s->step_ns, s->ticks);
	if (!ticks)
		return 0;
	thread = remembered(l, &l->threads, (uint64_t)s->thread.i, s, thread_load);
	state = remembered(l, &l->states, (uint64_t)s->state.i * JFR_SOURCES + s->source, s,
			   state_load);
	if (thread == NODE_FILTERED)
		return 0;
	node = sample_node(l, s);
	if (node == NODE_FILTERED)
		return 0;
	if (l->cause && node != NODE_NONE)
		node = caused_node(l, node);
	if (thread == NODE_NONE || state == NODE_NONE || node == NODE_NONE)
		return -ENOMEM;
	if (node & IDLE && p->states[state].waits)
		state = profile_state(p, "IDLE");
	if (state == NODE_NONE)
		return -ENOMEM;
	if (!p->states[state].wanted)
		return 0;
	p->facts.truncated_samples[s->source] += node & TRUNCATED ? ticks : 0;
	p->facts.no_stack_samples[s->source] += node & EMPTY ? ticks : 0;
	cell = profile_cell(p, (uint32_t)node, (uint32_t)thread, (uint32_t)state, s->source,
			    l->side);
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
		l->start_ns = c->start_ns;
	l->chunk = chunk;
	l->behind = l->to_ns && (__int128)c->start_ns - l->start_ns >= (__int128)l->to_ns;
	if (__builtin_add_overflow(c->start_ns, c->duration_ns, &end))
		end = c->start_ns;
	if (!l->behind && end > l->end_ns)
		l->end_ns = end;
	idmap_clear(&l->stacks);
	idmap_clear(&l->methods);
	idmap_clear(&l->types);
	idmap_clear(&l->threads);
	idmap_clear(&l->states);
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

/* Adds the sample, or, with causes, its parts of one cause each. */
static int sample_add_caused(struct load *l, const struct jfr_event *ev, const struct jfr_sample *s)
{
	struct jfr_sample rest = *s, part;
	int rc = 0;

	if (!l->waits || s->source != JFR_SOURCE_WALL)
		return l->endpoints ? sample_add_served(l, ev, s) : sample_add(l, s);
	while (!rc && waits_next(l->waits, ev->chunk, &rest, &part, &l->cause))
		rc = l->endpoints ? sample_add_served(l, ev, &part) : sample_add(l, &part);
	l->cause = NULL;
	return rc;
}

/* What is no sample. Of chunks behind the time wanted it says nothing about it. */
static int event_note(struct load *l, const struct jfr_event *ev)
{
	struct profile *p = l->p;

	if (l->behind)
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
	if (r->chunks && (!p->start_ns || r->start_ns < p->start_ns))
		p->start_ns = r->start_ns;
	if (r->chunks && end_ns > p->end_ns)
		p->end_ns = end_ns;
	if (r->chunks && end_ns > r->start_ns)
		p->side_ns[l->side] += (uint64_t)end_ns - (uint64_t)r->start_ns;
	for (size_t i = 0; i < r->ncounts && !rc; i++)
		rc = profile_count(p, r->counts[i].name, r->counts[i].events, r->counts[i].bytes);
	return rc;
}

static void load_free(struct load *l)
{
	idmap_free(&l->stacks);
	idmap_free(&l->methods);
	idmap_free(&l->types);
	idmap_free(&l->threads);
	idmap_free(&l->states);
	buffer_free(&l->text);
	free(l->path);
	free(l->touched);
	endpoints_free(l->endpoints);
	waits_free(l->waits);
	jfr_sampler_free(l->s);
	jfr_reader_close(l->r);
}

/* What is shown of one recording is told by its own time. */
static void span_tell(struct profile *p, const struct stretch *s)
{
	if (p->lanes.recordings)
		return;
	p->opt.from_ns = s->from_ns;
	p->opt.to_ns = s->to_ns;
	lanes_init(&p->lanes, s->from_ns, s->to_ns);
}

int profile_load_stretch(struct profile *p, const struct stretch *s, int side,
			 struct jfr_report *rep, struct error *e)
{
	struct load l = {.p = p, .side = side, .from_ns = s->from_ns, .to_ns = s->to_ns};
	const char *path = s->path;
	int rc = 0;

	span_tell(p, s);
	p->lanes.recordings++;
	if (p->opt.endpoints.n)
		rc = endpoints_read(&l.endpoints, s, &p->opt.endpoints, e);
	if (!rc && p->opt.causes)
		rc = waits_read(&l.waits, s, e);
	if (!rc)
		rc = stretch_reader(s, &l.r, e);
	if (rc) {
		endpoints_free(l.endpoints);
		waits_free(l.waits);
		return rc;
	}
	l.s = jfr_sampler_new(l.r, true);
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
