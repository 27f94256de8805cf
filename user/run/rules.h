/* SPDX-License-Identifier: Apache-2.0 */
/* Which JVMs a daemon records, as its configuration has it: the first rule that fits a JVM decides.
 */
#ifndef GNOMON_RUN_RULES_H
#define GNOMON_RUN_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "run/rates.h"
#include "target/jvmproc.h"

/* It fits where all that are given do. */
struct rule {
	char *label;	 /* of its section */
	char *name;	 /* as select_spec.name */
	char *container; /* as select_spec.container */
	char *cgroup;	 /* the JVM is in it or below it */
	char *user;	 /* a name or a number */
	bool record;
	/* how often, 0: as is usual; no_cpu, no_wall: no such samples */
	uint64_t cpu_ns, wall_ns;
	bool no_cpu, no_wall;
};

struct rules {
	struct rule *v;
	size_t n;
	bool otherwise; /* whether JVMs that no rule fits are recorded */
};

/* One more rule, of nothing but its label. NULL: no memory. */
struct rule *rules_add(struct rules *r, const char *label);
void rules_free(struct rules *r);
void rule_free(struct rule *r); /* what it points to */

/* Tells what it wishes of how often its JVMs are sampled. False: nothing. */
bool rules_rate(const struct rule *r, struct rate_wish *out);

/* Pure but for `mounts`, as the next two. */
bool rule_fits(const struct rule *r, const struct cgroup_mounts *mounts, const struct jvm_proc *j);

/* The rule that fits, or NULL. */
const struct rule *rules_find(const struct rules *r, const struct cgroup_mounts *mounts,
			      const struct jvm_proc *j);
bool rules_want(const struct rules *r, const struct cgroup_mounts *mounts,
		const struct jvm_proc *j);

#endif
