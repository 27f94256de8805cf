/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread states. The kernel says whether a thread sleeps, waits for a disk, is queued for a CPU or
 * stopped; what it sleeps for is told by the frames on top: the JVM's own functions and the JDK
 * methods that lead to them, then the kernel's functions for IO.
 */
#ifndef GNOMON_MODEL_STATE_H
#define GNOMON_MODEL_STATE_H

#include <stddef.h>

#include "base/frame.h"
#include "kern/abi.h"

enum thread_state {
	STATE_DEFAULT = 0, /* on a CPU */
	STATE_QUEUED,	   /* runnable without a CPU */
	STATE_SLEEPING,	   /* Thread.sleep */
	STATE_WAITING,	   /* Object.wait() */
	STATE_WAITING_TIMED,
	STATE_PARKED, /* LockSupport.park */
	STATE_PARKED_TIMED,
	STATE_BLOCKED, /* entering a monitor, or held up by the JVM */
	STATE_IO,      /* network, pipe, file, poll */
	STATE_STOPPED, /* SIGSTOP, ptrace, frozen */
	STATE_IDLE,    /* waits in native code: a VM thread without work, a native lock */
	STATE_MAX
};

/* frames: leaf first, n may be 0. */
enum thread_state state_of(enum gn_state kernel, const struct frame_name *frames, size_t n);

/* GN_ST_DISK's, of what is known of the same frames for GN_ST_SLEEP. */
static inline enum thread_state state_on_disk(enum thread_state sleep)
{
	return sleep == STATE_IDLE ? STATE_IO : sleep;
}

#endif
