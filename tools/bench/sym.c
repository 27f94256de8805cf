/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of naming native frames: load each given ELF file, then look up addresses all over its code.
 *   gcc -O2 -D_GNU_SOURCE -I. -Iuser tools/bench/sym.c build/libgnomon.a -l:libbpf.a -l:libelf.a \
 *       -l:libz.a -l:liblzma.a -l:libiberty.a -lpthread -o build/bench-sym
 *   build/bench-sym /usr/lib/jvm/.../libjvm.so ...
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sym/image.h"
#include "sym/ksyms.h"

#define LOOKUPS 1000000

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* One pass with demangling, one without. */
static void look_up(struct image *img)
{
	size_t n, hits = 0;
	const struct elf_segment *v = image_segments(img, &n);
	struct symtab_hit hit;
	double t;

	while (n && !(v->flags & PF_X)) {
		v++;
		n--;
	}
	for (int pass = 0; n && pass < 2; pass++) {
		uint64_t x = 88172645463325252ULL;

		hits = 0;
		t = now_ms();
		for (int i = 0; i < LOOKUPS; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			hits += image_find(img, v->vaddr + x % v->memsz, &hit);
		}
		t = now_ms() - t;
		printf("  %s: %.0f ns a look-up, %.1f%% named, %zu bytes held\n",
		       pass ? "again" : "first", t * 1e6 / LOOKUPS, hits * 100.0 / LOOKUPS,
		       image_bytes(img));
	}
}

static int bench_file(const char *path)
{
	int root = open("/", O_PATH | O_DIRECTORY), fd = open(path, O_RDONLY);
	double start = now_ms();
	struct elf_file *f;
	struct image *img;
	int rc = fd < 0 ? -1 : elf_file_open(&f, fd);

	if (!rc) {
		rc = image_load(&img, f, root, path);
		elf_file_close(f);
	}
	if (rc) {
		fprintf(stderr, "cannot load '%s'\n", path);
		return 1;
	}
	printf("%s: %zu functions in %.1f ms, %zu bytes\n", path, image_symbols(img),
	       now_ms() - start, image_bytes(img));
	look_up(img);
	image_free(img);
	return 0;
}

int main(int argc, char **argv)
{
	double start = now_ms();
	struct ksyms *k;
	int rc = 0;

	if (!ksyms_open(&k, NULL)) {
		printf("kernel: %zu functions in %.1f ms, %zu bytes\n", ksyms_count(k),
		       now_ms() - start, ksyms_bytes(k));
		ksyms_free(k);
	}
	for (int i = 1; i < argc; i++)
		rc |= bench_file(argv[i]);
	return rc;
}
