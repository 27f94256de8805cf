/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HotSpot attach protocol (sun.tools.attach on the client's side, attachListener_linux.cpp /
 * attachListener_posix.cpp in the JVM): a socket /tmp/.java_pidN, opened by the JVM when it gets
 * SIGQUIT while /tmp/.attach_pidN exists; N is its pid as it sees itself. SIGQUIT without that file
 * makes it print all threads, and before it has a handler kills it: hence the guards.
 *
 * Every step has a time limit; nothing is left in the target's file system.
 */
#ifndef GNOMON_JVM_ATTACH_H
#define GNOMON_JVM_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"
#include "target/javacmd.h"

struct jvm_proc;

#define ATTACH_REPLY_MAX  (16u << 20)
#define ATTACH_TIMEOUT_MS 10000

struct jproc;

enum attach_state {
	ATTACH_OK = 0,
	ATTACH_GONE,	   /* no such process, or a zombie */
	ATTACH_PERMISSION, /* not ours to look at */
	ATTACH_NOT_JVM,
	ATTACH_DISABLED,    /* -XX:+DisableAttachMechanism */
	ATTACH_STOPPED,	    /* SIGSTOP or a tracer */
	ATTACH_FROZEN,	    /* cgroup freezer */
	ATTACH_STARTING,    /* no SIGQUIT handler (yet, or -Xrs) and no listener */
	ATTACH_NO_TMP,	    /* no /tmp that it can write to */
	ATTACH_FOREIGN,	    /* its socket's name belongs to another process */
	ATTACH_NOT_HOTSPOT, /* OpenJ9 has another protocol */
	ATTACH_NO_AGENTS,   /* attaching works, but loading an agent is refused */
};

struct attach_status {
	enum attach_state state;
	enum java_agents agents;
	bool listening;	  /* its listener is up: no signal will be needed */
	char reason[160]; /* "" when state is ATTACH_OK */
	char hint[160];
};

/*
 * Can an agent be loaded into it, and if not, why? What `gnomon jvms` and `gnomon doctor` show.
 * Changes nothing. Returns st->state.
 */
enum attach_state attach_judge(const struct jvm_proc *j, struct attach_status *st);

/* Can it be attached to at all? */
enum attach_state attach_check(pid_t pid, struct attach_status *st);
enum attach_state attach_check_jproc(struct jproc *p, struct attach_status *st);

/*
 * Run one attach command with up to three arguments (NULL = empty), each < 1 KiB. reply (may be
 * NULL) gets the output without the leading status line. -EREMOTEIO when the JVM says no;
 * -ETIMEDOUT; others as errno has them.
 */
int attach_command(pid_t pid, const char *cmd, const char *const args[3], struct buffer *reply,
		   int timeout_ms, struct error *e);
int attach_command_jproc(struct jproc *p, const char *cmd, const char *const args[3],
			 struct buffer *reply, int timeout_ms, struct error *e);

/* Load a JVMTI library by its path inside the target. */
int attach_load(struct jproc *p, const char *path, const char *options, int timeout_ms,
		struct error *e);

#endif
