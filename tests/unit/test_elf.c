/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "sym/cache.h"
#include "sym/debugfile.h"
#include "sym/elf.h"
#include "sym/image.h"
#include "sym/symtab.h"

int elf_test_function(int x);
int elf_test_data = 7;

__attribute__((noinline)) int elf_test_function(int x)
{
	return x * 3 + elf_test_data;
}

__attribute__((noinline)) static int elf_test_static(int x)
{
	__asm__ volatile("");
	return x * 5;
}

static char self[PATH_MAX]; /* this binary */
static char dir[] = "/tmp/gnomon-elf-XXXXXX";

/* What the dynamic linker added to the addresses of this binary. */
static int first_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	*(uintptr_t *)arg = info->dlpi_addr;
	return 1;
}

static uint64_t linked(const void *p)
{
	uintptr_t base = 0;

	dl_iterate_phdr(first_base, &base);
	return (uintptr_t)p - base;
}

static struct elf_file *open_elf(const char *path)
{
	struct elf_file *f = NULL;

	assert_int_equal(elf_file_open(&f, open(path, O_RDONLY | O_CLOEXEC)), 0);
	return f;
}

static struct image *load(const char *path, int root_fd, const char *place)
{
	struct elf_file *f = open_elf(path);
	struct image *img;

	assert_int_equal(image_load(&img, f,
				    &(struct debugfile_place){
					    .pid = getpid(),
					    .proc_fd = root_fd,
					    .path = place,
				    }),
			 0);
	elf_file_close(f);
	return img;
}

static bool named(struct image *img, const void *p, const char *name)
{
	struct symtab_hit hit;

	return image_find(img, linked(p), &hit) && hit.name && !strcmp(hit.name, name) &&
	       hit.start == linked(p);
}

/* All of the function at p is one, and has no name. */
static bool nameless(struct image *img, const void *p)
{
	struct symtab_hit hit, inside;

	return image_find(img, linked(p), &hit) && !hit.name && hit.start == linked(p) &&
	       hit.size > 1 && image_find(img, linked(p) + hit.size - 1, &inside) && !inside.name &&
	       inside.start == hit.start;
}

/* ---- this binary ----------------------------------------------------------------------------- */

static void headers(void **state)
{
	struct elf_file *f = open_elf(self);
	bool exec = false;
	size_t n;
	const struct elf_segment *v = elf_file_segments(f, &n);

	for (size_t i = 0; i < n; i++)
		exec |= (v[i].flags & PF_X) && linked(elf_test_function) >= v[i].vaddr &&
			linked(elf_test_function) < v[i].vaddr + v[i].memsz;
	assert_true(exec);
#if defined(__x86_64__)
	assert_int_equal(elf_file_machine(f), EM_X86_64);
#elif defined(__aarch64__)
	assert_int_equal(elf_file_machine(f), EM_AARCH64);
#endif
	assert_int_equal(elf_file_build_id(f)->len, 20);
	elf_file_close(f);
}

static void sections(void **state)
{
	struct elf_file *f = open_elf(self);
	struct elf_section s;
	struct elf_bytes b;

	assert_int_equal(elf_file_section(f, ".text", &s), 0);
	assert_true(linked(elf_test_function) >= s.vaddr &&
		    linked(elf_test_function) < s.vaddr + s.size);
	assert_int_equal(elf_file_bytes(f, ".text", &b), 0);
	assert_int_equal(b.size, s.size);
	assert_int_equal(b.vaddr, s.vaddr);
	assert_memory_equal(b.data + (linked(elf_test_function) - b.vaddr),
			    (const void *)elf_test_function, 8);
	free(b.data);
	assert_int_equal(elf_file_bytes(f, ".eh_frame", &b), 0);
	free(b.data);
	assert_int_equal(elf_file_bytes(f, ".bss", &b), -ENOENT);
	assert_int_equal(elf_file_bytes(f, ".no such", &b), -ENOENT);
	elf_file_close(f);
}

static void symbols_by_name(void **state)
{
	struct elf_file *f = open_elf(self);
	uint64_t vaddr, size;

	assert_int_equal(elf_file_find_symbol(f, "elf_test_function", &vaddr, &size), 0);
	assert_true(vaddr == linked(elf_test_function));
	assert_true(size > 0 && size < 4096);
	assert_int_equal(elf_file_find_symbol(f, "elf_test_data", &vaddr, &size), 0);
	assert_true(vaddr == linked(&elf_test_data));
	assert_int_equal(size, sizeof(int));
	assert_int_equal(elf_file_find_symbol(f, "no_such", &vaddr, &size), -ENOENT);
	assert_int_equal(elf_file_find_symbol(f, "malloc", &vaddr, &size), -ENOENT); /* imported */
	elf_file_close(f);
}

static void own_image(void **state)
{
	struct image *img = load(self, -1, "");
	struct symtab_hit hit;

	assert_true(named(img, (const void *)elf_test_function, "elf_test_function"));
	assert_true(named(img, (const void *)elf_test_static, "elf_test_static"));
	assert_false(image_find(img, linked(&elf_test_data), &hit)); /* not code */
	assert_false(image_find(img, 0, &hit));
	assert_false(image_find(img, UINT64_MAX, &hit));
	image_free(img);
}

/* This binary calls system() through a stub. */
static void plt_stubs(void **state)
{
	struct image *img = load(self, -1, "");
	struct elf_file *f = open_elf(self);
	struct elf_section s;
	struct symtab_hit hit;
	bool found = false;

	if (elf_file_section(f, ".rela.plt", &s))
		skip();
	if (elf_file_section(f, ".plt.sec", &s))
		assert_int_equal(elf_file_section(f, ".plt", &s), 0);
	for (uint64_t at = s.vaddr; at < s.vaddr + s.size; at += 16)
		found |= image_find(img, at + 6, &hit) && hit.start == at && hit.name &&
			 !strcmp(hit.name, "system@plt");
	assert_true(found);
	elf_file_close(f);
	image_free(img);
}

static void offsets(void **state)
{
	/* text at file 0x1200 is linked at 0x401200; data shares its last page */
	static const struct elf_segment v[] = {
		{.vaddr = 0x400000, .offset = 0, .filesz = 0x800, .memsz = 0x800, .flags = PF_R},
		{.vaddr = 0x401200,
		 .offset = 0x1200,
		 .filesz = 0x1000,
		 .memsz = 0x1000,
		 .flags = PF_R | PF_X},
		{.vaddr = 0x603200,
		 .offset = 0x2200,
		 .filesz = 0x100,
		 .memsz = 0x9000,
		 .flags = PF_R | PF_W},
	};
	uint64_t vaddr;

	assert_int_equal(elf_segments_vaddr(v, 3, 0x1234, &vaddr), 0);
	assert_int_equal(vaddr, 0x401234);
	assert_int_equal(elf_segments_vaddr(v, 3, 0x1000, &vaddr), 0); /* the page before it */
	assert_int_equal(vaddr, 0x401000);
	assert_int_equal(elf_segments_vaddr(v, 3, 0x2210, &vaddr), 0);
	assert_int_equal(vaddr, 0x603210);
	assert_int_equal(elf_segments_vaddr(v, 3, 0x2800, &vaddr), 0); /* either: code wins */
	assert_int_equal(vaddr, 0x402800);
	assert_int_equal(elf_segments_vaddr(v, 3, 0x3000, &vaddr), -ENOENT);
	assert_int_equal(elf_segments_vaddr(v, 3, UINT64_MAX, &vaddr), -ENOENT);
}

/* ---- symbol tables --------------------------------------------------------------------------- */

static void add(struct symtab *t, uint64_t at, uint64_t size, bool sized, const char *name)
{
	assert_int_equal(symtab_add(t, at, size, sized, SYMTAB_GLOBAL, name, strlen(name)), 0);
}

static const char *at(struct symtab *t, uint64_t addr)
{
	struct symtab_hit hit;

	return symtab_find(t, addr, &hit) ? hit.name : "";
}

static void nesting(void **state)
{
	struct symtab *t = symtab_new(0x1000);

	add(t, 0x1000, 0x100, true, "outer");
	add(t, 0x1020, 0x10, true, "inner");
	add(t, 0x1028, 0x4, true, "innermost");
	add(t, 0x1040, 0x1000, false, "label"); /* inside of outer: dropped */
	add(t, 0x1100, 0x1000, false, "asm1");
	add(t, 0x1180, 0x10, true, "sized");
	add(t, 0x1200, 0x80, false, "asm2");
	assert_int_equal(symtab_finish(t), 0);
	assert_string_equal(at(t, 0x0fff), "");
	assert_string_equal(at(t, 0x1000), "outer");
	assert_string_equal(at(t, 0x102b), "innermost");
	assert_string_equal(at(t, 0x102c), "inner");
	assert_string_equal(at(t, 0x1030), "outer");
	assert_string_equal(at(t, 0x1050), "outer");
	assert_string_equal(at(t, 0x10ff), "outer");
	assert_string_equal(at(t, 0x117f), "asm1");
	assert_string_equal(at(t, 0x1180), "sized");
	assert_string_equal(at(t, 0x1190), "");
	assert_string_equal(at(t, 0x127f), "asm2");
	assert_string_equal(at(t, 0x1280), "");
	symtab_free(t);
}

static void aliases(void **state)
{
	struct symtab *t = symtab_new(0);

	assert_int_equal(symtab_add(t, 0x10, 8, true, SYMTAB_GLOBAL, "__libc_write", 12), 0);
	assert_int_equal(symtab_add(t, 0x10, 8, true, SYMTAB_WEAK, "write@@GLIBC_2.2.5", 18), 0);
	assert_int_equal(symtab_add(t, 0x10, 64, false, SYMTAB_GLOBAL, "w", 1), 0);
	assert_int_equal(symtab_add(t, 0x20, 8, true, SYMTAB_LOCAL, "local", 5), 0);
	assert_int_equal(symtab_add(t, 0x20, 8, true, SYMTAB_GLOBAL, "global", 6), 0);
	assert_int_equal(symtab_add(t, 0x30, 8, true, SYMTAB_GLOBAL, "new\nline", 8), 0);
	assert_int_equal(symtab_add(t, 1ULL << 33, 8, true, SYMTAB_GLOBAL, "far", 3), -ERANGE);
	assert_int_equal(symtab_finish(t), 0);
	assert_int_equal(symtab_count(t), 3);
	assert_string_equal(at(t, 0x12), "write");
	assert_string_equal(at(t, 0x20), "global");
	assert_string_equal(at(t, 0x30), "new?line");
	symtab_free(t);
}

/* ---- where the symbols of stripped files are ------------------------------------------------- */

static void run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void run(const char *fmt, ...)
{
	char cmd[4 * PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	if (system(cmd))
		fail_msg("'%s' failed", cmd);
}

static void need(const char *tool)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "command -v %s >/dev/null", tool);
	if (system(cmd))
		skip();
}

static void stripped(void **state)
{
	char path[PATH_MAX];
	struct image *img;

	need("objcopy");
	snprintf(path, sizeof(path), "%s/stripped", dir);
	run("objcopy -S '%s' '%s'", self, path);
	img = load(path, -1, "");
	assert_true(nameless(img, (const void *)elf_test_function));
	assert_true(nameless(img, (const void *)elf_test_static));
	assert_true(named(img, (const void *)getauxval(AT_ENTRY), "_start"));
	assert_true(image_nameless(img) > 10);
	image_free(img);
	img = load(self, -1, ""); /* it names all that the compiler made */
	assert_true(named(img, (const void *)getauxval(AT_ENTRY), "_start"));
	assert_true(image_nameless(img) < 5);
	image_free(img);
}

/*
 * A symbol that does not say how long it is ends where the next function begins, though that one
 * has no name. A library is entered nowhere.
 */
static void open_end(void **state)
{
	char path[PATH_MAX], source[PATH_MAX];
	uint64_t start, size, entry;
	struct symtab_hit hit;
	struct elf_file *f;
	struct image *img;
	FILE *to;

	need("cc");
	snprintf(source, sizeof(source), "%s/open.s", dir);
	snprintf(path, sizeof(path), "%s/open.so", dir);
	to = fopen(source, "w");
	assert_non_null(to);
	fprintf(to, ".text\n.balign 16\n.globl open_end\n.type open_end,@function\n"
		    "open_end: nop\nret\n.balign 16\n"
		    "hidden: .cfi_startproc\nnop\n ret\n.cfi_endproc\n.balign 16\n"
		    ".globl next\n.type next,@function\nnext: nop\nret\n"
		    ".section .note.GNU-stack,\"\",@progbits\n");
	fclose(to);
	run("cc -shared -s -o '%s' '%s'", path, source);
	f = open_elf(path);
	assert_int_equal(elf_file_find_symbol(f, "open_end", &start, &size), 0);
	assert_int_equal(size, 0);
	assert_int_equal(elf_file_entry(f, &entry), -ENOENT);
	elf_file_close(f);
	img = load(path, -1, "");
	assert_true(image_find(img, start, &hit));
	assert_string_equal(hit.name, "open_end");
	assert_int_equal(hit.size, 16);
	assert_true(image_find(img, start + 16, &hit));
	assert_null(hit.name);
	assert_int_equal(hit.start, start + 16);
	assert_true(image_find(img, start + 32, &hit));
	assert_string_equal(hit.name, "next");
	image_free(img);
}

static void mini_debug_info(void **state)
{
	char path[PATH_MAX];
	struct image *img;

	need("objcopy");
	need("xz");
	snprintf(path, sizeof(path), "%s/mini", dir);
	run("cd '%s' && objcopy --only-keep-debug '%s' d && objcopy -g d d && xz -f d && "
	    "objcopy -S --add-section .gnu_debugdata=d.xz '%s' mini && rm d.xz",
	    dir, self, self);
	img = load(path, -1, "");
	assert_true(named(img, (const void *)elf_test_function, "elf_test_function"));
	assert_true(named(img, (const void *)elf_test_static, "elf_test_static"));
	image_free(img);
}

/* A root directory with a stripped binary and its debug file, as a container has. */
static void debug_files(void **state)
{
	static const char *const places[] = {"/bin/prog.debug", "/bin/.debug/prog.debug",
					     "/usr/lib/debug/bin/prog.debug"};
	int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char path[PATH_MAX], id[2 * ELF_BUILD_ID_MAX + 1] = "";
	struct elf_file *f = open_elf(self);
	const struct elf_build_id *b = elf_file_build_id(f);
	struct image *img;

	need("objcopy");
	for (size_t i = 0; i < b->len; i++)
		sprintf(id + 2 * i, "%02x", b->bytes[i]);
	elf_file_close(f);
	snprintf(path, sizeof(path), "%s/bin/prog", dir);
	run("mkdir -p '%s/bin/.debug' '%s/usr/lib/debug/bin' '%s/usr/lib/debug/.build-id/%.2s'",
	    dir, dir, dir, id);
	run("cd '%s' && objcopy --only-keep-debug '%s' prog.debug && objcopy -S '%s' bin/prog", dir,
	    self, self);
	run("cd '%s' && cp prog.debug usr/lib/debug/.build-id/%.2s/%s.debug", dir, id, id + 2);
	img = load(path, root, "/bin/prog");
	assert_true(named(img, (const void *)elf_test_static, "elf_test_static"));
	image_free(img);
	run("cd '%s' && rm usr/lib/debug/.build-id/*/*", dir);

	run("cd '%s' && objcopy --add-gnu-debuglink=prog.debug bin/prog", dir);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		run("cp '%s/prog.debug' '%s%s'", dir, dir, places[i]);
		img = load(path, root, "/bin/prog");
		assert_true(named(img, (const void *)elf_test_static, "elf_test_static"));
		image_free(img);
		/* somebody else's debug file */
		run("cp /bin/sh '%s%s'", dir, places[i]);
		img = load(path, root, "/bin/prog");
		assert_false(named(img, (const void *)elf_test_static, "elf_test_static"));
		image_free(img);
		run("rm '%s%s'", dir, places[i]);
	}
	close(root);
}

/* Without a build id the checksum decides. */
static void debug_link_crc(void **state)
{
	int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char path[PATH_MAX];
	struct image *img;

	need("objcopy");
	snprintf(path, sizeof(path), "%s/plain", dir);
	run("cd '%s' && objcopy -R .note.gnu.build-id '%s' full && "
	    "objcopy --only-keep-debug full plain.debug 2>/dev/null && objcopy -S full plain && "
	    "objcopy --add-gnu-debuglink=plain.debug plain && rm full",
	    dir, self);
	img = load(path, root, "/plain");
	assert_true(named(img, (const void *)elf_test_static, "elf_test_static"));
	image_free(img);
	run("printf x >>'%s/plain.debug'", dir);
	img = load(path, root, "/plain");
	assert_false(named(img, (const void *)elf_test_static, "elf_test_static"));
	image_free(img);
	close(root);
}

/* Is the static function named in the image that the cache has of the file for this root? */
static bool named_for(struct image_cache *c, const char *path, int root)
{
	const struct debugfile_place place = {.pid = getpid(), .proc_fd = root, .path = "/shared"};
	int fd = open(path, O_RDONLY);
	struct image_ref *ref = NULL;
	struct broker_file file;
	bool is;

	assert_int_equal(broker_identify(fd, &file), 0);
	assert_int_equal(image_cache_get(c, fd, &file, &place, &ref), 0);
	is = named(image_ref_image(ref), (const void *)elf_test_static, "elf_test_static");
	image_ref_put(ref);
	return is;
}

/*
 * A file that several processes have mapped, each of which sees a debug file of its own or none:
 * one of them does not name the functions of another.
 */
static void debug_file_of_another(void **state)
{
	int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), other;
	struct image_cache *c = image_cache_new(0);
	struct image_cache_stats s;
	char path[PATH_MAX];

	need("objcopy");
	snprintf(path, sizeof(path), "%s/other", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	run("ln -s . '%s/root'", path);
	other = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/shared", dir);
	run("cd '%s' && objcopy --only-keep-debug '%s' shared.debug && objcopy -S '%s' shared && "
	    "objcopy --add-gnu-debuglink=shared.debug shared",
	    dir, self, self);
	assert_true(named_for(c, path, root));
	assert_false(named_for(c, path, other));
	assert_false(named_for(c, path, -1));
	assert_true(named_for(c, path, root));
	image_cache_stats(c, &s);
	assert_int_equal(s.images, 2); /* what is equal is there once all the same */
	image_cache_free(c);
	close(root);
	close(other);
}

static void compressed_section(void **state)
{
	char path[PATH_MAX];
	struct elf_file *plain = open_elf(self), *f;
	struct elf_bytes a, b;
	struct elf_section s;

	need("objcopy");
	if (elf_file_bytes(plain, ".debug_str", &a))
		skip();
	snprintf(path, sizeof(path), "%s/compressed", dir);
	run("objcopy --compress-debug-sections=zlib-gabi '%s' '%s'", self, path);
	f = open_elf(path);
	assert_int_equal(elf_file_section(f, ".debug_str", &s), 0);
	assert_true(s.flags & SHF_COMPRESSED);
	assert_int_equal(elf_file_section_bytes(f, &s, &b), 0);
	assert_int_equal(b.size, a.size);
	assert_memory_equal(a.data, b.data, a.size);
	free(a.data);
	free(b.data);
	elf_file_close(f);
	elf_file_close(plain);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void read_self(struct buffer *b)
{
	int fd = open(self, O_RDONLY | O_CLOEXEC);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_non_null(buffer_reserve(b, st.st_size));
	assert_int_equal(read(fd, b->data, st.st_size), st.st_size);
	b->len = st.st_size;
	close(fd);
}

/* Any length: an error or an image, never a read beyond it (malloc'ed exactly, for ASan). */
static void truncated(void **state)
{
	struct buffer b = BUFFER_INIT;

	read_self(&b);
	for (size_t len = 0; len < b.len; len = len < 512 ? len + 1 : len + b.len / 150) {
		void *copy = malloc(len + !len);
		struct elf_file *f;
		struct image *img;

		memcpy(copy, b.data, len);
		if (!elf_file_open_memory(&f, copy, len)) {
			assert_int_equal(
				image_load(&img, f,
					   &(struct debugfile_place){.proc_fd = -1, .path = ""}),
				0);
			image_free(img);
			elf_file_close(f);
		}
		free(copy);
	}
	buffer_free(&b);
}

static void other_kinds(void **state)
{
	unsigned char h[sizeof(Elf64_Ehdr)] = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB};
	struct elf_file *f;
	int fds[2];

	assert_int_equal(elf_file_open_memory(&f, "#!/bin/sh\n", 10), -ENOEXEC);
	assert_int_equal(elf_file_open_memory(&f, h, sizeof(h)), -ENOTSUP);
	h[EI_CLASS] = ELFCLASS64;
	h[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(elf_file_open_memory(&f, h, sizeof(h)), -ENOTSUP);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(elf_file_open(&f, fds[0]), -ENOEXEC);
	close(fds[1]);
	assert_int_equal(elf_file_open(&f, open("/", O_RDONLY)), -ENOEXEC);
}

/* What has more segments than any linker makes is refused: each symbol would be looked for in all.
 */
static void many_segments(void **state)
{
	static unsigned char file[sizeof(Elf64_Ehdr) + (ELF_SEGMENTS_MAX + 1) * sizeof(Elf64_Phdr)];
	Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(h),
			.e_ehsize = sizeof(h),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = ELF_SEGMENTS_MAX};
	const Elf64_Phdr load = {.p_type = PT_LOAD, .p_flags = PF_R};
	struct elf_file *f;

	for (size_t i = 0; i <= ELF_SEGMENTS_MAX; i++)
		memcpy(file + sizeof(h) + i * sizeof(load), &load, sizeof(load));
	memcpy(file, &h, sizeof(h));
	assert_int_equal(elf_file_open_memory(&f, file, sizeof(file)), 0);
	elf_file_close(f);
	h.e_phnum++;
	memcpy(file, &h, sizeof(h));
	assert_int_equal(elf_file_open_memory(&f, file, sizeof(file)), -E2BIG);
}

/* A file that becomes shorter while it is open: an error, no SIGBUS. */
static void shrinking(void **state)
{
	char path[PATH_MAX];
	struct elf_file *f;
	struct elf_bytes b;

	snprintf(path, sizeof(path), "%s/shrinking", dir);
	run("cp '%s' '%s'", self, path);
	f = open_elf(path);
	assert_int_equal(truncate(path, 4096), 0);
	assert_int_equal(elf_file_bytes(f, ".symtab", &b), -EBADMSG);
	elf_file_close(f);
}

/* Directories stand for a process's in /proc, and for its root, too. */
static int setup(void **state)
{
	char path[PATH_MAX];

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0 || !mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/root", dir);
	return symlink(".", path);
}

static int teardown(void **state)
{
	run("rm -r '%s'", dir);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers),
		cmocka_unit_test(sections),
		cmocka_unit_test(symbols_by_name),
		cmocka_unit_test(own_image),
		cmocka_unit_test(plt_stubs),
		cmocka_unit_test(offsets),
		cmocka_unit_test(nesting),
		cmocka_unit_test(aliases),
		cmocka_unit_test(stripped),
		cmocka_unit_test(open_end),
		cmocka_unit_test(mini_debug_info),
		cmocka_unit_test(debug_files),
		cmocka_unit_test(debug_link_crc),
		cmocka_unit_test(debug_file_of_another),
		cmocka_unit_test(compressed_section),
		cmocka_unit_test(truncated),
		cmocka_unit_test(other_kinds),
		cmocka_unit_test(many_segments),
		cmocka_unit_test(shrinking),
	};

	return cmocka_run_group_tests_name("elf", tests, setup, teardown);
}
