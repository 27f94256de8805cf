/* SPDX-License-Identifier: Apache-2.0 */
/* One process that is recorded: its threads, stacks and samples, named, and its JFR file. */
#ifndef GNOMON_NAMING_TARGET_H
#define GNOMON_NAMING_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "kern/abi_context.h"
#include "model/totals.h"
#include "naming/env.h"
#include "target/neighbours.h"

struct target;

#define TARGET_PATH_LEN 1024

/*
 * Opens its symbols, and for a JVM the source of its names. f->fd, of its file, which is empty, is
 * the target's from now on, also after an error; f->path is what that is called. -1:
 * with form.segments, f->path is a directory.
 */
struct target_file {
	const char *path;
	int fd;
	/*
	 * So many that wrote the file before were lost: what they wrote stays. start_ns, not 0:
	 * when the recording of this target began (CLOCK_MONOTONIC).
	 */
	uint32_t resumed;
	uint64_t start_ns;
	bool untried; /* nothing is asked of the process: stacks have addresses for names */
};
int target_open(struct target **out, struct target_env *env, pid_t tgid,
		const struct target_file *f, struct error *e);

/* The file's time begins now, at `now`: loading the programs may have taken a while. */
void target_begin(struct target *t, uint64_t now);

/* Called when env->board->stop_ns has changed. */
void target_stop(struct target *t);

/* Names and writes what there still is, and finishes the file. */
void target_end(struct target *t);

/*
 * Also for a target that has not begun, or has ended. Without `keep` a file that is not finished is
 * left as it is: who made it removes it.
 */
void target_free(struct target *t, bool keep);

pid_t target_tgid(const struct target *t);
const char *target_path(const struct target *t);
const char *target_source(const struct target *t); /* of Java names, in words */
void target_totals(const struct target *t, struct totals *out);
bool target_has_thread(const struct target *t, pid_t tid);

/* Records of this target. */
void target_sample(struct target *t, const struct gn_sample *rec);
/* Looks at the record early: the same one will come to target_stack(), perhaps much later. */
void target_notice(struct target *t, const struct gn_stack *rec);
/* Likewise at that of a name that a thread was given, which target_task() will have. */
void target_hear(struct target *t, const struct gn_rec *rec);
void target_stack(struct target *t, const struct gn_stack *rec);
void target_task(struct target *t, const struct gn_task_rec *rec);
void target_vthread(struct target *t, const struct gn_vthread_rec *rec);
void target_cause(struct target *t, const struct gn_cause_rec *rec);
void target_context(struct target *t, const struct gn_context_rec *rec);

/* Takes note of who had a lock at a tick. */
void target_owner(struct target *t, const struct gn_owner_rec *rec);

/*
 * `count` things of thread tid (0: of no known thread) were lost. target_note_lost() does not count
 * them in the totals.
 */
void target_lost(struct target *t, uint64_t time, pid_t tid, unsigned int reason, uint64_t count);
void target_note_lost(struct target *t, uint64_t time, pid_t tid, unsigned int reason,
		      uint64_t count);

/* From `time` on wall samples are taken of some threads only. */
struct jfr_thread_reservoir;
void target_choice(struct target *t, uint64_t time, const struct jfr_thread_reservoir *choice);

/* From `time` on it is sampled so. */
struct jfr_rate_change;
void target_rate(struct target *t, uint64_t time, const struct jfr_rate_change *rate);

/*
 * Where each chunk is a file, or a window: true, once, when another has begun. It shall say what
 * the first one did, and has by then: all but settings.
 */
bool target_turned(struct target *t, uint64_t now);

/* env->watch has changed. */
void target_watch_orders(struct target *t);

void target_setting(struct target *t, uint64_t time, const char *name, const char *value);
struct jfr_overhead;

/* Who used the CPUs beside it. */
#define TARGET_NEIGHBOURS 5
struct target_neighbours {
	struct neighbours_sums sums;
	struct neighbour top[TARGET_NEIGHBOURS];
	uint32_t n, pad;
};
void target_cpus(struct target *t, uint64_t time, const struct target_neighbours *cpus);
void target_cost(struct target *t, uint64_t time, const struct jfr_overhead *cost);

/* Makes the unwinder's tables anew. */
void target_tables(struct target *t);

/*
 * To be called ten times a second: looks at what has changed in the process. True: addresses may
 * mean other code than before.
 */
bool target_poll(struct target *t, uint64_t now);

/*
 * Likewise: hands what there is to the file when it is time to, and ends a chunk when that is due.
 */
void target_flush(struct target *t, uint64_t now);

#endif
