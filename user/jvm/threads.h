/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Java threads of a JVM: which JavaThread runs on which OS thread, and its java.lang.Thread's
 * name. JDK runtime/threadSMR.cpp, classfile/javaClasses.cpp.
 */
#ifndef GNOMON_JVM_THREADS_H
#define GNOMON_JVM_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kern/abi_jvm.h"

struct vm;

#define THREAD_NAME_MAX 512 /* bytes of a thread name kept, with the terminator */

struct java_thread {
	uint64_t thread;	    /* JavaThread* (what JVMTI agents see as eetop) */
	pid_t tid;		    /* in the JVM's own pid namespace; 0 not started */
	int64_t id;		    /* Thread.getId(), 0 unknown */
	uint64_t carrier;	    /* it carries virtual threads: the handle of the current one */
	char name[THREAD_NAME_MAX]; /* UTF-8, "" unknown: then the 15 bytes of comm must do */
	/* names of its thread groups, its own first, each with its terminator and "" at the end:
	 * "main\0system\0"; "" unknown */
	char groups[THREAD_NAME_MAX];
};

/*
 * Calls cb for every Java thread that runs now, with its JavaThread* and its tid (as in the JVM's
 * namespace); a non-zero result ends that and is returned. 0, -ENOTSUP (vm_missing() tells why),
 * -EFAULT when the list changed under the reader: try again.
 */
typedef int (*java_thread_fn)(void *arg, uint64_t thread, pid_t tid);
int vm_threads(struct vm *vm, java_thread_fn cb, void *arg);

/*
 * What tells whether threads have come: the list, which is replaced when one comes or goes, and how
 * many were started, which is counted when one is in it (JDK services/threadService.cpp; those that
 * the JVM hides, its compilers, are not). While both are what they were there are no others.
 */
struct vm_threads_mark {
	uint64_t list, started;
};

/* 0, -ENOENT: the JVM does not tell (yet), -EFAULT. It is read anew. */
int vm_threads_mark(struct vm *vm, struct vm_threads_mark *out);

/*
 * Tells what the thread at `thread` is called, now or at some time from `since` (CLOCK_MONOTONIC,
 * ns) on, if its tid is `tid`: 0, -ENOENT; -EAGAIN: objects move now, and *out has no names. Of
 * many threads asked for with one `since` most of the memory is read once.
 *
 * Names come from the Java heap: they are read within one epoch of it (heapepoch.h), in which
 * nothing of what led there changed, and from a java.lang.Thread that is this thread's. Of one that
 * has ended they are "". Groups are told only up to "system", which is the JVM's own.
 */
int vm_thread_read(struct vm *vm, uint64_t thread, pid_t tid, uint64_t since,
		   struct java_thread *out);

/*
 * Of a JVM in which a thread is a carrier: how virtual threads look (kern/vthread.bpf.h). -ENOENT:
 * there was none yet; -ENOTSUP: this JVM does not tell.
 */
int vm_vthreads(struct vm *vm, struct gn_vthreads *out);

/*
 * The class of virtual threads, 0: not loaded yet. oops_of() has been called then, and knows where
 * a thread's name and id are.
 */
uint64_t vm_virtual_klass(struct vm *vm);

/* After oops_of(): a String's text, "" if it cannot be read. */
void java_string_read(struct vm *vm, uint64_t str, char *out, size_t cap);

/* A String's bytes (Latin-1; wide: UTF-16 in the machine's order) as UTF-8 with a terminator. */
void java_string_decode(const uint8_t *p, size_t len, bool wide, char *out, size_t cap);

#endif
