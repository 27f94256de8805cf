/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the target: it waits, already traced, until the recording has begun. */
#ifndef GNOMON_RUN_LAUNCH_H
#define GNOMON_RUN_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct signalfd_siginfo;

struct launch {
	pid_t pid; /* 0 once it has been reaped */
	/* write end of the pipe that it waits at, so that it ends if we do; -1: it was let go */
	int go;
	int failed;	    /* read end: the errno of a failed exec, or end of file */
	bool other, is_jvm; /* it was another program at the last look; it was a JVM at some look */
	uint64_t started_ns, looked_ns;
	int status; /* once it has ended: its exit code, or 128 + the signal that ended it */
};

/* Fork; the child waits. */
int launch_prepare(struct launch *l, char *const argv[], struct error *e);

/* Let it exec. Waits for the exec to succeed or fail. */
int launch_go(struct launch *l, const char *name, struct error *e);

/* To be called a few times a second: looks whether it has become a JVM. */
void launch_look(struct launch *l, uint64_t now_ns);

/*
 * To be called at the end. -ENOEXEC (EXIT_TARGET): at the last look it was no JVM, nor a launcher
 * that would have become one. A command that ended before any look is not judged.
 */
int launch_judge(const struct launch *l, const char *name, struct error *e);

/* Passes on a signal that a process has sent us; one of the terminal's it got itself. */
void launch_signal(const struct launch *l, const struct signalfd_siginfo *si);

/* Tells whether the program still runs. If it has ended it is reaped, and `status` set. */
bool launch_runs(struct launch *l);

/*
 * Waits for its end, and meanwhile passes the signals that sigfd has on to it. False: it has not
 * ended within ms (-1: however long it takes).
 */
bool launch_wait(struct launch *l, int sigfd, int ms);

/* Reaps it if it has ended, and leaves it running otherwise. */
void launch_end(struct launch *l);

#endif
