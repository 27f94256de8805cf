/* SPDX-License-Identifier: Apache-2.0 */
#include "model/state.h"

#include "model/jvmwait.h"

#include <stdbool.h>
#include <string.h>

#define LOOK_AT 48 /* so many frames from the leaf are looked at */

enum match { EXACT, PREFIX };

/* What a frame says of its thread. `klass` NULL matches any. */
struct sign {
	uint8_t match; /* enum match */
	const char *klass;
	const char *method;
	enum thread_state state;
};

/*
 * The first frame from the leaf that is listed decides. Kernel names: fs/select.c, fs/eventpoll.c,
 * fs/pipe.c, net/; libjvm: share/runtime/objectMonitor.cpp, os/posix/os_posix.cpp,
 * share/prims/unsafe.cpp; Java: java.base. Names that changed are all listed.
 */
static const struct sign kernel_signs[] = {
	{PREFIX, NULL, "do_epoll_wait", STATE_IO},
	{PREFIX, NULL, "ep_poll", STATE_IO},
	{PREFIX, NULL, "do_poll", STATE_IO},
	{PREFIX, NULL, "do_sys_poll", STATE_IO},
	{PREFIX, NULL, "do_select", STATE_IO},
	{PREFIX, NULL, "pipe_read", STATE_IO},
	{PREFIX, NULL, "pipe_write", STATE_IO},
	{PREFIX, NULL, "anon_pipe_", STATE_IO},
	{PREFIX, NULL, "fifo_pipe_", STATE_IO},
	{PREFIX, NULL, "fifo_open", STATE_IO},
	{PREFIX, NULL, "sk_wait_data", STATE_IO},
	{PREFIX, NULL, "sk_stream_wait", STATE_IO},
	{PREFIX, NULL, "inet_csk_accept", STATE_IO},
	{PREFIX, NULL, "inet_stream_connect", STATE_IO},
	{PREFIX, NULL, "__skb_wait_for_more_packets", STATE_IO},
	{PREFIX, NULL, "unix_stream_", STATE_IO},
	{PREFIX, NULL, "unix_wait_for_peer", STATE_IO},
	{PREFIX, NULL, "sock_alloc_send_pskb", STATE_IO},
	{PREFIX, NULL, "io_schedule", STATE_IO},
	{PREFIX, NULL, "folio_wait_", STATE_IO},
	{PREFIX, NULL, "filemap_", STATE_IO},
	{PREFIX, NULL, "n_tty_read", STATE_IO},
	{PREFIX, NULL, "io_cqring_wait", STATE_IO},
	{PREFIX, NULL, "inotify_read", STATE_IO},
	{PREFIX, NULL, "eventfd_read", STATE_IO},
	{PREFIX, NULL, "do_wait", STATE_IO}, /* for a child process */
	/* whatever it is that they wait for within: FUSE's process, a server of files */
	{PREFIX, NULL, "request_wait_answer", STATE_IO},
	{PREFIX, NULL, "rpc_wait_bit_killable", STATE_IO},
	{PREFIX, NULL, "vfs_read", STATE_IO},
	{PREFIX, NULL, "vfs_write", STATE_IO},
	{PREFIX, NULL, "vfs_fsync_range", STATE_IO},
};

static const struct sign native_signs[] = {
	{PREFIX, NULL, "ObjectMonitor::enter", STATE_BLOCKED},
	{PREFIX, NULL, "ObjectMonitor::EnterI", STATE_BLOCKED},
	{PREFIX, NULL, "ObjectMonitor::ReenterI", STATE_BLOCKED},
	{PREFIX, NULL, "ObjectMonitor::reenter", STATE_BLOCKED},
	{PREFIX, NULL, "ObjectSynchronizer::enter", STATE_BLOCKED},
	{PREFIX, NULL, "SharedRuntime::complete_monitor_locking", STATE_BLOCKED},
	{PREFIX, NULL, "JavaThread::sleep", STATE_SLEEPING},
	{PREFIX, NULL, "JVM_Sleep", STATE_SLEEPING},
};

static const struct sign java_signs[] = {
	{EXACT, "java.lang.Thread", "sleep", STATE_SLEEPING},
	{EXACT, "java.lang.Thread", "sleep0", STATE_SLEEPING},
	{EXACT, "java.lang.Thread", "sleepNanos", STATE_SLEEPING},
	{EXACT, "java.lang.Thread", "sleepNanos0", STATE_SLEEPING},
	{EXACT, "java.lang.Object", "wait", STATE_WAITING_TIMED},
	{EXACT, "java.lang.Object", "wait0", STATE_WAITING_TIMED},
	{PREFIX, "jdk.internal.misc.Unsafe", "park", STATE_PARKED},
	{PREFIX, "sun.misc.Unsafe", "park", STATE_PARKED},
	{PREFIX, "sun.nio.ch.Net", "", STATE_IO},
	{PREFIX, "sun.nio.ch.EPoll", "", STATE_IO},
	{PREFIX, "java.io.FileInputStream", "read", STATE_IO},
};

#define END(a) ((a) + sizeof(a) / sizeof((a)[0]))

/* The signs that a frame of this kind is held against: *first and up to what is returned. */
static const struct sign *signs_of(const struct frame_name *f, const struct sign **first)
{
	if (f->type == FRAME_KERNEL) {
		*first = kernel_signs;
		return END(kernel_signs);
	}
	if (f->type == FRAME_NATIVE || f->type == FRAME_CPP) {
		*first = native_signs;
		return END(native_signs);
	}
	*first = java_signs;
	return END(java_signs);
}

/* Each frame of each new stack is held against all of its kind: the first character tells most. */
static bool sign_fits(const struct sign *s, const struct frame_name *f)
{
	if (s->method[0] && s->method[0] != f->method[0])
		return false;
	if (s->klass && strcmp(s->klass, f->klass))
		return false;
	if (s->match == EXACT)
		return !strcmp(s->method, f->method);
	return !strncmp(s->method, f->method, strlen(s->method));
}

static bool called_from(const struct frame_name *f, size_t n, const char *klass, const char *prefix)
{
	for (size_t i = 0; i < n && i < 8; i++)
		if (!strcmp(f[i].klass, klass) && !strncmp(f[i].method, prefix, strlen(prefix)))
			return true;
	return false;
}

/* Object.wait() has a frame of its own that calls wait(long), which tells it from a timed wait. */
static enum thread_state refine(enum thread_state st, const struct frame_name *f, size_t n)
{
	if (st == STATE_PARKED &&
	    called_from(f, n, "java.util.concurrent.locks.LockSupport", "parkNanos"))
		return STATE_PARKED_TIMED;
	if (st == STATE_PARKED &&
	    called_from(f, n, "java.util.concurrent.locks.LockSupport", "parkUntil"))
		return STATE_PARKED_TIMED;
	if (st == STATE_WAITING_TIMED)
		for (size_t i = 0; i < n && i < 4; i++)
			if (!strcmp(f[i].method, "wait") && !strcmp(f[i].sig, "()V"))
				return STATE_WAITING;
	return st;
}

static enum thread_state state_of_sleep(const struct frame_name *f, size_t n)
{
	for (size_t i = 0; i < n && i < LOOK_AT; i++) {
		const struct sign *s, *end;

		end = signs_of(&f[i], &s);
		for (; s < end; s++)
			if (sign_fits(s, &f[i]))
				return refine(s->state, f + i, n - i);
	}
	return jvmwait_of(f, n) ? STATE_BLOCKED : STATE_IDLE;
}

enum thread_state state_of(enum gn_state kernel, const struct frame_name *frames, size_t n)
{
	switch (kernel) {
	case GN_ST_RUNNING:
		return STATE_DEFAULT;
	case GN_ST_QUEUED:
		return STATE_QUEUED;
	case GN_ST_STOPPED:
		return STATE_STOPPED;
	case GN_ST_DISK:
		return state_on_disk(state_of_sleep(frames, n));
	default:
		return state_of_sleep(frames, n);
	}
}
