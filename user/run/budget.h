/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps what a daemon costs within a share of the host's CPUs: over it in two seconds and in the
 * mean of some eight, the costliest JVM is sampled less, a step of run/rates.h at a time; far over
 * it in two seconds, or in one in which the JVMs did far more than before, as many steps and JVMs
 * as are thought to be needed, but none loses its wall samples at once. When it has been under it
 * for ten, one of them gets a step back, of those of whom what that costs is thought to fit; where
 * none does, what was seen of them counts a tenth less each ten seconds, until one is tried.
 * Nothing is taken from a JVM in its first five seconds: taking it in costs more than recording it.
 * Where the daemon's own part alone is over the budget, only JVMs that cost much are sampled less.
 * Pure: it is told what was measured each second, and says what is to be.
 *
 *	for each second:
 *		budget_jvm(b, pid, spent_ns) for each JVM that is recorded
 *		budget_second(b, now_ns, cost)
 *		while (budget_change(b, &change)) ...
 */
#ifndef GNOMON_RUN_BUDGET_H
#define GNOMON_RUN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "run/rates.h"

struct budget_limits {
	double share;	  /* of all CPUs, 0..1; 0: no limit */
	double jvm_share; /* the same of a single JVM */
};

struct jvm_budget;

struct jvm_budget *budget_new(const struct budget_limits *l); /* NULL: no memory */
void budget_free(struct jvm_budget *b);			      /* NULL is fine */

/* Others from now on; without any all JVMs have all their samples again. */
void budget_limits(struct jvm_budget *b, const struct budget_limits *l);

/*
 * Takes note of a JVM's estimated cost so far, in ns of all CPUs together. Costs are shared out by
 * how much each estimate has grown; what was measured beyond a few times of them counts for no JVM.
 */
void budget_jvm(struct jvm_budget *b, pid_t pid, double spent);

/* The cost of the second that ends at now_ns, a share of all CPUs. JVMs not told since the last
 * have ended. */
void budget_second(struct jvm_budget *b, uint64_t now_ns, double cost);

struct budget_change {
	pid_t pid;
	enum rate_step step;
	char reason[128];
};
/* The next change that the last second brought. */
bool budget_change(struct jvm_budget *b, struct budget_change *out);

#endif
