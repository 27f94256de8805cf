/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/plt.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/frame.h"

#define STUB	  16 /* bytes, on both machines */
#define STUBS_MAX (1U << 20)

struct stub {
	uint64_t slot;	/* of the global offset table */
	uint64_t vaddr; /* of the stub */
};

struct plt {
	struct symtab *t;
	uint16_t machine;
	struct stub *stubs; /* sorted by slot */
	size_t n_stubs;
	uint64_t *of_symbol; /* the stub's address by index in .dynsym, 0 none */
	uint32_t n_symbols;
};

/* ---- stubs ----------------------------------------------------------------------------------- */

/* jmp *disp32(%rip): ff 25, after an endbr64 and a bnd prefix where there are. */
static bool slot_x86(const uint8_t *p, uint64_t vaddr, uint64_t *slot)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t i = memcmp(p, endbr64, sizeof(endbr64)) ? 0 : sizeof(endbr64);
	int32_t disp;

	if (p[i] == 0xf2)
		i++;
	if (p[i] != 0xff || p[i + 1] != 0x25)
		return false;
	memcpy(&disp, p + i + 2, sizeof(disp));
	*slot = vaddr + i + 6 + disp;
	return true;
}

/* adrp x16, PAGE; ldr x17, [x16, OFFSET] */
static bool slot_arm(const uint8_t *p, uint64_t vaddr, uint64_t *slot)
{
	uint32_t adrp, ldr;
	int64_t page;

	memcpy(&adrp, p, sizeof(adrp));
	memcpy(&ldr, p + 4, sizeof(ldr));
	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	page = (int64_t)((uint64_t)((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3)) << 43) >> 31;
	*slot = (vaddr & ~0xfffULL) + page + ((ldr >> 10 & 0xfff) << 3);
	return true;
}

static int stubs_add(struct plt *p, const struct elf_file *f, const char *section)
{
	bool (*slot_of)(const uint8_t *, uint64_t, uint64_t *) =
		p->machine == EM_X86_64 ? slot_x86 : slot_arm;
	struct elf_bytes code;
	struct stub *v;
	int rc = elf_file_bytes(f, section, &code);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	v = realloc(p->stubs, (p->n_stubs + code.size / STUB + 1) * sizeof(*v));
	if (v)
		p->stubs = v;
	for (size_t at = 0; v && at + STUB <= code.size && p->n_stubs < STUBS_MAX; at += STUB) {
		struct stub s = {.vaddr = code.vaddr + at};

		if (slot_of(code.data + at, s.vaddr, &s.slot))
			v[p->n_stubs++] = s;
	}
	free(code.data);
	return v ? 0 : -ENOMEM;
}

static int stub_order(const void *a, const void *b)
{
	const struct stub *x = a, *y = b;

	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/* ---- relocations and names ------------------------------------------------------------------- */

static bool is_jump_slot(const struct plt *p, uint32_t type)
{
	return type == (p->machine == EM_X86_64 ? R_X86_64_JUMP_SLOT : R_AARCH64_JUMP_SLOT);
}

static int relocations(struct plt *p, const struct elf_file *f)
{
	struct elf_section dyn;
	struct elf_bytes rel;
	int rc = elf_file_section(f, ".dynsym", &dyn);

	if (!rc)
		rc = elf_file_bytes(f, ".rela.plt", &rel);
	if (rc)
		return rc;
	p->n_symbols = dyn.size / sizeof(Elf64_Sym) < SYMTAB_MAX ? dyn.size / sizeof(Elf64_Sym)
								 : SYMTAB_MAX;
	p->of_symbol = calloc(p->n_symbols + 1, sizeof(*p->of_symbol));
	for (size_t i = 0; p->of_symbol && i < rel.size / sizeof(Elf64_Rela); i++) {
		const Elf64_Rela *r = (const Elf64_Rela *)rel.data + i;
		struct stub key = {.slot = r->r_offset}, *s = NULL;
		uint64_t sym = ELF64_R_SYM(r->r_info);

		if (sym < p->n_symbols && is_jump_slot(p, ELF64_R_TYPE(r->r_info)))
			s = bsearch(&key, p->stubs, p->n_stubs, sizeof(key), stub_order);
		if (s)
			p->of_symbol[sym] = s->vaddr;
	}
	free(rel.data);
	return p->of_symbol ? 0 : -ENOMEM;
}

static int name_stub(void *arg, uint32_t index, const struct elf_symbol *sym)
{
	struct plt *p = arg;
	uint64_t vaddr = index < p->n_symbols ? p->of_symbol[index] : 0;
	char name[FRAME_NAME_MAX];
	int n, rc;

	if (!vaddr)
		return 0;
	n = strnlen(sym->name, sizeof(name) - sizeof("@plt"));
	n = snprintf(name, sizeof(name), "%.*s@plt", n, sym->name);
	rc = symtab_add(p->t, vaddr, STUB, true, SYMTAB_GLOBAL, name, n);
	return rc == -ERANGE ? 0 : rc;
}

int plt_add(struct symtab *t, const struct elf_file *f)
{
	struct plt p = {.t = t, .machine = elf_file_machine(f)};
	int rc;

	if (p.machine != EM_X86_64 && p.machine != EM_AARCH64)
		return 0;
	rc = stubs_add(&p, f, ".plt");
	if (!rc)
		rc = stubs_add(&p, f, ".plt.sec");
	if (!rc && p.n_stubs) {
		qsort(p.stubs, p.n_stubs, sizeof(*p.stubs), stub_order);
		rc = relocations(&p, f);
		if (!rc)
			rc = elf_file_symbols(f, ".dynsym", name_stub, &p);
	}
	free(p.stubs);
	free(p.of_symbol);
	return rc == -ENOMEM ? rc : 0;
}
