/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any registers, stack, rules and rows: the walk must end, with a reason, within its cap, with sp
 * rising but for signal frames; a leaf may have nothing on the stack.
 *
 * Input: rules (24 bytes each, 8 of them), registers (19 words), rows (pairs of bytes: key step and
 * rule), then the stack, which repeats.
 */
// FUZZ-LINK: user/sym/ehframe.c user/capture/utable.c user/wire/rules.c
#include "tests/uwmem.h"
#include "tests/uwwalk.h"

#define CODE  0x400000ULL
#define STACK 0x7f0000000000ULL
#define NRULE 8
#define NROW  32

struct input {
	struct uw_rule rules[NRULE];
	uint64_t regs[UW_NREG + 3];
	uint8_t flags;
	uint8_t rows[NROW][2];
	uint8_t pad[7];
};

struct world {
	const uint8_t *stack;
	size_t len;
	struct uw_rule rules[NRULE];
	struct uw_page page;
	struct uw_proc proc;
};

static int world_read(void *ctx, __u64 addr, void *dst, __u32 len)
{
	const struct world *w = ctx;

	if (addr < STACK || addr + len > STACK + (1 << 20) || !w->len)
		return -EFAULT;
	for (__u32 i = 0; i < len; i++)
		((uint8_t *)dst)[i] = w->stack[(addr - STACK + i) % w->len];
	return 0;
}

static const struct uw_page *world_page(void *ctx, __u32 file, __u32 page)
{
	return &((struct world *)ctx)->page; /* also where it points to itself */
}

static const struct uw_rule *world_rule(void *ctx, __u32 rule)
{
	return rule < NRULE ? &((struct world *)ctx)->rules[rule] : NULL;
}

static void world_init(struct world *w, const struct input *in)
{
	uint32_t key = 0;

	memcpy(w->rules, in->rules, sizeof(w->rules));
	memset(w->page.key, 0xff, sizeof(w->page.key));
	for (int i = 0; i < NROW; i++) {
		w->page.key[i] = key;
		w->page.val[i] = in->rows[i][1] % (NRULE + 1);
		key += in->rows[i][0] + 1;
	}
	w->page.height = in->flags >> 4;
	uwwalk_proc(&w->proc, CODE, (struct uw_mapping){CODE + 0x10000, CODE, 1, UW_MAP_FILE});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct uw_state s;
	static struct world w;
	struct uw_env env = {&w, world_read, &w.proc, world_page, world_rule};
	struct input in;

	if (size < sizeof(in))
		return 0;
	memcpy(&in, data, sizeof(in));
	w.stack = data + sizeof(in);
	w.len = size - sizeof(in);
	world_init(&w, &in);
	memset(s.cache, 0, sizeof(s.cache)); /* rules do change here */
	uw_begin(&s, 1, 64);
	memcpy(s.reg, in.regs, sizeof(s.reg));
	s.pc = CODE + (in.regs[UW_NREG] & 0xffff);
	s.sp = STACK + (in.regs[UW_NREG + 1] & 0xfffff);
	s.fp = in.regs[UW_NREG + 2];
	s.leaf = in.flags & 1;
	s.flags = in.flags & 2 ? GN_FF_RETADDR : 0;
	uwwalk_run(&s, &env);
	return 0;
}
