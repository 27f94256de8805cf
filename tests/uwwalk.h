/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the unwinder on memory made for them: include kern/unwind_walk.h before. */
#ifndef TESTS_UWWALK_H
#define TESTS_UWWALK_H

#include <stdbool.h>
#include <stdlib.h>

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
 * Walk to the end. Aborts unless it ends, with a reason, within its cap, with sp rising but for
 * signal frames; a leaf may have nothing on the stack.
 */
static inline void uwwalk_run(struct uw_state *s, const struct uw_env *env)
{
	struct uw_loop l = {s, env, env->proc, env->jvm};
	__u64 sp = s->sp;
	int signals = 0;

	for (int i = 0; i <= GN_MAX_FRAMES; i++) {
		bool leaf = s->leaf;

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

#endif
