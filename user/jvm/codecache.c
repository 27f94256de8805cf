/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/codecache.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "jvm/vm.h"
#include "jvm/vmstructs.h"

#define HOPS_MAX     64	    /* so many steps back in the segment map for one pc */
#define BLOCKS_MAX   100000 /* so many blocks are looked at in one scan of a heap */
#define SEGMENT_FREE 0xff   /* segment map: no block here */
#define LOG2_SEG_MIN 4
#define LOG2_SEG_MAX 16
#define CODE_MAX     (2ull << 30) /* bytes: no code cache is larger */

/* ---- heaps ------------------------------------------------------------------------------------
 */

static int read_heap(struct vm *vm, uint64_t heap, struct gn_code_heap *out)
{
	const struct vm_layout *at = &vm->at;
	uint64_t low, high, segmap;
	int32_t log2;

	if (!heap || mem_u64(vm->mem, heap + at->ch_memory + at->vs_low, &low) ||
	    mem_u64(vm->mem, heap + at->ch_memory + at->vs_end, &high) ||
	    mem_u64(vm->mem, heap + at->ch_segmap + at->vs_low, &segmap) ||
	    mem_i32(vm->mem, heap + at->ch_log2, &log2))
		return -EFAULT;
	if (log2 < LOG2_SEG_MIN || log2 > LOG2_SEG_MAX || low >= high || high >= 1ULL << 47 ||
	    !segmap)
		return -EFAULT;
	*out = (struct gn_code_heap){
		.low = low, .high = high, .segmap = segmap, .log2_segment = (uint32_t)log2};
	return 0;
}

/* The addresses of its heaps: how many, or -ENOTSUP, -EFAULT. */
static int heaps_find(struct vm *vm, uint64_t heaps[GN_JVM_HEAPS])
{
	const struct vm_layout *at = &vm->at;
	uint64_t array, data;
	int32_t n;
	int found = 0;

	if (at->cc_heaps == VM_NONE)
		return mem_u64(vm->mem, at->cc_heap, &heaps[0]) ? -EFAULT : 1;
	if (at->ga_len == VM_NONE || at->ga_data == VM_NONE)
		return -ENOTSUP;
	if (mem_u64(vm->mem, at->cc_heaps, &array) || !array ||
	    mem_i32(vm->mem, array + at->ga_len, &n) ||
	    mem_u64(vm->mem, array + at->ga_data, &data))
		return -EFAULT;
	for (int i = 0; i < n && i < GN_JVM_HEAPS; i++)
		if (!mem_u64(vm->mem, data + (uint64_t)i * 8, &heaps[found]))
			found++;
	return found;
}

static int read_heaps(struct vm *vm, struct gn_jvm *j)
{
	uint64_t heaps[GN_JVM_HEAPS];
	int n = heaps_find(vm, heaps);

	for (int i = 0; i < n; i++)
		if (!read_heap(vm, heaps[i], &j->heap[j->nheaps]))
			j->nheaps++;
	return n < 0 ? n : j->nheaps ? 0 : -EFAULT;
}

/* ---- what of them is used ---- */

/*
 * Words of a CodeHeap (memory/heap.hpp, the same from 9 to 25) behind its _log2_segment_size, which
 * is as long with its padding: the JVM tells of none of them where they lie.
 */
enum { NEXT_SEGMENT = 1, FREE_SEGMENTS = 4, BEHIND_WORDS };

#define CODE_HEAP_BYTES 512

static uint64_t word_at(const uint8_t *bytes, uint64_t at)
{
	uint64_t v;

	memcpy(&v, bytes + at, sizeof(v));
	return v;
}

static int heap_use(struct vm *vm, uint64_t heap, struct codecache_use *out)
{
	const struct vm_layout *at = &vm->at;
	uint64_t low = at->ch_memory + at->vs_low, high = at->ch_memory + at->vs_high;
	uint64_t end = at->ch_memory + at->vs_end, behind = at->ch_log2 & ~7ull;
	uint64_t committed, next, unused, bytes = behind + BEHIND_WORDS * sizeof(next);
	uint8_t b[CODE_HEAP_BYTES];
	uint32_t log2;

	if (at->vs_high == VM_NONE || bytes > sizeof(b) || low > bytes - 8 || high > bytes - 8 ||
	    end > bytes - 8)
		return -ENOTSUP;
	if (!heap || mem_read_now(vm->mem, heap, b, bytes))
		return -EFAULT;
	memcpy(&log2, b + at->ch_log2, sizeof(log2));
	next = word_at(b, behind + NEXT_SEGMENT * 8);
	unused = word_at(b, behind + FREE_SEGMENTS * 8);
	committed = word_at(b, high) - word_at(b, low);
	if (log2 < LOG2_SEG_MIN || log2 > LOG2_SEG_MAX || committed > CODE_MAX ||
	    word_at(b, end) - word_at(b, low) > CODE_MAX || unused > next ||
	    next > committed >> log2)
		return -EBADMSG;
	out->used += (next - unused) << log2;
	out->committed += committed;
	out->reserved += word_at(b, end) - word_at(b, low);
	return 0;
}

int codecache_use(struct vm *vm, struct codecache_use *out)
{
	uint64_t heaps[GN_JVM_HEAPS];
	int n, rc;

	*out = (struct codecache_use){0};
	if (!vm_has(vm, VM_CODE))
		return -ENOTSUP;
	n = heaps_find(vm, heaps);
	rc = n < 0 ? n : n ? 0 : -EFAULT;
	for (int i = 0; i < n && !rc; i++)
		rc = heap_use(vm, heaps[i], out);
	if (rc)
		*out = (struct codecache_use){0};
	return rc;
}

static void find_bounds(struct gn_jvm *j)
{
	j->low = UINT64_MAX;
	j->high = 0;
	for (unsigned int i = 0; i < j->nheaps; i++) {
		if (j->heap[i].low < j->low)
			j->low = j->heap[i].low;
		if (j->heap[i].high > j->high)
			j->high = j->heap[i].high;
	}
}

int codecache_heap(const struct gn_jvm *jvm, uint64_t addr)
{
	for (unsigned int i = 0; i < jvm->nheaps && i < GN_JVM_HEAPS; i++)
		if (addr >= jvm->heap[i].low && addr < jvm->heap[i].high)
			return (int)i;
	return -1;
}

/* ---- fields -----------------------------------------------------------------------------------
 */

/*
 * An offset from the HeapBlock; 0: this JVM has no such field, or none near enough (drop_far() in
 * vmstructs.c).
 */
static uint16_t from_block(const struct vm *vm, uint64_t off)
{
	uint64_t v = vm->at.hb_size + off;

	return off == VM_NONE || v > VM_HEADER_BYTES - 8 ? 0 : (uint16_t)v;
}

static uint16_t small(uint64_t off)
{
	return off < UINT16_MAX ? (uint16_t)off : 0;
}

static void fill_blob(const struct vm *vm, struct gn_jvm *j)
{
	const struct vm_layout *at = &vm->at;

	j->blob = small(at->hb_size);
	j->used = small(at->hb_used);
	j->name = from_block(vm, at->cb_name);
	j->size = from_block(vm, at->cb_size);
	j->header = from_block(vm, at->cb_header_size);
	j->frame = from_block(vm, at->cb_frame_size);
	j->complete = from_block(vm, at->cb_frame_complete);
	j->id = from_block(vm, at->nm_id);
	j->level = from_block(vm, at->nm_level);
	j->nmethod_header = small(at->nm_sizeof);
	if (at->cb_frame_complete_bytes == 2)
		j->flags |= GN_JVM_SHORTS;
	if (at->cb_code_begin != VM_NONE)
		j->flags |= GN_JVM_ABSOLUTE;
	j->code = from_block(vm,
			     at->cb_code_begin != VM_NONE ? at->cb_code_begin : at->cb_code_offset);
	if (at->cb_kind == VM_NONE)
		return;
	j->flags |= GN_JVM_KIND;
	j->kind = from_block(vm, at->cb_kind);
	j->kind_nmethod = (uint8_t)at->kind_nmethod;
	j->kind_vtable = (uint8_t)at->kind_vtable;
	j->kind_adapter = (uint8_t)at->kind_adapter;
	j->kind_mh = (uint8_t)at->kind_mh;
}

static void fill_deopt(const struct vm *vm, struct gn_jvm *j)
{
	const struct vm_layout *at = &vm->at;
	bool abs = j->flags & GN_JVM_ABSOLUTE;

	if (!vm_has(vm, VM_DEOPT))
		return;
	j->orig_pc = from_block(vm, at->nm_orig_pc);
	j->deopt = from_block(vm, abs ? at->nm_deopt : at->nm_deopt_off);
	j->deopt_mh = from_block(vm, abs ? at->nm_deopt_mh : at->nm_deopt_mh_off);
	if (j->orig_pc && j->deopt)
		j->flags |= GN_JVM_DEOPT;
	if (j->orig_pc && j->deopt_mh)
		j->flags |= GN_JVM_DEOPT_MH;
}

/*
 * Fills in where the interpreter lies. A starting JVM makes its code heaps one after the other and
 * then the interpreter, in more room than that will need. -EAGAIN: it has not come so far.
 */
static int fill_interp(struct vm *vm, struct gn_jvm *j)
{
	const struct vm_layout *at = &vm->at;
	uint64_t queue, low;
	int32_t limit;

	if (!vm_has(vm, VM_INTERP) || at->method_const == VM_NONE || at->cm_size == VM_NONE ||
	    mem_u64(vm->mem, at->interp_code, &queue))
		return 0;
	if (!queue)
		return -EAGAIN;
	if (mem_u64(vm->mem, queue + at->sq_buffer, &low) ||
	    mem_i32(vm->mem, queue + at->sq_limit, &limit) || limit <= 0)
		return -EAGAIN;
	j->interp_low = low;
	j->interp_high = low + (uint64_t)limit;
	j->method_const = small(at->method_const);
	j->cm_size = small(at->cm_size);
	j->flags |= GN_JVM_INTERP;
	return 0;
}

/*
 * Fills in where a thread's last Java frame is noted. The walk reads the three words at once, so
 * they have to follow each other, as they always have.
 */
static void fill_anchor(const struct vm *vm, struct gn_jvm *j)
{
	const struct vm_layout *at = &vm->at;

	if (!vm_has(vm, VM_ANCHOR) || at->jt_anchor > UINT16_MAX / 2 || at->anchor_sp > 4096 ||
	    at->anchor_pc != at->anchor_sp + 8 || at->anchor_fp != at->anchor_sp + 16)
		return;
	j->anchor = (uint16_t)(at->jt_anchor + at->anchor_sp);
	j->flags |= GN_JVM_ANCHOR;
}

/*
 * Fills in whether the collector's barriers spill registers below a compiled frame; see
 * hs_spilled().
 */
static void fill_spills(struct vm *vm, struct gn_jvm *j)
{
	if (vm_flag(vm, "UseZGC") == 1)
		j->flags |= GN_JVM_SPILLS | GN_JVM_SPILLING;
	else if (vm->release >= 24 && vm_flag(vm, "UseG1GC") == 1)
		j->flags |= GN_JVM_SPILLS;
}

#define RELEASE_KNOWN 25

bool codecache_is_compilers(struct vm *vm, const struct gn_jvm *jvm)
{
	return jvm->nheaps > 1 && vm->release >= 9 && vm->release <= RELEASE_KNOWN &&
	       vm_flag(vm, "EnableJVMCI") != 1;
}

/* ---- blobs ------------------------------------------------------------------------------------
 */

/* What is known of the JVM's code; NULL until it has its code heaps. */
static const struct gn_jvm *code_get(struct vm *vm)
{
	if (!vm->code &&
	    (!(vm->code = malloc(sizeof(*vm->code))) || codecache_fill(vm, vm->code))) {
		free(vm->code);
		vm->code = NULL;
	}
	return vm->code;
}

bool codecache_may_have(struct vm *vm, uint64_t addr)
{
	const struct gn_jvm *j = code_get(vm);

	return j ? codecache_heap(j, addr) >= 0 : vm_has(vm, VM_CODE);
}

void codecache_renew(struct vm *vm)
{
	if (vm->code)
		fill_interp(vm, vm->code);
}

bool codecache_is_interpreter(struct vm *vm, uint64_t pc)
{
	const struct gn_jvm *j = code_get(vm);

	return j && j->flags & GN_JVM_INTERP && pc >= j->interp_low && pc < j->interp_high;
}

int codecache_find(struct vm *vm, uint64_t pc, uint64_t *blob)
{
	const struct gn_code_heap *h;
	uint64_t seg, block;
	uint8_t tag, used;
	int i;

	if (!code_get(vm))
		return -ENOENT;
	i = codecache_heap(vm->code, pc);
	if (i < 0)
		return -ENOENT;
	h = &vm->code->heap[i];
	seg = (pc - h->low) >> h->log2_segment;
	for (int hop = 0; hop < HOPS_MAX; hop++) {
		if (mem_u8(vm->mem, h->segmap + seg, &tag) || tag == SEGMENT_FREE || tag > seg)
			return -ENOENT;
		if (tag) {
			seg -= tag;
			continue;
		}
		block = h->low + (seg << h->log2_segment);
		if (mem_u8(vm->mem, block + vm->at.hb_used, &used) || !used)
			return -ENOENT;
		*blob = block + vm->at.hb_size;
		return 0;
	}
	return -ENOENT;
}

void codecache_free(struct vm *vm)
{
	free(vm->code);
	vm->code = NULL;
}

int codecache_blob_name(struct vm *vm, uint64_t pc, char *buf, size_t cap)
{
	uint64_t blob, name;

	if (codecache_find(vm, pc, &blob) || mem_u64(vm->mem, blob + vm->at.cb_name, &name) ||
	    mem_str(vm->mem, name, buf, cap) <= 0)
		return -ENOENT;
	for (char *p = buf; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return 0;
}

/* ---- blobs told by their names ----------------------------------------------------------------
 */

struct named_blob {
	uint64_t blob, name;
	int32_t size;
};

/*
 * For JVMs without CodeBlob::_kind: names are literals, so all blobs of a kind share one pointer.
 */
static void note_blob(struct vm *vm, struct gn_jvm *j, const struct named_blob *b)
{
	char name[64];

	if (b->name == j->name_vtable || b->name == j->name_adapter || b->name == j->name_mh ||
	    mem_str(vm->mem, b->name, name, sizeof(name)) <= 0)
		return;
	if (!strcmp(name, "vtable chunks"))
		j->name_vtable = b->name;
	else if (!strcmp(name, "I2C/C2I adapters"))
		j->name_adapter = b->name;
	else if (!strcmp(name, "MethodHandles adapters"))
		j->name_mh = b->name;
	else if (!strncmp(name, "StubRoutines (", 14) && strstr(name, "ontinuation")) {
		j->cont_low = b->blob;
		j->cont_high = b->blob + (uint64_t)b->size;
	}
}

/* The number of segments of the block at `addr`; 0: it is no block. */
static uint64_t block_length(struct vm *vm, uint64_t addr)
{
	uint64_t len = 0;

	if (mem_read(vm->mem, addr + vm->at.hb_length, &len, vm->at.hb_length_bytes == 4 ? 4 : 8))
		return 0;
	return len < 1U << 24 ? len : 0;
}

/*
 * Looks at the blobs of the heap that the interpreter is in, up to BLOCKS_MAX of them. With
 * SegmentedCodeCache compiled methods are in others; without it they are in this one, too, behind
 * what is looked for, since that is made when the JVM starts.
 */
static void note_blobs(struct vm *vm, struct gn_jvm *j)
{
	int i = codecache_heap(j, j->interp_low);
	const struct gn_code_heap *h;
	uint64_t addr, len;
	uint8_t used;

	if (i < 0)
		return;
	h = &j->heap[i];
	addr = h->low;
	for (unsigned int n = 0; n < BLOCKS_MAX && addr < h->high; n++) {
		struct named_blob b = {.blob = addr + vm->at.hb_size};

		len = block_length(vm, addr);
		if (!len)
			return;
		if (!mem_u8(vm->mem, addr + vm->at.hb_used, &used) && used &&
		    !mem_u64(vm->mem, b.blob + vm->at.cb_name, &b.name) &&
		    !mem_i32(vm->mem, b.blob + vm->at.cb_size, &b.size) && b.size > 0)
			note_blob(vm, j, &b);
		addr += len << h->log2_segment;
		if (j->name_vtable && j->name_adapter && j->name_mh &&
		    (j->cont_low || vm->release < 20))
			return;
	}
}

/* JDK 25 says where enterSpecial's call returns to, once it exists; before, method.c notices it. */
static uint64_t find_enter_special(struct vm *vm)
{
	uint64_t pc, blob;

	if (vm->enter_special || vm->at.cont_return_pc == VM_NONE)
		return vm->enter_special;
	if (mem_read_now(vm->mem, vm->at.cont_return_pc, &pc, sizeof(pc)) || !pc ||
	    codecache_find(vm, pc, &blob))
		return 0;
	vm->enter_special = blob;
	return blob;
}

static bool names_missing(const struct vm *vm, const struct gn_jvm *j)
{
	if (!(j->flags & GN_JVM_KIND) && (!j->name_vtable || !j->name_adapter || !j->name_mh))
		return true;
	return vm->release >= 20 && !j->cont_low;
}

/*
 * Looks again for blobs that a starting JVM had not made yet, less and less often, since some are
 * never made.
 */
static bool find_names(struct vm *vm, struct gn_jvm *j)
{
	struct gn_jvm before = *j;

	if (!names_missing(vm, j))
		return false;
	vm->name_looks++;
	if (vm->name_looks & (vm->name_looks - 1))
		return false;
	note_blobs(vm, j);
	return memcmp(&before, j, sizeof(before)) != 0;
}

/* A JVM that starts has not made it yet. */
static uint64_t find_call_stub(struct vm *vm, const struct gn_jvm *j)
{
	uint64_t pc;

	if (vm->at.call_stub_pc == VM_NONE ||
	    mem_read_now(vm->mem, vm->at.call_stub_pc, &pc, sizeof(pc)) ||
	    codecache_heap(j, pc) < 0)
		return 0;
	return pc;
}

#define INTERP_LOOKS 100 /* of which none found it changed: it is what it will be */

/* A starting JVM gives back what the interpreter did not need of its room. */
static bool find_interp(struct vm *vm, struct gn_jvm *j)
{
	uint64_t high = j->interp_high;

	if (vm->interp_looks == INTERP_LOOKS)
		return false;
	fill_interp(vm, j);
	vm->interp_looks = high == j->interp_high ? vm->interp_looks + 1 : 0;
	return high != j->interp_high;
}

/* A starting JVM makes its counters a little later. */
static bool find_unloads(const struct vm *vm, struct gn_jvm *j)
{
	const uint64_t *at = vm->unloads.at;
	uint64_t low = at[0] < at[1] ? at[0] : at[1];

	if (j->unloads || !low || low & 7 || at[0] & 7 || at[1] & 7 ||
	    at[0] - low >= GN_UNLOADS_SPAN || at[1] - low >= GN_UNLOADS_SPAN)
		return false;
	j->unloads = low;
	j->unloads_at[0] = (uint16_t)(at[0] - low);
	j->unloads_at[1] = (uint16_t)(at[1] - low);
	return true;
}

int codecache_refresh(struct vm *vm, struct gn_jvm *jvm)
{
	uint64_t blob = find_enter_special(vm);
	bool changed = blob != jvm->enter_special;

	jvm->enter_special = blob;
	if (!jvm->call_stub) {
		jvm->call_stub = find_call_stub(vm, jvm);
		changed |= jvm->call_stub != 0;
	}
	changed |= find_interp(vm, jvm);
	changed |= find_names(vm, jvm);
	changed |= find_unloads(vm, jvm);
	return changed;
}

int codecache_fill(struct vm *vm, struct gn_jvm *out)
{
	int rc;

	memset(out, 0, sizeof(*out));
	if (!vm_has(vm, VM_CODE))
		return -ENOTSUP;
	rc = fill_interp(vm,
			 out); /* this comes first: once the interpreter is there the heaps are */
	if (!rc)
		rc = read_heaps(vm, out);
	if (rc)
		return rc;
	find_bounds(out);
	fill_blob(vm, out);
	fill_deopt(vm, out);
	fill_anchor(vm, out);
	out->saved_pc = small(vm->at.jt_saved_pc);
	fill_spills(vm, out);
	note_blobs(vm, out);
	out->call_stub = find_call_stub(vm, out);
	return 0;
}
