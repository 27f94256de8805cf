/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has the JVM unloaded classes since? What an address of metadata held when a sample was taken it
 * still holds if not. The JVM counts unloaded classes, before it frees their memory, in two of its
 * performance counters (JDK services/classLoadingService.cpp), and loaded ones, before their code
 * runs, in two more; they lie in its memory whether or not it shares them as a file, or at all
 * (-XX:-UsePerfData).
 */
#ifndef GNOMON_JVM_UNLOADS_H
#define GNOMON_JVM_UNLOADS_H

#include <stdbool.h>
#include <stdint.h>

struct vm;

/*
 * Look at the counters: true when classes were unloaded since the last look, or loaded, perhaps to
 * where others were: what was read of metadata before does not go with what is read now.
 */
bool unloads_look(struct vm *vm);

/*
 * Looks, unless the last look was after `time` (CLOCK_MONOTONIC, ns), and drops what mem.h keeps
 * where that does not go with what is read now.
 */
void unloads_follow(struct vm *vm, uint64_t time);

/* Can this JVM tell? Valid after the first look. */
bool unloads_known(const struct vm *vm);

/* Unloaded so far, as last looked at. */
uint64_t unloads_count(const struct vm *vm);

/* Loaded so far: freed memory is what it was until a class is loaded there. */
uint64_t unloads_loads(const struct vm *vm);

/* A time in which no classes were unloaded: that of the last look. */
struct unloads_span {
	uint64_t count;	   /* of those unloaded before it */
	uint64_t since_ns; /* it began then at the latest */
};
struct unloads_span unloads_span(const struct vm *vm);

/* Does the span last until `time`, and from before it? Looks again if need be; true also when the
 * JVM cannot tell. */
bool unloads_spans(struct vm *vm, const struct unloads_span *span, uint64_t time);

/*
 * Were no classes unloaded between `time` (CLOCK_MONOTONIC, ns) and the last look? True also when
 * the JVM cannot tell.
 */
bool unloads_none_since(const struct vm *vm, uint64_t time);

#endif
