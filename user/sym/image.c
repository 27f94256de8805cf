/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/frame.h"
#include "sym/debugfile.h"
#include "sym/plt.h"

struct image {
	uint16_t machine;
	struct elf_build_id id;
	struct elf_segment *segments;
	size_t n_segments;
	struct symtab *syms;
	bool theirs; /* debugfile_open() */
};

/* ---- symbols --------------------------------------------------------------------------------- */

/* The executable segment that holds vaddr, in memory. */
static const struct elf_segment *code_segment(const struct image *img, uint64_t vaddr)
{
	for (size_t i = 0; i < img->n_segments; i++) {
		const struct elf_segment *s = &img->segments[i];

		if ((s->flags & PF_X) && vaddr >= s->vaddr && vaddr - s->vaddr < s->memsz)
			return s;
	}
	return NULL;
}

static bool is_function(const struct elf_symbol *sym)
{
	if (sym->shndx == SHN_UNDEF || sym->shndx == SHN_ABS)
		return false;
	switch (sym->type) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE: /* hand-written assembly; "$x" and "$d" mark code and data on Arm */
		return sym->name[0] != '$';
	default:
		return false;
	}
}

static int add_symbol(void *arg, uint32_t index, const struct elf_symbol *sym)
{
	struct image *img = arg;
	const struct elf_segment *s = is_function(sym) ? code_segment(img, sym->vaddr) : NULL;
	enum symtab_bind bind = sym->bind == STB_LOCAL	? SYMTAB_LOCAL
				: sym->bind == STB_WEAK ? SYMTAB_WEAK
							: SYMTAB_GLOBAL;
	int rc;

	if (!s)
		return 0;
	rc = symtab_add(img->syms, sym->vaddr,
			sym->size ? sym->size : s->memsz - (sym->vaddr - s->vaddr), sym->size, bind,
			sym->name, strnlen(sym->name, FRAME_NAME_MAX - 1));
	return rc == -ERANGE ? 0 : rc;
}

/* Only running out of memory is an error: a bad table has no (more) symbols. */
static int add_table(struct image *img, const struct elf_file *f, const char *section)
{
	int rc = elf_file_symbols(f, section, add_symbol, img);

	return rc == -ENOMEM ? rc : 0;
}

static int add_elsewhere(struct image *img, const struct elf_file *f, int root_fd, const char *path)
{
	struct elf_file *other;
	void *bytes = NULL;
	int rc = debugfile_open(&other, f, root_fd, path, &img->theirs);

	if (rc && rc != -ENOMEM)
		rc = debugdata_open(&other, &bytes, f);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	rc = add_table(img, other, ".symtab");
	elf_file_close(other);
	free(bytes);
	return rc;
}

static int load_symbols(struct image *img, const struct elf_file *f, int root_fd, const char *path)
{
	struct elf_section s;
	int rc = add_table(img, f, ".dynsym");

	if (!rc)
		rc = elf_file_section(f, ".symtab", &s) ? add_elsewhere(img, f, root_fd, path)
							: add_table(img, f, ".symtab");
	if (!rc)
		rc = plt_add(img->syms, f);
	return rc ? rc : symtab_finish(img->syms);
}

/* ---- load and free --------------------------------------------------------------------------- */

static uint64_t lowest_code(const struct image *img)
{
	uint64_t low = UINT64_MAX;

	for (size_t i = 0; i < img->n_segments; i++)
		if ((img->segments[i].flags & PF_X) && img->segments[i].vaddr < low)
			low = img->segments[i].vaddr;
	return low;
}

int image_load(struct image **out, const struct elf_file *f, int root_fd, const char *path)
{
	struct image *img = calloc(1, sizeof(*img));
	size_t n;
	const struct elf_segment *v = elf_file_segments(f, &n);
	int rc = -ENOMEM;

	if (!img)
		return -ENOMEM;
	img->machine = elf_file_machine(f);
	img->id = *elf_file_build_id(f);
	img->segments = malloc(n * sizeof(*v) + 1);
	if (img->segments) {
		if (n)
			memcpy(img->segments, v, n * sizeof(*v));
		img->n_segments = n;
		img->syms = symtab_new(lowest_code(img));
	}
	if (img->syms)
		rc = load_symbols(img, f, root_fd, path);
	if (rc) {
		image_free(img);
		return rc;
	}
	*out = img;
	return 0;
}

void image_free(struct image *img)
{
	if (!img)
		return;
	symtab_free(img->syms);
	free(img->segments);
	free(img);
}

/* ---- queries --------------------------------------------------------------------------------- */

uint16_t image_machine(const struct image *img)
{
	return img->machine;
}

const struct elf_build_id *image_build_id(const struct image *img)
{
	return &img->id;
}

const struct elf_segment *image_segments(const struct image *img, size_t *n)
{
	*n = img->n_segments;
	return img->segments;
}

int image_vaddr(const struct image *img, uint64_t offset, uint64_t *vaddr)
{
	return elf_segments_vaddr(img->segments, img->n_segments, offset, vaddr);
}

bool image_find(struct image *img, uint64_t vaddr, struct symtab_hit *hit)
{
	return symtab_find(img->syms, vaddr, hit);
}

size_t image_symbols(const struct image *img)
{
	return symtab_count(img->syms);
}

size_t image_bytes(const struct image *img)
{
	return sizeof(*img) + img->n_segments * sizeof(*img->segments) + symtab_bytes(img->syms);
}

bool image_is_theirs(const struct image *img)
{
	return img->theirs;
}

bool image_equal(const struct image *a, const struct image *b)
{
	return a->machine == b->machine && a->id.len == b->id.len &&
	       !memcmp(a->id.bytes, b->id.bytes, a->id.len) && a->n_segments == b->n_segments &&
	       !memcmp(a->segments, b->segments, a->n_segments * sizeof(*a->segments)) &&
	       symtab_equal(a->syms, b->syms);
}
