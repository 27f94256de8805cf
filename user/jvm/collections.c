/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/collections.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "jvm/gccause.h"
#include "jvm/gctimer.h"
#include "jvm/statics.h"

#define SETTLE	  16	  /* reads, of which two in a row have to agree */
#define NESTED_NS 100000u /* from one collection to another that is part of the same */

#define CAUSE_TRIES  8
#define CAUSE_NAP_NS 50000

#define SLACK_NS       2000000ull /* between what counters and timer say, on a busy machine */
#define TIMER_TRIES    4	  /* it may end later than the counters say */
#define SEARCHES       6	  /* for a collector's timer */
#define MISSES	       3	  /* in a row, after which it is searched for again */
#define VOTES_MAX      1000
#define SEEN_MAX       64	   /* of which a mean is made, of older ones less */
#define DIFFERENCE     (1ll << 40) /* ticks: more is no difference between two of the same */
#define PAUSES	       10	   /* no ZGC collection has more */
#define FOUND_MAX      (COUNTERS_COLLECTORS + 2 * PAUSES)
#define DOUBTS	       3 /* more of them than agreements, and the numbers are others */
#define CLOCK_READS    5
#define CLOCK_READ_NS  1000    /* what both clocks take to be read */
#define CLOCK_LOOKS    64      /* up to here the JVM's own tick 0 is searched for, now and then */
#define CLOCK_ERROR_NS 5000000 /* where more than this is in doubt it would not be alone */

/* ---- the heap ----------------------------------------------------------------------------------
 */

void heap_use_read(const struct counters *k, struct heap_use *out)
{
	*out = (struct heap_use){
		.meta_used = counter_value(k, CTR_META_USED),
		.meta_committed = counter_value(k, CTR_META_CAPACITY),
		.meta_reserved = counter_value(k, CTR_META_MAX),
		.class_used = counter_value(k, CTR_CLASS_USED),
		.class_committed = counter_value(k, CTR_CLASS_CAPACITY),
		.class_reserved = counter_value(k, CTR_CLASS_MAX),
		.eden = counter_value(k, ctr_space(0, 0, SPACE_USED)),
		.eden_committed = counter_value(k, ctr_space(0, 0, SPACE_CAPACITY)),
	};
	for (unsigned int g = 0; g < COUNTERS_GENS; g++) {
		out->committed += counter_value(k, ctr_gen(g, GEN_CAPACITY));
		for (unsigned int s = 0; s < COUNTERS_SPACES; s++) {
			uint64_t used = counter_value(k, ctr_space(g, s, SPACE_USED));

			out->used += used;
			out->old += g ? used : 0;
		}
	}
}

/* ---- names -------------------------------------------------------------------------------------
 */

/* The JDK's word for a collector (gc/shared/gcName.hpp) by what the counters call it. */
static void name_of(const struct counters *k, unsigned int n, char name[COLLECTION_WORDS])
{
	static const struct {
		const char *counter, *name;
	} known[] = {
		{"Serial young collection pauses", "DefNew"},
		{"Serial full collection pauses", "SerialOld"},
		{"Parallel young collection pauses", "ParallelScavenge"},
		{"Parallel full collection pauses", "ParallelOld"},
		{"G1 young collection pauses", "G1New"},
		{"G1 full collection pauses", "G1Full"},
		{"G1 concurrent cycle pauses", "G1Old"},
		{"Z concurrent cycle pauses", "Z"},
		{"ZGC minor collection pauses", "ZGC Minor"},
		{"ZGC major collection pauses", "ZGC Major"},
		/* before JDK 17 */
		{"Copy", "DefNew"},
		{"MSC", "SerialOld"},
		{"PSScavenge", "ParallelScavenge"},
		{"PSParallelCompact", "ParallelOld"},
		{"G1 incremental collections", "G1New"},
		{"G1 stop-the-world full collections", "G1Full"},
		{"G1 stop-the-world phases", "G1Old"},
	};

	if (!counter_text(k, ctr_collector(n, COLLECTOR_NAME), name, COLLECTION_WORDS))
		snprintf(name, COLLECTION_WORDS, "collector %u", n);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(name, known[i].counter)) {
			snprintf(name, COLLECTION_WORDS, "%s", known[i].name);
			return;
		}
}

/* Collector 0 is the young one, 1 the full one, 2 a concurrent one (ZGC: 0 as well). */
static enum collection_kind kind_of(unsigned int n, const char *name)
{
	if (n >= 2 || name[0] == 'Z')
		return COLLECTION_CONCURRENT;
	return n ? COLLECTION_FULL : COLLECTION_YOUNG;
}

bool collections_sum(const struct collections *c, const struct counters *k, unsigned int n,
		     enum collection_kind *kind, uint64_t *count, uint64_t *ticks)
{
	char name[COLLECTION_WORDS];

	if (n >= COUNTERS_COLLECTORS || !c->last[n].known)
		return false;
	name_of(k, n, name);
	*kind = kind_of(n, name);
	*count = c->last[n].ended;
	*ticks = c->last[n].time;
	return true;
}

/* ---- looking -----------------------------------------------------------------------------------
 */

static void collector_read(const struct counters *k, unsigned int n, struct collector *out)
{
	*out = (struct collector){
		.begun = counter_value(k, ctr_collector(n, COLLECTOR_INVOCATIONS)),
		.time = counter_value(k, ctr_collector(n, COLLECTOR_TIME)),
		.entry = counter_value(k, ctr_collector(n, COLLECTOR_ENTRY)),
		.exit = counter_value(k, ctr_collector(n, COLLECTOR_EXIT)),
	};
	out->known = out->begun || counter_number(k, ctr_collector(n, COLLECTOR_EXIT), &out->exit);
	/* one that is under way has begun and not ended */
	out->ended = out->begun - (out->begun && out->entry > out->exit);
}

static bool under_way(const struct collector *c)
{
	return c->begun != c->ended;
}

static bool collector_same(const struct collector *a, const struct collector *b)
{
	return a->begun == b->begun && a->time == b->time && a->entry == b->entry &&
	       a->exit == b->exit;
}

static void all_read(const struct counters *k, struct collector now[COUNTERS_COLLECTORS])
{
	for (unsigned int n = 0; n < COUNTERS_COLLECTORS; n++)
		collector_read(k, n, &now[n]);
}

static bool all_same(const struct collector *a, const struct collector *b)
{
	bool same = true;

	for (unsigned int n = 0; n < COUNTERS_COLLECTORS; n++)
		same &= collector_same(&a[n], &b[n]);
	return same;
}

/*
 * What the wall clock is ahead of CLOCK_MONOTONIC by: of some reads the one that took the shortest,
 * since a thread may lose its CPU between the two.
 */
static int64_t wall_ahead(void)
{
	uint64_t least = UINT64_MAX;
	int64_t ahead = 0;

	for (int i = 0; i < CLOCK_READS && least > CLOCK_READ_NS; i++) {
		uint64_t a = now_ns(), wall = clock_ns(CLOCK_REALTIME), b = now_ns();

		if (b - a >= least)
			continue;
		least = b - a;
		ahead = (int64_t)(wall - a - least / 2);
	}
	return ahead;
}

static void clock_look(struct collections *c, const struct counters *k, uint64_t from,
		       uint64_t until)
{
	vmclock_look(&c->clock, counter_value(k, CTR_HZ), counter_value(k, CTR_TICKS),
		     counter_value(k, CTR_BEGIN_MS), wall_ahead(), from, until);
}

struct zero_search {
	int64_t least, most, found;
	bool several;
};

static bool on_statics(void *ctx, const struct statics_piece *p)
{
	struct zero_search *s = ctx;

	for (size_t i = 0; i < p->n; i++) {
		int64_t v = (int64_t)p->words[i];

		if (v < s->least || v > s->most || v <= 0 || v == s->found)
			continue;
		s->several |= s->found != 0;
		s->found = v;
	}
	return !s->several;
}

/*
 * The JVM's tick 0 is a static variable (initial_time_count), whose value is known within a
 * millisecond: the only one there that fits is it.
 */
static void zero_find(struct collections *c, const struct counters *k)
{
	struct gctimer_place place = counters_place(k);
	struct zero_search s = {.found = 0};
	unsigned int looks = ++c->clock_looks;

	if (!place.statics || c->clock.zero || looks > CLOCK_LOOKS || looks < 2 ||
	    (looks & (looks - 1)) || vmclock_error(&c->clock) > CLOCK_ERROR_NS ||
	    !vmclock_bounds(&c->clock, &s.least, &s.most))
		return;
	statics_each(place.mem, place.statics, on_statics, &s);
	if (s.found && !s.several)
		vmclock_zero(&c->clock, s.found);
}

struct looked { /* CLOCK_MONOTONIC */
	uint64_t from_ns, until_ns;
};

/*
 * The JVM writes a collector's counters one after the other: where they have changed they are read
 * until two reads agree. What they say was so at some moment of *when. -EAGAIN: no two agree.
 */
static int settled_read(struct collections *c, struct counters *k,
			struct collector now[COUNTERS_COLLECTORS], struct looked *when)
{
	struct collector before[COUNTERS_COLLECTORS];
	int rc;

	when->from_ns = now_ns();
	rc = counters_poll(k);
	when->until_ns = now_ns();
	if (rc)
		return rc;
	clock_look(c, k, when->from_ns, when->until_ns);
	zero_find(c, k);
	all_read(k, now);
	memcpy(before, c->last, sizeof(before));
	for (int i = 1; !all_same(before, now); i++) {
		if (i == SETTLE)
			return -EAGAIN;
		memcpy(before, now, sizeof(before));
		when->from_ns = now_ns();
		rc = counters_poll(k);
		when->until_ns = now_ns();
		if (rc)
			return rc;
		all_read(k, now);
	}
	return 0;
}

struct found_one {
	struct collection is;
	uint64_t exit;
	unsigned int collector;
	int number;	/* of its cause, -1 not known */
	uint64_t whole; /* of a concurrent one: the tick at which all of it began, 0 not known */
};

struct found {
	struct found_one v[FOUND_MAX];
	unsigned int n;
};

static uint64_t since(uint64_t now, uint64_t was)
{
	return now > was ? now - was : 0;
}

/*
 * A collection that is counted, and has not noted its beginning yet, looks as if it had ended:
 * where none noted its end, none has. (The JVM's thread may lose its CPU between the two.)
 */
static void not_begun_yet(const struct collector *was, struct collector *now)
{
	if (was->known && now->exit == was->exit)
		now->ended = was->ended;
}

/* ---- times -------------------------------------------------------------------------------------
 */

/* A concurrent collection's timer is of all of it, and not of a pause; G1 has another each time. */
static bool has_timer(const struct collection *one)
{
	return strcmp(one->name, "G1Full");
}

static enum gctimer_says timer_read(struct collections_timer *t, const struct counters *k,
				    const struct collection *one, const struct gctimer_span *noted,
				    struct gctimer_span *out)
{
	struct gctimer_place place = counters_place(k);
	enum gctimer_says says = GCTIMER_NOTHING;

	if (one->kind == COLLECTION_CONCURRENT)
		return GCTIMER_NOTHING; /* its timer is of all its pauses */
	if (!t->at && t->searches < SEARCHES && has_timer(one)) {
		t->searches++;
		t->at = gctimer_find(&place, noted,
				     counter_value(k, CTR_HZ) / (1000000000ull / SLACK_NS));
	}
	for (int i = 0; t->at && i < TIMER_TRIES; i++) {
		says = gctimer_read(place.mem, t->at, noted, out);
		if (says != GCTIMER_RUNNING)
			break;
		nanosleep(&(struct timespec){.tv_nsec = CAUSE_NAP_NS}, NULL);
	}
	if (says == GCTIMER_THIS)
		t->misses = 0;
	else if (t->at && ++t->misses == MISSES)
		t->at = t->misses = 0;
	return says;
}

/* The cause's number in the JVM of a collection that was read, -1 not known. */
static int number_of(struct collections_timer *t, const struct counters *k,
		     const struct gctimer_whole *exact)
{
	struct gctimer_place place = counters_place(k);

	if (!t->tracer && t->tracer_searches < SEARCHES) {
		t->tracer_searches++;
		t->tracer = gctimer_tracer_find(&place, exact);
	}
	return t->tracer ? gctimer_cause(place.mem, t->tracer, exact->span.start) : -1;
}

/* False: they are too far from each other to be of the same collection. */
static bool difference_take(struct collections_timer *t, const struct gctimer_span *noted,
			    const struct gctimer_span *s)
{
	int64_t before = (int64_t)(s->start - noted->start), after = (int64_t)(s->end - noted->end);

	if (before > DIFFERENCE || before < -DIFFERENCE || after > DIFFERENCE ||
	    after < -DIFFERENCE || noted->end - noted->start > DIFFERENCE)
		return false;
	if (t->seen == SEEN_MAX) { /* what was long ago counts for less */
		t->seen /= 2;
		t->before /= 2;
		t->after /= 2;
	}
	t->before += before;
	t->after += after;
	t->seen++;
	return true;
}

/*
 * The serial collector counts a young collection that it gives up before it has begun, since the
 * old generation has no room for what may live: the JVM's own recording has none. Its timer, which
 * ends before the counters note an end, was not begun or (JDK 17) begun and not ended.
 */
static bool given_up(const struct collections_timer *t, const struct collection *one,
		     enum gctimer_says says)
{
	return t->seen && (says == GCTIMER_BEFORE || says == GCTIMER_RUNNING) &&
	       !strcmp(one->name, "DefNew");
}

/*
 * When it was by the JVM's own recording, and its cause's number, as well as that is known. False:
 * it was none.
 */
static bool times_of(struct collections_timer *t, const struct counters *k,
		     const struct collection *one, const struct gctimer_span *noted,
		     struct gctimer_span *s, int *number)
{
	enum gctimer_says says = timer_read(t, k, one, noted, s);

	*number = -1;
	if (says == GCTIMER_THIS && difference_take(t, noted, s)) {
		*number = number_of(
			t, k, &(struct gctimer_whole){*s, s->end - s->start, s->end - s->start});
		return true;
	}
	*s = *noted;
	if (given_up(t, one, says)) {
		t->misses = 0;
		return false;
	}
	if (t->seen) {
		s->start += (uint64_t)(t->before / t->seen);
		s->end += (uint64_t)(t->after / t->seen);
	}
	if (s->end < s->start)
		*s = *noted;
	return true;
}

/*
 * What `n` of them took by the JVM's own recording, of which the counters say `ticks` in all: as
 * much less or more as those that were seen lately.
 */
static uint64_t ticks_of(const struct collections_timer *t, uint64_t n, uint64_t ticks)
{
	__int128 sum = ticks;

	if (t->seen)
		sum += (__int128)n * (t->after - t->before) / t->seen;
	return sum < 0 ? 0 : sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}

/* One more of collector n, which the counters noted as `noted`. */
static struct found_one *found_add(struct found *f, const struct counters *k, unsigned int n,
				   const struct gctimer_span *noted)
{
	struct found_one *one = &f->v[f->n++];

	*one = (struct found_one){.exit = noted->end, .collector = n, .number = -1};
	name_of(k, n, one->is.name);
	snprintf(one->is.pause, sizeof(one->is.pause), "GC Pause");
	one->is.kind = kind_of(n, one->is.name);
	one->is.ticks = noted->start;
	return one;
}

static void times_set(const struct collections *c, const struct gctimer_span *s, uint64_t time,
		      struct collection *one)
{
	one->start_ns = vmclock_time(&c->clock, s->start);
	one->duration_ns = vmclock_span(&c->clock, s->end - s->start);
	if (!one->start_ns) /* the clock is not known yet */
		one->start_ns = time > one->duration_ns ? time - one->duration_ns : 0;
}

/* The last one, as noted, by its timer or by the counters alone. */
static void one_take(struct collections *c, const struct counters *k, unsigned int n,
		     const struct gctimer_span *noted, struct found *f, uint64_t time)
{
	const struct collector *was = &c->last[n];
	struct found_one *one = found_add(f, k, n, noted);
	struct gctimer_span s;

	if (under_way(was) && was->entry == noted->start)
		memcpy(one->is.cause, was->cause, sizeof(one->is.cause));
	if (times_of(&c->timers[n], k, &one->is, noted, &s, &one->number))
		times_set(c, &s, time, &one->is);
	else
		f->n--;
}

/* ---- concurrent collections ---- */

/*
 * By one timer: the pauses since the last look, of which the counters noted the last one's end.
 * 0: it does not have that one; -1: it is no timer.
 */
static int pauses_of(struct collections *c, const struct counters *k, unsigned int n, uint64_t at,
		     const struct collector *now, struct gctimer_pause p[PAUSES],
		     struct gctimer_whole *whole)
{
	struct gctimer_place place = counters_place(k);
	int got = gctimer_pauses(place.mem, at, c->last[n].exit, now->exit, p, PAUSES, whole);

	return got > 0 && p[got - 1].span.end < now->exit ? 0 : got;
}

/* The timer that has the pause that was noted is this collector's, since no two pauses overlap. */
static void concurrent_find(struct collections *c, const struct counters *k, unsigned int n,
			    const struct collector *now, struct gctimer_pause p[PAUSES],
			    struct gctimer_whole *whole)
{
	struct collections_timer *t = &c->timers[n];
	const struct gctimer_span noted = {now->entry, now->exit};
	struct gctimer_place place = counters_place(k);

	for (int again = 0; again < 2 && !t->at; again++) {
		if (again && (t->searches == SEARCHES || under_way(now)))
			return;
		if (again) {
			t->searches++;
			c->nconcurrent = gctimer_concurrent_find(&place, &noted, c->concurrent,
								 COLLECTIONS_CONCURRENT);
		}
		for (unsigned int i = 0; i < c->nconcurrent && !t->at; i++)
			if (pauses_of(c, k, n, c->concurrent[i], now, p, whole) > 0)
				t->at = c->concurrent[i];
	}
}

/* All pauses since the last look; 0: they are not known. */
static unsigned int pauses_read(struct collections *c, const struct counters *k, unsigned int n,
				const struct collector *now, struct gctimer_pause p[PAUSES],
				struct gctimer_whole *whole)
{
	struct collections_timer *t = &c->timers[n];
	int got = 0;

	if (!t->at)
		concurrent_find(c, k, n, now, p, whole);
	/* it may end later than the counters say */
	for (int i = 0; t->at && i < TIMER_TRIES; i++) {
		got = pauses_of(c, k, n, t->at, now, p, whole);
		if (got)
			break;
		nanosleep(&(struct timespec){.tv_nsec = CAUSE_NAP_NS}, NULL);
	}
	t->misses = got > 0 ? 0 : got < 0 ? t->misses + 1 : t->misses;
	if (t->misses == MISSES)
		t->at = t->misses = 0;
	return got > 0 ? (unsigned int)got : 0;
}

/* How many it tells of, and in *others how long they took, but for one that is noted. */
static unsigned int pauses_take(struct collections *c, const struct counters *k, unsigned int n,
				const struct collector *now, struct found *f, uint64_t time,
				uint64_t *others)
{
	const struct gctimer_span noted = {now->entry, now->exit};
	uint64_t ended = now->ended - c->last[n].ended;
	unsigned int room = FOUND_MAX - f->n - COUNTERS_COLLECTORS;
	struct gctimer_pause p[PAUSES];
	struct gctimer_whole whole;
	unsigned int got = pauses_read(c, k, n, now, p, &whole);
	int number;

	if (got > ended || got > room ||
	    (got && !under_way(now) && !difference_take(&c->timers[n], &noted, &p[got - 1].span)))
		got = 0;
	if (!got && !under_way(now)) {
		one_take(c, k, n, &noted, f, time);
		return 1;
	}
	number = got ? number_of(&c->timers[n], k, &whole) : -1;
	for (unsigned int i = 0; i < got; i++) {
		struct found_one *one = found_add(f, k, n, &p[i].span);

		one->number = number;
		one->whole = whole.span.start;
		snprintf(one->is.pause, sizeof(one->is.pause), "%s", p[i].name);
		times_set(c, &p[i].span, time, &one->is);
		if (i + 1 < got || under_way(now))
			*others += p[i].span.end - p[i].span.start;
	}
	return got;
}

/* Of one collector: what shows, and what does not. */
static void collector_take(struct collections *c, const struct counters *k, unsigned int n,
			   struct collector *now, struct found *f,
			   const struct collections_fns *fns, uint64_t time)
{
	const struct collector *was = &c->last[n];
	uint64_t ended = now->ended - was->ended, sum = since(now->time, was->told);
	uint64_t shown = 0, others = 0, told = 0;
	struct collections_gap gap = {.from_ns = c->looked_ns, .until_ns = time};

	now->told = was->known ? was->told : now->time;
	if (!was->known || !ended || now->ended < was->ended)
		return;
	name_of(k, n, gap.name);
	if (!under_way(now)) /* else the last one's beginning is written over */
		shown = now->exit - now->entry;
	if (kind_of(n, gap.name) == COLLECTION_CONCURRENT) {
		told = pauses_take(c, k, n, now, f, time, &others);
	} else if (!under_way(now)) {
		told = 1;
		one_take(c, k, n, &(struct gctimer_span){now->entry, now->exit}, f, time);
	}
	/* the last one's time may not be added up yet */
	now->told = sum >= shown ? now->time : was->told + shown;
	gap.count = ended - told;
	if (!gap.count)
		return;
	sum = ticks_of(&c->timers[n], ended - !under_way(now), since(sum, shown));
	gap.sum_ns = vmclock_span(&c->clock, since(sum, others));
	fns->gap(fns->ctx, &gap);
}

/* ---- causes ------------------------------------------------------------------------------------
 */

/* The text, or "" where it stands for none. */
static void cause_text(const struct counters *k, unsigned int id, char text[COLLECTION_WORDS])
{
	if (!counter_text(k, id, text, COLLECTION_WORDS) || !strcmp(text, "No GC"))
		text[0] = '\0';
}

/*
 * Of the last one that has ended, while none is under way. The JVM moves the present cause to the
 * last one's place when it is done with all of it, and when it begins another one, it moves "No GC"
 * there (CollectedHeap::set_gc_cause()): while there is a present cause it may be either's. That is
 * soon over, so it is waited for.
 */
static void cause_settled(const struct collector *now, struct counters *k,
			  char cause[COLLECTION_WORDS])
{
	struct collector then[COUNTERS_COLLECTORS];
	char present[COLLECTION_WORDS];

	for (int i = 0; i < CAUSE_TRIES; i++) {
		cause_text(k, CTR_CAUSE, present);
		cause_text(k, CTR_LAST_CAUSE, cause);
		if (!present[0] && cause[0])
			return;
		nanosleep(&(struct timespec){.tv_nsec = CAUSE_NAP_NS}, NULL);
		if (counters_poll(k))
			break;
		all_read(k, then);
		if (!all_same(then, now)) {
			cause[0] = '\0'; /* it was another one's */
			return;
		}
	}
	memcpy(cause, present, COLLECTION_WORDS);
}

/*
 * Did another one begin at `entry` as this one, young, ended? The parallel collector's full
 * collections have a young one in front that is part of the same (ScavengeBeforeFullGC); those of
 * others are one by one.
 */
static bool follows(const struct collections *c, const struct collection *young, uint64_t exit,
		    uint64_t entry)
{
	return !strcmp(young->name, "ParallelScavenge") && entry >= exit &&
	       vmclock_span(&c->clock, entry - exit) < NESTED_NS;
}

/* Of the last one found. */
static void last_cause(const struct collections *c, struct counters *k, const struct collector *now,
		       uint64_t exit, struct collection *one)
{
	for (unsigned int n = 0; n < COUNTERS_COLLECTORS; n++) {
		if (!under_way(&now[n]))
			continue;
		if (follows(c, one, exit, now[n].entry))
			cause_text(k, CTR_CAUSE, one->cause);
		return; /* else the cause is that one's */
	}
	cause_settled(now, k, one->cause);
}

/* ---- by their numbers ---- */

/* The number that stands for a text, -1. */
static int number_find(const struct collections *c, const char *text)
{
	for (int i = 0; i < GCTIMER_CAUSES; i++)
		if (c->causes[i].votes && !strcmp(c->causes[i].text, text))
			return i;
	return -1;
}

static void number_learn(struct collections *c, int number, const char *text)
{
	struct collections_cause *is = &c->causes[number];

	if (is->votes && !strcmp(is->text, text)) {
		is->votes += is->votes < VOTES_MAX;
	} else if (is->votes) {
		is->votes--;
	} else if (number_find(c, text) < 0) {
		snprintf(is->text, sizeof(is->text), "%s", text);
		is->votes = 1;
	}
}

/*
 * Are the counters in no doubt of it? A full collection that follows a young one of the parallel
 * collector's has a cause of its own, "Ergonomics", which is gone when both have ended.
 */
static bool is_certain(const struct collection *one, bool seen_running)
{
	return one->cause[0] && (seen_running || one->kind == COLLECTION_YOUNG ||
				 strcmp(one->cause, "Allocation Failure"));
}

/* By the release's numbers, as long as what the counters say does not speak against them. */
static const char *number_text(struct collections *c, const struct counters *k, int number,
			       bool certain, const struct collection *one)
{
	const char *text = gccause_text(counters_place(k).release, number);

	if (text && certain && strcmp(text, one->cause))
		c->doubts++;
	else if (text && certain && c->doubts && c->doubts <= DOUBTS)
		c->doubts--;
	return c->doubts > DOUBTS ? NULL : text;
}

/* What the JVM has a number of is that number's, and no other's. */
static void number_apply(struct collections *c, const struct counters *k, int number, bool certain,
			 struct collection *one)
{
	const char *text;

	if (number < 0)
		return;
	text = number_text(c, k, number, certain, one);
	if (certain)
		number_learn(c, number, one->cause);
	if (text)
		snprintf(one->cause, sizeof(one->cause), "%s", text);
	else if (c->causes[number].votes)
		memcpy(one->cause, c->causes[number].text, sizeof(one->cause));
	else if (number_find(c, one->cause) >= 0)
		one->cause[0] = '\0';
}

/*
 * Do the counters tell the cause of this collector's? That of a concurrent collection of G1's is
 * the young one's that began it, and of generational ZGC two may be under way.
 */
static bool is_told(const struct collection *one)
{
	return one->kind != COLLECTION_CONCURRENT || !strcmp(one->name, "Z");
}

/* The JVM tells one cause; what it was of those before is known by their numbers alone. */
static void causes_set(struct collections *c, struct counters *k, const struct collector *now,
		       struct found *f)
{
	for (unsigned int i = f->n; i-- > 0;) {
		struct found_one *found = &f->v[i], *next = i + 1 < f->n ? found + 1 : NULL;
		struct collection *one = &found->is;
		bool running = one->cause[0], last = !running && !next && is_told(one);

		if (last)
			last_cause(c, k, now, found->exit, one);
		else if (!running && next && follows(c, one, found->exit, next->is.ticks))
			memcpy(one->cause, next->is.cause, sizeof(one->cause));
		number_apply(c, k, found->number, (running || last) && is_certain(one, running),
			     one);
	}
}

/*
 * A concurrent collection of G1's begins within a young one, whose cause is its own: told where its
 * number is not known (yet). The others are unknown.
 */
static void causes_inherit(struct collections *c, struct found *f)
{
	for (unsigned int i = 0; i < f->n; i++) {
		const struct found_one *found = &f->v[i];
		struct collection *one = &f->v[i].is;

		if (!strcmp(one->name, "G1New")) {
			c->young = (struct gctimer_span){one->ticks, found->exit};
			memcpy(c->young_cause, one->cause, sizeof(one->cause));
		} else if (!one->cause[0] && !strcmp(one->name, "G1Old") &&
			   found->whole > c->young.start && found->whole < c->young.end) {
			memcpy(one->cause, c->young_cause, sizeof(one->cause));
		}
		if (!one->cause[0])
			snprintf(one->cause, sizeof(one->cause), CAUSE_UNKNOWN);
	}
}

/* So that they are known when these end. */
static void running_causes(struct collections *c, const struct counters *k)
{
	for (unsigned int n = 0; n < COUNTERS_COLLECTORS; n++)
		if (under_way(&c->last[n]))
			cause_text(k, CTR_CAUSE, c->last[n].cause);
}

/* ---- telling -----------------------------------------------------------------------------------
 */

static void found_sort(struct found *f)
{
	for (unsigned int i = 1; i < f->n; i++)
		for (unsigned int j = i; j && f->v[j].exit < f->v[j - 1].exit; j--) {
			struct found_one v = f->v[j];

			f->v[j] = f->v[j - 1];
			f->v[j - 1] = v;
		}
}

static void before_set(struct collection *one, const struct heap_use *was)
{
	one->before = *was;
	if (one->kind != COLLECTION_YOUNG || strcmp(one->cause, "Allocation Failure") ||
	    was->eden > was->eden_committed)
		return;
	one->before.used += was->eden_committed - was->eden;
	one->before.eden = was->eden_committed;
}

/* G1 counts eden as it is given out, also since the collection's end, when nothing was in it. */
static void after_set(struct collection *one, const struct heap_use *is)
{
	one->after = *is;
	if (one->kind == COLLECTION_CONCURRENT || strncmp(one->name, "G1", 2))
		return;
	one->after.used -= is->eden < is->used ? is->eden : is->used;
	one->after.eden = 0;
}

static void found_tell(struct collections *c, const struct heap_use *heap, uint64_t total,
		       struct found *f, const struct collections_fns *fns)
{
	for (unsigned int i = 0; i < f->n; i++) {
		struct collection *one = &f->v[i].is;

		one->id = (uint32_t)(total - (f->n - 1 - i));
		before_set(one, &c->heap);
		after_set(one, heap);
		/* the pauses of one collection have one heap before and after them */
		one->heap_known = one->kind != COLLECTION_CONCURRENT || i + 1 == f->n ||
				  f->v[i + 1].collector != f->v[i].collector;
		fns->one(fns->ctx, one);
	}
}

/* ---- of the whole heap -------------------------------------------------------------------------
 */

static bool is_whole(const struct counters *k, unsigned int n)
{
	char name[COLLECTION_WORDS];

	name_of(k, n, name);
	return !strcmp(name, "Z") || !strcmp(name, "ZGC Major");
}

/* Since when one is under way of which this look saw the first pause. */
static void whole_begin(struct collections *c, const struct counters *k,
			const struct collector *now, const struct found *f, uint64_t time)
{
	for (unsigned int n = 0; n < COUNTERS_COLLECTORS; n++) {
		if (!c->last[n].known || now[n].begun <= c->last[n].begun || c->whole_ns ||
		    !is_whole(k, n))
			continue;
		c->whole_ns = time;
		c->whole_ticks = 0;
		c->whole_n = n;
		c->whole_pauses = c->last[n].begun;
		for (unsigned int i = f->n; i-- > 0;) {
			if (f->v[i].collector != n)
				continue;
			c->whole_ns = f->v[i].is.start_ns;
			c->whole_ticks = f->v[i].is.ticks;
		}
	}
}

/* ZGC has a cause all the time of a collection, and none between two, which may be missed. */
static bool whole_ended(const struct collections *c, const struct counters *k)
{
	char cause[COLLECTION_WORDS];

	cause_text(k, CTR_CAUSE, cause);
	return !cause[0] || c->last[c->whole_n].begun > c->whole_pauses + PAUSES;
}

/* By its timer: whether it has ended, and then when it was; GCTIMER_NOTHING: that is not known. */
static enum gctimer_says whole_read(const struct collections *c, const struct counters *k,
				    struct collections_whole *w)
{
	const struct gctimer_span in = {c->whole_ticks, c->whole_ticks + 1};
	uint64_t at = c->timers[c->whole_n].at;
	enum gctimer_says says = GCTIMER_NOTHING;
	struct gctimer_span s;

	if (at && c->whole_ticks)
		says = gctimer_read(counters_place(k).mem, at, &in, &s);
	if (says != GCTIMER_THIS)
		return says;
	w->start_ns = vmclock_time(&c->clock, s.start);
	w->duration_ns = vmclock_span(&c->clock, s.end - s.start);
	return w->start_ns ? says : GCTIMER_NOTHING;
}

static void whole_end(struct collections *c, const struct counters *k, uint64_t total,
		      uint64_t time, const struct collections_fns *fns)
{
	struct collections_whole w = {.id = (uint32_t)total, .start_ns = c->whole_ns};
	enum gctimer_says says;

	if (!c->whole_ns)
		return;
	w.duration_ns = since(time, c->whole_ns);
	says = whole_read(c, k, &w);
	if (says == GCTIMER_RUNNING || (says != GCTIMER_THIS && !whole_ended(c, k)))
		return;
	c->whole_ns = 0;
	if (fns->whole)
		fns->whole(fns->ctx, &w);
}

int collections_look(struct collections *c, struct counters *k, const struct collections_fns *fns)
{
	struct collector now[COUNTERS_COLLECTORS];
	struct found f = {.n = 0};
	struct looked when;
	uint64_t total = 0;
	struct heap_use heap;
	int rc = settled_read(c, k, now, &when);

	if (rc)
		return rc;
	heap_use_read(k, &heap);
	for (unsigned int n = 0; n < COUNTERS_COLLECTORS; n++) {
		not_begun_yet(&c->last[n], &now[n]);
		total += now[n].ended;
		collector_take(c, k, n, &now[n], &f, fns, when.until_ns);
	}
	found_sort(&f);
	whole_begin(c, k, now, &f, when.until_ns);
	memcpy(c->last, now, sizeof(now));
	running_causes(c, k);
	causes_set(c, k, now, &f);
	causes_inherit(c, &f);
	found_tell(c, &heap, total, &f, fns);
	whole_end(c, k, total, when.until_ns, fns);
	c->heap = heap;
	c->looked_ns = when.from_ns;
	return 0;
}

/* Nothing is under way, or to be found out yet. */
static bool is_quiet(const struct collections *c)
{
	for (unsigned int n = 0; n < COUNTERS_COLLECTORS; n++)
		if (under_way(&c->last[n]))
			return false;
	return c->looked_ns && c->clock.zero && !c->whole_ns;
}

int collections_glance(struct collections *c, struct counters *k, const struct collections_fns *fns)
{
	struct collector now[COUNTERS_COLLECTORS];
	uint64_t from;
	int rc;

	if (!is_quiet(c))
		return collections_look(c, k, fns);
	from = now_ns();
	rc = counters_glance(k);
	if (rc)
		return rc;
	all_read(k, now);
	if (!all_same(c->last, now))
		return collections_look(c, k, fns);
	heap_use_read(k, &c->heap);
	c->looked_ns = from;
	return 0;
}
