/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's code cache: where its heaps lie, which blob an address is in, and what the BPF step
 * has to know of all that (kern/abi_jvm.h). JDK memory/heap.cpp, code/codeBlob.hpp.
 */
#ifndef GNOMON_JVM_CODECACHE_H
#define GNOMON_JVM_CODECACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kern/abi_jvm.h"

struct vm;

/*
 * Everything for the walk. 0; -ENOTSUP when this JVM does not say where its code heaps are
 * (vm_missing() tells); -EAGAIN while it starts and has not made them all; -EFAULT when they
 * cannot be read. Features it lacks are flags not set.
 */
int codecache_fill(struct vm *vm, struct gn_jvm *out);

/*
 * Take over what became known since (the end of virtual threads' stacks, the interpreter's end,
 * blobs told by names): 1 when *jvm changed and is to be published again, else 0. Cheap: a few
 * words read.
 */
int codecache_refresh(struct vm *vm, struct gn_jvm *jvm);

/*
 * Tells whether methods' code is made by compilers' threads alone, and what calls Java code is in
 * heaps of its own (kern/hotspot.h, hs_code_is()): not with JVMCI, with a code cache of one heap,
 * or in a release newer than those looked at.
 */
bool codecache_is_compilers(struct vm *vm, const struct gn_jvm *jvm);

/* Bytes of all its heaps: the figures of `jcmd Compiler.codecache`. */
struct codecache_use {
	uint64_t used, committed, reserved;
};

/*
 * As it is now. 0, or -ENOTSUP, -EFAULT, -EBADMSG (what lies there is no code heap): then all of
 * *out is 0.
 */
int codecache_use(struct vm *vm, struct codecache_use *out);

/* The heap that addr is in, for uw_mapping.arg; -1 none. */
int codecache_heap(const struct gn_jvm *jvm, uint64_t addr);

/* The CodeBlob that pc is in: 0, -ENOENT. */
int codecache_find(struct vm *vm, uint64_t pc, uint64_t *blob);

/* Is it in a code heap; or may it be, where they are to be known, and are not yet? */
bool codecache_may_have(struct vm *vm, uint64_t addr);

/*
 * For who takes frames apart: reads again where the interpreter ends, which is earlier than it was
 * while the JVM started.
 */
void codecache_renew(struct vm *vm);

/* Is it in the interpreter, as far as that was read? */
bool codecache_is_interpreter(struct vm *vm, uint64_t pc);

/* The name HotSpot gave the blob that pc is in ("StubRoutines (1)"): 0, -ENOENT. */
int codecache_blob_name(struct vm *vm, uint64_t pc, char *buf, size_t cap);

#endif
