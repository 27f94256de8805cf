/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saving a walk, for tests/savedjvm.h to walk again: what it read and which rules it had is noted
 * on the way. Only for hotspot_stacks.c, where one walk goes on at a time.
 */
#ifndef TESTS_JVM_STACK_SAVE_H
#define TESTS_JVM_STACK_SAVE_H

#include "savedjvm.h"

#define SAVE_READS 8192

static struct {
	struct save_read {
		uint64_t addr;
		uint32_t len;
		uint8_t *bytes;
	} reads[SAVE_READS];
	uint32_t nreads;
	struct saved_rule rules[SAVED_MAX_RULES];
	uint32_t nrules;
	struct saved_regs regs;
	bool full; /* something had no room */
} save;

static void save_begin(const struct uw_state *s)
{
	for (uint32_t i = 0; i < save.nreads; i++)
		free(save.reads[i].bytes);
	memset(&save, 0, sizeof(save));
	if (s->leaf)
		memcpy(save.regs.reg, s->reg, sizeof(s->reg));
	save.regs.reg[UW_RIP] = s->pc;
	save.regs.reg[UW_RSP] = s->sp;
	save.regs.reg[UW_RBP] = s->fp;
	save.regs.thread = s->hs[HS_THREAD];
	save.regs.leaf = s->leaf;
	save.regs.flags = s->flags;
}

static void save_read(uint64_t addr, const void *bytes, uint32_t len)
{
	struct save_read *r = &save.reads[save.nreads];

	if (save.nreads == SAVE_READS || !(r->bytes = malloc(len))) {
		save.full = true;
		return;
	}
	memcpy(r->bytes, bytes, len);
	r->addr = addr;
	r->len = len;
	save.nreads++;
}

static void save_rule(const struct uw_state *s, const struct uw_rule *rule)
{
	if (save.nrules == SAVED_MAX_RULES) {
		save.full = true;
		return;
	}
	save.rules[save.nrules].pc = uw_lookup_pc(s);
	save.rules[save.nrules++].rule = *rule;
}

static void save_section(FILE *f, const char *tag, uint64_t addr, const void *bytes, size_t len)
{
	struct saved_section h = {.len = (uint32_t)len, .addr = addr};

	memcpy(h.tag, tag, 4);
	fwrite(&h, sizeof(h), 1, f);
	if (len)
		fwrite(bytes, len, 1, f);
}

static int save_order(const void *a, const void *b)
{
	const struct save_read *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* What was read, what overlaps or adjoins in one piece. */
static void save_memory(FILE *f)
{
	uint8_t *piece = NULL;

	qsort(save.reads, save.nreads, sizeof(save.reads[0]), save_order);
	for (uint32_t i = 0, j; i < save.nreads; i = j) {
		uint64_t start = save.reads[i].addr, end = start;

		for (j = i; j < save.nreads && save.reads[j].addr <= end; j++)
			if (save.reads[j].addr + save.reads[j].len > end)
				end = save.reads[j].addr + save.reads[j].len;
		piece = realloc(piece, end - start);
		for (uint32_t k = i; k < j; k++)
			memcpy(piece + (save.reads[k].addr - start), save.reads[k].bytes,
			       save.reads[k].len);
		save_section(f, "MEM ", start, piece, end - start);
	}
	free(piece);
}

static void save_maps(FILE *f, const struct uw_proc *p)
{
	struct saved_map m[UW_MAX_MAPS];

	for (uint32_t i = 0; i < p->n; i++)
		m[i] = (struct saved_map){p->start[i], p->map[i].end, p->map[i].kind};
	save_section(f, "MAPS", 0, m, p->n * sizeof(m[0]));
}

static void save_jvm(FILE *f, const struct gn_jvm *j)
{
	char *text = NULL;
	size_t len = 0;
	FILE *mem = open_memstream(&text, &len);

	saved_jvm_write(mem, j);
	fclose(mem);
	save_section(f, "JVM ", 0, text, len);
	free(text);
}

/* The walk just made; `names` is its text. Says what is wrong, and 0 or -1. */
static int save_write(const char *path, const struct uw_state *s, const struct uw_env *env,
		      const char *names)
{
	FILE *f = save.full ? NULL : fopen(path, "we");
	int bad;

	if (!f) {
		fprintf(stderr, "hotspot_stacks: %s: %s\n", path,
			save.full ? "the walk read too much" : strerror(errno));
		return -1;
	}
	save_section(f, "GNST", SAVED_EM_X86_64, NULL, 0);
	save_section(f, "REGS", 0, &save.regs, sizeof(save.regs));
	save_jvm(f, env->jvm);
	save_maps(f, env->proc);
	save_section(f, "RULE", 0, save.rules, save.nrules * sizeof(save.rules[0]));
	save_section(f, "FRAM", s->end, s->frames, s->n * sizeof(s->frames[0]));
	save_section(f, "NAME", 0, names, strlen(names));
	save_memory(f);
	bad = ferror(f);
	return fclose(f) || bad ? -1 : 0;
}

#endif
