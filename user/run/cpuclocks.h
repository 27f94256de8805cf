/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By which clocks a session takes CPU samples: those of the threads of its one target, or those of
 * the CPUs alone. Where it may choose (capture/engine.h) it changes between them while it records.
 * Used from the session's thread.
 */
#ifndef GNOMON_RUN_CPUCLOCKS_H
#define GNOMON_RUN_CPUCLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "capture/engine.h"

struct capture;
struct clocks;
struct recorder;

/*
 * Of a process with more threads the CPUs' clocks serve: opening and closing one takes some 10 us,
 * and each holds 2 KB of the kernel's memory; of thousands of threads most never use the CPU for
 * long enough to be worth that.
 */
#define CPUCLOCKS_OWN_MOST 1000

struct cpuclocks {
	uint64_t interval_ns; /* 0: there are no CPU samples */
	bool alone;	      /* the CPUs' clocks alone */
	/* the rest is its own */
	struct capture *cap;
	struct recorder *rec;
	struct clocks *clocks; /* NULL: not open */
	pid_t pid;	       /* the target */
	bool may_change;
	bool counts;			  /* it has switches counted itself */
	bool by_rate;			  /* alone for the rate of switches, which may fall again */
	int agreed;			  /* seconds in a row that called for a change */
	uint64_t considered_ns, switches; /* of the last of them: when, and the counter then */
	const char *why;		  /* alone, in words; NULL: it was asked for */
};

/*
 * What was asked for; `several`: there may be several targets, which the CPUs' clocks alone serve.
 * `wall`: the wall samples' programs count the switches. A capture is opened with c->alone then.
 */
void cpuclocks_init(struct cpuclocks *c, uint64_t interval_ns, enum cpu_engine asked, bool several,
		    bool wall);

/*
 * Open the clocks, with the capture attached. If there are more threads than the open-files limit
 * allows clocks, those of the CPUs alone have to do, with a warning.
 */
int cpuclocks_start(struct cpuclocks *c, struct capture *cap, struct recorder *rec, pid_t pid,
		    struct error *e);

/* Tell the recording which clocks these are. */
void cpuclocks_write(const struct cpuclocks *c);
/* The loop begins: switches are counted from here on. */
void cpuclocks_begin(struct cpuclocks *c, uint64_t now_ns);

/*
 * Once a second: the clocks follow the CPUs that there are, and change if two seconds in a row call
 * for it (of the beginning, one).
 */
void cpuclocks_consider(struct cpuclocks *c, uint64_t now_ns);

/* The finest interval that any process has; 0: none has one. With several processes. */
void cpuclocks_finest(struct cpuclocks *c, uint64_t interval_ns);

/* Idempotent; fine for one that was never started. */
void cpuclocks_close(struct cpuclocks *c);

#endif
