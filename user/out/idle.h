/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which waits are idleness: a thread that waits for work, not for an answer. A rule is
 *
 *	FRAME		the stack has such a frame: a pool's worker that asks for its next task
 *	FRAME > CALLEE	and that frame called such a one: a timer's loop, which also runs its tasks
 *
 * where both are patterns of a method's name (pattern_match()). The table in idle.c has those of
 * the JDK and of widely used servers and libraries; others are given on the command line.
 */
#ifndef GNOMON_OUT_IDLE_H
#define GNOMON_OUT_IDLE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/pattern.h"

struct idle_rules;

/* The table and `more`, which are kept by reference. -EINVAL, EXIT_USAGE: not a rule. */
int idle_rules_new(struct idle_rules **r, const struct pattern_list *more, struct error *e);
void idle_rules_free(struct idle_rules *r);

/* Some rule begins with such a frame. */
bool idle_frame(const struct idle_rules *r, const char *frame);

/* A stack that has `frame`, which called `callee` (NULL: nothing), is idle by some rule. */
bool idle_call(const struct idle_rules *r, const char *frame, const char *callee);

#endif
