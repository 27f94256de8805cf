/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes what the unwinder in the kernel (wire/unwinder.h) needs of the targets: unwind tables of
 * the ELF files they have mapped, their lists of mappings, and what is known of their JVM. Works on
 * the naming thread.
 */
#ifndef GNOMON_NAMING_TABLES_H
#define GNOMON_NAMING_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct gn_ctx_places;
struct tables;
struct symproc;
struct unwinder;
struct vm;

/* `u` must outlive it. */
int tables_new(struct tables **out, const struct unwinder *u, struct error *e);
void tables_free(struct tables *t);

/*
 * Publish what the process has mapped, as its mappings were last read. `vm` may be NULL. What
 * cannot be had (a file that cannot be read, is without tables, or too large for the room there is)
 * is walked by frame pointers; what was refused for want of room is warned of once. 1 when that is
 * something else than before, 0 when it is not, or -errno; -ENOENT: nothing executable could be
 * read, and nothing was published.
 */
int tables_update(struct tables *t, pid_t tgid, struct symproc *native, struct vm *vm,
		  uint64_t now_ns);

/* Tells whether the last update met a failure that may pass: worth another one of the same
 * mappings. */
bool tables_unsettled(const struct tables *t);

/* Files that the last update left unread, since reading the process's files takes too long. */
size_t tables_unread(const struct tables *t);

/* Unwind rules of the files that it published, beyond the process's share: stacks end there. */
uint64_t tables_refused(const struct tables *t);

/*
 * True once, when a JVM has come so far that its code can be walked: tables_update() is due then.
 * `vm` may be NULL. Cheap.
 */
bool tables_meet(struct tables *t, pid_t tgid, struct vm *vm);

/* The JVM may know more now; cheap, call it often. */
void tables_follow(struct tables *t, pid_t tgid, struct vm *vm, uint64_t now_ns);

/*
 * Tells the unwinder which JavaThread the thread is: its stacks then find the last Java frame where
 * native code has no rules. 0 or -errno (-E2BIG: too many threads).
 */
int tables_java_thread(struct tables *t, pid_t tgid, pid_t tid, uint64_t thread);

/*
 * A thread of the process carries virtual threads: from now on its samples tell which.
 * 0, or -errno: they do not.
 */
int tables_carrier(struct tables *t, pid_t tgid, pid_t tid, struct vm *vm, uint64_t slot);

/* Where the contexts of the process's threads are found from now on. 0 or -errno. */
int tables_contexts(struct tables *t, pid_t tgid, const struct gn_ctx_places *places);

/*
 * Tells the kernel side how the JVM's threads wait for each other: samples say for what from now
 * on. 0; -ENOENT: the JVM has not come so far; another -errno: they do not.
 */
int tables_locks(struct tables *t, pid_t tgid, struct vm *vm);

/* The process has ended or become another program. */
void tables_drop(struct tables *t, pid_t tgid, uint64_t now_ns);

#endif
