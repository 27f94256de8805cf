/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the target ourselves: it waits, already traced, until the recording has begun. */
#ifndef GNOMON_RUN_LAUNCH_H
#define GNOMON_RUN_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct signalfd_siginfo;

struct launch {
	pid_t pid;	    /* 0 once it was reaped */
	int go;		    /* write end of the pipe it waits at, and ends when we do; -1: let go */
	int failed;	    /* read end: the errno of a failed exec, or end of file */
	bool other, is_jvm; /* was another program at the last look; was a JVM at one */
	uint64_t started_ns, looked_ns;
	int status; /* once it has ended: its exit code, or 128 + the signal that ended it */
};

/* Fork; the child waits. */
int launch_prepare(struct launch *l, char *const argv[], struct error *e);

/* Let it exec. Waits for the exec to succeed or fail. */
int launch_go(struct launch *l, const char *name, struct error *e);

/* Again and again, a few times a second: has it become a JVM? */
void launch_look(struct launch *l, uint64_t now_ns);

/*
 * At the end: 0, or -ENOEXEC (EXIT_TARGET) when it was no JVM, nor a launcher that would have
 * become one, when looked at last. One that ended before it could be looked at is not judged.
 */
int launch_judge(const struct launch *l, const char *name, struct error *e);

/* A signal that a process sent us is for it as well; the terminal's it got itself. */
void launch_signal(const struct launch *l, const struct signalfd_siginfo *si);

/* Does it? One that has ended is reaped, and `status` set. */
bool launch_runs(struct launch *l);

/*
 * Wait for its end, and pass signals that sigfd has on to it meanwhile. False: nothing has happened
 * for ms (-1: wait as long as it takes).
 */
bool launch_wait(struct launch *l, int sigfd, int ms);

/* Reap it if it has ended; leave it running otherwise. */
void launch_end(struct launch *l);

#endif
