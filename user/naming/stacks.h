/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of one target by the ids that the kernel gave them: each named once, when its frames
 * come, and kept for as long as samples may have it.
 */
#ifndef GNOMON_NAMING_STACKS_H
#define GNOMON_NAMING_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "jfr/write.h"
#include "kern/abi.h"
#include "model/stack.h"
#include "naming/env.h"
#include "naming/resolver.h"

struct stacks;

/* All of these must outlive it. One that no sample had for keep_ns may be forgotten. */
struct stacks *stacks_new(struct target_env *env, struct resolver *names, struct jfrw *out,
			  uint64_t keep_ns);
void stacks_free(struct stacks *s);

/*
 * Before ids are used: some go now and then, and the kernel is made to tell of them again. True:
 * all ids in the file that others have are void.
 */
bool stacks_check(struct stacks *s);

/* A stack's frames have come. True: it was not known. */
bool stacks_add(struct stacks *s, const struct gn_stack *rec);

/* NULL: its frames have not come, or it was forgotten. */
struct stack *stacks_find(struct stacks *s, uint64_t id);

/*
 * A stack is named when its frames come, and stands for all that have them since. But classes may
 * have been unloaded in between, and other methods lie where theirs were: then it is named as of
 * time_ns, or not at all (NULL) if the frames were not kept.
 */
struct stack *stacks_as_of(struct stacks *s, struct stack *st, uint64_t time_ns);

/* For samples without one: an id in the file that says so. */
uint32_t stacks_none(struct stacks *s);

#endif
