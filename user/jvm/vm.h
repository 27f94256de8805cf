/* SPDX-License-Identifier: Apache-2.0 */
/* What the modules of jvm/ share about an open JVM. Not for others: they have vmstructs.h. */
#ifndef GNOMON_JVM_VM_H
#define GNOMON_JVM_VM_H

#include <stdbool.h>
#include <stdint.h>

#include "jvm/mem.h"

#define VM_NONE	     UINT64_MAX /* this JVM has no such field */
#define VM_FLAGS_MAX 8192	/* of its flags so many are looked at */

/* What the BPF step reads of a blob, from its HeapBlock on: kern/hotspot.h. */
#define VM_HEADER_BYTES 400

/*
 * Offsets of fields in their structs, addresses of static fields, sizes of types, values of
 * constants. Named type_field.
 */
struct vm_layout {
	/* metadata */
	uint64_t method_const, method_access, method_flags, method_hidden;
	uint64_t cm_constants, cm_name, cm_sig, cm_code_size, cm_flags, cm_size;
	uint64_t cp_holder, cp_length, cp_size, klass_name, klass_super, klass_layout;
	uint64_t ik_constants, ik_fields, ik_java_fields, ik_fieldinfo;
	uint64_t sym_length, sym_length_ref, sym_body;
	uint64_t array_u1_data, array_u2_data, array_length;
	/* code */
	uint64_t cc_heaps, cc_heap, ga_len, ga_data;
	uint64_t ch_memory, ch_segmap, ch_log2, vs_low, vs_high, vs_end;
	uint64_t hb_size, hb_length, hb_used, hb_length_bytes;
	uint64_t cb_name, cb_size, cb_kind, cb_header_size, cb_header_bytes, cb_frame_size;
	uint64_t cb_frame_complete, cb_frame_complete_bytes, cb_code_begin;
	uint64_t cb_code_offset, cb_data_offset, cb_mutable, cb_mutable_size, cb_reloc_size;
	uint64_t nm_sizeof, nm_method, nm_state, nm_id, nm_level, nm_orig_pc, nm_deopt, nm_deopt_mh;
	uint64_t nm_deopt_off, nm_deopt_mh_off, nm_scopes, nm_scopes_off, nm_pcs, nm_deps;
	uint64_t nm_metadata, nm_metadata_bytes, nm_immutable, nm_immutable_size;
	uint64_t pd_pc, pd_scope, pd_size;
	uint64_t interp_code, sq_buffer, sq_limit, cont_return_pc, call_stub_pc;
	uint64_t kind_nmethod, kind_adapter, kind_vtable, kind_mh;
	/* threads */
	uint64_t tl_list, tl_length, tl_threads, jt_osthread, ost_id, jt_object, jt_vthread;
	uint64_t jt_anchor, jt_saved_pc;
	uint64_t anchor_sp, anchor_pc, anchor_fp, oh_obj;
	uint64_t oop_klass, oop_narrow_klass, oops_base, oops_shift, klass_base, klass_shift;
	/* what threads wait for */
	uint64_t jt_pending, jt_waiting, jt_lock_stack, jt_stack_base, jt_stack_size, jt_owner_id;
	uint64_t ls_top, ls_base, om_object, om_owner, om_stack_locker;
	uint64_t klass_supers, heap_active, heap_collections, mark_hash_shift, mark_hash_mask;
	/* classes of the JVM's own loader, and their static fields */
	uint64_t klass_mirror, klass_loader, klass_next, loader_klasses, ik_state, ik_state_ready;
	uint64_t mark_klass_shift, klass_subklass, klass_sibling, class_thread, class_string;
	/* ZGC, and JDK 21's older one */
	uint64_t zg_instance, zg_offset, zg_load_good, zg_store_good, zc_heap, zh_allocator;
	uint64_t zh_table, zf_virtual, zf_shift, zf_entries, zf_size, zg_good, zg_bad,
		zh_forwarding;
	uint64_t xg_instance, xg_offset, xg_good, xg_bad, xc_heap, xh_forwarding;
	uint64_t xf_virtual, xf_shift, xf_entries, xf_size;
	/* the rest */
	uint64_t flag_list, flag_count, flag_name, flag_addr, flag_size, flag_flags, flag_type;
	uint64_t perf_start, heap, archive_base, archive_top;
	uint64_t major, release_string, info_string;
};

#define UNLOADS_COUNTERS 4
#define UNLOADS_THREADS	 4 /* in unloads.at[]: where it is counted how many threads were started */

struct unloads {			   /* unloads.c */
	uint64_t start;			   /* of the performance counters */
	uint64_t at[UNLOADS_COUNTERS + 1]; /* of the values; 0 not found */
	uint64_t count, changed_ns;	   /* as last seen, and when first seen so */
	uint64_t looked_ns;		   /* the last look began */
	uint64_t loads;			   /* classes loaded, as last seen */
	bool looked, known;
	unsigned int finds; /* searches for them */
	uint64_t find_ns;   /* when the next is due */
	uint64_t told;	    /* vm_refresh() has told of so many */
	bool unsure;	    /* a name could not be given since then: it can at the next sample */
};

struct names; /* method.c */
struct oops;  /* threads.c */

struct vm {
	struct mem *mem;
	uint64_t base; /* of libjvm.so */
	int release;
	uint32_t has; /* bits of enum vm_feature */
	struct vm_layout at;
	struct names *names;
	struct oops *oops;
	struct gn_jvm *code;	/* codecache.c */
	uint64_t enter_special; /* blob of Continuation.enterSpecial once seen, 0 */
	/* of codecache_refresh(): for blobs told by their names, for the interpreter's end */
	unsigned int name_looks, interp_looks;
	struct unloads unloads;
	uint64_t then; /* vm_at() */
	bool in_doubt; /* vm_in_doubt() */
};

/* Each module frees what it hung on the vm. */
void vm_names_free(struct vm *vm);
void oops_free(struct vm *vm);
void codecache_free(struct vm *vm);

#endif
