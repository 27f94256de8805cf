/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saved stacks of JVMs, x86_64 (tests/data/stacks/README.md): what is known of the JVM goes by
 * name, so that struct gn_jvm may change; and walking one again. Include kern/hotspot.h and
 * kern/unwind_walk.h before.
 */
#ifndef TESTS_SAVEDJVM_H
#define TESTS_SAVEDJVM_H

#include <stddef.h>

#include "savedstack.h"
#include "uwwalk.h"

#define SAVED_EM_X86_64 62
#define SAVED_MAX_RULES 1024

/* ---- struct gn_jvm, "name value" a line -------------------------------------------------------
 */

struct saved_field {
	const char *name;
	uint16_t at, size;
};

/* clang-format off */
#define SAVED_F(f) {#f, offsetof(struct gn_jvm, f), sizeof(((struct gn_jvm *)0)->f)}
/* clang-format on */
#define SAVED_HEAP(i)                                                                              \
	SAVED_F(heap[i].low), SAVED_F(heap[i].high), SAVED_F(heap[i].segmap),                      \
		SAVED_F(heap[i].log2_segment), SAVED_F(heap[i].pad)

/* All fields, in their order: saved_fields_gaps() tells of most that are missing. */
static const struct saved_field saved_fields[] = {
	SAVED_F(tgid),
	SAVED_F(flags),
	SAVED_F(nheaps),
	SAVED_F(pad),
	SAVED_F(low),
	SAVED_F(high),
	SAVED_HEAP(0),
	SAVED_HEAP(1),
	SAVED_HEAP(2),
	SAVED_HEAP(3),
	SAVED_HEAP(4),
	SAVED_HEAP(5),
	SAVED_HEAP(6),
	SAVED_HEAP(7),
	SAVED_F(interp_low),
	SAVED_F(interp_high),
	SAVED_F(enter_special),
	SAVED_F(call_stub),
	SAVED_F(cont_low),
	SAVED_F(cont_high),
	SAVED_F(name_vtable),
	SAVED_F(name_adapter),
	SAVED_F(name_mh),
	SAVED_F(unloads),
	SAVED_F(blob),
	SAVED_F(used),
	SAVED_F(name),
	SAVED_F(kind),
	SAVED_F(size),
	SAVED_F(header),
	SAVED_F(frame),
	SAVED_F(complete),
	SAVED_F(code),
	SAVED_F(id),
	SAVED_F(level),
	SAVED_F(orig_pc),
	SAVED_F(deopt),
	SAVED_F(deopt_mh),
	SAVED_F(nmethod_header),
	SAVED_F(kind_nmethod),
	SAVED_F(kind_vtable),
	SAVED_F(kind_adapter),
	SAVED_F(kind_mh),
	SAVED_F(method_const),
	SAVED_F(cm_size),
	SAVED_F(anchor),
	SAVED_F(saved_pc),
	SAVED_F(unloads_at),
};
#define SAVED_FIELDS (sizeof(saved_fields) / sizeof(saved_fields[0]))

/*
 * Bytes of struct gn_jvm that no field of the table covers, but for the padding behind the last:
 * what is added there has to be added to the table, too.
 */
static inline size_t saved_fields_gaps(void)
{
	size_t gaps = 0, end = 0;

	for (size_t i = 0; i < SAVED_FIELDS; i++) {
		gaps += saved_fields[i].at - end;
		end = saved_fields[i].at + saved_fields[i].size;
	}
	return gaps + (sizeof(struct gn_jvm) - end) / 8 * 8;
}

static inline void saved_jvm_set(struct gn_jvm *j, const char *name, size_t len, uint64_t v)
{
	for (size_t i = 0; i < SAVED_FIELDS; i++)
		if (strlen(saved_fields[i].name) == len && !memcmp(saved_fields[i].name, name, len))
			memcpy((char *)j + saved_fields[i].at, &v, saved_fields[i].size);
}

/* Fields that the text does not name are 0; names that are no fields are passed over. */
static inline void saved_jvm_parse(struct gn_jvm *j, const char *text, size_t len)
{
	const char *end = text + len, *line, *space, *next;

	memset(j, 0, sizeof(*j));
	for (line = text; line < end; line = next + 1) {
		char number[20] = "";

		next = memchr(line, '\n', (size_t)(end - line));
		if (!next)
			return;
		space = memchr(line, ' ', (size_t)(next - line));
		if (!space || next - space > 19)
			continue;
		memcpy(number, space + 1, (size_t)(next - space - 1));
		saved_jvm_set(j, line, (size_t)(space - line), strtoull(number, NULL, 16));
	}
}

static inline void saved_jvm_write(FILE *f, const struct gn_jvm *j)
{
	for (size_t i = 0; i < SAVED_FIELDS; i++) {
		uint64_t v = 0;

		memcpy(&v, (const char *)j + saved_fields[i].at, saved_fields[i].size);
		if (v)
			fprintf(f, "%s %llx\n", saved_fields[i].name, (unsigned long long)v);
	}
}

/* ---- walking one again ------------------------------------------------------------------------
 */

struct saved_rule {
	uint64_t pc; /* as looked up */
	struct uw_rule rule;
};

/* REGS of x86_64: registers by their DWARF numbers, rip, and what else a walk begins with. */
struct saved_regs {
	uint64_t reg[17];
	uint64_t thread; /* JavaThread* */
	uint64_t leaf;	 /* all of reg[] is known, else pc, sp and perhaps fp */
	uint64_t flags;	 /* GN_FF_* */
};

struct saved_map {
	uint64_t start, end;
	uint64_t kind; /* enum uw_map_kind */
};

struct saved_walk {
	struct saved saved;
	struct gn_jvm jvm;
	struct uw_proc proc;
	struct saved_rule rules[SAVED_MAX_RULES];
	uint32_t nrules;
	struct uw_page page;
	struct uw_state state;
	struct uw_env env;
};

static int saved_walk_read(void *ctx, __u64 addr, void *dst, __u32 len)
{
	return saved_read(&((struct saved_walk *)ctx)->saved, addr, dst, len);
}

/* Rules are saved by pc: a page that has the one that is looked for. */
static const struct uw_page *saved_walk_page(void *ctx, __u32 file, __u32 page)
{
	struct saved_walk *w = ctx;

	w->page.val[0] = UW_RULE_NONE;
	for (uint32_t i = 0; i < w->nrules; i++)
		if (w->rules[i].pc == uw_lookup_pc(&w->state))
			w->page.val[0] = (uint16_t)(i + 1);
	return &w->page;
}

static const struct uw_rule *saved_walk_rule(void *ctx, __u32 rule)
{
	struct saved_walk *w = ctx;

	return rule && rule <= w->nrules ? &w->rules[rule - 1].rule : NULL;
}

static inline void saved_walk_maps(struct saved_walk *w)
{
	struct saved_section h;
	const uint8_t *b = saved_find(&w->saved, "MAPS", 0, &h);
	struct saved_map m;
	uint64_t after = 0;

	for (uint32_t i = 0; i < UW_MAX_MAPS; i++)
		w->proc.start[i] = UW_NO_START;
	w->proc.tgid = 1;
	w->proc.n = b ? h.len / sizeof(m) : 0;
	if (w->proc.n > UW_MAX_MAPS)
		w->proc.n = UW_MAX_MAPS;
	for (uint32_t i = 0; i < w->proc.n; i++) {
		memcpy(&m, b + i * sizeof(m), sizeof(m));
		/* in order, and none in another, as user/capture/utable.h has them */
		if (m.start >= m.end || m.end > UW_ADDR_MAX || m.start < after) {
			w->proc.n = i;
			break;
		}
		after = m.end;
		w->proc.start[i] = m.start;
		/* the key of a file's table is of no account here, but it has 32 bits */
		w->proc.map[i] = (struct uw_mapping){
			.end = m.end, .bias = m.start, .arg = i + 1, .kind = (uint32_t)m.kind};
	}
}

static inline void saved_walk_rules(struct saved_walk *w)
{
	struct saved_section h;
	const uint8_t *b = saved_find(&w->saved, "RULE", 0, &h);

	w->nrules = b ? h.len / sizeof(w->rules[0]) : 0;
	if (w->nrules > SAVED_MAX_RULES)
		w->nrules = SAVED_MAX_RULES;
	if (w->nrules)
		memcpy(w->rules, b, w->nrules * sizeof(w->rules[0]));
	memset(w->page.key, 0xff, sizeof(w->page.key));
	w->page.key[0] = 0;
}

/* Ready for saved_walk_run(). 0, or -EBADMSG. `bytes` must outlive w. */
static inline int saved_walk_open(struct saved_walk *w, const uint8_t *bytes, size_t len)
{
	struct saved_section h;
	const uint8_t *b;

	memset(w, 0, sizeof(*w));
	if (saved_open(&w->saved, bytes, len) || w->saved.machine != SAVED_EM_X86_64)
		return -EBADMSG;
	b = saved_find(&w->saved, "JVM ", 0, &h);
	if (b)
		saved_jvm_parse(&w->jvm, (const char *)b, h.len);
	saved_walk_maps(w);
	saved_walk_rules(w);
	w->env = (struct uw_env){.ctx = w,
				 .read = saved_walk_read,
				 .proc = &w->proc,
				 .page = saved_walk_page,
				 .rule = saved_walk_rule,
				 .jvm = &w->jvm};
	return 0;
}

/* 0 when w->state has the walk, or -EBADMSG: no registers. */
static inline int saved_walk_run(struct saved_walk *w)
{
	struct uw_state *s = &w->state;
	struct saved_section h;
	const uint8_t *b = saved_find(&w->saved, "REGS", 0, &h);
	struct saved_regs r;

	if (!b || h.len != sizeof(r))
		return -EBADMSG;
	memcpy(&r, b, sizeof(r));
	memset(s->cache, 0, sizeof(s->cache));
	uw_begin(s, 1, GN_MAX_FRAMES);
	memcpy(s->reg, r.reg, sizeof(s->reg));
	s->pc = r.reg[UW_RIP] & (UW_ADDR_MAX - 1);
	s->sp = r.reg[UW_RSP] & (UW_ADDR_MAX - 8);
	s->fp = r.reg[UW_RBP];
	s->leaf = r.leaf & 1;
	s->flags = r.flags & GN_FF_RETADDR;
	s->hs[HS_THREAD] = r.thread;
	uwwalk_run(s, &w->env);
	return 0;
}

#endif
