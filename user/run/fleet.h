/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a session: those it begins with, and, where it follows a selection, JVMs that
 * start later. Each has a file of its own; capture, clocks, queue and naming thread are shared.
 * Used from the session's thread.
 */
#ifndef GNOMON_RUN_FLEET_H
#define GNOMON_RUN_FLEET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "run/lookout.h"
#include "target/jvmproc.h"

struct capture;
struct fleet;
struct recorder;

/* A name for the file of a JVM that has come: one that no file has. 0 or -errno. */
typedef int (*fleet_name_fn)(void *ctx, const struct jvm_proc *j, char *path, size_t cap);

struct fleet_config {
	lookout_fn follow; /* NULL: only those given */
	void *follow_ctx;
	fleet_name_fn name; /* with follow */
	void *name_ctx;
	size_t owner_max; /* processes of one user in one container; 0: no limit */
	bool overwrite;	  /* files of the first targets; later ones never */
	int epoll;	  /* watches the ends of processes */
};

int fleet_open(struct fleet **out, const struct fleet_config *cfg, struct recorder *rec,
	       struct error *e);
void fleet_close(struct fleet *f);

/* The session ends: nobody is looked for any more. */
void fleet_end(struct fleet *f); /* NULL is fine */

/*
 * Before the recording starts. -ESRCH: the process is gone. With `follow` what goes wrong with one
 * process is a warning, unless it is the output. `owner`: as jvm_owner() tells it.
 */
int fleet_first(struct fleet *f, pid_t pid, struct jvm_owner owner, const char *path,
		struct error *e);

/* Hand the processes to the capture; later ones go to it too. Again with a new capture. */
int fleet_capture(struct fleet *f, struct capture *c, struct error *e);

/* About every 100 ms: takes in new JVMs, and sees to those being added or ended. */
void fleet_poll(struct fleet *f);

/* With `follow`: who is meant has changed. Those that are not any more are let go. */
void fleet_choose(struct fleet *f);

/*
 * A descriptor of the epoll set is readable. True: it told the end of a process. All records of the
 * process must have been pushed to the recorder before (drain after epoll_wait, then call this).
 */
bool fleet_source(struct fleet *f, int fd);

/* Tells whether the process is recorded, or is being taken in; from any thread. */
bool fleet_has(struct fleet *f, pid_t pid);

size_t fleet_count(const struct fleet *f); /* processes being recorded */

#endif
