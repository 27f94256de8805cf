/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elves FILE KIND [ARG...]: writes an ELF library that is meant to cost its reader dearly, or to
 *mislead it. It has one segment, read and executed, of the whole file; all of its code is loops of
 *one instruction, from 0x1000 on.
 *
 *	symbol NAME	one function with that name
 *	functions N	so many functions of 16 bytes, with long names
 *	cies MB		so much .eh_frame of the smallest CIEs there are, compressed to a thousandth
 *	sparse MB	tables of symbols and unwind rules of so many MB each, none of which is on
 *the disk rules N SEED	so many functions, each with an unwind rule that no other file has
 */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define CODE	     0x1000
#define SECTIONS_MAX 16

struct bytes {
	uint8_t *p;
	size_t n;
};

static struct section {
	const char *name;
	Elf64_Shdr h;
	struct bytes data; /* p NULL: a hole */
} sections[SECTIONS_MAX];
static int nsections = 1;

static void add(struct bytes *b, const void *p, size_t n)
{
	b->p = realloc(b->p, b->n + n);
	if (!b->p)
		exit(1);
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

static void byte(struct bytes *b, uint8_t v)
{
	add(b, &v, 1);
}

static void word(struct bytes *b, uint32_t v)
{
	add(b, &v, 4);
}

static void uleb(struct bytes *b, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		byte(b, (uint8_t)(v | 0x80));
	byte(b, (uint8_t)v);
}

static struct section *section(const char *name, uint32_t type, struct bytes data)
{
	struct section *s = &sections[nsections++];

	s->name = name;
	s->h.sh_type = type;
	s->h.sh_addralign = 8;
	s->h.sh_size = data.n;
	s->data = data;
	return s;
}

/* ---- what is in it ---- */

static struct bytes loops(size_t n)
{
#ifdef __x86_64__
	static const uint8_t loop[] = {0xeb, 0xfe, 0x90, 0x90};
#else
	static const uint8_t loop[] = {0x00, 0x00, 0x00, 0x14};
#endif
	struct bytes b = {0};

	while (b.n < n)
		add(&b, loop, sizeof(loop));
	return b;
}

static void code(size_t n)
{
	struct section *s = section(".text", SHT_PROGBITS, loops(n));

	s->h.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	s->h.sh_addr = s->h.sh_offset = CODE;
}

static void symbols_put(struct bytes syms, struct bytes names)
{
	struct section *s = section(".symtab", SHT_SYMTAB, syms);

	s->h.sh_entsize = sizeof(Elf64_Sym);
	s->h.sh_link = (uint32_t)nsections;
	section(".strtab", SHT_STRTAB, names);
}

static void symbol_add(struct bytes *syms, struct bytes *names, const char *name, uint64_t at,
		       uint64_t size)
{
	Elf64_Sym s = {
		.st_name = (uint32_t)names->n,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = 1,
		.st_value = at,
		.st_size = size,
	};

	add(syms, &s, sizeof(s));
	add(names, name, strlen(name) + 1);
}

static void symbol(char **arg)
{
	struct bytes syms = {0}, names = {0};

	code(4096);
	byte(&names, 0);
	symbol_add(&syms, &names, arg[0], CODE, 4096);
	symbols_put(syms, names);
}

static void functions(char **arg)
{
	struct bytes syms = {0}, names = {0};
	size_t n = strtoul(arg[0], NULL, 10);
	char name[256];

	code(16 * n);
	byte(&names, 0);
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "f%zu_%0200zu", i, i * 2654435761u);
		symbol_add(&syms, &names, name, CODE + 16 * i, 16);
	}
	symbols_put(syms, names);
}

static struct section *eh_frame(struct bytes data)
{
	struct section *s = section(".eh_frame", SHT_PROGBITS, data);

	s->h.sh_flags = SHF_ALLOC;
	s->h.sh_addr = 0x10000000;
	return s;
}

static void cies(char **arg)
{
	/* length, id, version, no augmentation, factors, return address */
	static const uint8_t cie[] = {9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16};
	size_t all = strtoul(arg[0], NULL, 10) << 20;
	uint8_t *plain = malloc(all + sizeof(cie));
	uLongf n = compressBound(all);
	Elf64_Chdr h = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = all, .ch_addralign = 8};
	struct bytes b = {0};
	uint8_t *packed = malloc(n);

	if (!plain || !packed)
		exit(1);
	for (size_t at = 0; at < all; at += sizeof(cie))
		memcpy(plain + at, cie, sizeof(cie));
	if (compress2(packed, &n, plain, all, 9) != Z_OK)
		exit(1);
	code(4096);
	add(&b, &h, sizeof(h));
	add(&b, packed, n);
	eh_frame(b)->h.sh_flags |= SHF_COMPRESSED;
}

static void sparse(char **arg)
{
	uint64_t size = strtoull(arg[0], NULL, 10) << 20;

	code(4096);
	symbols_put((struct bytes){0}, (struct bytes){0});
	sections[nsections - 2].h.sh_size = sections[nsections - 1].h.sh_size = size;
	eh_frame((struct bytes){0})->h.sh_size = size / 2;
	section(".debug_frame", SHT_PROGBITS, (struct bytes){0})->h.sh_size = size / 2;
}

static void rules(char **arg)
{
	/* zR, pcrel sdata4; the CFA is rsp + 8, and the return address lies just below it */
	static const uint8_t cie[] = {20, 0,	0,  0, 0,    0,	   0, 0, 1,    'z', 'R', 0,
				      1,  0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1,   0,	 0};
	uint32_t n = (uint32_t)strtoul(arg[0], NULL, 10),
		 seed = (uint32_t)strtoul(arg[1], NULL, 10);
	struct bytes b = {0};

	code(16 * n);
	add(&b, cie, sizeof(cie));
	for (uint32_t i = 0; i < n; i++) {
		struct bytes insn = {0};

		byte(&insn, 0);	   /* no augmentation data */
		byte(&insn, 0x0e); /* DW_CFA_def_cfa_offset */
		uleb(&insn, 16 + 8 * (seed * n + i));
		while (insn.n % 4)
			byte(&insn, 0);
		word(&b, (uint32_t)(12 + insn.n));
		word(&b, (uint32_t)b.n);
		word(&b, CODE + 16 * i - (0x10000000u + (uint32_t)b.n));
		word(&b, 16);
		add(&b, insn.p, insn.n);
		free(insn.p);
	}
	word(&b, 0);
	eh_frame(b);
}

/* ---- the file ---- */

static uint64_t sections_place(void)
{
	struct bytes names = {0};
	uint64_t at = CODE;

	byte(&names, 0);
	section(".shstrtab", SHT_STRTAB, (struct bytes){0});
	for (int i = 1; i < nsections; i++) {
		sections[i].h.sh_name = (uint32_t)names.n;
		add(&names, sections[i].name, strlen(sections[i].name) + 1);
	}
	sections[nsections - 1].data = names;
	sections[nsections - 1].h.sh_size = names.n;
	for (int i = 1; i < nsections; i++) {
		sections[i].h.sh_offset = at;
		at = (at + sections[i].h.sh_size + 7) & ~7ull;
	}
	return at;
}

static void put(FILE *f, uint64_t at, const void *p, size_t n)
{
	if (fseeko(f, (off_t)at, SEEK_SET) || (n && fwrite(p, n, 1, f) != 1)) {
		perror("elves");
		exit(1);
	}
}

static void file_write(FILE *f)
{
	uint64_t end = sections_place();
	Elf64_Ehdr h = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
#ifdef __x86_64__
		.e_machine = EM_X86_64,
#else
		.e_machine = EM_AARCH64,
#endif
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(h),
		.e_shoff = end,
		.e_ehsize = sizeof(h),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)nsections,
		.e_shstrndx = (uint16_t)(nsections - 1),
	};
	Elf64_Phdr ph = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = 4096};

	ph.p_filesz = ph.p_memsz = end;
	put(f, 0, &h, sizeof(h));
	put(f, sizeof(h), &ph, sizeof(ph));
	for (int i = 0; i < nsections; i++) {
		if (sections[i].data.p)
			put(f, sections[i].h.sh_offset, sections[i].data.p, sections[i].data.n);
		put(f, end + (uint64_t)i * sizeof(Elf64_Shdr), &sections[i].h, sizeof(Elf64_Shdr));
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int args;
		void (*make)(char **arg);
	} kinds[] = {
		{"symbol", 1, symbol}, {"functions", 1, functions}, {"cies", 1, cies},
		{"sparse", 1, sparse}, {"rules", 2, rules},
	};

	for (size_t i = 0; argc > 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		FILE *f;

		if (strcmp(argv[2], kinds[i].name) || argc != 3 + kinds[i].args)
			continue;
		kinds[i].make(argv + 3);
		f = fopen(argv[1], "w");
		if (!f)
			break;
		file_write(f);
		return fclose(f) ? 1 : 0;
	}
	fprintf(stderr, "elves FILE KIND [ARG...]\n");
	return 2;
}
