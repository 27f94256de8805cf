/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads ELF files that nobody vouches for: headers, sections and symbols are fetched with pread
 * into private memory (never mapped: a file truncated under a mapping kills the reader with
 * SIGBUS), every offset, size and string is checked, and every amount has a cap.
 *
 * Only 64-bit files in native byte order (-ENOTSUP otherwise; -ENOEXEC: not ELF at all;
 * -EBADMSG: damaged; -E2BIG: over a cap; -ENOENT: no such part). Format: System V gABI, chapters
 * 4 and 5. (elf_open() and the like are taken: libbpf.a of 1.3 and later exports them.)
 */
#ifndef GNOMON_SYM_ELF_H
#define GNOMON_SYM_ELF_H

#include <stddef.h>
#include <stdint.h>

#define ELF_SECTION_MAX	 (64U << 20) /* largest section read, after decompression */
#define ELF_INFLATE_MAX	 32	     /* times that one may grow then; tables grow tenfold at most */
#define ELF_BUILD_ID_MAX 64	     /* bytes; SHA-1 ids have 20 */
#define ELF_SEGMENTS_MAX 256	     /* loadable ones; linkers make less than ten */

struct elf_file;

/* A PT_LOAD segment. */
struct elf_segment {
	uint64_t vaddr, offset, filesz, memsz;
	uint32_t flags; /* PF_R, PF_W, PF_X */
};

struct elf_section {
	uint64_t vaddr, offset, size, flags, entsize;
	uint32_t type, link, info; /* SHT_*, sh_link, sh_info */
};

struct elf_bytes {
	uint8_t *data; /* malloc'ed; a NUL follows that is not counted */
	size_t size;
	uint64_t vaddr; /* of the first byte, 0 for sections that are not loaded */
};

struct elf_symbol {
	const char *name; /* NUL ended, any length; valid during the callback only */
	uint64_t vaddr, size;
	uint8_t type, bind; /* STT_*, STB_* */
	uint16_t shndx;	    /* SHN_UNDEF: imported */
};

struct elf_build_id {
	uint8_t bytes[ELF_BUILD_ID_MAX];
	size_t len; /* 0: none */
};

/* Take over fd, a regular file open for reading; it is closed by elf_file_close(), and on error
 * here. */
int elf_file_open(struct elf_file **out, int fd);

/* The same over memory, which must outlive the elf_file. */
int elf_file_open_memory(struct elf_file **out, const void *bytes, size_t len);

void elf_file_close(struct elf_file *f);

uint16_t elf_file_machine(const struct elf_file *f); /* EM_X86_64, EM_AARCH64 ... */

/*
 * Tells where the kernel enters a program (e_entry). -ENOENT for shared libraries, whose e_entry is
 * whatever the linker left there (DF_1_PIE tells programs from them since binutils 2.26).
 */
int elf_file_entry(const struct elf_file *f, uint64_t *vaddr);

/* The PT_LOAD segments in file order; the array belongs to f. */
const struct elf_segment *elf_file_segments(const struct elf_file *f, size_t *n);

const struct elf_build_id *elf_file_build_id(const struct elf_file *f);

/* The first section of that name. -ENOENT if there is none. */
int elf_file_section(const struct elf_file *f, const char *name, struct elf_section *out);

/*
 * The content of a section, decompressed where it is compressed (SHF_COMPRESSED, zlib). -ENOENT if
 * the file does not have the bytes (SHT_NOBITS, as .eh_frame in a separate debug file).
 */
int elf_file_section_bytes(const struct elf_file *f, const struct elf_section *s,
			   struct elf_bytes *out);

/* Both at once: ".eh_frame", ".eh_frame_hdr", ".debug_frame", ".gnu_debugdata" ... */
int elf_file_bytes(const struct elf_file *f, const char *name, struct elf_bytes *out);

/*
 * Call fn for every named symbol of ".symtab" or ".dynsym", imported ones included, until it
 * returns non-zero; that value is returned. Symbol i of the section comes as index i.
 */
int elf_file_symbols(const struct elf_file *f, const char *section,
		     int (*fn)(void *arg, uint32_t index, const struct elf_symbol *sym), void *arg);

/* The address of a defined symbol of any type, from .dynsym, else from .symtab. */
int elf_file_find_symbol(const struct elf_file *f, const char *name, uint64_t *vaddr,
			 uint64_t *size);

/*
 * The virtual address (as linked) of a file offset; executable segments win where two segments
 * share a page. -ENOENT outside of all. A mapping of a file starts on a page boundary, so the pages
 * around a segment belong to it.
 */
int elf_segments_vaddr(const struct elf_segment *v, size_t n, uint64_t offset, uint64_t *vaddr);

#endif
