/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes of the JVM's own loader by their names, and their static fields. The loader has a list of
 * its classes, the latest first (JDK classfile/classLoaderData.hpp); they are never unloaded. For
 * the modules of jvm/ only.
 */
#ifndef GNOMON_JVM_CLASSES_H
#define GNOMON_JVM_CLASSES_H

#include <stdbool.h>
#include <stdint.h>

struct vm;

struct class_query {
	const char *name; /* "java/lang/String" */
	uint64_t *klass;  /* 0: not found yet */
};

/*
 * Looks for those that are not found yet among the classes loaded since the last look, which *seen
 * tells (0: there was none). False: the list cannot be read.
 */
bool classes_find(struct vm *vm, uint64_t *seen, const struct class_query *q, unsigned int n);

/* Its static initializer has run to the end. */
bool class_is_ready(struct vm *vm, uint64_t klass);

/*
 * After oops_of(): the java.lang.Class, in which static fields lie at the offsets that
 * fields_find() tells; 0: it cannot be read. A collection may move it.
 */
uint64_t class_mirror(struct vm *vm, uint64_t klass);

#endif
