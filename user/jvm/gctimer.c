/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/gctimer.h"

#include <string.h>

#include "jvm/statics.h"

/* A timer, as words: its beginning and its end, each by two clocks. */
enum { START, START_FAST, END, END_FAST, TIMER_WORDS };

/* A tracer: name and cause, the same moments, and the sum of the pauses and the longest of them. */
enum { NAME_CAUSE, MOMENTS, SUM = MOMENTS + TIMER_WORDS, LONGEST = SUM + 2, TRACER_WORDS };

#define AHEAD	   4   /* words of an object before those: its table of functions */
#define HEAP_WORDS 512 /* of the heap's object that are looked at */
#define PART_WORDS 160 /* of an object that the heap's points to: a generation */
#define FOLLOWED   20000u

/* Code and constants of libjvm.so lie below its variables: what points there is no object. */
#define IMAGE_BELOW (32ull << 20)
#define IMAGE_ABOVE (2ull << 20)

struct search {
	const struct gctimer_place *p;
	bool tracer; /* that is what is searched for */
	const struct gctimer_span *noted;
	uint64_t slack, at, longest;
	unsigned int left; /* pointers that may be followed */
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

static bool tracer_fits(const uint64_t w[TRACER_WORDS], const struct gctimer_span *exact)
{
	uint64_t lasted = exact->end - exact->start;

	return (uint32_t)w[NAME_CAUSE] < GCTIMER_CAUSES && w[NAME_CAUSE] >> 32 < GCTIMER_CAUSES &&
	       w[MOMENTS + START] == exact->start && w[MOMENTS + END] == exact->end &&
	       w[SUM] == lasted && w[LONGEST] == lasted;
}

static void tracers_take(struct search *s, uint64_t addr, const uint64_t *words, size_t n)
{
	for (size_t i = 0; i + TRACER_WORDS <= n && !s->at; i++)
		if (tracer_fits(words + i, s->noted))
			s->at = addr + i * 8;
}

/* A collection's first and longest phase has the same moments in it; its parts are shorter. */
static void words_take(struct search *s, uint64_t addr, const uint64_t *words, size_t n)
{
	if (s->tracer) {
		tracers_take(s, addr, words, n);
		return;
	}
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

static void object_take(struct search *s, uint64_t addr)
{
	uint64_t words[AHEAD + TRACER_WORDS];

	if (object_read(s, addr, words, AHEAD + TRACER_WORDS))
		words_take(s, addr, words, AHEAD + TRACER_WORDS);
}

/* The timers of the heap's own, and of its generations. */
static void heap_take(struct search *s)
{
	uint64_t heap, words[HEAP_WORDS], part[PART_WORDS];

	if (!s->p->heap || mem_read_now(s->p->mem, s->p->heap, &heap, sizeof(heap)) ||
	    !object_read(s, heap, words, HEAP_WORDS))
		return;
	for (size_t i = 0; i < HEAP_WORDS; i++)
		object_take(s, words[i]);
	for (size_t i = 0; i < HEAP_WORDS && !s->at; i++)
		if (object_read(s, words[i], part, PART_WORDS))
			for (size_t j = 0; j < PART_WORDS; j++)
				object_take(s, part[j]);
}

static bool on_static(void *ctx, const struct statics_piece *p)
{
	struct search *s = ctx;
	size_t n = p->n + (s->tracer ? TRACER_WORDS : TIMER_WORDS) - 1;

	words_take(s, p->addr, p->words, n < p->all ? n : p->all);
	return true;
}

static bool on_pointer(void *ctx, const struct statics_piece *p)
{
	struct search *s = ctx;

	for (size_t i = 0; i < p->n && s->left; i++)
		object_take(s, p->words[i]);
	return s->left > 0;
}

static uint64_t search(struct search *s)
{
	s->left = FOLLOWED;
	if (!s->p->statics)
		return 0;
	heap_take(s);
	if (!s->at)
		statics_each(s->p->mem, s->p->statics, on_static, s);
	if (!s->at)
		statics_each(s->p->mem, s->p->statics, on_pointer, s);
	return s->at;
}

uint64_t gctimer_find(const struct gctimer_place *p, const struct gctimer_span *noted,
		      uint64_t slack)
{
	return search(&(struct search){.p = p, .noted = noted, .slack = slack});
}

uint64_t gctimer_tracer_find(const struct gctimer_place *p, const struct gctimer_span *exact)
{
	return search(&(struct search){.p = p, .noted = exact, .tracer = true});
}

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

int gctimer_cause(struct mem *mem, uint64_t tracer, const struct gctimer_span *exact)
{
	uint64_t w[TRACER_WORDS];

	if (mem_read_now(mem, tracer, w, sizeof(w)) || !tracer_fits(w, exact))
		return -1;
	return (int)(w[NAME_CAUSE] >> 32);
}
