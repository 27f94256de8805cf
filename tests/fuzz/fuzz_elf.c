/* SPDX-License-Identifier: Apache-2.0 */
// FUZZ-LINK: user/sym/elf.c user/sym/symtab.c user/sym/image.c user/sym/plt.c
// FUZZ-LINK: user/sym/debugfile.c user/sym/mapfile.c user/sym/demangle.c
// FUZZ-LINK: user/sym/ehframe.c user/wire/rules.c
// FUZZ-LINK: user/target/maps.c user/base/buffer.c user/base/inroot.c
// FUZZ-LINK: user/base/log.c user/base/utf8.c user/broker/broker.c user/broker/workers.c user/base/fdmsg.c user/base/shared.c user/broker/grants.c user/base/rights.c user/broker/opening.c user/broker/reader.c user/broker/file.c user/base/beat.c
// FUZZ-LINK: user/target/procfs.c
/* The whole way of a file: headers, sections, debug data, symbols, demangling, look-ups. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "sym/elf.h"
#include "sym/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_sections(const struct elf_file *f)
{
	static const char *const names[] = {".eh_frame", ".eh_frame_hdr", ".debug_frame",
					    ".gnu_debuglink"};
	struct elf_bytes b;
	uint64_t vaddr, len;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!elf_file_bytes(f, names[i], &b))
			free(b.data);
	elf_file_find_symbol(f, "main", &vaddr, &len);
	elf_file_entry(f, &vaddr);
}

static void look_up(struct image *img)
{
	struct symtab_hit hit;
	uint64_t vaddr;

	for (uint64_t off = 0; off < 1 << 16; off += 61) {
		if (image_vaddr(img, off, &vaddr))
			continue;
		if (image_find(img, vaddr, &hit) &&
		    (vaddr < hit.start || vaddr - hit.start >= hit.size))
			abort();
	}
	image_find(img, UINT64_MAX, &hit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *f;
	struct image *img;

	if (elf_file_open_memory(&f, data, size))
		return 0;
	read_sections(f);
	if (!image_load(&img, f, &(struct debugfile_place){.proc_fd = -1, .path = ""})) {
		elf_file_close(f);
		look_up(img);
		image_free(img);
		return 0;
	}
	elf_file_close(f);
	return 0;
}
