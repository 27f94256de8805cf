/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/vmstructs.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jvm/unloads.h"
#include "jvm/vm.h"
#include "target/maps.h"

#define NAME_MAX_BYTES	160   /* longest type or field name looked at */
#define TABLE_MAX	20000 /* entries of one of the JVM's tables */
#define TABLE_ENTRY_MAX 128   /* bytes of one that are looked at */
#define PHDR_MAX	64
#define DYN_MAX		512
#define CHAIN_MAX	65536 /* so many symbols are tried for one name */

/* ---- what is looked for -----------------------------------------------------------------------
 */

enum row_kind { ROW_FIELD, ROW_SIZE, ROW_CONST };

/*
 * One fact to find. Rows that follow each other with `alt` set are places of the same fact in
 * different releases: one of them is enough. `with`: the row is needed only if that fact was found,
 * since releases differ in more than names. `feature` VM_FEATURES: nothing fails without it.
 */
struct row {
	enum row_kind kind;
	const char *type, *field; /* constants have the whole name in type */
	uint16_t to;		  /* offset in struct vm_layout */
	uint16_t bytes_to; /* offset in struct vm_layout for the field's width, 0: it is not kept */
	uint16_t with;	   /* offset in struct vm_layout, 0: the row is always needed */
	uint8_t feature;
	bool alt;
};

#define TO(member) offsetof(struct vm_layout, member)
#define FIELD(m, type, field, feature)                                                             \
	{                                                                                          \
		ROW_FIELD, type, field, TO(m), 0, 0, feature, false                                \
	}
#define OR_FIELD(m, type, field, feature)                                                          \
	{                                                                                          \
		ROW_FIELD, type, field, TO(m), 0, 0, feature, true                                 \
	}
#define WIDTH(m, w, type, field, feature)                                                          \
	{                                                                                          \
		ROW_FIELD, type, field, TO(m), TO(w), 0, feature, false                            \
	}
#define OR_WIDTH(m, w, type, field, feature)                                                       \
	{                                                                                          \
		ROW_FIELD, type, field, TO(m), TO(w), 0, feature, true                             \
	}
#define WITH(other, m, type, field, feature)                                                       \
	{                                                                                          \
		ROW_FIELD, type, field, TO(m), 0, TO(other), feature, false                        \
	}
#define SIZE(m, type, feature)                                                                     \
	{                                                                                          \
		ROW_SIZE, type, NULL, TO(m), 0, 0, feature, false                                  \
	}
#define CONST(m, name)                                                                             \
	{                                                                                          \
		ROW_CONST, name, NULL, TO(m), 0, 0, VM_FEATURES, false                             \
	}

/* clang-format off */
static const struct row rows[] = {
	FIELD(method_const, "Method", "_constMethod", VM_NAMES),
	FIELD(method_access, "Method", "_access_flags", VM_FEATURES),
	FIELD(method_flags, "Method", "_flags", VM_FEATURES),
	FIELD(cm_constants, "ConstMethod", "_constants", VM_NAMES),
	FIELD(cm_name, "ConstMethod", "_name_index", VM_NAMES),
	FIELD(cm_sig, "ConstMethod", "_signature_index", VM_NAMES),
	FIELD(cm_code_size, "ConstMethod", "_code_size", VM_LINES),
	FIELD(cm_flags, "ConstMethod", "_flags._flags", VM_LINES),
	OR_FIELD(cm_flags, "ConstMethod", "_flags", VM_LINES),
	SIZE(cm_size, "ConstMethod", VM_LINES),
	FIELD(cp_holder, "ConstantPool", "_pool_holder", VM_NAMES),
	FIELD(cp_length, "ConstantPool", "_length", VM_NAMES),
	SIZE(cp_size, "ConstantPool", VM_NAMES),
	FIELD(klass_name, "Klass", "_name", VM_NAMES),
	FIELD(klass_super, "Klass", "_super", VM_THREAD_NAMES),
	FIELD(klass_layout, "Klass", "_layout_helper", VM_FEATURES),
	FIELD(sym_length, "Symbol", "_length", VM_NAMES),
	OR_FIELD(sym_length_ref, "Symbol", "_length_and_refcount", VM_NAMES),
	FIELD(sym_body, "Symbol", "_body", VM_NAMES),
	OR_FIELD(sym_body, "Symbol", "_body[0]", VM_NAMES),

	FIELD(cc_heaps, "CodeCache", "_heaps", VM_CODE),
	OR_FIELD(cc_heap, "CodeCache", "_heap", VM_CODE),
	WITH(cc_heaps, ga_len, "GrowableArrayBase", "_len", VM_CODE),
	OR_FIELD(ga_len, "GenericGrowableArray", "_len", VM_CODE),
	WITH(cc_heaps, ga_data, "GrowableArray<int>", "_data", VM_CODE),
	FIELD(ch_memory, "CodeHeap", "_memory", VM_CODE),
	FIELD(ch_segmap, "CodeHeap", "_segmap", VM_CODE),
	FIELD(ch_log2, "CodeHeap", "_log2_segment_size", VM_CODE),
	FIELD(vs_low, "VirtualSpace", "_low", VM_CODE),
	FIELD(vs_high, "VirtualSpace", "_high", VM_CODE),
	FIELD(vs_end, "VirtualSpace", "_high_boundary", VM_CODE),
	SIZE(hb_size, "HeapBlock", VM_CODE),
	WIDTH(hb_length, hb_length_bytes, "HeapBlock::Header", "_length", VM_CODE),
	FIELD(hb_used, "HeapBlock::Header", "_used", VM_CODE),
	FIELD(cb_name, "CodeBlob", "_name", VM_CODE),
	FIELD(cb_size, "CodeBlob", "_size", VM_CODE),
	FIELD(cb_kind, "CodeBlob", "_kind", VM_FEATURES),
	WIDTH(cb_header_size, cb_header_bytes, "CodeBlob", "_header_size", VM_CODE),
	FIELD(cb_frame_size, "CodeBlob", "_frame_size", VM_CODE),
	WIDTH(cb_frame_complete, cb_frame_complete_bytes, "CodeBlob", "_frame_complete_offset",
	      VM_CODE),
	FIELD(cb_code_begin, "CodeBlob", "_code_begin", VM_CODE),
	OR_FIELD(cb_code_offset, "CodeBlob", "_code_offset", VM_CODE),

	SIZE(nm_sizeof, "nmethod", VM_NMETHOD),
	FIELD(nm_method, "CompiledMethod", "_method", VM_NMETHOD),
	OR_FIELD(nm_method, "nmethod", "_method", VM_NMETHOD),
	FIELD(nm_state, "nmethod", "_state", VM_FEATURES),
	FIELD(nm_id, "nmethod", "_compile_id", VM_NMETHOD),
	FIELD(nm_level, "nmethod", "_comp_level", VM_NMETHOD),
	FIELD(nm_orig_pc, "nmethod", "_orig_pc_offset", VM_DEOPT),
	FIELD(nm_deopt, "CompiledMethod", "_deopt_handler_begin", VM_DEOPT),
	OR_FIELD(nm_deopt_off, "nmethod", "_deopt_handler_offset", VM_DEOPT),
	OR_FIELD(nm_deopt_off, "nmethod", "_deopt_handler_entry_offset", VM_DEOPT),
	FIELD(nm_deopt_mh, "CompiledMethod", "_deopt_mh_handler_begin", VM_FEATURES),
	FIELD(nm_deopt_mh_off, "nmethod", "_deopt_mh_handler_offset", VM_FEATURES),
	FIELD(nm_pcs, "nmethod", "_scopes_pcs_offset", VM_SCOPES),
	FIELD(nm_immutable, "nmethod", "_immutable_data", VM_SCOPES),
	OR_FIELD(nm_deps, "nmethod", "_dependencies_offset", VM_SCOPES),
	WITH(nm_deps, nm_scopes, "CompiledMethod", "_scopes_data_begin", VM_SCOPES),
	OR_FIELD(nm_scopes_off, "nmethod", "_scopes_data_offset", VM_SCOPES),
	WITH(nm_immutable, nm_scopes_off, "nmethod", "_scopes_data_offset", VM_SCOPES),
	WITH(nm_immutable, nm_immutable_size, "nmethod", "_immutable_data_size", VM_SCOPES),
	FIELD(cb_mutable, "CodeBlob", "_mutable_data", VM_SCOPES),
	OR_WIDTH(nm_metadata, nm_metadata_bytes, "nmethod", "_metadata_offset", VM_SCOPES),
	WITH(nm_immutable, cb_mutable, "CodeBlob", "_mutable_data", VM_SCOPES),
	OR_FIELD(cb_data_offset, "CodeBlob", "_data_offset", VM_SCOPES),
	WITH(cb_mutable, cb_mutable_size, "CodeBlob", "_mutable_data_size", VM_SCOPES),
	WITH(cb_mutable, cb_reloc_size, "CodeBlob", "_relocation_size", VM_SCOPES),
	FIELD(pd_pc, "PcDesc", "_pc_offset", VM_SCOPES),
	FIELD(pd_scope, "PcDesc", "_scope_decode_offset", VM_SCOPES),
	SIZE(pd_size, "PcDesc", VM_SCOPES),

	FIELD(interp_code, "AbstractInterpreter", "_code", VM_INTERP),
	FIELD(sq_buffer, "StubQueue", "_stub_buffer", VM_INTERP),
	FIELD(sq_limit, "StubQueue", "_buffer_limit", VM_INTERP),
	FIELD(call_stub_pc, "StubRoutines", "_call_stub_return_address", VM_FEATURES),
	FIELD(cont_return_pc, "ContinuationEntry", "_return_pc", VM_FEATURES),

	FIELD(jt_anchor, "JavaThread", "_anchor", VM_ANCHOR),
	FIELD(anchor_sp, "JavaFrameAnchor", "_last_Java_sp", VM_ANCHOR),
	FIELD(anchor_pc, "JavaFrameAnchor", "_last_Java_pc", VM_ANCHOR),
	FIELD(anchor_fp, "JavaFrameAnchor", "_last_Java_fp", VM_ANCHOR),
	FIELD(jt_saved_pc, "JavaThread", "_saved_exception_pc", VM_FEATURES),
	FIELD(tl_list, "ThreadsSMRSupport", "_java_thread_list", VM_THREADS),
	FIELD(tl_length, "ThreadsList", "_length", VM_THREADS),
	FIELD(tl_threads, "ThreadsList", "_threads", VM_THREADS),
	FIELD(jt_osthread, "JavaThread", "_osthread", VM_THREADS),
	OR_FIELD(jt_osthread, "Thread", "_osthread", VM_THREADS),
	FIELD(ost_id, "OSThread", "_thread_id", VM_THREADS),
	FIELD(jt_object, "JavaThread", "_threadObj", VM_THREAD_NAMES),
	FIELD(jt_vthread, "JavaThread", "_vthread", VM_FEATURES),
	FIELD(klass_subklass, "Klass", "_subklass", VM_FEATURES),
	FIELD(klass_sibling, "Klass", "_next_sibling", VM_FEATURES),
	FIELD(class_thread, "vmClasses",
	      "_klasses[static_cast<int>(vmClassID::Thread_klass_knum)]", VM_FEATURES),
	FIELD(class_string, "vmClasses",
	      "_klasses[static_cast<int>(vmClassID::String_klass_knum)]", VM_FEATURES),
	FIELD(oh_obj, "OopHandle", "_obj", VM_THREAD_NAMES),
	FIELD(jt_pending, "JavaThread", "_current_pending_monitor", VM_FEATURES),
	OR_FIELD(jt_pending, "Thread", "_current_pending_monitor", VM_FEATURES),
	FIELD(jt_waiting, "JavaThread", "_current_waiting_monitor", VM_FEATURES),
	OR_FIELD(jt_waiting, "Thread", "_current_waiting_monitor", VM_FEATURES),
	FIELD(jt_owner_id, "JavaThread", "_monitor_owner_id", VM_FEATURES),
	FIELD(jt_lock_stack, "JavaThread", "_lock_stack", VM_FEATURES),
	FIELD(jt_stack_base, "JavaThread", "_stack_base", VM_FEATURES),
	OR_FIELD(jt_stack_base, "Thread", "_stack_base", VM_FEATURES),
	FIELD(jt_stack_size, "JavaThread", "_stack_size", VM_FEATURES),
	OR_FIELD(jt_stack_size, "Thread", "_stack_size", VM_FEATURES),
	FIELD(ls_top, "LockStack", "_top", VM_FEATURES),
	FIELD(ls_base, "LockStack", "_base[0]", VM_FEATURES),
	FIELD(om_object, "ObjectMonitor", "_object", VM_FEATURES),
	FIELD(om_owner, "ObjectMonitor", "_owner", VM_FEATURES),
	FIELD(om_stack_locker, "ObjectMonitor", "_stack_locker", VM_FEATURES),
	FIELD(klass_supers, "Klass", "_primary_supers[0]", VM_FEATURES),
	FIELD(klass_mirror, "Klass", "_java_mirror", VM_FEATURES),
	FIELD(klass_loader, "Klass", "_class_loader_data", VM_FEATURES),
	FIELD(klass_next, "Klass", "_next_link", VM_FEATURES),
	FIELD(loader_klasses, "ClassLoaderData", "_klasses", VM_FEATURES),
	FIELD(ik_state, "InstanceKlass", "_init_state", VM_FEATURES),
	FIELD(zg_instance, "ZGlobalsForVMStructs", "_instance_p", VM_FEATURES),
	FIELD(zg_offset, "ZGlobalsForVMStructs", "_ZAddressOffsetMask", VM_FEATURES),
	FIELD(zg_load_good, "ZGlobalsForVMStructs", "_ZPointerLoadGoodMask", VM_FEATURES),
	FIELD(zg_store_good, "ZGlobalsForVMStructs", "_ZPointerStoreGoodMask", VM_FEATURES),
	/* before there were generations, in 21 the names begin with X */
	FIELD(zg_good, "ZGlobalsForVMStructs", "_ZAddressGoodMask", VM_FEATURES),
	FIELD(zg_bad, "ZGlobalsForVMStructs", "_ZAddressBadMask", VM_FEATURES),
	FIELD(zh_forwarding, "ZHeap", "_forwarding_table", VM_FEATURES),
	FIELD(zc_heap, "ZCollectedHeap", "_heap", VM_FEATURES),
	FIELD(zh_allocator, "ZHeap", "_page_allocator", VM_FEATURES),
	FIELD(zh_table, "ZHeap", "_page_table", VM_FEATURES),
	FIELD(zf_virtual, "ZForwarding", "_virtual", VM_FEATURES),
	FIELD(zf_shift, "ZForwarding", "_object_alignment_shift", VM_FEATURES),
	FIELD(zf_entries, "ZForwarding", "_entries", VM_FEATURES),
	SIZE(zf_size, "ZForwarding", VM_FEATURES),
	FIELD(xg_instance, "XGlobalsForVMStructs", "_instance_p", VM_FEATURES),
	FIELD(xg_offset, "XGlobalsForVMStructs", "_XAddressOffsetMask", VM_FEATURES),
	FIELD(xg_good, "XGlobalsForVMStructs", "_XAddressGoodMask", VM_FEATURES),
	FIELD(xg_bad, "XGlobalsForVMStructs", "_XAddressBadMask", VM_FEATURES),
	FIELD(xc_heap, "XCollectedHeap", "_heap", VM_FEATURES),
	FIELD(xh_forwarding, "XHeap", "_forwarding_table", VM_FEATURES),
	FIELD(xf_virtual, "XForwarding", "_virtual", VM_FEATURES),
	FIELD(xf_shift, "XForwarding", "_object_alignment_shift", VM_FEATURES),
	FIELD(xf_entries, "XForwarding", "_entries", VM_FEATURES),
	SIZE(xf_size, "XForwarding", VM_FEATURES),
	FIELD(heap_active, "CollectedHeap", "_is_stw_gc_active", VM_FEATURES),
	OR_FIELD(heap_active, "CollectedHeap", "_is_gc_active", VM_FEATURES),
	FIELD(heap_collections, "CollectedHeap", "_total_collections", VM_FEATURES),
	FIELD(ik_constants, "InstanceKlass", "_constants", VM_THREAD_NAMES),
	FIELD(ik_fieldinfo, "InstanceKlass", "_fieldinfo_stream", VM_THREAD_NAMES),
	OR_FIELD(ik_fields, "InstanceKlass", "_fields", VM_THREAD_NAMES),
	FIELD(ik_java_fields, "InstanceKlass", "_java_fields_count", VM_FEATURES),
	FIELD(array_length, "Array<int>", "_length", VM_THREAD_NAMES),
	FIELD(array_u1_data, "Array<u1>", "_data", VM_THREAD_NAMES),
	FIELD(array_u2_data, "Array<u2>", "_data", VM_THREAD_NAMES),
	FIELD(oop_klass, "oopDesc", "_metadata._klass", VM_THREAD_NAMES),
	FIELD(oop_narrow_klass, "oopDesc", "_metadata._compressed_klass", VM_THREAD_NAMES),
	FIELD(oops_base, "CompressedOops", "_narrow_oop._base", VM_THREAD_NAMES),
	OR_FIELD(oops_base, "CompressedOops", "_base", VM_THREAD_NAMES),
	FIELD(oops_shift, "CompressedOops", "_narrow_oop._shift", VM_THREAD_NAMES),
	OR_FIELD(oops_shift, "CompressedOops", "_shift", VM_THREAD_NAMES),
	FIELD(klass_base, "CompressedKlassPointers", "_narrow_klass._base", VM_THREAD_NAMES),
	OR_FIELD(klass_base, "CompressedKlassPointers", "_base", VM_THREAD_NAMES),
	FIELD(klass_shift, "CompressedKlassPointers", "_narrow_klass._shift", VM_THREAD_NAMES),
	OR_FIELD(klass_shift, "CompressedKlassPointers", "_shift", VM_THREAD_NAMES),

	FIELD(flag_list, "JVMFlag", "flags", VM_THREAD_NAMES),
	FIELD(flag_count, "JVMFlag", "numFlags", VM_THREAD_NAMES),
	FIELD(flag_name, "JVMFlag", "_name", VM_THREAD_NAMES),
	FIELD(flag_addr, "JVMFlag", "_addr", VM_THREAD_NAMES),
	SIZE(flag_size, "JVMFlag", VM_THREAD_NAMES),
	FIELD(flag_flags, "JVMFlag", "_flags", VM_FEATURES),
	FIELD(flag_type, "JVMFlag", "_type", VM_FEATURES),
	FIELD(perf_start, "PerfMemory", "_start", VM_UNLOADS),
	FIELD(heap, "Universe", "_collectedHeap", VM_FEATURES),
	FIELD(archive_base, "MetaspaceObj", "_shared_metaspace_base", VM_FEATURES),
	OR_FIELD(archive_base, "MetaspaceObj", "_aot_metaspace_base", VM_FEATURES),
	FIELD(archive_top, "MetaspaceObj", "_shared_metaspace_top", VM_FEATURES),
	OR_FIELD(archive_top, "MetaspaceObj", "_aot_metaspace_top", VM_FEATURES),
	FIELD(major, "Abstract_VM_Version", "_vm_major_version", VM_FEATURES),
	FIELD(release_string, "Abstract_VM_Version", "_s_vm_release", VM_FEATURES),
	FIELD(info_string, "Abstract_VM_Version", "_s_internal_vm_info_string", VM_FEATURES),

	CONST(method_hidden, "Method::_hidden"),
	CONST(kind_nmethod, "CodeBlobKind::Nmethod"),
	CONST(kind_adapter, "CodeBlobKind::Adapter"),
	CONST(kind_vtable, "CodeBlobKind::Vtable"),
	CONST(kind_mh, "CodeBlobKind::MHAdapter"),
	CONST(ik_state_ready, "InstanceKlass::fully_initialized"),
	CONST(mark_klass_shift, "markWord::klass_shift"),
	CONST(mark_hash_shift, "markWord::hash_shift"),
	CONST(mark_hash_mask, "markWord::hash_mask"),
};
/* clang-format on */

#define NROWS (sizeof(rows) / sizeof(rows[0]))

static const char *const feature_names[VM_FEATURES] = {
	[VM_NAMES] = "method names",
	[VM_LINES] = "line numbers",
	[VM_CODE] = "compiled code",
	[VM_NMETHOD] = "compiled methods",
	[VM_SCOPES] = "inlined frames",
	[VM_INTERP] = "interpreted frames",
	[VM_DEOPT] = "deoptimised frames",
	[VM_ANCHOR] = "last Java frame of native code",
	[VM_THREADS] = "Java threads",
	[VM_THREAD_NAMES] = "Java thread names",
	[VM_UNLOADS] = "certainty after class unloading",
};

const char *vm_feature_name(enum vm_feature f)
{
	return f < VM_FEATURES ? feature_names[f] : "";
}

static uint64_t *slot(struct vm_layout *at, uint16_t to)
{
	return (uint64_t *)((char *)at + to);
}

/* ---- libjvm's dynamic symbols, in memory ------------------------------------------------------
 */

struct dynsyms {
	struct mem *mem;
	uint64_t base, symtab, strtab, gnu_hash;
};

/* glibc relocates the pointers of the dynamic section in place, musl does not. */
static uint64_t dyn_addr(uint64_t base, uint64_t v)
{
	return v < base ? base + v : v;
}

static int dyn_read(struct dynsyms *d, uint64_t addr, uint64_t size)
{
	Elf64_Dyn dyn;

	for (unsigned int i = 0; i < DYN_MAX && i < size / sizeof(dyn); i++) {
		if (mem_read(d->mem, addr + i * sizeof(dyn), &dyn, sizeof(dyn)))
			return -ENOEXEC;
		if (dyn.d_tag == DT_NULL)
			break;
		if (dyn.d_tag == DT_SYMTAB)
			d->symtab = dyn_addr(d->base, dyn.d_un.d_ptr);
		else if (dyn.d_tag == DT_STRTAB)
			d->strtab = dyn_addr(d->base, dyn.d_un.d_ptr);
		else if (dyn.d_tag == DT_GNU_HASH)
			d->gnu_hash = dyn_addr(d->base, dyn.d_un.d_ptr);
	}
	return d->symtab && d->strtab && d->gnu_hash ? 0 : -ENOEXEC;
}

static int dyn_open(struct dynsyms *d, struct mem *mem, uint64_t base)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	*d = (struct dynsyms){.mem = mem, .base = base};
	if (mem_read(mem, base, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phentsize != sizeof(ph))
		return -ENOEXEC;
	for (unsigned int i = 0; i < eh.e_phnum && i < PHDR_MAX; i++) {
		if (mem_read(mem, base + eh.e_phoff + i * sizeof(ph), &ph, sizeof(ph)))
			return -ENOEXEC;
		if (ph.p_type == PT_DYNAMIC)
			return dyn_read(d, base + ph.p_vaddr, ph.p_memsz);
	}
	return -ENOEXEC;
}

static uint32_t gnu_hash(const char *s)
{
	uint32_t h = 5381;

	for (; *s; s++)
		h = h * 33 + (uint8_t)*s;
	return h;
}

/* The run-time address of `name`: the bucket's chain of .gnu.hash (no Bloom filter needed). */
static int dyn_find(const struct dynsyms *d, const char *name, uint64_t *addr)
{
	uint32_t head[4], h = gnu_hash(name), i, ch;
	uint64_t buckets, chain;
	char found[NAME_MAX_BYTES];

	if (mem_read(d->mem, d->gnu_hash, head, sizeof(head)) || !head[0])
		return -ENOEXEC;
	buckets = d->gnu_hash + sizeof(head) + (uint64_t)head[2] * 8;
	chain = buckets + (uint64_t)head[0] * 4;
	if (mem_u32(d->mem, buckets + (uint64_t)(h % head[0]) * 4, &i) || i < head[1])
		return -ENOENT;
	for (unsigned int n = 0; n < CHAIN_MAX; n++, i++) {
		Elf64_Sym sym;

		if (mem_u32(d->mem, chain + (uint64_t)(i - head[1]) * 4, &ch))
			return -ENOENT;
		if ((ch | 1) == (h | 1) &&
		    !mem_read(d->mem, d->symtab + (uint64_t)i * sizeof(sym), &sym, sizeof(sym)) &&
		    mem_str(d->mem, d->strtab + sym.st_name, found, sizeof(found)) > 0 &&
		    !strcmp(found, name) && sym.st_shndx != SHN_UNDEF) {
			*addr = d->base + sym.st_value;
			return 0;
		}
		if (ch & 1)
			break;
	}
	return -ENOENT;
}

/* The 64-bit variable `prefix``name`. */
static int dyn_value(const struct dynsyms *d, const char *prefix, const char *name, uint64_t *v)
{
	char sym[NAME_MAX_BYTES];
	uint64_t addr;

	snprintf(sym, sizeof(sym), "%s%s", prefix, name);
	if (dyn_find(d, sym, &addr))
		return -ENOENT;
	return mem_u64(d->mem, addr, v);
}

/* ---- the JVM's tables -------------------------------------------------------------------------
 */

static unsigned int type_bytes(const char *type)
{
	static const struct {
		const char *name;
		unsigned int bytes;
	} known[] = {{"u1", 1},	      {"u2", 2},       {"int16_t", 2},	{"uint16_t", 2},
		     {"uint32_t", 4}, {"int", 4},      {"int32_t", 4},	{"unsigned int", 4},
		     {"size_t", 8},   {"uint64_t", 8}, {"intptr_t", 8}, {"short", 2}};

	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].name, type))
			return known[i].bytes;
	return 0;
}

static bool named(struct mem *m, uint64_t addr, char buf[static NAME_MAX_BYTES])
{
	return addr && mem_str(m, addr, buf, NAME_MAX_BYTES) > 0;
}

struct struct_entry {
	uint64_t stride, type, field, type_string, is_static, offset, address;
};

static void take_field(struct vm *vm, uint64_t e, const struct struct_entry *at, const char *type,
		       const char *field)
{
	char buf[NAME_MAX_BYTES];
	uint64_t val, str;
	uint32_t is_static;

	for (unsigned int i = 0; i < NROWS; i++) {
		const struct row *r = &rows[i];

		if (r->kind != ROW_FIELD || strcmp(r->field, field) || strcmp(r->type, type))
			continue;
		if (mem_u32(vm->mem, e + at->is_static, &is_static) ||
		    mem_u64(vm->mem, e + (is_static ? at->address : at->offset), &val))
			return;
		/* an offset is small: whatever is larger would lead reads astray */
		if (!is_static && val > 1 << 20)
			return;
		*slot(&vm->at, r->to) = val;
		if (r->bytes_to && !mem_u64(vm->mem, e + at->type_string, &str) &&
		    named(vm->mem, str, buf))
			*slot(&vm->at, r->bytes_to) = type_bytes(buf);
		return;
	}
}

/*
 * Tables end with an entry of zeros. Before the dynamic linker has come to an entry all that it
 * lacks are its pointers: so one that has something else is not the end, but the JVM is starting.
 */
static bool is_last(struct vm *vm, uint64_t e, uint64_t stride)
{
	uint8_t entry[TABLE_ENTRY_MAX];
	size_t n = stride < sizeof(entry) ? stride : sizeof(entry);

	if (mem_read(vm->mem, e, entry, n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (entry[i])
			return false;
	return true;
}

static int read_structs(struct vm *vm, const struct dynsyms *d)
{
	struct struct_entry at;
	char type[NAME_MAX_BYTES], field[NAME_MAX_BYTES];
	uint64_t e, t, f;

#define ENTRY "gHotSpotVMStructEntry"
	if (dyn_value(d, "gHotSpotVMStructs", "", &e) ||
	    dyn_value(d, ENTRY, "ArrayStride", &at.stride) ||
	    dyn_value(d, ENTRY, "TypeNameOffset", &at.type) ||
	    dyn_value(d, ENTRY, "FieldNameOffset", &at.field) ||
	    dyn_value(d, ENTRY, "TypeStringOffset", &at.type_string) ||
	    dyn_value(d, ENTRY, "IsStaticOffset", &at.is_static) ||
	    dyn_value(d, ENTRY, "OffsetOffset", &at.offset) ||
	    dyn_value(d, ENTRY, "AddressOffset", &at.address))
		return -ENOEXEC;
#undef ENTRY
	if (!e || !at.stride || at.stride > 4096)
		return -ENOEXEC;
	for (unsigned int i = 0; i < TABLE_MAX; i++, e += at.stride) {
		if (mem_u64(vm->mem, e + at.type, &t) || mem_u64(vm->mem, e + at.field, &f))
			return -ENOEXEC;
		if (!t || !f)
			return !is_last(vm, e, at.stride) ? -EAGAIN : i ? 0 : -ENOEXEC;
		if (named(vm->mem, t, type) && named(vm->mem, f, field))
			take_field(vm, e, &at, type, field);
	}
	return 0;
}

static void take_row(struct vm *vm, enum row_kind kind, const char *name, uint64_t val)
{
	for (unsigned int i = 0; i < NROWS; i++)
		if (rows[i].kind == kind && !strcmp(rows[i].type, name))
			*slot(&vm->at, rows[i].to) = val;
}

/*
 * Reads a table of names and numbers: the types' sizes, or the constants. -EAGAIN: it is not all
 * there yet.
 */
static int read_values(struct vm *vm, const struct dynsyms *d, enum row_kind kind,
		       const char *table, const char *entry, const char *name_off,
		       const char *val_off, bool wide)
{
	uint64_t e, stride, name_at, val_at, n, val;
	char name[NAME_MAX_BYTES];
	int32_t narrow;

	if (dyn_value(d, table, "", &e) || dyn_value(d, entry, "ArrayStride", &stride) ||
	    dyn_value(d, entry, name_off, &name_at) || dyn_value(d, entry, val_off, &val_at) ||
	    !e || !stride || stride > 4096)
		return 0;
	for (unsigned int i = 0; i < TABLE_MAX; i++, e += stride) {
		if (mem_u64(vm->mem, e + name_at, &n))
			return 0;
		if (!n)
			return is_last(vm, e, stride) ? 0 : -EAGAIN;
		if (!named(vm->mem, n, name))
			return 0;
		if (wide) {
			if (mem_u64(vm->mem, e + val_at, &val))
				return 0;
		} else {
			if (mem_i32(vm->mem, e + val_at, &narrow))
				return 0;
			val = (uint32_t)narrow;
		}
		if (val <= UINT32_MAX)
			take_row(vm, kind, name, val);
	}
	return 0;
}

static void find_release(struct vm *vm)
{
	uint64_t addr;
	int32_t major = 0;
	char text[NAME_MAX_BYTES];

	/* JDK 8 gives HotSpot's own version (25.x) here, so the string's "25.yyy-b" tells */
	if (vm->at.major != VM_NONE)
		mem_i32(vm->mem, vm->at.major, &major);
	if (vm->at.cc_heaps == VM_NONE && vm->at.cc_heap != VM_NONE)
		major = 8;
	else if (!major && vm->at.release_string != VM_NONE &&
		 !mem_u64(vm->mem, vm->at.release_string, &addr) && named(vm->mem, addr, text))
		major = atoi(text);
	vm->release = major > 0 && major < 1000 ? major : 0;
}

/*
 * Fills in facts that the tables leave out. JDK 21 moved Method's "hidden" flag to ConstMethod (bit
 * 12, oops/constMethodFlags.hpp) and exports neither; CodeBlob::_kind says itself what it is.
 */
static void fill_in(struct vm *vm)
{
	struct vm_layout *at = &vm->at;

	if (!at->hb_length_bytes || at->hb_length_bytes == VM_NONE)
		at->hb_length_bytes = at->hb_size == 8 ? 4 : 8;
	if (!at->cb_header_bytes || at->cb_header_bytes == VM_NONE)
		at->cb_header_bytes = 4;
	if (!at->cb_frame_complete_bytes || at->cb_frame_complete_bytes == VM_NONE)
		at->cb_frame_complete_bytes = 4;
	if (!at->nm_metadata_bytes || at->nm_metadata_bytes == VM_NONE)
		at->nm_metadata_bytes = 4;
	if (at->kind_nmethod == VM_NONE)
		at->cb_kind = VM_NONE;
}

/*
 * The kernel side reads VM_HEADER_BYTES of a blob's block, and takes offsets of 16 bits: a field
 * beyond that is treated as if this JVM had none.
 */
static void drop_far(struct vm_layout *at)
{
	uint64_t *const blob[] = {
		&at->cb_name,	     &at->cb_size,	  &at->cb_kind,
		&at->cb_header_size, &at->cb_frame_size,  &at->cb_frame_complete,
		&at->cb_code_begin,  &at->cb_code_offset, &at->nm_id,
		&at->nm_level,	     &at->nm_orig_pc,	  &at->nm_deopt,
		&at->nm_deopt_off,   &at->nm_deopt_mh,	  &at->nm_deopt_mh_off,
	};
	uint64_t *const number[] = {&at->nm_sizeof, &at->method_const, &at->cm_size};
	uint64_t far;

	if (at->hb_size > VM_HEADER_BYTES - 8)
		at->hb_size = VM_NONE;
	if (at->hb_used >= at->hb_size)
		at->hb_used = VM_NONE;
	far = VM_HEADER_BYTES - 8 - (at->hb_size == VM_NONE ? 0 : at->hb_size);
	for (size_t i = 0; i < sizeof(blob) / sizeof(blob[0]); i++)
		if (*blob[i] > far)
			*blob[i] = VM_NONE;
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		if (*number[i] > UINT16_MAX)
			*number[i] = VM_NONE;
}

static bool found(const struct vm *vm, uint16_t to)
{
	return *(const uint64_t *)((const char *)&vm->at + to) != VM_NONE;
}

/*
 * Whether the fact of rows[*i] was found, or is not needed of this JVM; *i moves on behind the
 * row's alternatives.
 */
static bool row_met(const struct vm *vm, unsigned int *i)
{
	const struct row *first = &rows[*i];
	bool met = found(vm, first->to) || (first->with && !found(vm, first->with));

	for (++*i; *i < NROWS && rows[*i].alt; ++*i)
		met |= found(vm, rows[*i].to);
	return met || first->feature >= VM_FEATURES;
}

static void find_features(struct vm *vm)
{
	vm->has = (1U << VM_FEATURES) - 1;
	for (unsigned int i = 0; i < NROWS;) {
		unsigned int f = rows[i].feature;

		if (!row_met(vm, &i))
			vm->has &= ~(1U << f);
	}
	if (!vm_has(vm, VM_NAMES))
		vm->has &= ~(1U << VM_LINES | 1U << VM_SCOPES);
	if (vm->at.method_const == VM_NONE || vm->at.cm_size == VM_NONE)
		vm->has &= ~(1U << VM_INTERP);
	if (!vm_has(vm, VM_CODE))
		vm->has &= ~(1U << VM_NMETHOD);
	if (!vm_has(vm, VM_NMETHOD))
		vm->has &= ~(1U << VM_SCOPES | 1U << VM_DEOPT);
	if (!vm_has(vm, VM_THREADS))
		vm->has &= ~(1U << VM_THREAD_NAMES);
}

bool vm_has(const struct vm *vm, enum vm_feature f)
{
	return vm->has >> f & 1;
}

int vm_release(const struct vm *vm)
{
	return vm->release;
}

/* "Klass._name", with all the places it was looked for at: "X._a or Y._b". */
static void row_name(const struct row *r, char *name, size_t size)
{
	size_t len = 0;

	for (bool first = true; r < rows + NROWS && (first || r->alt) && len < size; r++) {
		const char *sep = first ? "" : " or ";
		int n = r->kind == ROW_FIELD
				? snprintf(name + len, size - len, "%s%s.%s", sep, r->type,
					   r->field)
				: snprintf(name + len, size - len, "%ssizeof(%s)", sep, r->type);

		len += n > 0 ? (size_t)n : 0;
		first = false;
	}
}

void vm_missing(const struct vm *vm, vm_missing_fn cb, void *arg)
{
	char name[2 * NAME_MAX_BYTES];

	for (unsigned int i = 0; i < NROWS;) {
		const struct row *first = &rows[i];

		if (row_met(vm, &i))
			continue;
		row_name(first, name, sizeof(name));
		cb(arg, name, (enum vm_feature)first->feature);
	}
}

int vm_info(struct vm *vm, char *buf, size_t cap)
{
	uint64_t addr;

	if (vm->at.info_string == VM_NONE || mem_u64(vm->mem, vm->at.info_string, &addr) || !addr ||
	    mem_str(vm->mem, addr, buf, cap) <= 0)
		return -ENOENT;
	for (char *p = buf; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	return 0;
}

int vm_flag(struct vm *vm, const char *name)
{
	const struct vm_layout *at = &vm->at;
	uint64_t list, count, str, addr;
	char buf[NAME_MAX_BYTES];
	uint8_t val;

	if (at->flag_list == VM_NONE || at->flag_count == VM_NONE || at->flag_name == VM_NONE ||
	    at->flag_addr == VM_NONE || at->flag_size == VM_NONE || !at->flag_size ||
	    mem_u64(vm->mem, at->flag_list, &list) || mem_u64(vm->mem, at->flag_count, &count))
		return -ENOENT;
	for (uint64_t i = 0; i < count && i < VM_FLAGS_MAX; i++, list += at->flag_size) {
		if (mem_u64(vm->mem, list + at->flag_name, &str))
			return -ENOENT;
		if (!str || mem_str(vm->mem, str, buf, sizeof(buf)) < 0 || strcmp(buf, name))
			continue;
		if (mem_u64(vm->mem, list + at->flag_addr, &addr) || mem_u8(vm->mem, addr, &val))
			return -ENOENT;
		return val != 0;
	}
	return -ENOENT;
}

/* ---- opening ----------------------------------------------------------------------------------
 */

/* 0, -EAGAIN or -ENOEXEC. */
static int tables_read(struct vm *vm)
{
	struct dynsyms d;
	int rc;

	if (dyn_open(&d, vm->mem, vm->base))
		return -ENOEXEC;
	rc = read_structs(vm, &d);
	if (!rc)
		rc = read_values(vm, &d, ROW_SIZE, "gHotSpotVMTypes", "gHotSpotVMTypeEntry",
				 "TypeNameOffset", "SizeOffset", true);
	if (!rc)
		rc = read_values(vm, &d, ROW_CONST, "gHotSpotVMIntConstants",
				 "gHotSpotVMIntConstantEntry", "NameOffset", "ValueOffset", false);
	if (!rc)
		rc = read_values(vm, &d, ROW_CONST, "gHotSpotVMLongConstants",
				 "gHotSpotVMLongConstantEntry", "NameOffset", "ValueOffset", true);
	return rc;
}

int vm_open_mem(struct mem *mem, uint64_t base, struct vm **out, struct error *e)
{
	struct vm *vm = calloc(1, sizeof(*vm));
	int rc;

	if (!vm) {
		mem_close(mem);
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	vm->mem = mem;
	vm->base = base;
	memset(&vm->at, 0xff, sizeof(vm->at));
	rc = tables_read(vm);
	if (rc) {
		vm_close(vm);
		error_set(e, rc, EXIT_TARGET, "libjvm.so has no readable VM structures");
		return e ? error_hint(e, "is it a HotSpot JVM that has finished starting?") : rc;
	}
	find_release(vm);
	drop_far(&vm->at);
	fill_in(vm);
	find_features(vm);
	unloads_look(vm);
	vm->unloads.told = unloads_count(vm);
	*out = vm;
	return 0;
}

static bool is_libjvm(void *ctx, const struct mapping *m, const char *path)
{
	const char *name = strrchr(path, '/');
	uint64_t *base = ctx;

	if (!name || strcmp(name, "/libjvm.so") || m->offset)
		return false;
	*base = m->start;
	return true;
}

/* Where libjvm.so starts in `pid`: its mapping of file offset 0. */
static int find_libjvm(pid_t pid, uint64_t *base)
{
	return mem_mapping_find(pid, 0, is_libjvm, base);
}

int vm_open(pid_t pid, struct vm **out, struct error *e)
{
	struct mem *mem;
	uint64_t base = 0;
	int rc = find_libjvm(pid, &base);

	if (rc == -ENOENT)
		return error_set(e, rc, EXIT_TARGET, "process %d has no libjvm.so", (int)pid);
	if (rc)
		return error_set(e, rc, rc == -EACCES ? EXIT_PERMISSION : EXIT_TARGET,
				 "cannot read the mappings of process %d: %s", (int)pid,
				 strerror(-rc));
	mem = mem_open(pid);
	if (!mem)
		return error_set(e, -errno, errno == EACCES ? EXIT_PERMISSION : EXIT_TARGET,
				 "cannot read the memory of process %d: %s", (int)pid,
				 strerror(errno));
	return vm_open_mem(mem, base, out, e);
}

void vm_close(struct vm *vm)
{
	if (!vm)
		return;
	vm_names_free(vm);
	oops_free(vm);
	codecache_free(vm);
	mem_close(vm->mem);
	free(vm);
}

bool vm_refresh(struct vm *vm)
{
	struct unloads *u = &vm->unloads;
	bool changed;

	mem_flush(vm->mem);
	unloads_look(vm);
	changed = u->told != u->count || u->unsure;
	u->told = u->count;
	u->unsure = false;
	return changed;
}
