/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the unwinder on memory made for them: include kern/unwind_walk.h before. */
#ifndef TESTS_UWWALK_H
#define TESTS_UWWALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Process 1, which has nothing mapped but this. */
static inline void uwwalk_proc(struct uw_proc *p, __u64 start, struct uw_mapping map)
{
	for (int i = 0; i < UW_MAX_MAPS; i++)
		p->start[i] = UW_NO_START;
	p->tgid = 1;
	p->n = 1;
	p->start[0] = start;
	p->map[0] = map;
}

/*
 * Walk to the end; with nothing remembered of code, or what there is. Aborts unless it ends, with a
 * reason, within its cap, with sp rising but for signal frames; a leaf may have nothing on the
 * stack.
 */
static inline void uwwalk_once(struct uw_state *s, const struct uw_env *env, bool remember)
{
	struct uw_loop l = {s, env, env->proc, env->jvm};
	__u64 sp = s->sp;
	int signals = 0;

	for (int i = 0; i <= GN_MAX_FRAMES; i++) {
		bool leaf = s->leaf;

#ifdef UW_HOTSPOT
		if (!remember)
			hs_code(s)->key = 0;
#endif
		if (uw_step(s, env, &l)) {
			if (s->end == GN_END_NONE || s->n > s->max)
				abort();
			return;
		}
		if ((s->sp < sp || (s->sp == sp && !leaf)) && s->signals == signals)
			abort();
		signals = s->signals;
		sp = s->sp;
	}
	abort();
}

/* From where `begun` was, with what `s` has learnt of code since. Not the frames. */
static inline void uwwalk_rewind(struct uw_state *s, const struct uw_state *begun)
{
	static struct uw_code code[UW_CODES];
	__u64 walks = s->walks + 1;

	memcpy(code, s->code, sizeof(code));
	memcpy(s, begun, offsetof(struct uw_state, frames));
	memcpy(s->code, code, sizeof(code));
	s->walks = walks;
	s->epoch = walks << 1;
}

static inline bool uwwalk_equal(const struct uw_state *a, const struct uw_state *b)
{
	return a->n == b->n && a->end == b->end &&
	       !memcmp(a->frames, b->frames, a->n * sizeof(a->frames[0]));
}

/*
 * The same with nothing remembered, while learning, by what was learnt when that is looked at again,
 * and when it is not since no compiler has run; else aborts.
 */
static inline void uwwalk_run(struct uw_state *s, const struct uw_env *env)
{
	static struct uw_state begun, found;
	static __u64 epoch = 1;

	epoch += 2;
	memcpy(&begun, s, offsetof(struct uw_state, frames));
	uwwalk_once(s, env, false);
	found.n = s->n;
	found.end = s->end;
	memcpy(found.frames, s->frames, s->n * sizeof(s->frames[0]));
	for (int i = 0; i < 3; i++) {
		uwwalk_rewind(s, &begun);
		if (i)
			uw_epoch_begin(s, epoch);
		uwwalk_once(s, env, true);
		if (!uwwalk_equal(s, &found))
			abort();
	}
}

#endif
