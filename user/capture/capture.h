/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel side of a recording: the BPF object, loaded, attached and drained.
 *
 * Order of use: capture_open, capture_add for each target, capture_attach, clocks
 * (capture/clocks.h), then capture_drain as often as the fd is readable and on a timer (records do
 * not wake us until a ring is a quarter full), capture_account rarely, and at the end capture_stop
 * and a last capture_drain.
 */
#ifndef GNOMON_CAPTURE_CAPTURE_H
#define GNOMON_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "kern/abi.h"

struct capture;

struct capture_config {
	uint64_t cpu_ns;     /* CPU interval, 0 = no CPU samples */
	uint64_t wall_ns;    /* wall interval, 0 = no wall samples; below 2^32 */
	uint64_t start_ns;   /* CLOCK_MONOTONIC where tick 0's interval begins */
	uint32_t depth;	     /* user frames of a stack at most; 0 = as there is room for */
	bool cpu_clocks;     /* begin with per-CPU clocks alone */
	bool wall_scan;	     /* begin with wall samples by scans */
	bool rates;	     /* with cpu_clocks: capture_rate(), and wall_ns is the finest */
	bool thread_filter;  /* sample only threads given to capture_want() */
	bool causes;	     /* what waits wait for is told */
	bool only_context;   /* wall samples only of threads that work for a request */
	bool reservoir;	     /* wall samples only of threads within capture_limit() */
	uint32_t draw_shift; /* then: log2 of the ticks of a draw */
	/* Ring buffers per CPU, powers of two of pages: at first and at most; 0 = default */
	size_t ring_bytes, ring_max;
	uint64_t ring_quiet_ns; /* as in capture/rings.h */
	const char *btf; /* for tests: a file of the kernel's types as if it had others; or NULL */
};

/*
 * Load: programs that walk stacks go on loading when it returns (capture/programs.h). Errors, here
 * and where those are needed: EXIT_PERMISSION, EXIT_KERNEL (what is missing is named).
 */
int capture_open(struct capture **out, const struct capture_config *cfg, struct error *e);

/*
 * All programs that a recording may need, with wall samples or without, loaded, attached without a
 * target, and taken out again: 0, or as capture_open() and capture_attach().
 */
int capture_trial(bool wall, struct error *e);

/* Stop taking samples; what is in the rings can still be drained. Idempotent. */
void capture_stop(struct capture *c);
void capture_close(struct capture *c);

int capture_add(struct capture *c, pid_t tgid, struct error *e);
void capture_remove(struct capture *c, pid_t tgid);
/* It lives on: what it waits for is accounted for before, and its threads are forgotten. */
void capture_let_go(struct capture *c, pid_t tgid);

/* How often a process is sampled: intervals in ns, 0: no such samples. */
struct capture_rate {
	uint64_t cpu_ns, wall_ns;
	bool no_wakers; /* who wakes its threads is not told */
};

/*
 * With `rates`: of a process that was added, from now on. wall_ns becomes the interval that there
 * is for it, the next one that is not shorter: wall_ns of the configuration, or doubled some times.
 * 0 or -errno. From the draining thread.
 */
int capture_rate(struct capture *c, pid_t tgid, struct capture_rate *rate);

/* The same without a process: what `ns` becomes, with ticks `tick_ns` apart. */
uint64_t capture_wall_of(uint64_t tick_ns, uint64_t ns);

/* With `rates`: switches of its threads so far, but for some of each. 0: it is not there. */
uint64_t capture_switches_of(const struct capture *c, pid_t tgid);

/* Ticks that no process takes need no visit: the level (kern/abi.h) of those that one does. */
uint32_t capture_visit_level(const struct capture *c);
/* Counts the changes of rates, and of the processes where these have rates. */
uint64_t capture_rate_changes(const struct capture *c);

/* `fn` is called, on the draining thread, when more ticks need one than before; NULL: no more. */
void capture_on_sooner(struct capture *c, void (*fn)(void *ctx), void *ctx);

/* The processes added, malloc'd. 0 or -ENOMEM. From the draining thread, as these two. */
int capture_targets(struct capture *c, pid_t **out, size_t *n);

/* Let a thread through the filter, or not. */
int capture_want(struct capture *c, pid_t tid, bool wanted);
bool capture_wanted(struct capture *c, pid_t tid);

/* With a reservoir: the limit of a process's threads in a draw (kern/abi.h). 0 or -errno. */
int capture_limit(struct capture *c, pid_t tgid, uint64_t draw, uint32_t limit);

/*
 * CPU samples by per-CPU clocks alone, or (after clocks were opened for all threads) by the
 * threads' own again. Samples are neither lost nor taken twice for the change.
 */
void capture_cpu_clocks(struct capture *c, bool alone);

/*
 * From now on see the switches and threads of the targets added so far. Calls capture_scan() before
 * and after, so that no thread is without its storage.
 */
int capture_attach(struct capture *c, struct error *e);

/* For tests: waits until who wakes threads is told, with causes. 0, or -errno: it never is. */
int capture_wakers_wait(struct capture *c);

/*
 * Likewise: until threads that rest are read by others of their process. Elsewhere that begins when
 * the targets switch often.
 */
int capture_visits_wait(struct capture *c);

/*
 * What happens from then on (CLOCK_MONOTONIC, now or later) is in no sample: CPU and wall samples
 * end at that instant, and programs and clocks may be closed in any order and take their time.
 */
void capture_stop_at(struct capture *c, uint64_t ns);

/*
 * Look for threads of targets added since; 0 or -errno. The next capture_drain() tells of those
 * that are met for the first time (GN_REC_FOUND).
 */
int capture_scan(struct capture *c);

/*
 * Send wall records for intervals still open, and the CPU time that CPUs' clocks have not met
 * (where there are no others). 0, -errno, or 1 where the rings were too full for all: drain, and
 * call with CAPTURE_AGAIN for the rest. With CAPTURE_PATIENT sleepers whose stack is still to be
 * read are left for the next accounting, once, which is due two ticks later if capture_awaits().
 */
#define CAPTURE_AGAIN	1u
#define CAPTURE_PATIENT 2u
int capture_account(struct capture *c, unsigned int how);
bool capture_awaits(const struct capture *c);

/*
 * The same bit by bit, for where there are thousands of threads: `threads` of them at most are
 * looked at, `first` in a new accounting, else those that follow. 1: call it again for more, after
 * a drain; 0: that were all; -errno: the accounting has ended. Others may be made meanwhile.
 */
int capture_account_some(struct capture *c, bool first, size_t threads);

/* The same of one process, from the draining thread: what does not fit is lost, and counted. */
int capture_account_of(struct capture *c, pid_t tgid);

/*
 * From the draining thread, before an accounting: the ring of the CPU that we are on shall take the
 * records of all threads at once. Should the kernel move us, it takes turns.
 */
void capture_make_room(struct capture *c);

uint64_t capture_threads(const struct capture *c); /* of all targets, now */

/* Tells whether this kernel can take wall samples by switches; else they are taken by scans. */
bool capture_can_switch(const struct capture *c);

/*
 * Change between switches and scans for wall samples, after capture_tick() of `tick` and from the
 * same thread. No tick is lost or counted twice. 0 or -errno (then nothing has changed): -EAGAIN
 * while what it needs is being loaded.
 */
int capture_wall_scan(struct capture *c, bool scan, uint64_t tick);

/*
 * The targets' switches that the switch engine has seen: a part of GN_CNT_SWITCHES that is had in
 * no time. It counts them per CPU beside the CPU's time, which it has at hand.
 */
uint64_t capture_switches_sum(const struct capture *c);

/* Count the targets' switches (GN_CNT_SWITCHES) where no wall engine does; 0 or -errno. */
int capture_switches(struct capture *c);

/*
 * Wall tick `tick` has just passed: look at what may be another thing soon, whose the locks are,
 * which groups have used up their CPU time, and, with scans, who has the CPUs. In how many ns
 * capture_tick() is to be called: 0, or others read threads meanwhile that it would read.
 */
uint64_t capture_tick_look(struct capture *c, uint64_t tick);

/* ns for which a tick at which nothing else is to be done may be left to others. */
uint64_t capture_near(const struct capture *c);

/* Before capture_tick_look(), where it is late: others may read what it comes too late for. */
void capture_tick_late(struct capture *c);

/*
 * After capture_tick_look() of arg->tick: read the stacks of threads that need it. From one thread
 * at a time. 0 or -errno.
 */
int capture_tick(struct capture *c, struct gn_remote_tick *arg);

/*
 * Did the visit of arg->tick find anything to be done? From the thread that calls capture_tick(),
 * after it, as the next three.
 */
bool capture_tick_was_needed(const struct capture *c, const struct gn_remote_tick *arg);

/*
 * Ticks are left out from `tick` on, and whoever needs one rings: capture_bell() is readable then,
 * until the end. False: each is to be visited now. _dozes(): nobody has rung so far, nor has what
 * was asked for since to be done at ticks. _end(): the tick, plus 1, that is to be visited at once,
 * or 0.
 */
bool capture_doze(struct capture *c, uint64_t tick);
bool capture_dozes(struct capture *c);
uint64_t capture_doze_end(struct capture *c);
int capture_bell(const struct capture *c);

/* capture_threads() for the thread of the ticks, which must wait for no other. */
uint64_t capture_tick_threads(struct capture *c);

/*
 * New tables were published: stacks of sleeping threads that could not be walked to their end are
 * read again. From any thread.
 */
void capture_reread(struct capture *c);

/*
 * A record that capture_drain() handed out is lost after all: if the kernel thinks that its frames
 * or its name are known now, it is to send them again with the next sample. Sleepers, which have no
 * next one, are read again for their frames when the losses are told next; what else was refused of
 * one comes when it waits again. From the draining thread.
 */
void capture_unsent(struct capture *c, const struct gn_rec *rec);

/* Have the kernel send every list again, those of threads that sleep on as well. From any thread.
 */
void capture_relist(struct capture *c);

/* Stack ids may mean other code from now on: have the kernel send every list again. */
void capture_epoch(struct capture *c);

/* Descriptors of the unwinder's maps, for naming/tables.c. They belong to the capture. */
struct capture_tables {
	int targets, procs, files, rules, jvms, coders, java_threads, vthreads, carriers, places,
		locks;
	const uint64_t *scanned; /* struct gn_proc's `scan` up to this one are over */
	uint64_t *changes;	 /* of these, ever, each counted twice: before it and after */
	uint32_t *ncarriers;	 /* raised for each: the first makes the kernel look them up */
	uint32_t *ncontexts;	 /* entries of `places`, likewise */
	int resting; /* a queue of threads that are to be read again; -1: by `late` alone */
	_Atomic uint32_t *late; /* CAPTURE_LATE_*: what there is to be read again; NULL: nothing */
};

#define CAPTURE_LATE_QUEUED 1 /* threads in `resting` */
#define CAPTURE_LATE_ALL    2 /* some that are in no queue */

void capture_tables(struct capture *c, struct capture_tables *out);

enum capture_clock { CAPTURE_THREAD_CLOCK, CAPTURE_CPU_CLOCK };
int capture_clock_fd(const struct capture *c, enum capture_clock which);

int capture_fd(const struct capture *c); /* readable when a ring wants draining */

typedef void (*capture_fn)(void *ctx, const struct gn_rec *rec);

/*
 * Hand every record that waits to fn; then let rings that lost some grow (capture/rings.h). Returns
 * their number or -errno.
 */
int capture_drain(struct capture *c, capture_fn fn, void *ctx);

/* A record has come. From the draining thread, as the next. */
void capture_told(struct capture *c, const struct gn_rec *rec);

/*
 * Finds out whose the other ends are of connections within this machine of which was told, unless
 * that was done so short a time ago that it would take more than 0.5% of a CPU. Calls `fn` with the
 * record of each cause of which that is known, told again.
 */
void capture_peers(struct capture *c, capture_fn fn, void *ctx);

void capture_counters(const struct capture *c, uint64_t out[GN_CNT_MAX]);

typedef void (*capture_loss_fn)(void *ctx, pid_t tid, enum gn_loss reason, uint64_t count);

/* Every loss counted since the last call. */
void capture_losses(struct capture *c, capture_loss_fn fn, void *ctx);

/*
 * Have the kernel measure how long BPF programs run: all of the host's, and each run costs two
 * looks at the clock more. A descriptor: until it is closed; or -errno.
 */
int capture_run_time_on(void);

/*
 * Run time of our programs and their runs, as far as it was measured; but of those that run in our
 * own threads, of whose CPU time it is part.
 */
void capture_run_time(const struct capture *c, uint64_t *ns, uint64_t *runs);

size_t capture_ring_bytes(const struct capture *c); /* of all rings together, now */

#endif
