/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at what naming says before it reaches a BPF map. Naming has parsed what targets wrote, so
 * what it says may be anything: amounts, numbers and addresses are held against what this program
 * itself would say. Pure functions; 0 or -EINVAL.
 */
#ifndef GNOMON_WIRE_SCRUTINY_H
#define GNOMON_WIRE_SCRUTINY_H

#include "wire/unwinder.h"

/* Rows ascending from key 0 on, each by a rule that is there; rules as ehframe_compile() makes. */
int scrutiny_table(const struct unwind_table *t);

/* Kinds and code heaps that there are. (Order and overlaps are the table's own business.) */
int scrutiny_mappings(const struct unwind_mapping *v, size_t n);

/* The JVM of that process. */
int scrutiny_jvm(const struct gn_jvm *jvm, pid_t tgid);

/* Checks how virtual threads look in a JVM. */
int scrutiny_layout(const struct gn_vthreads *layout);

/* Ways to a thread's context that there are. (Where they lead is the target's business.) */
int scrutiny_places(const struct gn_ctx_places *places);

/* Checks how its threads wait for each other. */
int scrutiny_locks(const struct gn_locks *locks);

#endif
