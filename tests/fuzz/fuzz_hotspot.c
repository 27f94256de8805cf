/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any registers, code heap, stack and layout of a JVM's (kern/hotspot.h): the walk must end, with a
 * reason, within its cap, with sp rising; a leaf may have nothing on the stack.
 *
 * Input: struct input, then in equal parts what the code heap (and the JVM's other memory) and the
 * stack repeat. Blocks of the heap are as large as its part; addresses are short, so that they are
 * easy to hit.
 */
// FUZZ-LINK:
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kern/hotspot.h"
#include "kern/unwind_walk.h"
#include "tests/uwwalk.h"

#define HEAP	   0x100000ULL
#define META	   0x200000ULL
#define SEGMAP	   0x300000ULL
#define STACK	   0x400000ULL
#define BYTES	   0x100000ULL /* of each of them */
#define HEAP_BYTES 0x10000ULL
#define SEGMENT	   7 /* log2 */
#define LAYOUT	   19

struct input {
	uint64_t regs[UW_NREG + 1];
	uint32_t pc, sp, fp, thread;
	uint16_t flags; /* GN_JVM_* */
	uint8_t leaf, interp;
	uint8_t segmap[16];	 /* added to what is right */
	uint16_t layout[LAYOUT]; /* added to JDK 17's */
	uint8_t kinds[4];
};

struct world {
	const uint8_t *part[2]; /* the heap's, the stack's */
	size_t len;
	const struct input *in;
	struct gn_jvm jvm;
	struct uw_proc proc;
};

static uint8_t segmap_byte(const struct world *w, uint64_t i)
{
	uint64_t segments = (w->len >> SEGMENT) + 1;

	return (uint8_t)(i % segments + w->in->segmap[i % sizeof(w->in->segmap)]);
}

static uint8_t byte_at(const struct world *w, uint64_t addr)
{
	uint64_t off = addr % BYTES;

	if (addr >= STACK)
		return w->part[1][off % w->len];
	if (addr >= SEGMAP)
		return segmap_byte(w, off);
	/* blocks begin at segments */
	off %= ((w->len >> SEGMENT) + 1) << SEGMENT;
	return off < w->len ? w->part[0][off] : 0;
}

static int world_read(void *ctx, __u64 addr, void *dst, __u32 len)
{
	if (addr < HEAP || addr > STACK + BYTES - len)
		return -EFAULT;
	for (__u32 i = 0; i < len; i++)
		((uint8_t *)dst)[i] = byte_at(ctx, addr + i);
	return 0;
}

static const struct uw_page *no_page(void *ctx, __u32 file, __u32 page)
{
	return NULL;
}

static const struct uw_rule *no_rule(void *ctx, __u32 rule)
{
	return NULL;
}

static void layout_init(struct gn_jvm *j, const uint16_t add[LAYOUT])
{
	/* of JDK 17, from the block */
	const struct {
		__u16 *field;
		uint16_t at;
	} v[LAYOUT] = {
		{&j->blob, 16},	       {&j->used, 8},	    {&j->name, 112},
		{&j->kind, 24},	       {&j->size, 28},	    {&j->header, 32},
		{&j->frame, 44},       {&j->complete, 36},  {&j->code, 48},
		{&j->id, 320},	       {&j->level, 324},    {&j->orig_pc, 316},
		{&j->deopt, 144},      {&j->deopt_mh, 152}, {&j->nmethod_header, 344},
		{&j->method_const, 8}, {&j->cm_size, 48},   {&j->anchor, 0x100},
		{&j->saved_pc, 0x80},
	};

	for (int i = 0; i < LAYOUT; i++)
		*v[i].field = (uint16_t)((v[i].at + add[i]) % (GN_JVM_HEADER - 7));
}

static void world_init(struct world *w, const struct input *in)
{
	struct gn_jvm *j = &w->jvm;

	w->in = in;
	*j = (struct gn_jvm){
		.flags = in->flags,
		.nheaps = 1,
		.low = HEAP,
		.high = HEAP + HEAP_BYTES,
		.heap[0] = {HEAP, HEAP + HEAP_BYTES, SEGMAP, SEGMENT, 0},
		.name_vtable = 0x1000,
		.name_adapter = 0x2000,
		.name_mh = 0x3000,
		.interp_low = in->interp ? HEAP + HEAP_BYTES - 0x1000 : 0,
		.interp_high = in->interp ? HEAP + HEAP_BYTES : 0,
		.enter_special = HEAP + 0x5000,
		.unloads = STACK + BYTES - GN_UNLOADS_SPAN,
		.unloads_at = {0, 8},
		.cont_low = HEAP + 0x4000,
		.cont_high = HEAP + 0x4100,
		.kind_nmethod = in->kinds[0],
		.kind_vtable = in->kinds[1],
		.kind_adapter = in->kinds[2],
		.kind_mh = in->kinds[3],
	};
	layout_init(j, in->layout);
	uwwalk_proc(&w->proc, HEAP,
		    (struct uw_mapping){.end = HEAP + HEAP_BYTES, .kind = UW_MAP_HOTSPOT});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct uw_state s;
	static struct world w;
	struct uw_env env = {&w, world_read, &w.proc, no_page, no_rule, &w.jvm};
	struct input in;

	if (size < sizeof(in) + 2)
		return 0;
	memcpy(&in, data, sizeof(in));
	w.len = (size - sizeof(in)) / 2;
	w.part[0] = data + sizeof(in);
	w.part[1] = w.part[0] + w.len;
	world_init(&w, &in);
	uw_begin(&s, 1, 64);
	memcpy(s.reg, in.regs, sizeof(s.reg));
	s.pc = HEAP + (in.pc & (HEAP_BYTES - 1));
	s.sp = STACK + (in.sp & (BYTES - 8));
	s.fp = in.fp;
	s.leaf = in.leaf & 1;
	s.flags = in.leaf & 2 ? GN_FF_RETADDR : 0;
	s.hs[HS_THREAD] = in.thread;
	uwwalk_run(&s, &env);
	return 0;
}
