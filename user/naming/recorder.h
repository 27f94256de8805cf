/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The naming side of a session, as the session has it: what it is handed, what it says. Naming
 * itself (naming/namer.h) is a thread, or processes of their own: one for each trust domain, that
 * is for all processes with the same `owner` (jvm_owner(): user and container), RECORDER_DOMAINS at
 * most, and one for all others together. The draining thread only pushes, and never waits for it.
 * All functions are for the session's thread, unless they say otherwise.
 */
#ifndef GNOMON_NAMING_RECORDER_H
#define GNOMON_NAMING_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "kern/abi.h"
#include "naming/outcome.h"
#include "naming/records.h"
#include "naming/target.h"
#include "target/jvmproc.h"

struct recorder;

#define RECORDER_DOMAINS 15

/*
 * With `process` while there is one thread, and before there is anything that it must not have.
 * What cfg has called is called on a thread of its own then.
 */
int recorder_open(struct recorder **out, const struct target_config *cfg, bool process,
		  struct error *e);

/*
 * A target: opens its file, its symbols, and for a JVM the source of its names. Before
 * recorder_start. Names that cannot be had are a warning, not an error. On an error no file is
 * left. -EINTR, here and where the recording is begun: cfg.interrupted() said so. `owner` is looked
 * at with processes only.
 */
int recorder_target(struct recorder *r, pid_t tgid, struct jvm_owner owner, const char *path,
		    bool overwrite, struct error *e);

/*
 * The same while it runs; never overwrites. 0: recorder_added() tells in its time; -EAGAIN: there
 * is no room; -ENAMETOOLONG; or why there is no file. Give its process to the capture only then,
 * so that its first stacks find their tables.
 */
int recorder_add(struct recorder *r, pid_t tgid, struct jvm_owner owner, const char *path);

bool recorder_added(struct recorder *r, struct recorder_added *out);

/* The process has ended and its records are pushed: finish its file. 0, or -EAGAIN. */
int recorder_end(struct recorder *r, pid_t tgid);

/*
 * Make the unwinder's tables for the targets, and keep them up to date. It must outlive us. What a
 * process of naming's asks is done only for those that `is_recorded` knows, from any thread.
 */
struct unwinder;
int recorder_tables(struct recorder *r, const struct unwinder *u,
		    bool (*is_recorded)(void *whose, pid_t tgid), void *whose, struct error *e);

/* The recording begins: files have the time `now` (CLOCK_MONOTONIC) as their start. */
int recorder_start(struct recorder *r, uint64_t now, struct error *e);

/* From the draining thread. False: there was no room; it is counted as lost. */
bool recorder_push(struct recorder *r, const struct gn_rec *rec);
void recorder_lost(struct recorder *r, pid_t tid, unsigned int reason, uint64_t count);
void recorder_wake(struct recorder *r);

/* All that the kernel had sent at `ns` was pushed. */
void recorder_drained(struct recorder *r, uint64_t ns);

/*
 * A setting or fact to write beside the samples, as jdk.ActiveSetting of the recording; in every
 * file, also in those opened later.
 */
void recorder_setting(struct recorder *r, const char *name, const char *value);

/* What is watched for from now on. False: there is no room now. */
bool recorder_watch(struct recorder *r, const struct watch_orders *orders);

void recorder_choice(struct recorder *r, pid_t tgid, const struct recorder_choice *choice);

/*
 * From now on the process is sampled so: to be told before the capture changes, so that the file
 * has it before the samples that it is for. False: there is no room now. Whoever takes over naming
 * is told it anew.
 */
struct jfr_rate_change;
bool recorder_rate(struct recorder *r, pid_t tgid, const struct jfr_rate_change *rate);

void recorder_cost(struct recorder *r, const struct recorder_cost *cost);

/* When the recording ends, or has ended: files do not go beyond. */
void recorder_stop_at(struct recorder *r, uint64_t ns);

/* Who used the CPUs, at the end. */
struct neighbours;
void recorder_cpus(struct recorder *r, const struct neighbours *cpus);

/* Live figures of all files together, a tenth of a second old at most. */
void recorder_totals(struct recorder *r, struct totals *out);
/* The same of each target: fn is called before it returns. */
void recorder_targets(struct recorder *r, recorder_target_fn fn, void *ctx);

/*
 * The first error that stopped the writing (disk full), or 0; with processes only where none of
 * them is left that works, else it is a warning. To be asked ten times a second: it also looks
 * after the processes, and has another one take over where one was lost.
 */
int recorder_error(struct recorder *r, struct error *e);

/* Tells whether records are wanted as soon as they are there, since what names them goes away. */
bool recorder_hurries(const struct recorder *r, uint64_t now);

/* Of its processes, if it has any: CPU time, and bytes resident that are not this one's. */
uint64_t recorder_cpu_ns(const struct recorder *r);
uint64_t recorder_memory(const struct recorder *r);

/*
 * Write what is queued, finish the files, end naming. A process that names has two seconds for it
 * from the recording's end on, or from half a second before this is called (naming/patience.h says
 * what is not counted): then names, then samples are left out, then it is killed and its files are
 * closed without it. `enough`, asked all the time, may be NULL; true: who waits waits no longer.
 */
int recorder_finish(struct recorder *r, recorder_enough_fn enough, void *ctx, struct error *e);

/* All of them, in the order of their ends. After recorder_finish; they live until the close. */
const struct recorded_file *recorder_files(const struct recorder *r, size_t *n);

/* `keep` false removes files not finished: nothing was recorded. */
void recorder_close(struct recorder *r, bool keep);

#endif
