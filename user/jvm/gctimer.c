/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/gctimer.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "jvm/statics.h"

/*
 * A timer, as words: its beginning and its end, each by two clocks; then where its phases are, and
 * as 32 bits the numbers of up to six of them that are under way, and how many these are.
 */
enum {
	START,
	START_FAST,
	END,
	END_FAST,
	TIMER_WORDS,
	PHASES = TIMER_WORDS,
	STACK,
	LEVEL_NOW = STACK + 3,
	PHASED_WORDS
};

/* Those (GrowableArray): how many and room for how many, 32 bits each, and where the array is. */
enum { NUMBER, ARRAY, ARRAY_WORDS };

/* A phase; level and type are 32 bits, and 0 of a pause that is not part of another. */
enum { NAME, LEVEL, FROM, FROM_FAST, UNTIL, UNTIL_FAST, TYPE, PHASE_WORDS };

/* A tracer: name and cause, the same moments, and the sum of the pauses and the longest of them. */
enum { NAME_CAUSE, MOMENTS, SUM = MOMENTS + TIMER_WORDS, LONGEST = SUM + 2, TRACER_WORDS };

#define AHEAD	       4   /* words of an object before those: its table of functions */
#define HEAP_WORDS     512 /* of the heap's object that are looked at */
#define PART_WORDS     160 /* of an object that the heap's points to: a generation */
#define FOLLOWED       20000u
#define DEEP_WORDS     512 /* of an object that may have a concurrent collection's timer or tracer */
#define PHASES_MAX     1024
#define PHASES_AT_ONCE 16u
#define LASTS_MAX      3600000000000ull /* ticks: no collection takes longer */
#define EARLY	       1000000u		/* ticks */
#define LISTS	       20000u

/* Code and constants of libjvm.so lie below its variables: what points there is no object. */
#define IMAGE_BELOW (32ull << 20)
#define IMAGE_ABOVE (2ull << 20)

enum sought { TIMER, CONCURRENT_TIMER, TRACER };

struct search {
	const struct gctimer_place *p;
	enum sought sought;
	const struct gctimer_span *noted;
	const struct gctimer_whole *exact; /* of a tracer */
	uint64_t slack, at, longest;
	uint64_t *all; /* of concurrent collections, of which there are several */
	unsigned int n, cap;
	unsigned int lists; /* of phases that may be read */
	bool deep;	    /* it may be part of a thread or another large object */
	unsigned int left;  /* pointers that may be followed */
};

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The faster clock (rdtsc) is 0 where the machine's is not fit for it. */
static bool fast_fits(const uint64_t w[TIMER_WORDS])
{
	return w[START_FAST] ? w[END_FAST] > w[START_FAST] : !w[END_FAST];
}

static bool words_fit(const uint64_t w[TIMER_WORDS], const struct gctimer_span *noted,
		      uint64_t slack)
{
	return w[START] && w[END] > w[START] && fast_fits(w) &&
	       apart(w[START], noted->start) <= slack && apart(w[END], noted->end) <= slack;
}

/* What went on when the timer was read may have ended by the time that its tracer is found. */
static bool has_ended(const uint64_t w[TRACER_WORDS], const struct gctimer_whole *exact)
{
	uint64_t lasted = w[MOMENTS + END] - w[MOMENTS + START];

	return w[MOMENTS + END] > w[MOMENTS + START] && lasted < LASTS_MAX &&
	       w[SUM] >= exact->sum && w[LONGEST] >= exact->longest && w[LONGEST] &&
	       w[SUM] >= w[LONGEST] && w[SUM] <= lasted;
}

/* While the collection goes on both have the end of the one before, and the sums are that one's. */
static bool tracer_fits(const uint64_t w[TRACER_WORDS], const struct gctimer_whole *exact)
{
	bool running = exact->span.end < exact->span.start;

	if ((uint32_t)w[NAME_CAUSE] >= GCTIMER_CAUSES || w[NAME_CAUSE] >> 32 >= GCTIMER_CAUSES ||
	    w[MOMENTS + START] != exact->span.start)
		return false;
	if (w[MOMENTS + END] != exact->span.end)
		return running && has_ended(w, exact);
	return running || (w[SUM] == exact->sum && w[LONGEST] == exact->longest);
}

static void tracers_take(struct search *s, uint64_t addr, const uint64_t *words, size_t n)
{
	for (size_t i = 0; i + TRACER_WORDS <= n && !s->at; i++)
		if (tracer_fits(words + i, s->exact))
			s->at = addr + i * 8;
}

/* A collection's first and longest phase has the same moments in it; its parts are shorter. */
static void timers_take(struct search *s, uint64_t addr, const uint64_t *words, size_t n)
{
	for (size_t i = 0; i + TIMER_WORDS <= n; i++) {
		const uint64_t *w = words + i;

		if (!words_fit(w, s->noted, s->slack) || w[END] - w[START] <= s->longest)
			continue;
		s->at = addr + i * 8;
		s->longest = w[END] - w[START];
	}
}

static bool is_object(const struct search *s, uint64_t addr)
{
	uint64_t statics = s->p->statics;

	return addr >= 65536 && !(addr & 7) && addr < 1ull << 47 &&
	       !(addr + IMAGE_BELOW >= statics && addr < statics + IMAGE_ABOVE);
}

static bool object_read(struct search *s, uint64_t addr, uint64_t *words, size_t n)
{
	if (!s->left || !is_object(s, addr))
		return false;
	s->left--;
	return !mem_read_now(s->p->mem, addr, words, n * 8);
}

/* ---- phases ---- */

static bool is_pause(const uint64_t w[PHASE_WORDS])
{
	return !(uint32_t)w[LEVEL] && !(uint32_t)w[TYPE] && w[FROM] && w[UNTIL] > w[FROM];
}

/* Until `fn` says false. False: there are none that can be read. */
static bool phases_each(struct mem *mem, uint64_t phases,
			bool (*fn)(void *ctx, const uint64_t w[PHASE_WORDS]), void *ctx)
{
	uint64_t head[ARRAY_WORDS], words[PHASES_AT_ONCE * PHASE_WORDS];
	uint32_t n, room;

	if (mem_read_now(mem, phases, head, sizeof(head)))
		return false;
	n = (uint32_t)head[NUMBER];
	room = (uint32_t)(head[NUMBER] >> 32);
	if (n > room || n > PHASES_MAX || head[ARRAY] & 7 || head[ARRAY] >= 1ull << 47)
		return false;
	for (uint32_t i = 0; i < n; i += PHASES_AT_ONCE) {
		uint32_t some = n - i < PHASES_AT_ONCE ? n - i : PHASES_AT_ONCE;

		if (mem_read_now(mem, head[ARRAY] + (uint64_t)i * PHASE_WORDS * 8, words,
				 some * PHASE_WORDS * 8))
			return false;
		for (uint32_t j = 0; j < some; j++)
			if (!fn(ctx, words + j * PHASE_WORDS))
				return true;
	}
	return true;
}

struct plausible {
	uint64_t start;
	bool is, pause;
};

/* Its phases began after itself; what is no list of phases has other numbers. */
static bool on_plausible(void *ctx, const uint64_t w[PHASE_WORDS])
{
	struct plausible *p = ctx;

	p->pause |= is_pause(w);
	p->is = w[FROM] >= p->start && w[FROM] - p->start < LASTS_MAX;
	return p->is;
}

static bool stack_fits(const uint64_t w[PHASED_WORDS])
{
	for (int i = STACK; i < LEVEL_NOW; i++)
		if ((uint32_t)w[i] > PHASES_MAX || w[i] >> 32 > PHASES_MAX)
			return false;
	return (uint32_t)w[LEVEL_NOW] <= 2 * (LEVEL_NOW - STACK);
}

/* Small numbers, of which memory is full, are no moments: a JVM does not collect so early. */
static bool may_be_concurrent(const struct search *s, const uint64_t w[PHASED_WORDS])
{
	return w[START] > EARLY && apart(w[START], s->noted->start) < LASTS_MAX &&
	       (w[END] < w[START] ? !w[END] || w[END] > EARLY : w[END] - w[START] < LASTS_MAX) &&
	       (w[START_FAST] ? w[START_FAST] > EARLY : !w[END_FAST]) && is_object(s, w[PHASES]) &&
	       stack_fits(w);
}

static bool is_known(const struct search *s, uint64_t at)
{
	for (unsigned int i = 0; i < s->n; i++)
		if (s->all[i] == at)
			return true;
	return false;
}

static void concurrent_take(struct search *s, uint64_t addr, const uint64_t *words, size_t n)
{
	for (size_t i = 0; i + PHASED_WORDS <= n && s->n < s->cap && s->left; i++) {
		struct plausible p = {.start = words[i]};

		if (!may_be_concurrent(s, words + i) || is_known(s, addr + i * 8))
			continue;
		if (s->lists)
			s->lists--;
		if (s->lists && phases_each(s->p->mem, words[i + PHASES], on_plausible, &p) &&
		    p.is && p.pause)
			s->all[s->n++] = addr + i * 8;
	}
}

/* ---- where it may be ---- */

static void words_take(struct search *s, uint64_t addr, const uint64_t *words, size_t n)
{
	switch (s->sought) {
	case TIMER:
		timers_take(s, addr, words, n);
		break;
	case CONCURRENT_TIMER:
		concurrent_take(s, addr, words, n);
		break;
	case TRACER:
		tracers_take(s, addr, words, n);
		break;
	}
}

static void object_take(struct search *s, uint64_t addr, bool deep)
{
	uint64_t words[DEEP_WORDS];
	size_t n = deep ? DEEP_WORDS : AHEAD + TRACER_WORDS;

	/* it may lie near the end of what is mapped */
	for (int i = 0; i < 2 && s->left; i++) {
		if (object_read(s, addr, words, n)) {
			words_take(s, addr, words, n);
			return;
		}
		n = AHEAD + TRACER_WORDS;
	}
}

struct heap {
	uint64_t words[HEAP_WORDS];
	size_t n; /* 0: it cannot be read */
};

static void heap_read(struct search *s, struct heap *h)
{
	uint64_t heap;

	h->n = s->p->heap && !mem_read_now(s->p->mem, s->p->heap, &heap, sizeof(heap)) &&
			       object_read(s, heap, h->words, HEAP_WORDS)
		       ? HEAP_WORDS
		       : 0;
}

/* The timers of the heap's own. */
static void heap_take(struct search *s, const struct heap *h)
{
	for (size_t i = 0; i < h->n; i++)
		object_take(s, h->words[i], s->deep);
}

/* Those of its parts, as its generations are. */
static void parts_take(struct search *s, const struct heap *h)
{
	uint64_t part[DEEP_WORDS];
	size_t n = s->deep ? DEEP_WORDS : PART_WORDS;

	for (size_t i = 0; i < h->n && !s->at; i++)
		if (object_read(s, h->words[i], part, n))
			for (size_t j = 0; j < n; j++)
				object_take(s, part[j], false);
}

static bool on_static(void *ctx, const struct statics_piece *p)
{
	struct search *s = ctx;
	size_t n = p->n + (s->sought == TRACER ? TRACER_WORDS : PHASED_WORDS) - 1;

	words_take(s, p->addr, p->words, n < p->all ? n : p->all);
	return true;
}

static bool on_pointer(void *ctx, const struct statics_piece *p)
{
	struct search *s = ctx;

	for (size_t i = 0; i < p->n && s->left; i++)
		object_take(s, p->words[i], s->deep);
	return s->left > 0;
}

static void statics_take(struct search *s)
{
	if (!s->at)
		statics_each(s->p->mem, s->p->statics, on_static, s);
	if (!s->at)
		statics_each(s->p->mem, s->p->statics, on_pointer, s);
}

/*
 * Where it is most likely comes first. What is deep in an object is looked for behind all static
 * pointers (of ZGC's threads) before a heap's parts have used up what may be followed.
 */
static uint64_t search(struct search *s)
{
	struct heap h;

	if (!s->p->statics)
		return 0;
	s->left = FOLLOWED;
	heap_read(s, &h);
	heap_take(s, &h);
	if (s->deep) {
		statics_take(s);
		s->left = FOLLOWED;
	}
	if (!s->at)
		parts_take(s, &h);
	if (!s->deep)
		statics_take(s);
	return s->at;
}

uint64_t gctimer_find(const struct gctimer_place *p, const struct gctimer_span *noted,
		      uint64_t slack)
{
	return search(&(struct search){.p = p, .sought = TIMER, .noted = noted, .slack = slack});
}

unsigned int gctimer_concurrent_find(const struct gctimer_place *p,
				     const struct gctimer_span *noted, uint64_t *all,
				     unsigned int cap)
{
	struct search s = {.p = p,
			   .sought = CONCURRENT_TIMER,
			   .noted = noted,
			   .all = all,
			   .cap = cap,
			   .lists = LISTS,
			   .deep = true};

	search(&s);
	return s.n;
}

uint64_t gctimer_tracer_find(const struct gctimer_place *p, const struct gctimer_whole *exact)
{
	return search(&(struct search){.p = p,
				       .sought = TRACER,
				       .exact = exact,
				       .deep = exact->sum != exact->span.end - exact->span.start});
}

/* ---- what they say ----------------------------------------------------------------------------
 */

enum gctimer_says gctimer_read(struct mem *mem, uint64_t at, const struct gctimer_span *noted,
			       struct gctimer_span *out)
{
	uint64_t w[TIMER_WORDS];

	if (mem_read_now(mem, at, w, sizeof(w)) || !w[START] || w[START] >= noted->end)
		return GCTIMER_NOTHING;
	*out = (struct gctimer_span){w[START], w[END]};
	if (w[END] < w[START])
		return GCTIMER_RUNNING;
	return w[END] <= noted->start ? GCTIMER_BEFORE : GCTIMER_THIS;
}

struct pauses {
	struct mem *mem;
	uint64_t after, before;
	struct gctimer_pause *out;
	unsigned int n, cap;
	struct gctimer_whole *whole;
};

/* "Pause" where its name cannot be read. */
static void name_read(struct mem *mem, uint64_t addr, char name[GCTIMER_NAME])
{
	int n = mem_str(mem, addr, name, GCTIMER_NAME);

	if (n > 0)
		utf8_clean(name, (size_t)n, false);
	else
		snprintf(name, GCTIMER_NAME, "Pause");
}

static bool on_phase(void *ctx, const uint64_t w[PHASE_WORDS])
{
	struct pauses *p = ctx;
	struct gctimer_pause *out = &p->out[p->n];
	uint64_t lasted = w[UNTIL] - w[FROM];

	if (!is_pause(w) || w[FROM] < p->whole->span.start || lasted > LASTS_MAX)
		return true;
	p->whole->sum += lasted;
	p->whole->longest = lasted > p->whole->longest ? lasted : p->whole->longest;
	if (w[FROM] <= p->after || w[FROM] >= p->before || p->n == p->cap)
		return true;
	/* they come one after the other */
	if (p->n && w[FROM] < p->out[p->n - 1].span.end)
		return true;
	out->span = (struct gctimer_span){w[FROM], w[UNTIL]};
	name_read(p->mem, w[NAME], out->name);
	p->n++;
	return true;
}

int gctimer_pauses(struct mem *mem, uint64_t at, uint64_t after, uint64_t before,
		   struct gctimer_pause *out, unsigned int cap, struct gctimer_whole *whole)
{
	struct pauses p = {mem, after, before, out, 0, cap, whole};
	uint64_t w[PHASED_WORDS];

	*whole = (struct gctimer_whole){.sum = 0};
	if (mem_read_now(mem, at, w, sizeof(w)) || !w[START])
		return -1;
	whole->span = (struct gctimer_span){w[START], w[END]};
	return phases_each(mem, w[PHASES], on_phase, &p) ? (int)p.n : -1;
}

int gctimer_cause(struct mem *mem, uint64_t tracer, uint64_t start)
{
	uint64_t w[TRACER_WORDS];

	if (mem_read_now(mem, tracer, w, sizeof(w)) || w[MOMENTS + START] != start ||
	    (uint32_t)w[NAME_CAUSE] >= GCTIMER_CAUSES || w[NAME_CAUSE] >> 32 >= GCTIMER_CAUSES)
		return -1;
	return (int)(w[NAME_CAUSE] >> 32);
}
