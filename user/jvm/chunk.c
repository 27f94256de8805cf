/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/chunk.h"

#include <errno.h>

#include "jvm/codecache.h"
#include "jvm/symbol.h"
#include "jvm/vm.h"
#include "jvm/vmstructs.h"

#define FRAME_MAX 32768 /* words of a compiled frame */

/* Slots of an interpreted frame, words from fp: cpu/x86/frame_x86.hpp. */
enum { SENDER_SP = -1, METHOD = -3, LOCALS = -7, BCP = -8, LOWEST = -9 };

/* ---- code -------------------------------------------------------------------------------------
 */

static uint64_t handler(struct vm *vm, uint64_t blob, uint64_t pointer, uint64_t offset)
{
	uint64_t at = 0;
	int32_t off;

	if (pointer != VM_NONE)
		return mem_u64(vm->mem, blob + pointer, &at) ? 0 : at;
	if (offset == VM_NONE || mem_i32(vm->mem, blob + offset, &off) || off <= 0)
		return 0;
	return blob + (uint64_t)off;
}

static bool is_nmethod(struct vm *vm, uint64_t blob)
{
	const struct vm_layout *at = &vm->at;
	uint16_t narrow = 0;
	uint32_t size = 0;
	uint8_t kind;

	if (at->cb_kind != VM_NONE)
		return !mem_u8(vm->mem, blob + at->cb_kind, &kind) && kind == at->kind_nmethod;
	if (at->cb_header_bytes == 2)
		return !mem_u16(vm->mem, blob + at->cb_header_size, &narrow) &&
		       narrow == at->nm_sizeof;
	return !mem_u32(vm->mem, blob + at->cb_header_size, &size) && size == at->nm_sizeof;
}

static void code_read(struct vm *vm, uint64_t pc, struct chunk_code *c)
{
	const struct vm_layout *at = &vm->at;
	int32_t size, bytes, id, orig;
	uint64_t blob;

	*c = (struct chunk_code){.pc = pc};
	if (!vm_has(vm, VM_CODE) || codecache_find(vm, pc, &blob) ||
	    mem_i32(vm->mem, blob + at->cb_size, &bytes) || pc - blob >= (uint32_t)bytes ||
	    mem_i32(vm->mem, blob + at->cb_frame_size, &size) || size <= 0 || size > FRAME_MAX)
		return;
	c->size = (uint32_t)size;
	if (!vm_has(vm, VM_NMETHOD) || !is_nmethod(vm, blob))
		return;
	if (mem_i32(vm->mem, blob + at->nm_id, &id)) {
		c->size = 0;
		return;
	}
	c->nmethod = true;
	c->data = (uint64_t)(uint32_t)id << 32 | (uint32_t)(pc - blob);
	if (!vm_has(vm, VM_DEOPT) || mem_i32(vm->mem, blob + at->nm_orig_pc, &orig) || orig < 0)
		return;
	c->orig_pc = (uint32_t)orig;
	c->deopt = handler(vm, blob, at->nm_deopt, at->nm_deopt_off);
	c->deopt_mh = handler(vm, blob, at->nm_deopt_mh, at->nm_deopt_mh_off);
}

static const struct chunk_code *code_at(struct vm *vm, struct chunk_codes *codes, uint64_t pc)
{
	struct chunk_code *c = &codes->of[(pc ^ pc >> 9) % CHUNK_CODES];

	if (c->pc != pc)
		code_read(vm, pc, c);
	return c;
}

/* ---- frames -----------------------------------------------------------------------------------
 */

/* Where the walk stands: indices into the words. `usp` is where the frame ends without what its
 * callee had pushed for itself. */
struct walk {
	struct vm *vm;
	const struct chunk *c;
	int64_t sp, usp;
};

static bool word(const struct walk *w, int64_t i, uint64_t *v)
{
	if (i < 0 || i >= w->c->have)
		return false;
	*v = w->c->words[i];
	return true;
}

/* An index that a slot tells by its distance from `from`. */
static bool index_at(const struct walk *w, int64_t slot, int64_t from, int64_t *i)
{
	uint64_t v;

	if (!word(w, slot, &v) || (int64_t)v > w->c->n || (int64_t)v < -(int64_t)w->c->n)
		return false;
	*i = from + (int64_t)v;
	return true;
}

/* The method, and where in it: a native one has no place. */
static bool method_frame(const struct walk *w, int64_t fp, struct gn_frame *out)
{
	const struct vm_layout *at = &w->vm->at;
	uint64_t method, bcp, cm, bci;

	if (!word(w, fp + METHOD, &method) || !word(w, fp + BCP, &bcp) || !is_metadata(method) ||
	    mem_u64(w->vm->mem, method + at->method_const, &cm) || !is_metadata(cm))
		return false;
	bci = bcp - (cm + at->cm_size);
	if (bci >= 0x10000) {
		if (bcp)
			return false;
		bci = 0;
	}
	out->pc = GN_FRAME(method, GN_FRAME_INTERP, 0);
	out->data = cm << 16 | bci;
	return true;
}

/* 0, or -EBADMSG; the walk stands at the caller. */
static int interpreted_step(struct walk *w, struct gn_frame *out)
{
	int64_t link = w->sp - 2, fp, locals, sender;

	if (!index_at(w, link, link, &fp) || fp + LOWEST < link || fp + 2 > w->c->n ||
	    !index_at(w, fp + LOCALS, fp, &locals) || !index_at(w, fp + SENDER_SP, fp, &sender) ||
	    locals < fp + 1 || sender < fp + 2 || sender > w->c->n + (int64_t)CHUNK_BELOW ||
	    !method_frame(w, fp, out))
		return -EBADMSG;
	w->sp = locals + 1 >= w->c->n ? w->c->n : fp + 2;
	w->usp = sender;
	return 0;
}

static uint64_t real_pc(const struct walk *w, const struct chunk_code *code, uint64_t pc)
{
	uint64_t orig;

	if ((!code->deopt || pc != code->deopt) && (!code->deopt_mh || pc != code->deopt_mh))
		return pc;
	return !(code->orig_pc & 7) && word(w, w->usp + code->orig_pc / 8, &orig) ? orig : 0;
}

static int compiled_step(struct walk *w, struct chunk_codes *codes, uint64_t pc,
			 struct gn_frame *out)
{
	const struct chunk_code *code = code_at(w->vm, codes, pc);
	uint64_t real = code->size ? real_pc(w, code, pc) : 0;
	uint32_t size = code->size;

	if (!real)
		return -EBADMSG;
	if (real != pc) {
		code = code_at(w->vm, codes, real);
		if (!code->nmethod || code->size != size)
			return -EBADMSG;
	}
	out->pc = GN_FRAME(real, code->nmethod ? GN_FRAME_NMETHOD : GN_FRAME_STUB, GN_FF_RETADDR);
	out->data = code->data;
	w->sp = w->usp + size;
	if (w->sp >= w->c->n - (int64_t)CHUNK_BELOW)
		w->sp = w->c->n;
	w->usp = w->sp;
	return 0;
}

int chunk_frames(struct vm *vm, struct chunk_codes *codes, const struct chunk *c,
		 struct gn_frame *out, uint32_t max, uint32_t *n)
{
	struct walk w = {.vm = vm, .c = c, .sp = CHUNK_BELOW, .usp = CHUNK_BELOW};
	uint64_t pc;

	while (w.sp < c->n) {
		int64_t before = w.sp;
		int rc;

		if (*n == max)
			return 1;
		if (!word(&w, w.sp - 1, &pc))
			return c->have < c->n ? 1 : -EBADMSG;
		rc = codecache_is_interpreter(vm, pc) ? interpreted_step(&w, &out[*n])
						      : compiled_step(&w, codes, pc, &out[*n]);
		if (rc || w.sp <= before || w.usp < w.sp - (int64_t)CHUNK_BELOW)
			return rc && c->have < c->n && before + FRAME_MAX > c->have ? 1 : -EBADMSG;
		++*n;
	}
	return 0;
}
