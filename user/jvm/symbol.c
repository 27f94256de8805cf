/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/descriptor.h"
#include "jvm/vm.h"

bool is_metadata(uint64_t addr)
{
	return addr && !(addr & 7) && addr < 1ULL << 47;
}

int symbol_read(struct vm *vm, uint64_t sym, char *buf, size_t cap)
{
	uint16_t len;
	uint32_t both;

	if (vm->at.sym_length != VM_NONE) {
		if (mem_u16(vm->mem, sym + vm->at.sym_length, &len))
			return -ENOENT;
	} else {
		if (mem_u32(vm->mem, sym + vm->at.sym_length_ref, &both))
			return -ENOENT;
		len = (uint16_t)(both >> 16);
	}
	if (len >= cap)
		len = (uint16_t)(cap - 1);
	if (mem_read(vm->mem, sym + vm->at.sym_body, buf, len))
		return -ENOENT;
	buf[len] = 0;
	for (char *p = buf; p < buf + len; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return len;
}

int symbol_read_descriptor(struct vm *vm, uint64_t sym, char buf[static FRAME_NAME_MAX])
{
	int len = symbol_read(vm, sym, buf, FRAME_NAME_MAX);
	char *whole;

	if (len < FRAME_NAME_MAX - 1) /* a descriptor that fits is shorter, or the same */
		return len;
	whole = malloc(DESCRIPTOR_MAX);
	if (!whole)
		return -ENOENT;
	len = symbol_read(vm, sym, whole, DESCRIPTOR_MAX);
	if (len >= 0)
		descriptor_fit(buf, whole);
	free(whole);
	return len < 0 ? len : (int)strlen(buf);
}

int pool_symbol(struct vm *vm, uint64_t pool, uint32_t index, uint64_t *sym)
{
	int32_t length;

	if (mem_i32(vm->mem, pool + vm->at.cp_length, &length) || length < 0 ||
	    index >= (uint32_t)length)
		return -ENOENT;
	if (mem_u64(vm->mem, pool + vm->at.cp_size + (uint64_t)index * 8, sym) ||
	    !is_metadata(*sym))
		return -ENOENT;
	return 0;
}

int klass_name(struct vm *vm, uint64_t klass, char *buf, size_t cap)
{
	uint64_t sym;

	if (!is_metadata(klass) || mem_u64(vm->mem, klass + vm->at.klass_name, &sym) ||
	    !is_metadata(sym))
		return -ENOENT;
	return symbol_read(vm, sym, buf, cap);
}
