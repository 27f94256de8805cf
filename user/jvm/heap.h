/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Java heap, as far as names of threads and their groups need it: objects, their classes, where
 * fields lie. For the modules of jvm/ only.
 */
#ifndef GNOMON_JVM_HEAP_H
#define GNOMON_JVM_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct vm;
struct zheap;
struct heap_epoch;

#define FIELD_NONE 0 /* offset 0 is the object's header */

/* How this JVM lays out its heap, and where the few fields needed are (offsets in the object). */
struct oops {
	bool compressed, compressed_klass, compact, zgc;
	uint64_t base, klass_base;
	uint32_t shift, klass_shift;
	uint32_t name, tid, eetop, value, coder;
	uint32_t group, holder, holder_group, group_name, group_parent;
	bool thread_done, string_done, holder_done, group_done;
	const struct zheap *z; /* while it is set, references are followed to where objects are */
	struct heap_epoch *epoch; /* heap_epoch_of()'s */
	bool unknown; /* it cannot be told; looking again would take as long for every thread */
};

/* NULL: unknown, the JVM has not come so far, or out of memory. Belongs to the vm. */
struct oops *oops_of(struct vm *vm);

/* After oops_of(): the object that a field (or, `wide`, a handle) at addr refers to; 0 none. */
uint64_t oop_load(struct vm *vm, uint64_t addr, bool wide);
uint64_t oop_klass(struct vm *vm, uint64_t obj);

/* Tells what an object's header has at the returned offset if it is of `klass`. */
uint64_t klass_in_header(struct vm *vm, uint64_t klass, uint32_t *at, uint32_t *bytes,
			 uint32_t *shift);

/* Array header: where a byte array's length is and where its bytes start. */
void array_layout(const struct vm *vm, uint32_t *length, uint32_t *data);

/* Is obj's class, or one above it, `name`? Then that class, else 0. */
uint64_t klass_above(struct vm *vm, uint64_t obj, const char *name);

/* A direct subclass by name, 0 none (so far: classes are loaded when they are used). */
uint64_t klass_below(struct vm *vm, uint64_t klass, const char *name);

struct field_query {
	const char *name, *sig;
	uint32_t *offset;
};

/* Sets the offsets of those fields that klass itself declares. */
void fields_find(struct vm *vm, uint64_t klass, const struct field_query *w, unsigned int n);

#endif
