/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/frame.h"
#include "sym/debugfile.h"
#include "sym/ehframe.h"
#include "sym/plt.h"

struct image {
	uint16_t machine;
	struct elf_build_id id;
	struct elf_segment *segments;
	size_t n_segments;
	uint64_t base; /* lowest address of code: functions are from here */
	struct symtab *syms;
	struct ehframe_function *functions; /* functions that lack a name, sorted and disjoint */
	size_t n_functions;
	bool theirs; /* debugfile_open() */
};

/* ---- functions, as call frame information has them ------------------------------------------- */

static int functions_load(struct image *img, const struct elf_file *f)
{
	struct ehframe_section sec = {0};
	struct elf_bytes b;
	int rc = elf_file_bytes(f, ".eh_frame", &b);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	sec.data = b.data;
	sec.len = b.size;
	sec.vaddr = b.vaddr;
	rc = ehframe_functions(&sec, img->base, &img->functions, &img->n_functions);
	free(b.data);
	return rc == -ENOMEM ? rc : 0;
}

/* How many functions begin at or before vaddr. */
static size_t functions_before(const struct image *img, uint64_t vaddr)
{
	size_t lo = 0, hi = img->n_functions;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (img->base + img->functions[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool function_find(const struct image *img, uint64_t vaddr, struct symtab_hit *hit)
{
	size_t i = functions_before(img, vaddr);
	const struct ehframe_function *f = i ? &img->functions[i - 1] : NULL;

	if (!f || vaddr - img->base >= f->end)
		return false;
	*hit = (struct symtab_hit){
		.start = img->base + f->start,
		.size = f->end - f->start,
	};
	return true;
}

/* Drops the functions that have a name: those that a symbol covers from end to end. */
static void functions_keep_nameless(struct image *img)
{
	size_t kept = 0;
	void *v;

	for (size_t i = 0; i < img->n_functions; i++) {
		struct ehframe_function f = img->functions[i];

		if (!symtab_covers(img->syms, img->base + f.start, img->base + f.end))
			img->functions[kept++] = f;
	}
	img->n_functions = kept;
	v = kept ? realloc(img->functions, kept * sizeof(*img->functions)) : NULL;
	if (v) {
		img->functions = v;
	} else if (!kept) {
		free(img->functions);
		img->functions = NULL;
	}
}

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

/* The most that a symbol without a size can cover. */
static uint64_t reach(const struct image *img, const struct elf_segment *s, uint64_t vaddr)
{
	uint64_t end = s->vaddr + s->memsz;
	size_t next = functions_before(img, vaddr);

	if (next < img->n_functions && img->base + img->functions[next].start < end)
		end = img->base + img->functions[next].start;
	return end - vaddr;
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
	rc = symtab_add(img->syms, sym->vaddr, sym->size ? sym->size : reach(img, s, sym->vaddr),
			sym->size, bind, sym->name, strnlen(sym->name, FRAME_NAME_MAX - 1));
	return rc == -ERANGE ? 0 : rc;
}

/* Only running out of memory is an error: a bad table has no (more) symbols. */
static int add_table(struct image *img, const struct elf_file *f, const char *section)
{
	int rc = elf_file_symbols(f, section, add_symbol, img);

	return rc == -ENOMEM ? rc : 0;
}

static int add_elsewhere(struct image *img, const struct elf_file *f,
			 const struct debugfile_place *place)
{
	struct elf_file *other;
	void *bytes = NULL;
	int rc = debugfile_open(&other, f, place, &img->theirs);

	if (rc && rc != -ENOMEM)
		rc = debugdata_open(&other, &bytes, f);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	rc = add_table(img, other, ".symtab");
	elf_file_close(other);
	free(bytes);
	return rc;
}

/* The C library's startup code, which stripped programs do not name. */
static int add_start(struct image *img, const struct elf_file *f)
{
	struct symtab_hit hit;
	struct elf_symbol sym = {.name = "_start", .type = STT_FUNC, .bind = STB_LOCAL, .shndx = 1};

	if (elf_file_entry(f, &sym.vaddr))
		return 0;
	if (function_find(img, sym.vaddr, &hit) && hit.start == sym.vaddr)
		sym.size = hit.size;
	return add_symbol(img, 0, &sym);
}

static int load_symbols(struct image *img, const struct elf_file *f,
			const struct debugfile_place *place)
{
	struct elf_section s;
	int rc = functions_load(img, f);

	if (!rc)
		rc = add_table(img, f, ".dynsym");
	if (!rc)
		rc = elf_file_section(f, ".symtab", &s) ? add_elsewhere(img, f, place)
							: add_table(img, f, ".symtab");
	if (!rc)
		rc = plt_add(img->syms, f);
	if (!rc)
		rc = add_start(img, f);
	if (!rc)
		rc = symtab_finish(img->syms);
	if (!rc)
		functions_keep_nameless(img);
	return rc;
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

int image_load(struct image **out, const struct elf_file *f, const struct debugfile_place *place)
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
		img->base = lowest_code(img);
		img->syms = symtab_new(img->base);
	}
	if (img->syms)
		rc = load_symbols(img, f, place);
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
	free(img->functions);
	free(img->segments);
	free(img);
}

/* ---- queries --------------------------------------------------------------------------------- */

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
	return symtab_find(img->syms, vaddr, hit) || function_find(img, vaddr, hit);
}

size_t image_symbols(const struct image *img)
{
	return symtab_count(img->syms);
}

size_t image_bytes(const struct image *img)
{
	return sizeof(*img) + img->n_segments * sizeof(*img->segments) +
	       img->n_functions * sizeof(*img->functions) + symtab_bytes(img->syms);
}

size_t image_nameless(const struct image *img)
{
	return img->n_functions;
}

const struct elf_build_id *image_build_id(const struct image *img)
{
	return &img->id;
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
	       a->base == b->base && a->n_functions == b->n_functions &&
	       (!a->n_functions ||
		!memcmp(a->functions, b->functions, a->n_functions * sizeof(*a->functions))) &&
	       symtab_equal(a->syms, b->syms);
}
