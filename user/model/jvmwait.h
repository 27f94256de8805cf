/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread that runs Java code waits for within the JVM, as the JVM's own frames tell, those
 * on top of the first of Java: a safepoint, memory, a class that another thread initializes.
 * Functions of JDK 17 to 25.
 */
#ifndef GNOMON_MODEL_JVMWAIT_H
#define GNOMON_MODEL_JVMWAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

/* frames: leaf first. 0: for nothing of the JVM's, or it runs no Java code. Else below JVMWAIT_MAX.
 */
uint8_t jvmwait_of(const struct frame_name *frames, size_t n);

#define JVMWAIT_MAX 256

/* Tells whether it ends when the VM thread lets it: a safepoint, or an operation of that thread's.
 */
bool jvmwait_is_vm(uint8_t wait);

/* In words, as "VM operation" and "G1 heap"; `of`: whose matter it is, NULL not known. */
const char *jvmwait_words(uint8_t wait, const char **of);

#endif
