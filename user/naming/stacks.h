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

/*
 * env, names and out must outlive it. A stack that no sample has had for keep_ns may be forgotten.
 */
struct stacks *stacks_new(struct target_env *env, struct resolver *names, struct jfrw *out,
			  uint64_t keep_ns);
void stacks_free(struct stacks *s);

/*
 * To be called before ids are used: some stacks are forgotten now and then, and the kernel is made
 * to send them again. True: the ids of the file that others hold are void.
 */
bool stacks_check(struct stacks *s);

/* A stack's frames have come: it is named. True: it was not known before. */
bool stacks_add(struct stacks *s, const struct gn_stack *rec);

/* The same without names: one frame says that there were too many. */
bool stacks_add_unnamed(struct stacks *s, const struct gn_stack *rec);

/* The same with addresses for names: nothing is asked of the process. */
bool stacks_add_addresses(struct stacks *s, const struct gn_stack *rec);

/* The stack with that id; NULL: its frames have not come, or it was forgotten. */
struct stack *stacks_find(struct stacks *s, uint64_t id);

/*
 * The stack as it was called at time_ns. It was named when its frames came, and stands for all
 * samples that have it since; but meanwhile classes may have been unloaded, and other methods lie
 * where theirs were. Then it is named anew as of time_ns, or not at all (NULL) if its frames were
 * not kept, or there is no time left to ask.
 */
struct stack *stacks_as_of(struct stacks *s, struct stack *st, uint64_t time_ns);

/* The id in the file for samples without a stack: a frame that says so. */
uint32_t stacks_none(struct stacks *s);

#endif
