/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that publishes, made up: its memory as one array at CTXIMAGE_AT. Page 0 is the process
 * context, page 1 a library as the dynamic linker has it, page 2 a thread with its dtv, TLS block
 * and record. Used by test_context.c and fuzz_context.c.
 */
#ifndef GNOMON_TESTS_CTXIMAGE_H
#define GNOMON_TESTS_CTXIMAGE_H

#include "context/process.h"
#include "context/record.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define CTXIMAGE_AT   0x10000ULL
#define CTXIMAGE_SIZE 0x3000
#define IMAGE_LIBRARY (CTXIMAGE_AT + 0x1000)
#define IMAGE_THREAD  (CTXIMAGE_AT + 0x2000)
#define IMAGE_DTV     (CTXIMAGE_AT + 0x2100)
#define IMAGE_BLOCK   (CTXIMAGE_AT + 0x2200)
#define IMAGE_RECORD  (CTXIMAGE_AT + 0x2302)
#define IMAGE_SLOTS   (IMAGE_LIBRARY + 0x800)
#define IMAGE_DESC    (IMAGE_LIBRARY + 0x900)
#define IMAGE_MODULE  3
#define IMAGE_VALUE   0x10 /* of the symbol */
#define IMAGE_BOOT    0x0123456789ULL

struct ctximage {
	_Alignas(16) uint8_t b[CTXIMAGE_SIZE];
	unsigned int reads;
	/* called before each read, to change something meanwhile */
	void (*meanwhile)(struct ctximage *i);
};

static inline void *image_at(struct ctximage *i, uint64_t addr)
{
	return i->b + (addr - CTXIMAGE_AT);
}

static inline void image_u64(struct ctximage *i, uint64_t addr, uint64_t v)
{
	memcpy(image_at(i, addr), &v, sizeof(v));
}

static inline int image_read(void *arg, uint64_t addr, void *dst, size_t len)
{
	struct ctximage *i = arg;

	i->reads++;
	if (i->meanwhile)
		i->meanwhile(i);
	if (addr < CTXIMAGE_AT || len > CTXIMAGE_SIZE || addr - CTXIMAGE_AT > CTXIMAGE_SIZE - len)
		return -EFAULT;
	memcpy(dst, image_at(i, addr), len);
	return 0;
}

/* A protobuf field of wire type 2 around n bytes (below 128) that stand behind it already; returns
 * its length. */
static inline size_t pb_wrap(uint8_t *p, int number, size_t n)
{
	memmove(p + 2, p, n);
	p[0] = (uint8_t)(number << 3 | 2);
	p[1] = (uint8_t)n;
	return n + 2;
}

static inline size_t pb_string(uint8_t *p, int number, const char *s)
{
	memcpy(p, s, strlen(s));
	return pb_wrap(p, number, strlen(s));
}

/* KeyValue {key, AnyValue string}, as field `number`. */
static inline size_t pb_attribute(uint8_t *p, int number, const char *key, const char *value)
{
	size_t n = pb_string(p, 1, key);

	n += pb_wrap(p + n, 2, pb_string(p + n, 1, value));
	return pb_wrap(p, number, n);
}

/* Service "shop", keys "endpoint" and "operation", and fields that are none of ours. */
static inline size_t image_payload(uint8_t *p)
{
	size_t n = pb_wrap(p, 1, pb_attribute(p, 1, "service.name", "shop")), key, a, e;

	n += pb_attribute(p + n, 2, "threadlocal.schema_version", "tlsdesc_v1_dev");
	p[n++] = 15 << 3; /* a number */
	p[n++] = 42;
	key = pb_string(p + n, 1, "threadlocal.attribute_key_map");
	a = n + key;
	e = pb_wrap(p + a, 1, pb_string(p + a, 1, "endpoint"));
	e += pb_wrap(p + a + e, 1, pb_string(p + a + e, 1, "operation"));
	e = pb_wrap(p + a, 5, e);
	e = pb_wrap(p + a, 2, e);
	return n + pb_wrap(p + n, 2, key + e);
}

static inline void image_process(struct ctximage *i)
{
	uint8_t *p = image_at(i, CTXIMAGE_AT);
	uint32_t version = 2, size = (uint32_t)image_payload(p + 0x100);

	memcpy(p, "OTEL_CTX", 8);
	memcpy(p + 8, &version, 4);
	memcpy(p + 12, &size, 4);
	image_u64(i, CTXIMAGE_AT + 16, IMAGE_BOOT);
	image_u64(i, CTXIMAGE_AT + 24, CTXIMAGE_AT + 0x100);
}

static inline void image_dynamic(struct ctximage *i, int *n, int64_t tag, uint64_t v)
{
	Elf64_Dyn d = {.d_tag = tag, .d_un = {v}};

	memcpy(image_at(i, IMAGE_LIBRARY + 0x200 + 16 * (*n)++), &d, sizeof(d));
}

/*
 * The library: linked at 0, with a symbol of another name before the variable. `type` is that of
 * its relocation, which names the symbol or, with `bound`, its offset. absolute: the dynamic
 * section as glibc leaves it. sysv: the older hash table.
 */
static inline void image_library(struct ctximage *i, uint32_t type, bool bound, bool absolute,
				 bool sysv)
{
	Elf64_Ehdr eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
			 .e_machine = EM_X86_64,
			 .e_phoff = 64,
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 3};
	Elf64_Phdr ph[3] = {
		{.p_type = PT_LOAD, .p_memsz = 0x1000},
		{.p_type = PT_DYNAMIC, .p_vaddr = 0x200, .p_memsz = 16 * 16},
		{.p_type = PT_TLS, .p_vaddr = 0xa00, .p_memsz = 0x40, .p_align = 16},
	};
	Elf64_Sym sym[3] = {
		{0},
		{.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS), .st_shndx = 1},
		{.st_name = 7,
		 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS),
		 .st_shndx = 1,
		 .st_value = IMAGE_VALUE},
	};
	Elf64_Rela r = {.r_offset = 0x800,
			.r_info = ELF64_R_INFO(bound ? 0 : 2, type),
			.r_addend = bound ? IMAGE_VALUE : 0};
	/* one bucket, whose chain begins with symbol 1; hashes of both, the last one marked */
	uint32_t gnu[] = {1, 1, 1, 6, 0, 0, 1, 0x12345678 & ~1U, 0};
	uint32_t old[] = {1, 3, 1, 0, 2, 0};
	uint64_t add = absolute ? IMAGE_LIBRARY : 0;
	int n = 0;

	gnu[8] = 5381;
	for (const char *s = CTX_PLACE_SYMBOL; *s; s++)
		gnu[8] = gnu[8] * 33 + (unsigned char)*s;
	gnu[8] |= 1;
	memcpy(image_at(i, IMAGE_LIBRARY), &eh, sizeof(eh));
	memcpy(image_at(i, IMAGE_LIBRARY + 64), ph, sizeof(ph));
	memcpy(image_at(i, IMAGE_LIBRARY + 0x300), sym, sizeof(sym));
	memcpy(image_at(i, IMAGE_LIBRARY + 0x400), "\0other\0" CTX_PLACE_SYMBOL, 7 + 19);
	memcpy(image_at(i, IMAGE_LIBRARY + 0x500), sysv ? (void *)old : gnu,
	       sysv ? sizeof(old) : sizeof(gnu));
	memcpy(image_at(i, IMAGE_LIBRARY + 0x600), &r, sizeof(r));
	image_dynamic(i, &n, DT_SYMTAB, add + 0x300);
	image_dynamic(i, &n, DT_STRTAB, add + 0x400);
	image_dynamic(i, &n, sysv ? DT_HASH : DT_GNU_HASH, add + 0x500);
	image_dynamic(i, &n, DT_RELA, add + 0x600);
	image_dynamic(i, &n, DT_RELASZ, sizeof(r));
	image_dynamic(i, &n, DT_NULL, 0);
}

static inline void image_thread(struct ctximage *i)
{
	struct ctx_head h = {.valid = 1, .trace_flags = 1, .attrs_size = 8};

	for (int k = 0; k < 16; k++)
		h.trace_id[k] = (uint8_t)(k + 1);
	for (int k = 0; k < 8; k++)
		h.span_id[k] = (uint8_t)(0x80 + k);
	image_u64(i, IMAGE_THREAD + 8, IMAGE_DTV);
	image_u64(i, IMAGE_DTV - 16, IMAGE_MODULE + 5); /* capacity */
	image_u64(i, IMAGE_DTV, 7);			/* generation */
	image_u64(i, IMAGE_DTV + 16 * IMAGE_MODULE, IMAGE_BLOCK);
	image_u64(i, IMAGE_BLOCK + IMAGE_VALUE, IMAGE_RECORD);
	memcpy(image_at(i, IMAGE_RECORD), &h, sizeof(h));
	memcpy(image_at(i, IMAGE_RECORD + sizeof(h)), "\0\2ab\0\2cd", 8);
	/* what a descriptor that is resolved at run time points to */
	image_u64(i, IMAGE_DESC, IMAGE_MODULE);
	image_u64(i, IMAGE_DESC + 8, IMAGE_VALUE);
	image_u64(i, IMAGE_DESC + 16, 7);
}

#endif
