/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What naming tells the unwinder in the kernel of a target: which files' code it has mapped where,
 * how to unwind each, which of it a JVM made, and which of its threads carry what. Naming reads all
 * that from the target and compiles it; capture (capture/unwinder.h) gives numbers to files and
 * rules and writes the BPF maps.
 */
#ifndef GNOMON_WIRE_UNWINDER_H
#define GNOMON_WIRE_UNWINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kern/abi_context.h"
#include "kern/abi_jvm.h"
#include "wire/rules.h"

#define UNWIND_KEY_MAX	 72 /* bytes: 64 of naming's, and whose it is (wire/clerk.h) */
#define UNWIND_NO_FILE	 0
#define UNWIND_MAX_ROWS	 (4U << 20)	/* LLVM's library has 1.3 million */
#define UNWIND_MAX_BYTES (256ULL << 20) /* of pages, of all files; libjvm.so's are 1.1 MB */

struct unwind_row {
	uint32_t key; /* address - base; the row applies up to the next one */
	uint16_t rule;
};

/* How to unwind the code of one file. */
struct unwind_table {
	struct unwind_row *rows; /* keys strictly ascending, the first is 0 */
	size_t n;
	struct rule_set rules;
	uint32_t nfdes;	  /* entries of the file that were compiled */
	uint32_t skipped; /* entries left out */
	bool damaged;
};

/* An executable mapping. */
struct unwind_mapping {
	uint64_t start, end;
	uint64_t bias; /* start's address minus its key in the file's table; may be negative, wraps
			*/
	uint32_t kind; /* enum uw_map_kind */
	uint32_t arg;  /* file number, or the heap's */
};

/*
 * The unwinder, as a target's naming has it: from one thread, in any order. Functions that return
 * int return 0 or -errno where nothing else is said. A program that walks meanwhile sees what there
 * was before or what there is now.
 */
struct unwinder {
	void *ctx;

	/*
	 * The number of the file whose table was published under this key (what tells its content),
	 * UNWIND_NO_FILE if there is none. It stays valid until the next proc_set() unless a
	 * process names it.
	 */
	uint32_t (*file_find)(void *ctx, const void *key, size_t len);

	/*
	 * Publish a file's table, which process tgid has mapped. -ENOSPC: there are too many files,
	 * or it is too large for the room left to this process; -E2BIG, -EINVAL, -ENOMEM.
	 * *refused: so many of its rules found no room.
	 */
	int (*file_add)(void *ctx, pid_t tgid, const void *key, size_t len,
			const struct unwind_table *table, uint32_t *file, uint32_t *refused);

	/* All that the process has mapped; the array is changed. 1: other than before. */
	int (*proc_set)(void *ctx, pid_t tgid, struct unwind_mapping *v, size_t n, uint64_t now_ns);

	/* It has ended or become another program: its mappings, its JVM. */
	void (*proc_drop)(void *ctx, pid_t tgid, uint64_t now_ns);

	/* Ten times a second: true once when files that nobody has any more have left room. */
	bool (*freed)(void *ctx, uint64_t now_ns);

	/* The JVM of process jvm->tgid, for the first time or anew. */
	int (*jvm_set)(void *ctx, const struct gn_jvm *jvm);

	/* Does the kernel side know all threads that compile, and one at least? Else -EAGAIN, or
	 * -errno. */
	int (*coders_met)(void *ctx, pid_t tgid);

	/* Sets which JavaThread a thread is. -E2BIG: too many threads. */
	int (*java_thread)(void *ctx, pid_t tgid, pid_t tid, uint64_t thread);

	/* A thread carries virtual threads, which look so in this JVM. */
	int (*carrier)(void *ctx, pid_t tgid, pid_t tid, const struct gn_carrier *carrier,
		       const struct gn_vthreads *layout);

	/* Where its threads' contexts are found; places->n 0: nowhere. */
	int (*contexts)(void *ctx, pid_t tgid, const struct gn_ctx_places *places);

	/* Sets how threads of a JVM wait for each other. */
	int (*locks)(void *ctx, pid_t tgid, const struct gn_locks *locks);

	/*
	 * The newest BPF program and link of the host, by their ids, which only grow: from those
	 * given on.
	 */
	int (*programs)(void *ctx, uint32_t *program, uint32_t *link);
};

#endif
