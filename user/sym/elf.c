/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define NAMES_MAX (1U << 20)  /* bytes of sections' names */
#define NOTES_MAX (64U << 10) /* bytes of notes searched for the build id, per section */
#define PAGE_SIZE 4096ULL     /* the smallest unit in which a file is mapped */

struct elf_file {
	int fd;		    /* -1: in memory */
	const uint8_t *mem; /* NULL: a file */
	uint64_t size, entry;
	uint16_t machine, type; /* EM_*, ET_* */
	struct elf_segment *segments;
	size_t n_segments;
	Elf64_Shdr *sections;
	size_t n_sections;
	char *names; /* of the sections, NUL ended */
	size_t names_len;
	struct elf_build_id id;
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static bool in_file(const struct elf_file *f, uint64_t off, uint64_t len)
{
	return off <= f->size && len <= f->size - off;
}

static int read_at(const struct elf_file *f, uint64_t off, void *buf, size_t len)
{
	size_t done = 0;

	if (!in_file(f, off, len))
		return -EBADMSG;
	if (f->mem) {
		memcpy(buf, f->mem + off, len);
		return 0;
	}
	while (done < len) {
		ssize_t n = pread(f->fd, (char *)buf + done, len - done, off + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n) /* truncated since fstat() */
			return -EBADMSG;
		done += n;
	}
	return 0;
}

/* malloc'ed copy of a part of the file, with a NUL behind it. */
static int read_alloc(const struct elf_file *f, uint64_t off, uint64_t len, void **out)
{
	char *p;
	int rc;

	if (!in_file(f, off, len))
		return -EBADMSG;
	if (len > ELF_SECTION_MAX)
		return -E2BIG;
	p = malloc(len + 1);
	if (!p)
		return -ENOMEM;
	rc = read_at(f, off, p, len);
	if (rc) {
		free(p);
		return rc;
	}
	p[len] = 0;
	*out = p;
	return 0;
}

/* ---- headers --------------------------------------------------------------------------------- */

static int check_header(const Elf64_Ehdr *h)
{
	if (memcmp(h->e_ident, ELFMAG, SELFMAG))
		return -ENOEXEC;
	if (h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_ident[EI_DATA] !=
		    (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
		return -ENOTSUP;
	return 0;
}

static int load_segments(struct elf_file *f, const Elf64_Ehdr *h)
{
	Elf64_Phdr *ph = NULL;
	size_t loads = 0;
	int rc;

	if (!h->e_phnum)
		return 0;
	if (h->e_phentsize != sizeof(*ph) || h->e_phnum == PN_XNUM)
		return -EBADMSG;
	rc = read_alloc(f, h->e_phoff, h->e_phnum * sizeof(*ph), (void **)&ph);
	if (rc)
		return rc;
	for (int i = 0; i < h->e_phnum; i++)
		loads += ph[i].p_type == PT_LOAD;
	/* symbols are looked up in all of them */
	if (loads > ELF_SEGMENTS_MAX) {
		free(ph);
		return -E2BIG;
	}
	f->segments = calloc(loads + 1, sizeof(*f->segments));
	for (int i = 0; f->segments && i < h->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD)
			f->segments[f->n_segments++] = (struct elf_segment){
				.vaddr = ph[i].p_vaddr,
				.offset = ph[i].p_offset,
				.filesz = ph[i].p_filesz,
				.memsz = ph[i].p_memsz,
				.flags = ph[i].p_flags,
			};
	free(ph);
	return f->segments ? 0 : -ENOMEM;
}

/*
 * Files without (usable) section headers are still good for their segments, so only running out
 * of memory is an error here. More than 65,279 sections (e_shnum 0) is taken as none.
 */
static int load_sections(struct elf_file *f, const Elf64_Ehdr *h)
{
	const Elf64_Shdr *str;
	int rc;

	if (!h->e_shnum || h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shstrndx >= h->e_shnum)
		return 0;
	rc = read_alloc(f, h->e_shoff, h->e_shnum * sizeof(Elf64_Shdr), (void **)&f->sections);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	str = &f->sections[h->e_shstrndx];
	if (str->sh_size > NAMES_MAX)
		return 0;
	rc = read_alloc(f, str->sh_offset, str->sh_size, (void **)&f->names);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	f->names_len = str->sh_size;
	f->n_sections = h->e_shnum;
	return 0;
}

/* ---- build id -------------------------------------------------------------------------------- */

static uint64_t align_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) & ~(to - 1);
}

static bool find_build_id(struct elf_build_id *id, const uint8_t *p, size_t len, uint64_t align)
{
	while (len >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		uint64_t desc, end;

		memcpy(&n, p, sizeof(n));
		desc = align_up(sizeof(n) + (uint64_t)n.n_namesz, align);
		end = align_up(desc + n.n_descsz, align);
		if (desc + n.n_descsz > len)
			return false;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    !memcmp(p + sizeof(n), "GNU", 4) && n.n_descsz &&
		    n.n_descsz <= ELF_BUILD_ID_MAX) {
			memcpy(id->bytes, p + desc, n.n_descsz);
			id->len = n.n_descsz;
			return true;
		}
		if (end >= len)
			return false;
		p += end;
		len -= end;
	}
	return false;
}

static int load_build_id(struct elf_file *f)
{
	for (size_t i = 0; i < f->n_sections && !f->id.len; i++) {
		const Elf64_Shdr *s = &f->sections[i];
		void *p = NULL;
		int rc;

		if (s->sh_type != SHT_NOTE || s->sh_size > NOTES_MAX)
			continue;
		rc = read_alloc(f, s->sh_offset, s->sh_size, &p);
		if (rc == -ENOMEM)
			return rc;
		if (rc)
			continue;
		find_build_id(&f->id, p, s->sh_size, s->sh_addralign == 8 ? 8 : 4);
		free(p);
	}
	return 0;
}

/* ---- open and close -------------------------------------------------------------------------- */

static int elf_load(struct elf_file *f)
{
	Elf64_Ehdr h;
	int rc;

	if (f->size < sizeof(h))
		return -ENOEXEC;
	rc = read_at(f, 0, &h, sizeof(h));
	if (!rc)
		rc = check_header(&h);
	if (rc)
		return rc;
	f->machine = h.e_machine;
	f->type = h.e_type;
	f->entry = h.e_entry;
	rc = load_segments(f, &h);
	if (!rc)
		rc = load_sections(f, &h);
	if (!rc)
		rc = load_build_id(f);
	return rc;
}

static int elf_finish_open(struct elf_file **out, struct elf_file *f)
{
	int rc = elf_load(f);

	if (rc) {
		elf_file_close(f);
		return rc;
	}
	*out = f;
	return 0;
}

int elf_file_open(struct elf_file **out, int fd)
{
	struct elf_file *f = calloc(1, sizeof(*f));
	struct stat st;
	int rc = 0;

	if (!f)
		rc = -ENOMEM;
	else if (fstat(fd, &st))
		rc = -errno;
	else if (!S_ISREG(st.st_mode))
		rc = -ENOEXEC;
	if (rc) {
		free(f);
		close(fd);
		return rc;
	}
	f->fd = fd;
	f->size = st.st_size;
	return elf_finish_open(out, f);
}

int elf_file_open_memory(struct elf_file **out, const void *bytes, size_t len)
{
	struct elf_file *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->fd = -1;
	f->mem = bytes;
	f->size = len;
	return elf_finish_open(out, f);
}

void elf_file_close(struct elf_file *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	free(f->segments);
	free(f->sections);
	free(f->names);
	free(f);
}

uint16_t elf_file_machine(const struct elf_file *f)
{
	return f->machine;
}

const struct elf_segment *elf_file_segments(const struct elf_file *f, size_t *n)
{
	*n = f->n_segments;
	return f->segments;
}

const struct elf_build_id *elf_file_build_id(const struct elf_file *f)
{
	return &f->id;
}

/* ---- sections -------------------------------------------------------------------------------- */

static void section_from(const Elf64_Shdr *s, struct elf_section *out)
{
	*out = (struct elf_section){
		.vaddr = s->sh_addr,
		.offset = s->sh_offset,
		.size = s->sh_size,
		.flags = s->sh_flags,
		.entsize = s->sh_entsize,
		.type = s->sh_type,
		.link = s->sh_link,
		.info = s->sh_info,
	};
}

int elf_file_section(const struct elf_file *f, const char *name, struct elf_section *out)
{
	for (size_t i = 0; i < f->n_sections; i++) {
		const Elf64_Shdr *s = &f->sections[i];

		if (s->sh_name < f->names_len && !strcmp(f->names + s->sh_name, name)) {
			section_from(s, out);
			return 0;
		}
	}
	return -ENOENT;
}

/* Replaces compressed content by the content itself. */
static int decompress(struct elf_bytes *out)
{
	Elf64_Chdr h;
	uLongf got;
	uint8_t *p;
	int rc;

	if (out->size < sizeof(h))
		return -EBADMSG;
	memcpy(&h, out->data, sizeof(h));
	if (h.ch_type != ELFCOMPRESS_ZLIB)
		return -ENOTSUP;
	if (h.ch_size > ELF_SECTION_MAX || h.ch_size / ELF_INFLATE_MAX > out->size)
		return -E2BIG;
	p = malloc(h.ch_size + 1);
	if (!p)
		return -ENOMEM;
	got = h.ch_size;
	rc = uncompress(p, &got, out->data + sizeof(h), out->size - sizeof(h));
	if (rc != Z_OK || got != h.ch_size) {
		free(p);
		return rc == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
	}
	p[got] = 0;
	free(out->data);
	out->data = p;
	out->size = got;
	return 0;
}

int elf_file_section_bytes(const struct elf_file *f, const struct elf_section *s,
			   struct elf_bytes *out)
{
	struct elf_bytes b = {.vaddr = s->vaddr, .size = s->size};
	int rc;

	if (s->type == SHT_NOBITS)
		return -ENOENT;
	rc = read_alloc(f, s->offset, s->size, (void **)&b.data);
	if (!rc && (s->flags & SHF_COMPRESSED))
		rc = decompress(&b);
	if (rc) {
		free(b.data);
		return rc;
	}
	*out = b;
	return 0;
}

int elf_file_bytes(const struct elf_file *f, const char *name, struct elf_bytes *out)
{
	struct elf_section s;
	int rc = elf_file_section(f, name, &s);

	return rc ? rc : elf_file_section_bytes(f, &s, out);
}

static bool is_pie(const struct elf_file *f)
{
	struct elf_bytes b;
	bool pie = false;

	if (f->type != ET_DYN || elf_file_bytes(f, ".dynamic", &b))
		return false;
	for (size_t i = 0; i < b.size / sizeof(Elf64_Dyn); i++) {
		const Elf64_Dyn *d = (const Elf64_Dyn *)b.data + i;

		if (d->d_tag == DT_FLAGS_1)
			pie = d->d_un.d_val & DF_1_PIE;
	}
	free(b.data);
	return pie;
}

int elf_file_entry(const struct elf_file *f, uint64_t *vaddr)
{
	if (!f->entry || (f->type != ET_EXEC && !is_pie(f)))
		return -ENOENT;
	*vaddr = f->entry;
	return 0;
}

/* ---- symbols --------------------------------------------------------------------------------- */

static int symbol_tables(const struct elf_file *f, const char *section, struct elf_bytes *syms,
			 struct elf_bytes *strings)
{
	struct elf_section s;
	int rc = elf_file_section(f, section, &s);

	if (rc)
		return rc;
	if (s.type == SHT_NOBITS)
		return -ENOENT;
	if (s.entsize != sizeof(Elf64_Sym) || s.link >= f->n_sections)
		return -EBADMSG;
	rc = elf_file_section_bytes(f, &s, syms);
	if (rc)
		return rc;
	section_from(&f->sections[s.link], &s);
	rc = elf_file_section_bytes(f, &s, strings);
	if (rc) {
		free(syms->data);
		syms->data = NULL;
	}
	return rc;
}

int elf_file_symbols(const struct elf_file *f, const char *section,
		     int (*fn)(void *arg, uint32_t index, const struct elf_symbol *sym), void *arg)
{
	struct elf_bytes syms = {0}, strings = {0};
	int rc = symbol_tables(f, section, &syms, &strings);
	const Elf64_Sym *v = (const Elf64_Sym *)syms.data;

	for (uint32_t i = 0; !rc && i < syms.size / sizeof(*v); i++) {
		struct elf_symbol sym = {
			.vaddr = v[i].st_value,
			.size = v[i].st_size,
			.type = ELF64_ST_TYPE(v[i].st_info),
			.bind = ELF64_ST_BIND(v[i].st_info),
			.shndx = v[i].st_shndx,
		};

		if (!v[i].st_name || v[i].st_name >= strings.size)
			continue;
		sym.name = (const char *)strings.data + v[i].st_name;
		rc = fn(arg, i, &sym);
	}
	free(syms.data);
	free(strings.data);
	return rc;
}

struct symbol_query {
	const char *name;
	uint64_t vaddr, size;
};

static int match_symbol(void *arg, uint32_t index, const struct elf_symbol *sym)
{
	struct symbol_query *w = arg;

	if (sym->shndx == SHN_UNDEF || strcmp(sym->name, w->name))
		return 0;
	w->vaddr = sym->vaddr;
	w->size = sym->size;
	return 1;
}

int elf_file_find_symbol(const struct elf_file *f, const char *name, uint64_t *vaddr,
			 uint64_t *size)
{
	static const char *const where[] = {".dynsym", ".symtab"};
	struct symbol_query w = {.name = name};
	int rc = -ENOENT;

	for (int i = 0; i < 2; i++) {
		int found = elf_file_symbols(f, where[i], match_symbol, &w);

		if (found == 1) {
			*vaddr = w.vaddr;
			*size = w.size;
			return 0;
		}
		if (found && found != -ENOENT)
			rc = found;
	}
	return rc;
}

/* ---- addresses ------------------------------------------------------------------------------- */

static bool segment_holds(const struct elf_segment *s, uint64_t offset, uint64_t slack)
{
	uint64_t start = s->offset & ~(slack - 1), end;

	if (__builtin_add_overflow(s->offset, s->filesz, &end) ||
	    __builtin_add_overflow(end, slack - 1, &end))
		return false;
	return offset >= start && offset < (end & ~(slack - 1));
}

int elf_segments_vaddr(const struct elf_segment *v, size_t n, uint64_t offset, uint64_t *vaddr)
{
	static const struct {
		uint64_t slack;
		uint32_t flags;
	} passes[] = {{1, PF_X}, {1, 0}, {PAGE_SIZE, PF_X}, {PAGE_SIZE, 0}};

	for (size_t p = 0; p < sizeof(passes) / sizeof(*passes); p++) {
		for (size_t i = 0; i < n; i++) {
			if ((v[i].flags & passes[p].flags) != passes[p].flags ||
			    !segment_holds(&v[i], offset, passes[p].slack))
				continue;
			*vaddr = offset - v[i].offset + v[i].vaddr;
			return 0;
		}
	}
	return -ENOENT;
}
