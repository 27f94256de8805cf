/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/heap.h"

#include <stdlib.h>
#include <string.h>

#include "jvm/stream.h"
#include "jvm/symbol.h"
#include "jvm/vm.h"
#include "jvm/vmstructs.h"
#include "jvm/zheap.h"
#include "kern/abi_jvm.h"

#define FIELDS_MAX 1024 /* fields of a class */
#define SUPERS_MAX 64	/* classes above a thread's */
#define SUBS_MAX   4096 /* classes right below one */

void oops_free(struct vm *vm)
{
	if (vm->oops)
		free(vm->oops->epoch);
	free(vm->oops);
	vm->oops = NULL;
}

/* ---- the heap ---------------------------------------------------------------------------------
 */

/* A starting JVM has its heap, and where classes lie, before its first class. */
static bool has_classes(struct vm *vm)
{
	uint64_t klass;

	return vm->at.class_thread == VM_NONE ||
	       (!mem_u64(vm->mem, vm->at.class_thread, &klass) && klass);
}

struct oops *oops_of(struct vm *vm)
{
	const struct vm_layout *at = &vm->at;
	struct oops *o = vm->oops;

	if (o)
		return o->unknown ? NULL : o;
	if (!has_classes(vm))
		return NULL;
	o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	vm->oops = o;
	o->compressed = vm_flag(vm, "UseCompressedOops") == 1;
	o->compact = vm_flag(vm, "UseCompactObjectHeaders") == 1;
	/* JVMs without the flag always have compressed class pointers */
	o->compressed_klass = vm_flag(vm, "UseCompressedClassPointers") != 0;
	/* generational ZGC shifts its pointers; the older one had colours in the address */
	o->zgc = vm_flag(vm, "UseZGC") == 1 &&
		 (vm->release >= 24 || vm_flag(vm, "ZGenerational") == 1);
	o->unknown = mem_u64(vm->mem, at->oops_base, &o->base) ||
		     mem_u32(vm->mem, at->oops_shift, &o->shift) ||
		     mem_u64(vm->mem, at->klass_base, &o->klass_base) ||
		     mem_u32(vm->mem, at->klass_shift, &o->klass_shift) || o->shift > 16 ||
		     o->klass_shift > 16;
	return o->unknown ? NULL : o;
}

/* The object that a field (or, `wide`, a handle) at addr refers to; 0 none. */
uint64_t oop_load(struct vm *vm, uint64_t addr, bool wide)
{
	const struct oops *o = vm->oops;
	uint32_t narrow;
	uint64_t v;

	if (o->compressed && !wide) {
		if (mem_u32(vm->mem, addr, &narrow) || !narrow)
			return 0;
		return o->base + ((uint64_t)narrow << o->shift);
	}
	if (mem_u64(vm->mem, addr, &v) || !v)
		return 0;
	if (o->z)
		return zheap_object(vm, o->z, v);
	return o->zgc ? gn_zgc_address(v) : v;
}

uint64_t oop_klass(struct vm *vm, uint64_t obj)
{
	const struct oops *o = vm->oops;
	uint32_t narrow;
	uint64_t v;

	if (o->compact) {
		if (vm->at.mark_klass_shift > 63 || mem_u64(vm->mem, obj, &v))
			return 0;
		return o->klass_base + (v >> vm->at.mark_klass_shift << o->klass_shift);
	}
	if (o->compressed_klass) {
		if (mem_u32(vm->mem, obj + vm->at.oop_narrow_klass, &narrow))
			return 0;
		return o->klass_base + ((uint64_t)narrow << o->klass_shift);
	}
	return mem_u64(vm->mem, obj + vm->at.oop_klass, &v) ? 0 : v;
}

uint64_t klass_in_header(struct vm *vm, uint64_t klass, uint32_t *at, uint32_t *bytes,
			 uint32_t *shift)
{
	const struct oops *o = vm->oops;
	uint64_t narrow = (klass - o->klass_base) >> o->klass_shift;

	*shift = o->compact ? (uint32_t)vm->at.mark_klass_shift : 0;
	*bytes = o->compressed_klass && !o->compact ? 4 : 8;
	*at = (uint32_t)(o->compact	       ? 0
			 : o->compressed_klass ? vm->at.oop_narrow_klass
					       : vm->at.oop_klass);
	return o->compact || o->compressed_klass ? narrow : klass;
}

/* Array header: where a byte array's length is and where its bytes start. */
void array_layout(const struct vm *vm, uint32_t *length, uint32_t *data)
{
	*length = vm->oops->compact ? 8 : vm->oops->compressed_klass ? 12 : 16;
	*data = *length + 4;
	/* JDK 23 gave up aligning the elements to 8 (JDK-8139457) */
	if (vm->release < 23)
		*data = (*data + 7) & ~7U;
}

/* ---- fields of classes ------------------------------------------------------------------------
 */

static void field_found(struct vm *vm, uint64_t pool, uint32_t name, uint32_t sig, uint32_t offset,
			const struct field_query *w, unsigned int n)
{
	char text[64];
	uint64_t sym;

	if (pool_symbol(vm, pool, name, &sym) || symbol_read(vm, sym, text, sizeof(text)) < 0)
		return;
	for (unsigned int i = 0; i < n; i++) {
		if (strcmp(w[i].name, text))
			continue;
		if (pool_symbol(vm, pool, sig, &sym) ||
		    symbol_read(vm, sym, text, sizeof(text)) < 0 || strcmp(text, w[i].sig))
			return;
		*w[i].offset = offset;
		return;
	}
}

/* Since JDK 21 fields are a stream of UNSIGNED5 numbers (oops/fieldInfo.hpp). */
static void fields_from_stream(struct vm *vm, uint64_t pool, uint64_t array,
			       const struct field_query *w, unsigned int n)
{
	uint8_t buf[8192];
	struct stream s;
	uint32_t count;
	int32_t len;

	if (mem_i32(vm->mem, array + vm->at.array_length, &len) || len <= 0)
		return;
	if ((size_t)len > sizeof(buf))
		len = sizeof(buf);
	if (mem_read(vm->mem, array + vm->at.array_u1_data, buf, (size_t)len))
		return;
	s = stream_of(buf, (size_t)len, vm->release);
	count = stream_unsigned(&s);
	stream_unsigned(&s); /* the number of injected fields, which come last and are not needed */
	for (uint32_t i = 0; i < count && i < FIELDS_MAX && !s.failed; i++) {
		uint32_t name = stream_unsigned(&s), sig = stream_unsigned(&s);
		uint32_t offset = stream_unsigned(&s), flags;

		stream_unsigned(&s); /* access */
		flags = stream_unsigned(&s);
		if (flags & 1)
			stream_unsigned(&s); /* initial value */
		if (flags & 4)
			stream_unsigned(&s); /* generic signature */
		if (flags & 16)
			stream_unsigned(&s); /* contention group */
		if (!s.failed)
			field_found(vm, pool, name, sig, offset, w, n);
	}
}

/* Before JDK 21 a field is six u2; the offset is in the last two, above two tag bits. */
static void fields_from_array(struct vm *vm, uint64_t klass, uint64_t pool, uint64_t array,
			      const struct field_query *w, unsigned int n)
{
	uint16_t count, f[6];

	if (vm->at.ik_java_fields == VM_NONE ||
	    mem_u16(vm->mem, klass + vm->at.ik_java_fields, &count))
		return;
	for (unsigned int i = 0; i < count && i < FIELDS_MAX; i++) {
		if (mem_read(vm->mem, array + vm->at.array_u2_data + i * sizeof(f), f, sizeof(f)))
			return;
		field_found(vm, pool, f[1], f[2], ((uint32_t)f[5] << 16 | f[4]) >> 2, w, n);
	}
}

void fields_find(struct vm *vm, uint64_t klass, const struct field_query *w, unsigned int n)
{
	bool stream = vm->at.ik_fieldinfo != VM_NONE;
	uint64_t pool, array;

	if (mem_u64(vm->mem, klass + vm->at.ik_constants, &pool) || !is_metadata(pool) ||
	    mem_u64(vm->mem, klass + (stream ? vm->at.ik_fieldinfo : vm->at.ik_fields), &array) ||
	    !is_metadata(array))
		return;
	if (stream)
		fields_from_stream(vm, pool, array, w, n);
	else
		fields_from_array(vm, klass, pool, array, w, n);
}

uint64_t klass_above(struct vm *vm, uint64_t obj, const char *name)
{
	uint64_t klass = oop_klass(vm, obj);
	char text[64];

	for (int i = 0; i < SUPERS_MAX && klass; i++) {
		if (klass_name(vm, klass, text, sizeof(text)) < 0)
			return 0;
		if (!strcmp(text, name))
			return klass;
		if (mem_u64(vm->mem, klass + vm->at.klass_super, &klass))
			return 0;
	}
	return 0;
}

uint64_t klass_below(struct vm *vm, uint64_t klass, const char *name)
{
	char text[64];

	if (vm->at.klass_subklass == VM_NONE || vm->at.klass_sibling == VM_NONE ||
	    mem_u64(vm->mem, klass + vm->at.klass_subklass, &klass))
		return 0;
	for (int i = 0; i < SUBS_MAX && klass; i++) {
		if (klass_name(vm, klass, text, sizeof(text)) >= 0 && !strcmp(text, name))
			return klass;
		if (mem_u64(vm->mem, klass + vm->at.klass_sibling, &klass))
			return 0;
	}
	return 0;
}
