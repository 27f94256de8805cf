/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A time in which what references say holds good, though the JVM runs on. Of most collectors
 * objects move while all threads are stopped (JDK gc/shared/collectedHeap.hpp): an epoch ends with
 * the next such pause. ZGC moves them at any time: an epoch is one of its phases, and oop_load()
 * follows references in it as the load barrier does (zheap.h). For the modules of jvm/ only.
 */
#ifndef GNOMON_JVM_HEAPEPOCH_H
#define GNOMON_JVM_HEAPEPOCH_H

#include <stdbool.h>
#include <stdint.h>

#include "jvm/zheap.h"

struct gn_heap;
struct vm;

struct heap_epoch {
	bool z;		 /* by zheap */
	bool pauses;	 /* by what follows */
	bool still;	 /* within one no object moves */
	bool lasts;	 /* it is still, and lasted when it was ended */
	uint8_t active;	 /* all threads are stopped for a collection */
	uint32_t number; /* of collections so far */
	struct zheap zheap;
};

/*
 * After oops_of(): how this JVM's collector tells of its epochs. 0; -ENOTSUP: objects may move
 * within one, or it tells nothing, and each epoch lasts for ever: Shenandoah moves objects and
 * then mends the references to them one by one, and what it left stays as it was until all are.
 */
int heap_epoch_find(struct vm *vm, struct heap_epoch *e);

/* One that is found already, for reading names and threads; NULL: out of memory, or no heap. */
struct heap_epoch *heap_epoch_of(struct vm *vm);

/* Begins one; what is read from now on is of the present. False: not now, objects are moved. */
bool heap_epoch_begin(struct vm *vm, struct heap_epoch *e);

/*
 * Goes on with the last one where that is as good, or begins one: what is read from now on is of
 * `since` (CLOCK_MONOTONIC, ns) or later. For many reads of the same pages.
 */
bool heap_epoch_go_on(struct vm *vm, struct heap_epoch *e, uint64_t since);

/* Tells whether the epoch has lasted until now. After each of these two it had. */
bool heap_epoch_end(struct vm *vm, struct heap_epoch *e);

/* After heap_epoch_find(): the same for the kernel side, with how references are read. */
void heap_epoch_tell(struct vm *vm, const struct heap_epoch *e, struct gn_heap *out);

#endif
