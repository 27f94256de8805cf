/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording asks of the kernel, and how each such feature is tried. */
#ifndef GNOMON_CAPTURE_TRIALS_H
#define GNOMON_CAPTURE_TRIALS_H

#include <stdbool.h>

#include "capture/probe.h"

/* Those without which there is another way; the others come after them. */
enum feature {
	FEATURE_SWITCHES,	/* sched_switch tells in which state a thread left the CPU */
	FEATURE_RUN_QUEUE,	/* a task leads to its run queue and that one's clocks */
	FEATURE_SCHED_INFO,	/* when a task was queued and when it got the CPU */
	FEATURE_STOLEN,		/* a run queue has what the host took of its CPU */
	FEATURE_CLOCKS_IN_STEP, /* run queues' clocks are of all CPUs the same */
	FEATURE_TASK_FIND,	/* tasks by their ids, in a program that user space runs */
	FEATURE_ITER_PROCESS,	/* iterators over the threads of one process */
	FEATURE_WAKING,		/* programs see who wakes a thread */
	FEATURE_ITER_FILES,	/* iterators over the files of all processes */
	FEATURE_QUICK,		/* those before take no waiting for the kernel's other CPUs */
	FEATURE_INNER_BATCH = FEATURE_QUICK, /* many maps put into a map of maps by one call */
	FEATURE_OPTIONAL
};

enum feature_need {
	FEATURE_BETTER,	  /* there is another way */
	FEATURE_FOR_WALL, /* no wall samples without it */
	FEATURE_FOR_ALL,  /* no recording without it */
};

enum feature_kind { FEATURE_OF_HOOKS, FEATURE_OF_HELPERS, FEATURE_OF_MAPS, FEATURE_OF_CLOCKS };

struct feature_info {
	const char *name;
	const char *use;
	const char *without; /* what is worse; NULL of those that are needed */
	const char *remedy;
	enum feature_kind kind;
	enum feature_need need;
	const struct probe_place *at; /* of hooks and helpers: in which programs */
	int id;			      /* a helper's or a map type's number */
};

/* Of features 0, 1, 2...; NULL beyond the last. Valid for ever. */
const struct feature_info *feature_info(int f);

struct btf;

#define TRIALS_MAX 64 /* there are fewer */

/* A row of them. The kernel's types are read when the first asks for them. Begins as zeros. */
struct trials {
	struct btf *kernel;
	bool read;
};

/*
 * Try feature f. 0, or -errno as the kernel says it: -EACCES and -EPERM may be the verifier's of
 * the program, and may be of us. features.h remembers it, and says it in one way.
 */
int trial_run(int f, struct trials *t);

/* Load a program that does nothing. 0, -EPERM; -EMFILE, -ENFILE, -ENOMEM. */
int trial_permitted(void);

void trials_end(struct trials *t);

#endif
