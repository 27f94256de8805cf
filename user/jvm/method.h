/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of Java frames from the JVM's memory: Method, ConstMethod, ConstantPool and Symbol for the
 * names, the compressed line table for lines, PcDesc and ScopeDesc for what was inlined.
 *
 * What has been named is kept, so that code freed and classes unloaded later keep their names:
 * compiled code by (blob, compile id), methods by address and a check that the address still holds
 * the same method. Memory is bounded: past 24 MB everything kept is dropped at once.
 *
 * Addresses are of the time of a sample, and names are read later; meanwhile a class may have been
 * unloaded and another one lie at its place. So compiled code is named only while it is alive,
 * which keeps its classes; an interpreted method only if it was known at the time of the sample, if
 * no class was unloaded since (unloads.h), or if it lies in the JVM's archive of classes, where
 * nothing is ever freed. What is not certain gets no name but a mark.
 *
 * Strings in results live until the next call of any function here on the same vm, but those of a
 * frame with a method_key until vm_names_drops() changes or vm_names_age() is called. They are
 * HotSpot's modified UTF-8, with control characters replaced by '?', and cut at FRAME_NAME_MAX
 * (descriptors so that they stay what they are, base/descriptor.h).
 */
#ifndef GNOMON_JVM_METHOD_H
#define GNOMON_JVM_METHOD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"
#include "kern/abi.h"

struct vm;

#define VM_INLINE_MAX 64 /* deepest inlining named */

/*
 * What is named from now on is of `time` (CLOCK_MONOTONIC, ns): a sample's. To be called for each
 * stack.
 */
void vm_at(struct vm *vm, uint64_t time);

/* Since then a method got no name only because classes were unloaded after `time`. */
bool vm_in_doubt(const struct vm *vm);

/*
 * The logical frames of a physical one, innermost first: their number (1..max), at least one
 * whatever happened: what cannot be named says so in brackets, with klass KLASS_JVM. `max` >= 1;
 * with less than VM_INLINE_MAX the outermost frames are left out.
 */
int vm_name(struct vm *vm, const struct gn_frame *f, struct frame_name *out, int max);

/*
 * An interpreted frame that vm_name() will be asked for: its method is known from now on, so what
 * is unloaded until then makes no later sample of it uncertain.
 */
void vm_notice(struct vm *vm, const struct gn_frame *f);

/*
 * As vm_name(), of a compiled frame that is unlocking a monitor in the JVM's own code. The JIT
 * notes nothing at such calls, which it lays out at the end of the code, beside those of other
 * inlined methods: so what is named is whatever holds a monitor there, and, if that is more than
 * one, only what these have in common. The innermost frame has no line.
 */
int vm_name_unlocker(struct vm *vm, const struct gn_frame *f, struct frame_name *out, int max);

/* Is it the mark of a method or code that was gone before it was named? */
bool vm_is_unloaded(const struct frame_name *f);

/*
 * Call now and then: forgets the names of what was met in no stack for some minutes, such as
 * classes that were unloaded long ago.
 */
void vm_names_age(struct vm *vm, uint64_t now_ns);

/* Returns how often everything kept was dropped. */
unsigned int vm_names_drops(const struct vm *vm);

/* Bytes kept for names, and what is kept: for the recorder's account of itself. */
struct vm_cache_use {
	uint64_t bytes;
	unsigned int methods, nmethods, drops;
};
void vm_cache_use(const struct vm *vm, struct vm_cache_use *out);

#endif
