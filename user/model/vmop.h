/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a JVM does while its threads wait for it to go on, as the frames of its VM thread tell: a VM
 * operation, or that it waits until all of them have stopped. Of JDK 17 to 25:
 * runtime/vmThread.cpp, vmOperation.hpp (VM_OPS_DO), safepoint.cpp.
 */
#ifndef GNOMON_MODEL_VMOP_H
#define GNOMON_MODEL_VMOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

/* Not an operation: threads are told to stop, and not all of them have. */
#define VMOP_STOPPING 1

/* frames: leaf first. 0: it does nothing of the kind. Else below VMOP_MAX. */
uint8_t vmop_of(const struct frame_name *frames, size_t n);

#define VMOP_MAX 64

/*
 * Tells whether a thread of Java that has no reason to wait at that place holds up a VM thread that
 * waits for all to stop: it runs Java code, or the JVM's. In code of other libraries it does not.
 */
bool vmop_delays(const struct frame_name *frames, size_t n);

/* As the JVM itself calls it, "G1CollectForAllocation"; "another operation" if it is not known. */
const char *vmop_words(uint8_t op);

#endif
