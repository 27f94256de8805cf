/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: libjvm.so as it lies in a process's memory, as far as reading its VM structures goes:
 * an ELF header, the dynamic symbols, gHotSpotVMStructs and its like, a code heap and the
 * interpreter. Fields and offsets are those of JDK 17 and 25 (x86_64), and of 24 as far as its
 * nmethods differ (code/nmethod.hpp: metadata still in the code cache).
 */
#ifndef TESTS_JVMIMAGE_H
#define TESTS_JVMIMAGE_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jvm/vmstructs.h"

#define IMAGE_BASE  0x7f0000000000ULL
#define IMAGE_BYTES 0x8000U

enum image_jdk { JDK17, JDK24, JDK25, JDKS };

enum { NO = -1, AT = -2 }; /* no such field; a static one, which lies in the image */

struct image_fact {
	const char *type, *field;    /* NULL: the type's size */
	int at[JDKS];		     /* offset or size */
	enum vm_feature loses;	     /* what there is not without it, VM_FEATURES: nothing */
	const char *type17, *type25; /* of the field, where its width is looked at */
};

/* clang-format off */
static const struct image_fact image_facts[] = {
	{"Method", "_constMethod", {8, 8, 8}, VM_NAMES},
	{"Method", "_access_flags", {40, 44, 44}, VM_FEATURES},
	{"Method", "_flags", {50, NO, NO}, VM_FEATURES},
	{"ConstMethod", "_constants", {8, 8, 8}, VM_NAMES},
	{"ConstMethod", "_name_index", {34, 36, 36}, VM_NAMES},
	{"ConstMethod", "_signature_index", {36, 38, 38}, VM_NAMES},
	{"ConstMethod", "_code_size", {32, 34, 34}, VM_LINES},
	{"ConstMethod", "_flags._flags", {NO, 28, 28}, VM_LINES},
	{"ConstMethod", "_flags", {28, NO, NO}, VM_LINES},
	{"ConstantPool", "_pool_holder", {24, 24, 24}, VM_NAMES},
	{"ConstantPool", "_length", {60, 60, 60}, VM_NAMES},
	{"Klass", "_name", {24, 24, 24}, VM_NAMES},
	{"Klass", "_super", {120, 120, 120}, VM_THREAD_NAMES},
	{"Klass", "_layout_helper", {8, 8, 8}, VM_FEATURES},
	{"Symbol", "_length", {4, 4, 4}, VM_NAMES},
	{"Symbol", "_body[0]", {6, 6, 6}, VM_NAMES},
	{"CodeCache", "_heaps", {AT, AT, AT}, VM_CODE},
	{"GrowableArrayBase", "_len", {0, 0, 0}, VM_CODE},
	{"GrowableArray<int>", "_data", {8, 8, 8}, VM_CODE},
	{"CodeHeap", "_memory", {8, 0, 0}, VM_CODE},
	{"CodeHeap", "_segmap", {120, 112, 112}, VM_CODE},
	{"CodeHeap", "_log2_segment_size", {256, 248, 248}, VM_CODE},
	{"VirtualSpace", "_low", {16, 16, 16}, VM_CODE},
	{"VirtualSpace", "_high", {24, 24, 24}, VM_CODE},
	{"VirtualSpace", "_high_boundary", {8, 8, 8}, VM_CODE},
	{"HeapBlock::Header", "_length", {0, 0, 0}, VM_CODE, "size_t", "uint32_t"},
	{"HeapBlock::Header", "_used", {8, 4, 4}, VM_CODE},
	{"CodeBlob", "_name", {96, 8, 8}, VM_CODE},
	{"CodeBlob", "_size", {12, 24, 24}, VM_CODE},
	{"CodeBlob", "_kind", {NO, 56, 56}, VM_FEATURES},
	{"CodeBlob", "_header_size", {16, 52, 52}, VM_CODE, "int", "u2"},
	{"CodeBlob", "_frame_size", {28, 44, 44}, VM_CODE},
	{"CodeBlob", "_frame_complete_offset", {20, 54, 54}, VM_CODE, "int", "int16_t"},
	{"CodeBlob", "_code_begin", {32, NO, NO}, VM_CODE},
	{"CodeBlob", "_code_offset", {NO, 36, 36}, VM_CODE},
	{"CodeBlob", "_code_end", {40, NO, NO}, VM_FEATURES},
	{"CompiledMethod", "_method", {112, NO, NO}, VM_NMETHOD},
	{"nmethod", "_method", {NO, 80, 80}, VM_NMETHOD},
	{"nmethod", "_state", {315, 219, 219}, VM_FEATURES},
	{"nmethod", "_compile_id", {304, 212, 212}, VM_NMETHOD},
	{"nmethod", "_comp_level", {308, 216, 216}, VM_NMETHOD},
	{"nmethod", "_orig_pc_offset", {300, 208, 208}, VM_DEOPT},
	{"CompiledMethod", "_deopt_handler_begin", {128, NO, NO}, VM_DEOPT},
	{"nmethod", "_deopt_handler_offset", {NO, 176, 176}, VM_DEOPT},
	{"CompiledMethod", "_deopt_mh_handler_begin", {136, NO, NO}, VM_FEATURES},
	{"nmethod", "_deopt_mh_handler_offset", {NO, 180, 180}, VM_FEATURES},
	{"nmethod", "_scopes_pcs_offset", {268, 196, 196}, VM_SCOPES},
	{"nmethod", "_immutable_data", {NO, 96, 96}, VM_SCOPES},
	{"nmethod", "_dependencies_offset", {272, NO, NO}, VM_SCOPES},
	{"CompiledMethod", "_scopes_data_begin", {120, NO, NO}, VM_SCOPES},
	{"nmethod", "_scopes_data_offset", {NO, 200, 200}, VM_SCOPES},
	{"nmethod", "_immutable_data_size", {NO, 160, 160}, VM_SCOPES},
	{"CodeBlob", "_mutable_data", {NO, NO, 16}, VM_SCOPES},
	{"nmethod", "_metadata_offset", {260, 192, NO}, VM_SCOPES, "int", "u2"},
	{"CodeBlob", "_data_offset", {24, 40, 40}, VM_SCOPES},
	{"CodeBlob", "_mutable_data_size", {NO, NO, 48}, VM_SCOPES},
	{"CodeBlob", "_relocation_size", {NO, 28, 28}, VM_SCOPES},
	{"PcDesc", "_pc_offset", {0, 0, 0}, VM_SCOPES},
	{"PcDesc", "_scope_decode_offset", {4, 4, 4}, VM_SCOPES},
	{"AbstractInterpreter", "_code", {AT, AT, AT}, VM_INTERP},
	{"StubQueue", "_stub_buffer", {8, 8, 8}, VM_INTERP},
	{"StubQueue", "_buffer_limit", {20, 20, 20}, VM_INTERP},
	{"ContinuationEntry", "_return_pc", {NO, AT, AT}, VM_FEATURES},
	{"JavaThread", "_anchor", {656, 1152, 1152}, VM_ANCHOR},
	{"JavaFrameAnchor", "_last_Java_sp", {0, 0, 0}, VM_ANCHOR},
	{"JavaFrameAnchor", "_last_Java_pc", {8, 8, 8}, VM_ANCHOR},
	{"JavaFrameAnchor", "_last_Java_fp", {16, 16, 16}, VM_ANCHOR},
	{"JavaThread", "_saved_exception_pc", {856, 1336, 1336}, VM_FEATURES},
	{"ThreadsSMRSupport", "_java_thread_list", {AT, AT, AT}, VM_THREADS},
	{"ThreadsList", "_length", {4, 4, 4}, VM_THREADS},
	{"ThreadsList", "_threads", {16, 16, 16}, VM_THREADS},
	{"JavaThread", "_osthread", {560, NO, NO}, VM_THREADS},
	{"Thread", "_osthread", {NO, 1016, 1016}, VM_THREADS},
	{"OSThread", "_thread_id", {208, 12, 12}, VM_THREADS},
	{"JavaThread", "_threadObj", {648, 1120, 1120}, VM_THREAD_NAMES},
	{"JavaThread", "_vthread", {NO, 1128, 1128}, VM_FEATURES},
	{"Klass", "_subklass", {128, 128, 128}, VM_FEATURES},
	{"Klass", "_next_sibling", {136, 136, 136}, VM_FEATURES},
	{"vmClasses", "_klasses[static_cast<int>(vmClassID::Thread_klass_knum)]", {AT, AT, AT}, VM_FEATURES},
	{"vmClasses", "_klasses[static_cast<int>(vmClassID::String_klass_knum)]", {AT, AT, AT}, VM_FEATURES},
	{"OopHandle", "_obj", {0, 0, 0}, VM_THREAD_NAMES},
	{"InstanceKlass", "_constants", {232, 224, 224}, VM_THREAD_NAMES},
	{"InstanceKlass", "_fieldinfo_stream", {NO, 448, 448}, VM_THREAD_NAMES},
	{"InstanceKlass", "_fields", {456, NO, NO}, VM_THREAD_NAMES},
	{"InstanceKlass", "_java_fields_count", {310, NO, NO}, VM_FEATURES},
	{"Array<int>", "_length", {0, 0, 0}, VM_THREAD_NAMES},
	{"Array<u1>", "_data", {4, 4, 4}, VM_THREAD_NAMES},
	{"Array<u2>", "_data", {4, 4, 4}, VM_THREAD_NAMES},
	{"oopDesc", "_metadata._klass", {8, 8, 8}, VM_THREAD_NAMES},
	{"oopDesc", "_metadata._compressed_klass", {8, 8, 8}, VM_THREAD_NAMES},
	{"CompressedOops", "_narrow_oop._base", {AT, NO, NO}, VM_THREAD_NAMES},
	{"CompressedOops", "_base", {NO, AT, AT}, VM_THREAD_NAMES},
	{"CompressedOops", "_narrow_oop._shift", {AT, NO, NO}, VM_THREAD_NAMES},
	{"CompressedOops", "_shift", {NO, AT, AT}, VM_THREAD_NAMES},
	{"CompressedKlassPointers", "_narrow_klass._base", {AT, NO, NO}, VM_THREAD_NAMES},
	{"CompressedKlassPointers", "_base", {NO, AT, AT}, VM_THREAD_NAMES},
	{"CompressedKlassPointers", "_narrow_klass._shift", {AT, NO, NO}, VM_THREAD_NAMES},
	{"CompressedKlassPointers", "_shift", {NO, AT, AT}, VM_THREAD_NAMES},
	{"JVMFlag", "flags", {AT, AT, AT}, VM_THREAD_NAMES},
	{"JVMFlag", "numFlags", {AT, AT, AT}, VM_THREAD_NAMES},
	{"JVMFlag", "_name", {8, 8, 8}, VM_THREAD_NAMES},
	{"JVMFlag", "_addr", {0, 0, 0}, VM_THREAD_NAMES},
	{"PerfMemory", "_start", {AT, AT, AT}, VM_UNLOADS},
	{"MetaspaceObj", "_shared_metaspace_base", {AT, AT, AT}, VM_FEATURES},
	{"MetaspaceObj", "_shared_metaspace_top", {AT, AT, AT}, VM_FEATURES},
	{"Abstract_VM_Version", "_vm_major_version", {AT, AT, AT}, VM_FEATURES},
	{"Abstract_VM_Version", "_s_internal_vm_info_string", {AT, AT, AT}, VM_FEATURES},
	{"Abstract_VM_Version", "_s_vm_release", {AT, AT, AT}, VM_FEATURES},
	{"ConstMethod", NULL, {48, 56, 56}, VM_LINES},
	{"ConstantPool", NULL, {72, 72, 72}, VM_NAMES},
	{"HeapBlock", NULL, {16, 8, 8}, VM_CODE},
	{"nmethod", NULL, {352, 224, 224}, VM_NMETHOD},
	{"PcDesc", NULL, {16, 16, 16}, VM_SCOPES},
	{"JVMFlag", NULL, {24, 24, 24}, VM_THREAD_NAMES},
};
/* clang-format on */

#define IMAGE_FACTS (sizeof(image_facts) / sizeof(image_facts[0]))

/* Where things lie. Strings and statics grow from their places. */
enum {
	IMAGE_DYN = 0x100,
	IMAGE_HASH = 0x180,
	IMAGE_SYMS = 0x400,
	IMAGE_VALUES = 0xa00,
	IMAGE_STATICS = 0xc00,
	IMAGE_STATICS_END = 0x1000,
	IMAGE_STRUCTS = 0x1000,
	IMAGE_TYPES = 0x3000,
	IMAGE_INTS = 0x3400,
	IMAGE_HEAP = 0x3600,
	IMAGE_STRINGS = 0x4000,
	IMAGE_CODE = 0x7000,
};

struct image {
	uint8_t b[IMAGE_BYTES];
	uint32_t strings, statics, nsyms;
};

static inline void image_put(struct image *m, uint32_t at, uint64_t val, size_t width)
{
	memcpy(m->b + at, &val, width);
}

/* Where in the image the string is. */
static inline uint32_t image_string(struct image *m, const char *s)
{
	uint32_t at = m->strings;

	if (at + strlen(s) >= IMAGE_CODE)
		abort();
	memcpy(m->b + at, s, strlen(s) + 1);
	m->strings += strlen(s) + 1;
	return at;
}

/* A dynamic symbol of 64 bits. All are in one chain of .gnu.hash, which ends behind the last. */
static inline void image_symbol(struct image *m, const char *name, uint64_t value)
{
	uint32_t h = 5381, i = ++m->nsyms, at = IMAGE_VALUES + i * 8;
	Elf64_Sym sym = {
		.st_name = image_string(m, name) - IMAGE_STRINGS, .st_shndx = 1, .st_value = at};

	if (at >= IMAGE_STATICS)
		abort();
	for (const char *s = name; *s; s++)
		h = h * 33 + (uint8_t)*s;
	memcpy(m->b + IMAGE_SYMS + i * sizeof(sym), &sym, sizeof(sym));
	image_put(m, at, value, 8);
	image_put(m, IMAGE_HASH + 28 + (i - 1) * 4, h & ~1U, 4);
}

static inline void image_elf(struct image *m)
{
	Elf64_Ehdr eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
			 .e_phoff = sizeof(eh),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1};
	Elf64_Phdr ph = {.p_type = PT_DYNAMIC, .p_vaddr = IMAGE_DYN, .p_memsz = 4 * 16};
	Elf64_Dyn dyn[4] = {{DT_SYMTAB, {IMAGE_SYMS}},
			    {DT_STRTAB, {IMAGE_STRINGS}},
			    {DT_GNU_HASH, {IMAGE_HASH}},
			    {DT_NULL, {0}}};

	memcpy(m->b, &eh, sizeof(eh));
	memcpy(m->b + sizeof(eh), &ph, sizeof(ph));
	memcpy(m->b + IMAGE_DYN, dyn, sizeof(dyn));
	/* one bucket, symbols from 1 on, a Bloom filter of one word */
	image_put(m, IMAGE_HASH, 1, 4);
	image_put(m, IMAGE_HASH + 4, 1, 4);
	image_put(m, IMAGE_HASH + 8, 1, 4);
	image_put(m, IMAGE_HASH + 24, 1, 4);
}

static inline uint32_t image_static(struct image *m, uint64_t val)
{
	uint32_t at = m->statics;

	if (at + 8 > IMAGE_STATICS_END)
		abort();
	m->statics += 8;
	image_put(m, at, val, 8);
	return at;
}

#define IMAGE_INFO "HotSpot of the test (1.2) JRE (1.2)"

/* What static fields hold: the code heaps, the interpreter, the release, the name; else zero. */
static inline uint64_t image_value(struct image *m, const struct image_fact *f, enum image_jdk jdk)
{
	static const int release[JDKS] = {17, 24, 25};

	if (!strcmp(f->field, "_heaps"))
		return IMAGE_BASE + IMAGE_HEAP;
	if (!strcmp(f->field, "_code"))
		return IMAGE_BASE + IMAGE_HEAP + 0x40;
	if (!strcmp(f->field, "_s_internal_vm_info_string"))
		return IMAGE_BASE + image_string(m, IMAGE_INFO);
	return !strcmp(f->field, "_vm_major_version") ? (uint64_t)release[jdk] : 0;
}

static inline int image_offset(enum image_jdk jdk, const char *type, const char *field)
{
	for (size_t i = 0; i < IMAGE_FACTS; i++) {
		const struct image_fact *f = &image_facts[i];

		if (f->field && !strcmp(f->type, type) && !strcmp(f->field, field))
			return f->at[jdk];
	}
	abort();
}

/* One heap in a GrowableArray, and the queue of the interpreter's code. */
static inline void image_heap(struct image *m, enum image_jdk jdk)
{
	int memory = image_offset(jdk, "CodeHeap", "_memory");
	int map = image_offset(jdk, "CodeHeap", "_segmap");
	uint32_t heap = IMAGE_HEAP + 0x80;

	image_put(m, IMAGE_HEAP, 1, 4);
	image_put(m, IMAGE_HEAP + 8, IMAGE_BASE + IMAGE_HEAP + 0x10, 8);
	image_put(m, IMAGE_HEAP + 0x10, IMAGE_BASE + heap, 8);
	image_put(m, heap + memory + 8, IMAGE_BASE + IMAGE_BYTES, 8);
	image_put(m, heap + memory + 16, IMAGE_BASE + IMAGE_CODE, 8);
	image_put(m, heap + map + 16, IMAGE_BASE + IMAGE_CODE, 8);
	image_put(m, heap + image_offset(jdk, "CodeHeap", "_log2_segment_size"), 7, 4);
	image_put(m, IMAGE_HEAP + 0x40 + 8, IMAGE_BASE + IMAGE_CODE, 8);
	image_put(m, IMAGE_HEAP + 0x40 + 20, 0x800, 4);
}

/* gHotSpotVMStructs: names, type, static, offset, address: 48 bytes each. */
static inline void image_field(struct image *m, uint32_t at, const struct image_fact *f,
			       enum image_jdk jdk, int64_t moved)
{
	const char *type = jdk == JDK17 ? f->type17 : f->type25;

	image_put(m, at, IMAGE_BASE + image_string(m, f->type), 8);
	image_put(m, at + 8, IMAGE_BASE + image_string(m, f->field), 8);
	if (type)
		image_put(m, at + 16, IMAGE_BASE + image_string(m, type), 8);
	if (f->at[jdk] == AT) {
		image_put(m, at + 24, 1, 4);
		image_put(m, at + 40, IMAGE_BASE + image_static(m, image_value(m, f, jdk)), 8);
	} else {
		image_put(m, at + 32, (uint64_t)(f->at[jdk] + moved), 8);
	}
}

static inline void image_symbols(struct image *m)
{
	image_symbol(m, "gHotSpotVMStructs", IMAGE_BASE + IMAGE_STRUCTS);
	image_symbol(m, "gHotSpotVMStructEntryTypeNameOffset", 0);
	image_symbol(m, "gHotSpotVMStructEntryFieldNameOffset", 8);
	image_symbol(m, "gHotSpotVMStructEntryTypeStringOffset", 16);
	image_symbol(m, "gHotSpotVMStructEntryIsStaticOffset", 24);
	image_symbol(m, "gHotSpotVMStructEntryOffsetOffset", 32);
	image_symbol(m, "gHotSpotVMStructEntryAddressOffset", 40);
	image_symbol(m, "gHotSpotVMStructEntryArrayStride", 48);
	image_symbol(m, "gHotSpotVMTypes", IMAGE_BASE + IMAGE_TYPES);
	image_symbol(m, "gHotSpotVMTypeEntryTypeNameOffset", 0);
	image_symbol(m, "gHotSpotVMTypeEntrySizeOffset", 8);
	image_symbol(m, "gHotSpotVMTypeEntryArrayStride", 16);
	image_symbol(m, "gHotSpotVMIntConstants", IMAGE_BASE + IMAGE_INTS);
	image_symbol(m, "gHotSpotVMIntConstantEntryNameOffset", 0);
	image_symbol(m, "gHotSpotVMIntConstantEntryValueOffset", 8);
	image_symbol(m, "gHotSpotVMIntConstantEntryArrayStride", 16);
	image_put(m, IMAGE_HASH + 28 + (m->nsyms - 1) * 4,
		  m->b[IMAGE_HASH + 28 + (m->nsyms - 1) * 4] | 1, 1);
}

/* A JVM without the fact `without`, or with it `moved` by so many bytes. NULL: as it is. */
static inline void image_make(struct image *m, enum image_jdk jdk, const struct image_fact *without,
			      int64_t moved)
{
	uint32_t fields = IMAGE_STRUCTS, types = IMAGE_TYPES;

	memset(m, 0, sizeof(*m));
	m->strings = IMAGE_STRINGS + 1;
	m->statics = IMAGE_STATICS;
	image_elf(m);
	image_symbols(m);
	image_heap(m, jdk);
	for (size_t i = 0; i < IMAGE_FACTS; i++) {
		const struct image_fact *f = &image_facts[i];

		if (f->at[jdk] == NO || (f == without && !moved))
			continue;
		if (f->field) {
			image_field(m, fields, f, jdk, f == without ? moved : 0);
			fields += 48;
			continue;
		}
		image_put(m, types, IMAGE_BASE + image_string(m, f->type), 8);
		image_put(m, types + 8, (uint64_t)f->at[jdk], 8);
		types += 16;
	}
	if (jdk != JDK17) {
		image_put(m, IMAGE_INTS, IMAGE_BASE + image_string(m, "CodeBlobKind::Nmethod"), 8);
		image_put(m, IMAGE_INTS + 8, 1, 4);
	}
}

#endif
