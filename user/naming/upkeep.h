/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the unwinder's tables (naming/tables.h) of one target in step with what it maps: looks
 * again when a stack shows code that no table knew, seldom enough where code changes always.
 */
#ifndef GNOMON_NAMING_UPKEEP_H
#define GNOMON_NAMING_UPKEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kern/abi.h"
#include "naming/env.h"
#include "naming/resolver.h"

/* The user sets the first three; the rest begins as zero. */
struct upkeep {
	struct target_env *env;
	struct resolver *names;
	pid_t tgid;
	bool stale;	  /* code was met that the tables do not have */
	uint64_t made_ns; /* when they were last made */
	uint64_t wait_ns; /* and how long until they may be again */
	uint64_t maps;	  /* generation of the mappings they are of, 0: none for sure */
	uint64_t reread_ns;
	unsigned int rereads;
};

/* Made anew, whatever is thought of the mappings. Needs env->tables. */
void upkeep_renew(struct upkeep *u, uint64_t now);

/* Ten times a second. */
void upkeep_poll(struct upkeep *u, uint64_t now);

/* A stack was walked with them. */
void upkeep_stack(struct upkeep *u, const struct gn_stack *rec);

/* It became another program at time_ns. `other`: what was known of its JVM is void. */
void upkeep_exec(struct upkeep *u, bool other, uint64_t time_ns);

/* It has ended. */
void upkeep_end(struct upkeep *u);

#endif
