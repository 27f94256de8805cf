/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What naming needs of one ELF file, in memory and independent of the file afterwards: segments,
 * build id, functions. Functions come from .symtab and .dynsym and, without .symtab, from the
 * separate debug file or .gnu_debugdata; stubs of the PLT are called "name@plt", and where a
 * program is entered "_start". Where none of these names the code, .eh_frame still tells where each
 * function begins and ends, in stripped files too.
 * Not thread safe (see symtab.h).
 */
#ifndef GNOMON_SYM_IMAGE_H
#define GNOMON_SYM_IMAGE_H

#include <stdbool.h>

#include "sym/debugfile.h"
#include "sym/elf.h"
#include "sym/symtab.h"

struct image;

/*
 * Load the functions of f, which may be closed afterwards. `place`: where debug files are looked
 * for, see debugfile_open(). A damaged symbol table costs the symbols,
 * not the image.
 */
int image_load(struct image **out, const struct elf_file *f, const struct debugfile_place *place);
void image_free(struct image *img);

const struct elf_segment *image_segments(const struct image *img, size_t *n);

/* The address as linked of a file offset; -ENOENT outside of all segments. */
int image_vaddr(const struct image *img, uint64_t offset, uint64_t *vaddr);

/* The function that covers an address as linked; hit->name is NULL if it has no name. */
bool image_find(struct image *img, uint64_t vaddr, struct symtab_hit *hit);

size_t image_symbols(const struct image *img);
size_t image_nameless(const struct image *img); /* functions that are not named whole */
size_t image_bytes(const struct image *img);	/* memory held */
bool image_equal(const struct image *a, const struct image *b);

/* The file's own; its length is 0 where it has none. */
const struct elf_build_id *image_build_id(const struct image *img);

/* What it is called by depends on the root it was loaded for: no other process's image of the file.
 */
bool image_is_theirs(const struct image *img);

#endif
