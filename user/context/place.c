// SPDX-License-Identifier: Apache-2.0
#include "context/place.h"

#include "target/maps.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define NAME_SIZE     sizeof(CTX_PLACE_ELASTIC) /* the longer one with its NUL */
#define PHDRS_MAX     64
#define DYNAMIC_MAX   512  /* entries of a dynamic section that are read */
#define CHAIN_MAX     4096 /* symbols of one bucket of a hash table */
#define RELOC_BATCH   256
#define TLS_ALIGN_MAX (1U << 20)

/* What is looked for. */
static const struct variable {
	const char *name;
	enum ctx_format format;
} variables[] = {
	{CTX_PLACE_SYMBOL, CTX_FORMAT_OTEP},
	{CTX_PLACE_ELASTIC, CTX_FORMAT_ELASTIC},
};

/* A program or library as the dynamic linker has mapped it. */
struct object {
	const struct ctx_memory *m;
	uint64_t base; /* of its ELF header */
	uint64_t bias; /* what is added to addresses as linked */
	bool is_program;
	uint64_t tls_vaddr, tls_size, tls_align;
	uint64_t dynamic; /* address, and entries */
	uint32_t ndynamic;
	/* of the dynamic section; 0: none */
	uint64_t symbols, strings, gnu_hash, hash, rela, rela_size, plt_rela, plt_rela_size;
};

struct symbol {
	uint32_t index;
	uint64_t value; /* offset in the TLS block */
};

/* ---- the object ----------------------------------------------------------------------------- */

static int programs_read(struct object *o, const Elf64_Ehdr *eh)
{
	Elf64_Phdr ph[PHDRS_MAX];
	bool loaded = false;
	int rc;

	if (eh->e_phentsize != sizeof(ph[0]) || !eh->e_phnum || eh->e_phnum > PHDRS_MAX)
		return -EBADMSG;
	rc = ctx_memory_read(o->m, o->base + eh->e_phoff, ph, eh->e_phnum * sizeof(ph[0]));
	for (int i = 0; !rc && i < eh->e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD && !loaded) {
			o->bias = o->base - (ph[i].p_vaddr - ph[i].p_offset);
			loaded = true;
		} else if (ph[i].p_type == PT_INTERP) {
			o->is_program = true;
		} else if (ph[i].p_type == PT_TLS) {
			o->tls_vaddr = ph[i].p_vaddr;
			o->tls_size = ph[i].p_memsz;
			o->tls_align = ph[i].p_align ? ph[i].p_align : 1;
		} else if (ph[i].p_type == PT_DYNAMIC) {
			o->dynamic = ph[i].p_vaddr;
			o->ndynamic = ph[i].p_memsz / sizeof(Elf64_Dyn) < DYNAMIC_MAX
					      ? (uint32_t)(ph[i].p_memsz / sizeof(Elf64_Dyn))
					      : DYNAMIC_MAX;
		}
	}
	o->dynamic += o->bias;
	return rc ? rc : loaded ? 0 : -EBADMSG;
}

/* Whether there is a PT_TLS decides: without one there is no such variable, and most libraries have
 * none. */
static int object_open(struct object *o, const struct ctx_memory *m, uint64_t base,
		       uint16_t machine)
{
	Elf64_Ehdr eh;
	int rc = ctx_memory_read(m, base, &eh, sizeof(eh));

	*o = (struct object){.m = m, .base = base};
	if (rc)
		return rc;
	if (memcmp(eh.e_ident, ELFMAG, SELFMAG) || eh.e_ident[EI_CLASS] != ELFCLASS64)
		return -ENOENT;
	if (eh.e_machine != machine)
		return -ENOTSUP;
	rc = programs_read(o, &eh);
	return rc ? rc : o->tls_size && o->ndynamic ? 0 : -ENOENT;
}

/* glibc writes addresses of the process over those as linked, musl does not. */
static uint64_t pointer(const struct object *o, uint64_t v)
{
	return v >= o->base ? v : v + o->bias;
}

static int dynamic_read(struct object *o)
{
	Elf64_Dyn d[DYNAMIC_MAX];
	int rc = ctx_memory_read(o->m, o->dynamic, d, o->ndynamic * sizeof(d[0]));

	for (uint32_t i = 0; !rc && i < o->ndynamic && d[i].d_tag != DT_NULL; i++) {
		uint64_t v = d[i].d_un.d_val;

		switch (d[i].d_tag) {
		case DT_SYMTAB:
			o->symbols = pointer(o, v);
			break;
		case DT_STRTAB:
			o->strings = pointer(o, v);
			break;
		case DT_GNU_HASH:
			o->gnu_hash = pointer(o, v);
			break;
		case DT_HASH:
			o->hash = pointer(o, v);
			break;
		case DT_RELA:
			o->rela = pointer(o, v);
			break;
		case DT_RELASZ:
			o->rela_size = v;
			break;
		case DT_JMPREL:
			o->plt_rela = pointer(o, v);
			break;
		case DT_PLTRELSZ:
			o->plt_rela_size = v;
			break;
		}
	}
	if (rc)
		return rc;
	return o->symbols && o->strings && (o->gnu_hash || o->hash) ? 0 : -ENOENT;
}

/* ---- the symbol ----------------------------------------------------------------------------- */

/* Symbol `index` is called so: 0; -ENOENT: otherwise. */
static int symbol_is(const struct object *o, const char *wanted, uint32_t index, struct symbol *s)
{
	size_t size = strlen(wanted) + 1;
	char name[NAME_SIZE];
	Elf64_Sym sym;
	int rc = ctx_memory_read(o->m, o->symbols + (uint64_t)index * sizeof(sym), &sym,
				 sizeof(sym));

	if (rc)
		return rc;
	if (ELF64_ST_TYPE(sym.st_info) != STT_TLS || sym.st_shndx == SHN_UNDEF ||
	    ctx_memory_read(o->m, o->strings + sym.st_name, name, size) ||
	    memcmp(name, wanted, size))
		return -ENOENT;
	if (sym.st_value >= o->tls_size)
		return -EBADMSG;
	*s = (struct symbol){index, sym.st_value};
	return 0;
}

static uint32_t gnu_hash(const char *s)
{
	uint32_t h = 5381;

	while (*s)
		h = h * 33 + (unsigned char)*s++;
	return h;
}

/* Header {buckets, first symbol, bloom words, bloom shift}, bloom words of 8 bytes, buckets,
 * chains. */
static int gnu_find(const struct object *o, const char *wanted, struct symbol *s)
{
	uint32_t h[4], index, entry, hash = gnu_hash(wanted);
	uint64_t buckets;
	int rc = ctx_memory_read(o->m, o->gnu_hash, h, sizeof(h));

	if (rc)
		return rc;
	if (!h[0])
		return -ENOENT;
	buckets = o->gnu_hash + sizeof(h) + 8ULL * h[2];
	rc = ctx_memory_read(o->m, buckets + 4ULL * (hash % h[0]), &index, sizeof(index));
	if (rc || index < h[1])
		return rc ? rc : -ENOENT;
	for (int i = 0; i < CHAIN_MAX; i++, index++) {
		rc = ctx_memory_read(o->m, buckets + 4ULL * h[0] + 4ULL * (index - h[1]), &entry,
				     sizeof(entry));
		if (rc)
			return rc;
		if ((entry | 1) == (hash | 1) && (rc = symbol_is(o, wanted, index, s)) != -ENOENT)
			return rc;
		if (entry & 1)
			return -ENOENT;
	}
	return -EBADMSG;
}

static uint32_t sysv_hash(const char *s)
{
	uint32_t h = 0, top;

	while (*s) {
		h = (h << 4) + (unsigned char)*s++;
		top = h & 0xf0000000;
		h = (h ^ top >> 24) & ~top;
	}
	return h;
}

/* {buckets, symbols}, buckets, chains. */
static int sysv_find(const struct object *o, const char *wanted, struct symbol *s)
{
	uint32_t h[2], index;
	uint64_t at;
	int rc = ctx_memory_read(o->m, o->hash, h, sizeof(h));

	if (rc)
		return rc;
	if (!h[0])
		return -ENOENT;
	at = o->hash + sizeof(h) + 4ULL * (sysv_hash(wanted) % h[0]);
	for (int i = 0; i < CHAIN_MAX; i++) {
		rc = ctx_memory_read(o->m, at, &index, sizeof(index));
		if (rc || !index)
			return rc ? rc : -ENOENT;
		if ((rc = symbol_is(o, wanted, index, s)) != -ENOENT)
			return rc;
		at = o->hash + sizeof(h) + 4ULL * h[0] + 4ULL * index;
	}
	return -EBADMSG;
}

/* ---- the relocations ------------------------------------------------------------------------ */

/* What a library's code gets at the variable by. Slots: addresses of words that the dynamic linker
 * has filled. */
struct slots {
	uint64_t descriptor, module, distance;
};

struct numbers {
	uint32_t descriptor, module, distance;
};

/* R_X86_64_*: psABI, table 4.9; R_AARCH64_*: ELF for the Arm 64-bit Architecture, dynamic
 * relocations. */
static struct numbers numbers_of(uint16_t machine)
{
	return machine == EM_X86_64
		       ? (struct numbers){R_X86_64_TLSDESC, R_X86_64_DTPMOD64, R_X86_64_TPOFF64}
		       : (struct numbers){R_AARCH64_TLSDESC, R_AARCH64_TLS_DTPMOD,
					  R_AARCH64_TLS_TPREL};
}

/*
 * A relocation of the variable names it, or, where it was bound at link time, names no symbol and
 * has its offset as the addend. The number of the library's block is that of any variable in it.
 */
static void slot_take(struct slots *s, const Elf64_Rela *r, const struct symbol *sym,
		      struct numbers n, uint64_t bias)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
	bool named = ELF64_R_SYM(r->r_info) == sym->index;
	bool bound = !ELF64_R_SYM(r->r_info) && (uint64_t)r->r_addend == sym->value;

	if (type == n.module && (named || !ELF64_R_SYM(r->r_info)))
		s->module = r->r_offset + bias;
	else if (type == n.descriptor && (named || bound))
		s->descriptor = r->r_offset + bias;
	else if (type == n.distance && (named || bound))
		s->distance = r->r_offset + bias;
}

static int slots_read(const struct object *o, uint64_t at, uint64_t size, const struct symbol *sym,
		      struct numbers numbers, struct slots *s)
{
	Elf64_Rela r[RELOC_BATCH];
	uint64_t n = at ? size / sizeof(r[0]) : 0;

	if (n > CTX_PLACE_RELOC_MAX)
		return -E2BIG;
	while (n) {
		uint64_t some = n < RELOC_BATCH ? n : RELOC_BATCH;
		int rc = ctx_memory_read(o->m, at, r, some * sizeof(r[0]));

		if (rc)
			return rc;
		for (uint64_t i = 0; i < some; i++)
			slot_take(s, &r[i], sym, numbers, o->bias);
		at += some * sizeof(r[0]);
		n -= some;
	}
	return 0;
}

/* ---- the place ------------------------------------------------------------------------------ */

static void dynamic_place(struct ctx_place *p, enum ctx_libc libc, uint16_t machine)
{
	p->kind = CTX_PLACE_DYNAMIC;
	if (libc == CTX_MUSL) {
		p->dtv_at = machine == EM_X86_64 ? 8 : -8;
		p->dtv_shift = 3;
		p->capacity_at = 0;
	} else {
		p->dtv_at = machine == EM_X86_64 ? 8 : 0;
		p->dtv_shift = 4;
		p->capacity_at = -16;
	}
}

/*
 * The second word of a descriptor is a distance where the block is static: negative on x86_64,
 * small on aarch64. Else it is the address of {module, offset}, and the generation with glibc.
 */
static int descriptor_place(const struct object *o, uint64_t slot, enum ctx_libc libc,
			    uint16_t machine, struct ctx_place *p)
{
	uint64_t d[2], arg[3] = {0};
	int rc = ctx_memory_read(o->m, slot, d, sizeof(d));

	if (rc)
		return rc;
	if (!d[0] || !d[1])
		return -EAGAIN;
	if (machine == EM_X86_64 ? (int64_t)d[1] < 0 : d[1] < (1U << 22)) {
		*p = (struct ctx_place){.kind = CTX_PLACE_STATIC, .offset = (int64_t)d[1]};
		return 0;
	}
	rc = ctx_memory_read(o->m, d[1], arg, libc == CTX_MUSL ? 16 : 24);
	if (rc)
		return rc;
	*p = (struct ctx_place){.module = arg[0], .offset = (int64_t)arg[1], .generation = arg[2]};
	dynamic_place(p, libc, machine);
	return 0;
}

static int module_place(const struct object *o, uint64_t slot, const struct symbol *sym,
			enum ctx_libc libc, uint16_t machine, struct ctx_place *p)
{
	uint64_t module;
	int rc = ctx_memory_word(o->m, slot, &module);

	if (rc)
		return rc;
	if (!module)
		return -EAGAIN;
	*p = (struct ctx_place){.module = module, .offset = (int64_t)sym->value};
	dynamic_place(p, libc, machine);
	return 0;
}

static int distance_place(const struct object *o, uint64_t slot, struct ctx_place *p)
{
	uint64_t distance;
	int rc = ctx_memory_word(o->m, slot, &distance);

	*p = (struct ctx_place){.kind = CTX_PLACE_STATIC, .offset = (int64_t)distance};
	return rc ? rc : distance ? 0 : -EAGAIN;
}

/* A program's own block comes first: right below the thread pointer on x86_64, above two words on
 * aarch64. */
static int program_place(const struct object *o, const struct symbol *sym, uint16_t machine,
			 struct ctx_place *p)
{
	uint64_t align = o->tls_align, skew, end;

	if (align & (align - 1) || align > TLS_ALIGN_MAX || o->tls_size > INT32_MAX)
		return -EBADMSG;
	skew = o->tls_vaddr & (align - 1);
	*p = (struct ctx_place){.kind = CTX_PLACE_STATIC};
	if (machine == EM_X86_64) {
		/* the block begins at an address that is `skew` above a multiple of `align` */
		end = (o->tls_size + skew + align - 1) / align * align - skew;
		p->offset = (int64_t)sym->value - (int64_t)end;
	} else {
		end = (16 - skew + align - 1) / align * align + skew;
		p->offset = (int64_t)(end + sym->value);
	}
	return 0;
}

static int variable_place(const struct object *o, const struct symbol *sym, enum ctx_libc libc,
			  uint16_t machine, struct ctx_place *place)
{
	struct slots slots = {0};
	int rc;

	if (o->is_program)
		return program_place(o, sym, machine, place);
	rc = slots_read(o, o->rela, o->rela_size, sym, numbers_of(machine), &slots);
	if (!rc)
		rc = slots_read(o, o->plt_rela, o->plt_rela_size, sym, numbers_of(machine), &slots);
	if (rc)
		return rc;
	if (slots.descriptor)
		return descriptor_place(o, slots.descriptor, libc, machine, place);
	if (slots.distance)
		return distance_place(o, slots.distance, place);
	if (slots.module)
		return module_place(o, slots.module, sym, libc, machine, place);
	return -ENOENT;
}

int ctx_place_of(const struct ctx_memory *m, uint64_t base, enum ctx_libc libc, uint16_t machine,
		 struct ctx_place *place)
{
	struct symbol sym;
	struct object o;
	int rc = object_open(&o, m, base, machine);

	if (!rc)
		rc = dynamic_read(&o);
	if (rc)
		return rc;
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *wanted = variables[i].name;

		rc = o.gnu_hash ? gnu_find(&o, wanted, &sym) : sysv_find(&o, wanted, &sym);
		if (!rc)
			rc = variable_place(&o, &sym, libc, machine, place);
		if (!rc)
			place->format = variables[i].format;
		if (rc != -ENOENT)
			return rc;
	}
	return -ENOENT;
}

/* musl's one file is its dynamic linker, too, and called either way; glibc's is libc.so.6. */
enum ctx_libc ctx_place_libc(const struct maps *maps)
{
	for (size_t i = 0; i < maps_count(maps); i++) {
		const char *name = strrchr(maps_path(maps, maps_at(maps, i)), '/');

		if (name && (!strncmp(name, "/ld-musl-", 9) || !strncmp(name, "/libc.musl-", 11) ||
			     !strcmp(name, "/libc.so")))
			return CTX_MUSL;
	}
	return CTX_GLIBC;
}

unsigned int ctx_places_find(const struct maps *maps, const struct ctx_memory *m, uint16_t machine,
			     struct ctx_place *places, unsigned int *omitted)
{
	enum ctx_libc libc = ctx_place_libc(maps);
	unsigned int n = 0, looked = 0;
	struct ctx_place p;

	*omitted = 0;
	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *mp = maps_at(maps, i);

		/* a library is never shared; what is may be data of a server that does not answer
		 */
		if (!mapping_is_file(mp) || mp->offset || !(mp->prot & MAPPING_READ) ||
		    mp->prot & MAPPING_SHARED)
			continue;
		if (looked++ >= CTX_PLACE_LIBRARY_MAX)
			++*omitted;
		else if (ctx_place_of(m, mp->start, libc, machine, &p))
			continue;
		else if (n == CTX_PLACE_MAX)
			++*omitted;
		else
			places[n++] = p;
	}
	return n;
}

int ctx_place_slot(const struct ctx_place *p, const struct ctx_memory *m, uint64_t thread_pointer,
		   uint64_t *addr)
{
	uint64_t dtv, word, block;
	int rc;

	if (p->kind == CTX_PLACE_STATIC) {
		*addr = thread_pointer + (uint64_t)p->offset;
		return 0;
	}
	rc = ctx_memory_word(m, thread_pointer + (uint64_t)(int64_t)p->dtv_at, &dtv);
	if (!rc)
		rc = ctx_memory_word(m, dtv + (uint64_t)(int64_t)p->capacity_at, &word);
	if (!rc && word < p->module)
		return -ENOENT;
	if (!rc && p->generation) {
		rc = ctx_memory_word(m, dtv, &word);
		if (!rc && word < p->generation)
			return -ENOENT;
	}
	if (!rc)
		rc = ctx_memory_word(m, dtv + (p->module << p->dtv_shift), &block);
	if (rc)
		return rc;
	if (!block || block == UINT64_MAX)
		return -ENOENT;
	*addr = block + (uint64_t)p->offset;
	return 0;
}
