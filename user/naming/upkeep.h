/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the unwinder's tables (naming/tables.h) of one target in step with what it maps: looks
 * again when a stack shows code that no table knew, but not too often where code always changes.
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
	bool stale;	  /* a stack showed code that the tables do not have */
	uint64_t made_ns; /* when the tables were last made */
	uint64_t wait_ns; /* how long until they may be made again */
	/* generation of the mappings that they were made of; 0: to be made anew in any case */
	uint64_t maps;
	uint64_t reread_ns;
	unsigned int rereads;
	/* of tables ever made: files left unread for want of budget (at most), rules refused */
	uint64_t unread, refused;
};

/* Makes the tables anew even if the mappings seem unchanged. Needs env->tables. */
void upkeep_renew(struct upkeep *u, uint64_t now);

/* To be called ten times a second. */
void upkeep_poll(struct upkeep *u, uint64_t now);

/* A stack came that was walked with these tables. */
void upkeep_stack(struct upkeep *u, const struct gn_stack *rec);

/* The process became another program at time_ns. `other`: what was known of its JVM is void. */
void upkeep_exec(struct upkeep *u, bool other, uint64_t time_ns);

/* The process has ended. */
void upkeep_end(struct upkeep *u);

#endif
