/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads of a JVM wait for each other with: monitors and java.util.concurrent's
 * synchronizers. JDK runtime/objectMonitor.hpp, runtime/lockStack.hpp, runtime/javaThread.hpp,
 * java.util.concurrent.locks.AbstractOwnableSynchronizer.
 */
#ifndef GNOMON_JVM_MONITORS_H
#define GNOMON_JVM_MONITORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kern/abi_jvm.h"

struct vm;

/*
 * Fills in how the kernel side finds what a thread waits for, and whose it is. 0; -ENOENT: the JVM
 * has not come so far; -ENOTSUP: this one does not tell.
 */
int vm_locks(struct vm *vm, struct gn_locks *out);

/* The addresses of a thread's stack: [*low, *high). False: not known. */
bool vm_thread_stack(struct vm *vm, uint64_t thread, uint64_t *low, uint64_t *high);

/*
 * The object of a monitor whose owner is whoever has that object in its lock stack; 0: the monitor
 * has another owner (by now), or cannot be read.
 */
uint64_t vm_monitor_held(struct vm *vm, uint64_t monitor);

/* Tells whether `thread` has the object in its lock stack. */
bool vm_thread_holds(struct vm *vm, uint64_t thread, uint64_t object);

/* A class's name as Java has it: "java.util.HashMap", "byte[]". Its length, or -ENOENT. */
int vm_class_name(struct vm *vm, uint64_t klass, char *buf, size_t cap);

#endif
