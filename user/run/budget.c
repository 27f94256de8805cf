/* SPDX-License-Identifier: Apache-2.0 */
#include "run/budget.h"

#include <stdio.h>
#include <stdlib.h>

#include <uthash.h>

#define PATIENCE_NS 10000000000ull /* under the budget for so long: a step back */
#define SURE	    2		   /* seconds over the budget */
#define FAR	    1.5		   /* so many times the budget: all that is needed at once */
#define NEW_NS	    5000000000ull  /* taking a JVM in costs more than recording it, and passes */
#define UNDER	    4		   /* so many times what is estimated a JVM may cost */
#define WORTH	    0.01	   /* of the budget: who costs less is left alone */
#define GREAT	    0.1		   /* of what all cost: who costs less is left alone in vain */
#define SOON_NS	    15000000000ull /* after a step back it was too much, and that is dearer now */
#define DEARER	    3		   /* by so much */
#define MEAN	    8		   /* seconds that `mean` is of, about */
#define SLOW	    60		   /* seconds that `slow` is of, about */
#define SETTLED	    0.7		   /* of it is left by a step: what comes then has to show again */
#define FALLS	    0.9		   /* times what the second before cost: it is on its way down */
#define FALLS_NS    5000000000ull  /* for so long after a step that is waited for */
#define FALLS_FAR   1500000000ull  /* the same where it is far over the budget still */
#define SURGES	    1.5		   /* times what those recorded did before: that does not pass */
#define FADES	    0.9		   /* what is left of `kept` where nobody fits into the budget */

struct spender {
	pid_t pid;
	enum rate_step step, told;
	double before, now; /* spent */
	double share;	    /* of all CPUs, in the last second, as estimated */
	double kept;	    /* the same with everything, for what a step back will cost */
	bool known;	    /* `before` is */
	uint64_t first_ns;  /* when it was told first */
	double dear;	    /* times what is thought: a step back that did not fit costs more */
	uint64_t back_ns;   /* when it got a step back; 0: not yet */
	bool seen, changed;
	char reason[128];
	UT_hash_handle hh;
};

struct jvm_budget {
	struct budget_limits limits;
	struct spender *v;
	int over;	   /* for so many seconds it was over the budget */
	uint64_t now_ns;   /* of the last second */
	uint64_t under_ns; /* since when it is under the budget; 0: it is not */
	uint64_t less_ns;  /* when any of them was sampled less last; 0: never */
	double before;	   /* what the second before cost */
	bool surges;	   /* those recorded did far more in the last second than before */
	double spent_mean; /* what they spent, as estimated, in the mean of seconds before */
	double mean;	   /* of the last seconds, of which none counts for more than FAR budgets */
	double slow;	   /* the same of more of them */
};

/* What a step leaves of a JVM's cost: a guess, by which it is chosen how far to go at once. */
static const double leaves[RATE_STEPS] = {1, 0.8, 0.65, 0.5, 0.45, 0.4, 0.2, 0.12, 0.06, 0.01};

struct jvm_budget *budget_new(const struct budget_limits *l)
{
	struct jvm_budget *b = calloc(1, sizeof(*b));

	if (b)
		b->limits = *l;
	return b;
}

static void spender_drop(struct jvm_budget *b, struct spender *s)
{
	HASH_DEL(b->v, s);
	free(s);
}

void budget_free(struct jvm_budget *b)
{
	struct spender *s, *next;

	if (!b)
		return;
	HASH_ITER(hh, b->v, s, next)
		spender_drop(b, s);
	free(b);
}

void budget_jvm(struct jvm_budget *b, pid_t pid, double spent)
{
	struct spender *s;

	HASH_FIND_INT(b->v, &pid, s);
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return;
		s->pid = pid;
		s->dear = 1;
		HASH_ADD_INT(b->v, pid, s);
	}
	s->now = spent;
	s->seen = true;
}

/*
 * Of the cost each JVM has its part, by what it spent in the last second; but no more than it can
 * have cost. The rest is the daemon's own, and does not become less by sampling less.
 */
static void shares_set(struct jvm_budget *b, uint64_t now_ns, double cost)
{
	double sum = 0, ns = b->now_ns < now_ns && b->now_ns ? (double)(now_ns - b->now_ns) : 1e9,
	       most;
	struct spender *s, *next;

	HASH_ITER(hh, b->v, s, next) {
		if (!s->seen) {
			spender_drop(b, s);
			continue;
		}
		s->share = s->known && s->now > s->before ? s->now - s->before : 0;
		sum += s->share;
		s->before = s->now;
		s->first_ns = s->known ? s->first_ns : now_ns;
		s->known = true;
		s->seen = false;
	}
	b->surges = sum > SURGES * b->spent_mean;
	b->spent_mean += (sum - b->spent_mean) / MEAN;
	for (s = b->v; s && sum > 0; s = s->hh.next) {
		most = UNDER * s->share / ns;
		s->share *= cost / sum;
		s->share = s->share < most ? s->share : most;
	}
	b->now_ns = now_ns;
}

static bool is_new(const struct jvm_budget *b, const struct spender *s)
{
	return b->now_ns - s->first_ns < NEW_NS;
}

/* What it cost with everything is known where nothing is taken from it; else it is reckoned. */
static void full_keep(const struct jvm_budget *b, struct spender *s)
{
	double full = s->share / leaves[s->step];

	if (b->mean < b->before) /* that passes */
		full *= b->mean / b->before;
	if (!s->step || full > s->kept)
		s->kept = full;
	if (s->back_ns && b->now_ns - s->back_ns < SOON_NS)
		s->dear *= DEARER;
	s->back_ns = 0;
}

static void step_to(const struct jvm_budget *b, struct spender *s, enum rate_step step)
{
	double was = leaves[s->step];

	if (step > s->step && !s->changed)
		full_keep(b, s);
	else if (step < s->step)
		s->back_ns = b->now_ns;
	s->step = step;
	s->share *= leaves[step] / was;
	s->changed = true;
}

static bool was_less_lately(const struct jvm_budget *b, uint64_t lately_ns)
{
	return b->less_ns && b->now_ns - b->less_ns < lately_ns;
}

static bool is_far(const struct jvm_budget *b, double cost)
{
	return b->limits.share && cost > FAR * b->limits.share;
}

/* What had been taken by then is still to be named, and that passes. */
static bool is_falling(const struct jvm_budget *b, double cost)
{
	return was_less_lately(b, is_far(b, cost) ? FALLS_FAR : FALLS_NS) &&
	       cost < FALLS * b->before;
}

void budget_limits(struct jvm_budget *b, const struct budget_limits *l)
{
	b->limits = *l;
	for (struct spender *s = b->v; s; s = s->hh.next) {
		if (l->share || l->jvm_share || !s->step)
			continue;
		step_to(b, s, RATE_FULL);
		snprintf(s->reason, sizeof(s->reason), "there is no budget any more");
	}
}

/* What it costs, or would with nothing taken from it. */
static double full_share(const struct spender *s)
{
	return s->step ? s->kept : s->share;
}

/*
 * What makes a JVM worth sampling less, a share of all CPUs. Where all of them together cannot
 * bring the cost down to the budget, since the daemon's own part is too large, those that cost
 * little would lose their samples for nothing.
 */
static double worth_of(const struct jvm_budget *b, double cost)
{
	double limit = b->limits.share, now = 0, full = 0;

	for (const struct spender *s = b->v; s; s = s->hh.next) {
		now += s->step == RATE_OFF ? 0 : s->share;
		full += full_share(s);
	}
	return cost - now > limit ? GREAT * full : WORTH * limit;
}

/*
 * Wall samples are given up by who costs too much without most of them, and not at once: in the
 * mean of a minute, or far too much in a third second, or soon after another step. Else it may have
 * been new stacks, or new files.
 */
static bool may_go_on(const struct jvm_budget *b, const struct spender *s, double cost)
{
	bool lasts = b->over > SURE || was_less_lately(b, FALLS_NS);

	if (s->step < RATE_WALL_64)
		return true;
	return s->step < RATE_OFF && !s->changed &&
	       (b->slow > b->limits.share || (lasts && is_far(b, cost)));
}

/* The costliest one that can be sampled less. */
static struct spender *costliest(struct jvm_budget *b, double cost)
{
	double worth = worth_of(b, cost);
	struct spender *s, *most = NULL;

	for (s = b->v; s; s = s->hh.next)
		if (may_go_on(b, s, cost) && !is_new(b, s) && full_share(s) > worth &&
		    s->share > WORTH * b->limits.share && (!most || s->share > most->share))
			most = s;
	return most;
}

/* A step, or, far over the budget, as many as are thought to be needed. */
static void all_less(struct jvm_budget *b, double cost)
{
	double limit = b->limits.share, left = cost;
	struct spender *s;

	do {
		double was;

		s = costliest(b, left);
		if (!s)
			return;
		was = s->share;
		step_to(b, s, s->step + 1);
		left -= was - s->share;
		snprintf(s->reason, sizeof(s->reason),
			 "recording cost %.2f%% of the CPUs, budget %.2f%%, and this JVM the most "
			 "of it",
			 100 * cost, 100 * limit);
	} while (is_far(b, cost) && left > limit);
}

static void each_less(struct jvm_budget *b)
{
	double limit = b->limits.jvm_share;

	for (struct spender *s = b->v; s; s = s->hh.next) {
		double cost = s->share;

		if (!limit || cost <= limit || s->step == RATE_OFF || s->changed || is_new(b, s))
			continue;
		do
			step_to(b, s, s->step + 1);
		while (cost > FAR * limit && s->share > limit && s->step < RATE_OFF);
		snprintf(s->reason, sizeof(s->reason),
			 "recording this JVM cost %.2f%% of the CPUs, its budget is %.2f%%",
			 100 * cost, 100 * limit);
	}
}

/* What it is thought to cost a step back: by what it costs now, or by what is known of it. */
static double back_share(const struct spender *s)
{
	double by_now = s->share * leaves[s->step - 1] / leaves[s->step];
	double by_then = s->kept * leaves[s->step - 1];

	return s->dear * (s->step >= RATE_CPU_ONLY ? by_then : by_now);
}

static bool may_go_back(const struct jvm_budget *b, const struct spender *s, double cost)
{
	double more = back_share(s);

	if (b->limits.jvm_share && more > b->limits.jvm_share)
		return false;
	return !b->limits.share || cost - s->share + more <= b->limits.share;
}

/* It may have been a moment that is over: sooner or later each is tried again. */
static void costs_fade(struct jvm_budget *b)
{
	for (struct spender *s = b->v; s; s = s->hh.next) {
		if (s->step >= RATE_CPU_ONLY)
			s->kept *= FADES;
		s->dear = s->dear * FADES > 1 ? s->dear * FADES : 1;
	}
}

/* Who is sampled the least gets a step back, if that fits. */
static void one_more(struct jvm_budget *b, uint64_t now_ns, double cost)
{
	struct spender *s, *least = NULL;

	for (s = b->v; s; s = s->hh.next)
		if (s->step && may_go_back(b, s, cost) && (!least || s->step > least->step))
			least = s;
	b->under_ns = now_ns;
	if (!least) {
		costs_fade(b);
		return;
	}
	step_to(b, least, least->step - 1);
	snprintf(least->reason, sizeof(least->reason),
		 "recording cost %.2f%% of the CPUs for ten seconds, within the budget",
		 100 * cost);
}

static bool any_over(const struct jvm_budget *b)
{
	for (const struct spender *s = b->v; s; s = s->hh.next)
		if (b->limits.jvm_share && s->share > b->limits.jvm_share)
			return true;
	return false;
}

static void mean_take(struct jvm_budget *b, double cost)
{
	double most = FAR * b->limits.share;

	cost = cost < most ? cost : most;
	b->mean += (cost - b->mean) / MEAN;
	b->slow += (cost - b->slow) / SLOW;
}

/* Far beyond the budget in that second; or beyond it then and in the mean: a file a minute passes.
 */
static bool is_over(const struct jvm_budget *b, double cost)
{
	double limit = b->limits.share;

	return limit && cost > limit && (is_far(b, cost) || b->mean > limit);
}

/*
 * One second may have been new files, or new stacks; where those recorded are what costs so much,
 * it goes on.
 */
static bool is_sure(const struct jvm_budget *b, double cost)
{
	return b->over >= SURE || (b->surges && is_far(b, cost));
}

void budget_second(struct jvm_budget *b, uint64_t now_ns, double cost)
{
	bool over, falls;

	shares_set(b, now_ns, cost);
	mean_take(b, cost);
	over = is_over(b, cost);
	falls = is_falling(b, cost);
	b->before = cost;
	if (over || any_over(b)) {
		b->under_ns = 0;
		b->over++;
		if (!is_sure(b, cost) || falls)
			return;
		if (over)
			all_less(b, cost);
		b->less_ns = now_ns;
		b->mean *= SETTLED;
		each_less(b);
		return;
	}
	b->over = 0;
	if (!b->under_ns || (b->limits.share && b->mean > b->limits.share))
		b->under_ns = now_ns;
	else if (now_ns - b->under_ns >= PATIENCE_NS)
		one_more(b, now_ns, b->limits.share ? b->mean : cost);
}

/* What is done after each tick is done for all, so it becomes less only if all have fewer. */
static enum rate_step least_step(const struct jvm_budget *b)
{
	enum rate_step most = RATE_FULL;

	for (const struct spender *s = b->limits.share ? b->v : NULL; s; s = s->hh.next)
		if (s->step > most)
			most = s->step;
	return most >= RATE_WALL_64 ? RATE_WALL_16 : most >= RATE_ALL_16 ? RATE_WALL_4 : RATE_FULL;
}

static const char *reason_of(const struct spender *s, enum rate_step is)
{
	if (is != s->step)
		return "what is done after each tick is done for all, and another JVM costs too "
		       "much";
	return s->changed ? s->reason : "no other JVM costs too much any more";
}

bool budget_change(struct jvm_budget *b, struct budget_change *out)
{
	enum rate_step least = least_step(b);

	for (struct spender *s = b->v; s; s = s->hh.next) {
		bool own = s->step >= least || is_new(b, s);
		enum rate_step step = own ? s->step : least;

		if (step != s->told) {
			*out = (struct budget_change){.pid = s->pid, .step = step};
			snprintf(out->reason, sizeof(out->reason), "%s", reason_of(s, step));
			s->told = step;
			return true;
		}
		s->changed = false;
	}
	return false;
}
