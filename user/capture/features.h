/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the running kernel can do, of all that a recording asks of it. `record` chooses its way by
 * this, and `doctor` tells it. Each is tried for real: mostly a program of a few instructions is
 * loaded. Nothing goes by the kernel's version, since distributions carry what is newer to kernels
 * of older numbers, nor by what its BTF names alone: a function that is there may still be refused
 * to a kind of program.
 *
 * What was tried is remembered, since a kernel does not change. From any thread.
 *
 * For tests: GNOMON_WITHOUT, names separated by commas, has the kernel be without those features.
 */
#ifndef GNOMON_CAPTURE_FEATURES_H
#define GNOMON_CAPTURE_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>

#include "base/error.h"
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

/*
 * 0: the kernel has it. -EOPNOTSUPP: it has it not, or its verifier refuses it. -EPERM: we may not
 * try. -EMFILE, -ENFILE, -ENOMEM: it could not be tried now, and is the next time.
 */
int feature_try(int f);
bool feature_has(enum feature f);

/* For what finds out as it goes: whether GNOMON_WITHOUT takes it away. */
bool feature_is_taken(int f);

#define FEATURE_ALL 1000

/* Try the first n: they take less in a row. FEATURE_OPTIONAL: those without which there is a way.
 */
void features_try(int n);

/* Whether we may load programs at all: 0, -EPERM, or -EMFILE and its like. */
int features_permitted(void);

/* Does it have all that wall samples by switches take? */
bool features_can_switch(void);

/* The first of the needed features that is missing, -1 none. `wall`: those of wall samples, too. */
int features_missing(bool wall);

/* Does GNOMON_WITHOUT take away any of those? */
bool features_taken(bool wall);

/* EXIT_USAGE where GNOMON_WITHOUT has a name that is none. 0 or -errno. */
int features_check(struct error *e);

/* For tests that change GNOMON_WITHOUT: nothing has been tried. */
void features_forget(void);

#endif
