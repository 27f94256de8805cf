/* SPDX-License-Identifier: Apache-2.0 */
/* HotSpot's Symbols and where constant pools keep them: for the modules of jvm/. */
#ifndef GNOMON_JVM_SYMBOL_H
#define GNOMON_JVM_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/frame.h"

struct vm;

/* Can this be a pointer to metadata: not null, 8-aligned, a user address? */
bool is_metadata(uint64_t addr);

/*
 * A symbol's bytes into buf, cut at cap - 1, with a terminator and '?' for control characters: the
 * length, or -ENOENT when it cannot be read.
 */
int symbol_read(struct vm *vm, uint64_t sym, char *buf, size_t cap);

/*
 * A method's descriptor, which is longer than other names: as descriptor_fit() makes it fit into
 * buf. Its length, or -ENOENT.
 */
int symbol_read_descriptor(struct vm *vm, uint64_t sym, char buf[static FRAME_NAME_MAX]);

/* The Symbol* in entry `index` of a ConstantPool: 0, -ENOENT. */
int pool_symbol(struct vm *vm, uint64_t pool, uint32_t index, uint64_t *sym);

/* A Klass's name, as the class file has it ("java/lang/String"): the length, -ENOENT. */
int klass_name(struct vm *vm, uint64_t klass, char *buf, size_t cap);

#endif
