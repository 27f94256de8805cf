/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One target process's names: JVM code (agent or VM structures), native libraries, the kernel.
 * Used from one thread at a time.
 */
#ifndef GNOMON_NAMING_RESOLVER_H
#define GNOMON_NAMING_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/frame.h"
#include "kern/abi.h"
#include "model/thread.h"

enum resolver_mode { RESOLVE_AUTO, RESOLVE_AGENT, RESOLVE_VMSTRUCTS, RESOLVE_NONE };

/*
 * Symbols shared by all targets: kernel, images of libraries. Once *haste is not 0 (NULL: it never
 * is) no JVM's answer is waited for any more.
 */
struct resolver_shared;
int resolver_shared_open(struct resolver_shared **out, const _Atomic uint32_t *haste,
			 struct error *e);
void resolver_shared_close(struct resolver_shared *s);

struct resolver;

int resolver_open(struct resolver **out, struct resolver_shared *shared, pid_t tgid,
		  enum resolver_mode mode, struct error *e);
void resolver_close(struct resolver *r);

/*
 * Look for what has changed: a JVM that has come up, code loaded and unloaded, names of threads.
 * Returns true when addresses may mean other code than before.
 */
bool resolver_poll(struct resolver *r, uint64_t now_ns);

/*
 * The process became another program at `time_ns`. False: what is known of a JVM was read after
 * that, and stays.
 */
bool resolver_exec(struct resolver *r, uint64_t time_ns);

/*
 * Name a stack, leaf first; inlined frames become frames of their own. Returns the number of
 * frames, at most max (then *cut is set). The strings live until the next call.
 */
size_t resolver_stack(struct resolver *r, const struct gn_stack *stack, struct frame_name *out,
		      size_t max, bool *cut);

/* Of that stack: a frame is marked, since a heuristic led to it, or it was being made. */
bool resolver_guessed(const struct resolver *r);

/* Look at what will be asked for later while it is there: resolver_stack() of the same follows. */
void resolver_notice(struct resolver *r, const struct gn_stack *stack);

/* Of that stack: a method's class, or its code, was gone before it had a name. */
bool resolver_unnamed(const struct resolver *r);

/*
 * A frame of that stack has no name only because classes were unloaded since its time: the same
 * frames at a later time, if the thread still is there then, may get one.
 */
bool resolver_in_doubt(const struct resolver *r);

/*
 * A span of time in which its methods stayed where they were: what the stack named last is called,
 * the same frames are called at any time within it.
 */
struct resolver_span {
	uint64_t count, since_ns;
};
struct resolver_span resolver_span(const struct resolver *r);
bool resolver_spans(struct resolver *r, const struct resolver_span *span, uint64_t time);

/*
 * What the interpreted frames of a stack are called at its time: a number, the same for the same
 * names; 0 when one of them is not certain.
 */
uint64_t resolver_interpreted(struct resolver *r, const struct gn_stack *stack);

/*
 * A thread as the JVM knows it, now or at some time from `since` on (CLOCK_MONOTONIC, ns): 0,
 * -ENOENT for threads that are not Java threads (or whose name cannot be had), or -EAGAIN: it is
 * new, and who is new is looked at again in a while; or objects were being moved, and there is only
 * which JavaThread it is. tid is of the initial PID namespace.
 */
int resolver_thread(struct resolver *r, pid_t tid, uint64_t since, struct resolved_thread *out);

/* For the unwinder's tables: the JVM (NULL while there is none) and the mappings. */
struct vm;
struct symproc;
struct vm *resolver_vm(struct resolver *r);
struct symproc *resolver_native(struct resolver *r);

/* Tells which source of Java names is in use: "agent", "vmstructs" or "none", and why, in words. */
const char *resolver_source(const struct resolver *r);

#endif
