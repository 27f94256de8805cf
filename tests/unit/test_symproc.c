/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/inroot.h"
#include "sym/cache.h"
#include "sym/mapfile.h"
#include "sym/proc.h"

int main(void);
int symproc_test_global(int x);

__attribute__((noinline)) int symproc_test_global(int x)
{
	return x * 3 + 1;
}

__attribute__((noinline)) static int symproc_test_static(int x)
{
	__asm__ volatile("");
	return x * 5 + 2;
}

/* What C++ calls void Probe::spin(int). */
int cpp_spin(int x) __asm__("_ZN5Probe4spinEi");

__attribute__((noinline)) int cpp_spin(int x)
{
	return x * 7 + 3;
}

struct fixture {
	struct image_cache *cache;
	struct symproc *sp;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->cache = image_cache_new(0);
	assert_int_equal(symproc_open(&f->sp, getpid(), f->cache, NULL), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	symproc_close(f->sp);
	image_cache_free(f->cache);
	free(f);
	return 0;
}

static void check_name(struct symproc *sp, uintptr_t addr, const char *klass, const char *method,
		       int type)
{
	struct frame_name n;

	assert_int_equal(symproc_lookup(sp, addr, &n), 0);
	assert_string_equal(n.klass, klass);
	assert_string_equal(n.method, method);
	assert_int_equal(n.type, type);
	assert_string_equal(n.sig, "");
	assert_int_equal(n.line, -1);
}

static void own_functions(void **state)
{
	struct fixture *f = *state;

	check_name(f->sp, (uintptr_t)symproc_test_global, "test_symproc", "symproc_test_global",
		   FRAME_NATIVE);
	check_name(f->sp, (uintptr_t)symproc_test_global + 1, "test_symproc", "symproc_test_global",
		   FRAME_NATIVE);
	check_name(f->sp, (uintptr_t)symproc_test_static, "test_symproc", "symproc_test_static",
		   FRAME_NATIVE);
	check_name(f->sp, (uintptr_t)cpp_spin, "test_symproc", "Probe::spin", FRAME_CPP);
	check_name(f->sp, (uintptr_t)main, "test_symproc", "main", FRAME_NATIVE);
}

static void libc_functions(void **state)
{
	struct fixture *f = *state;
	static const char *const names[] = {"malloc", "qsort", "strtol", "fopen", "getenv"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *p = dlsym(dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY), names[i]);

		assert_non_null(p);
		check_name(f->sp, (uintptr_t)p, "libc.so.6", names[i], FRAME_NATIVE);
	}
}

static void vdso(void **state)
{
	struct fixture *f = *state;
	uintptr_t base = getauxval(AT_SYSINFO_EHDR);
	const struct mapping *mp = maps_find(symproc_maps(f->sp), base);
	bool found = false;
	struct frame_name n;

	assert_non_null(mp);
	for (uintptr_t a = base; a < mp->end && !found; a += 16)
		if (!symproc_lookup(f->sp, a, &n))
			found = strstr(n.method, "clock_gettime") != NULL;
	assert_true(found);
	assert_string_equal(n.klass, "(vdso)");
	assert_int_equal(symproc_lookup(f->sp, base, &n), -ENOENT);
	assert_string_equal(n.method, "+0x0");
}

/* In a mapping that is new. How soon maps are read again depends on how long that took. */
static void lookup_new(struct fixture *f, uintptr_t addr, struct frame_name *n)
{
	for (int i = 0; i < 200; i++) {
		symproc_changed(f->sp);
		usleep(50000);
		assert_int_equal(symproc_lookup(f->sp, addr, n), -ENOENT);
		if (strcmp(n->klass, "(unknown)"))
			return;
	}
}

static void without_symbol(void **state)
{
	struct fixture *f = *state;
	void *anon = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct frame_name n;

	lookup_new(f, (uintptr_t)anon, &n);
	assert_string_equal(n.klass, "(anon)");
	assert_string_equal(n.method, "[anon]");
	assert_int_equal(symproc_lookup(f->sp, 0x10, &n), -ENOENT);
	assert_string_equal(n.klass, "(unknown)");
	assert_string_equal(n.method, "[unknown]");
	assert_int_equal(symproc_lookup(f->sp, UINT64_MAX, &n), -ENOENT);
	assert_int_equal(symproc_lookup(f->sp, (uintptr_t)&n, &n), -ENOENT);
	assert_string_equal(n.klass, "(stack)");
	munmap(anon, 4096);
}

/* A file without code mapped executable: its offset is all there is to say. No class begins with
 * "[". */
static void not_elf(void **state)
{
	struct fixture *f = *state;
	char path[] = "/tmp/[gnomon-sym-XXXXXX", want[64];
	int fd = mkstemp(path);
	struct frame_name n;
	void *p;

	assert_int_equal(ftruncate(fd, 8192), 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
	assert_true(p != MAP_FAILED);
	lookup_new(f, (uintptr_t)p + 0x23, &n);
	assert_string_equal(n.method, "+0x1023");
	snprintf(want, sizeof(want), "(%s", path + 6);
	assert_string_equal(n.klass, want);
	munmap(p, 4096);
	close(fd);
	unlink(path);
}

/* ---- another process, whose files change under it ------------------------------------------ */

struct child {
	pid_t pid;
	uintptr_t addr; /* of a function of the library copy it has loaded */
};

static void copy_self(const char *to)
{
	char self[PATH_MAX] = "", cmd[2 * PATH_MAX];

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(cmd, sizeof(cmd), "cp '%s' '%s'", self, to);
	assert_int_equal(system(cmd), 0);
}

/*
 * A child that maps the code of `path`, in the root directory `root` unless that is NULL, and
 * reports where `offset` of it lies.
 */
static struct child child_start(const char *root, const char *path, uint64_t offset)
{
	struct child c;
	int pipe_fd[2];

	assert_int_equal(pipe(pipe_fd), 0);
	c.pid = fork();
	if (!c.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (root && chroot(root))
			_exit(1);
		int fd = open(path, O_RDONLY);
		void *p =
			mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, offset & ~4095ULL);
		uintptr_t addr = (uintptr_t)p + (offset & 4095);

		if (fd < 0 || p == MAP_FAILED || write(pipe_fd[1], &addr, sizeof(addr)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	close(pipe_fd[1]);
	assert_int_equal(read(pipe_fd[0], &c.addr, sizeof(c.addr)), sizeof(c.addr));
	close(pipe_fd[0]);
	return c;
}

static void child_stop(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

/* The file offset of symproc_test_global in this binary, from our own mapping. */
static uint64_t own_offset(struct symproc *sp)
{
	uintptr_t addr = (uintptr_t)symproc_test_global;
	const struct mapping *mp = maps_find(symproc_maps(sp), addr);

	return addr - mp->start + mp->offset;
}

static bool can_open_map_files(void)
{
	char path[] = "/proc/self/map_files";
	int fd = open(path, O_RDONLY | O_DIRECTORY);

	close(fd);
	return geteuid() == 0 && fd >= 0;
}

static void deleted_and_replaced(void **state)
{
	struct fixture *f = *state;
	char dir[] = "/tmp/gnomon-sym-XXXXXX", path[64];
	struct symproc *sp;
	struct frame_name n;
	struct child c;

	if (!can_open_map_files())
		skip();
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/lib a.so", dir);
	copy_self(path);
	c = child_start(NULL, path, own_offset(f->sp));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0); /* another file of that name: must not be opened */
	assert_int_equal(symproc_open(&sp, c.pid, f->cache, NULL), 0);
	check_name(sp, c.addr, "lib a.so", "symproc_test_global", FRAME_NATIVE);
	child_stop(&c);
	/* loaded images keep their names, others fail politely */
	symproc_changed(sp);
	usleep(50000);
	check_name(sp, c.addr + 1, "lib a.so", "symproc_test_global", FRAME_NATIVE);
	assert_true(symproc_ended(sp));
	assert_int_equal(symproc_lookup(sp, getauxval(AT_SYSINFO_EHDR), &n), -ENOENT);
	symproc_close(sp);
	unlink(path);
	rmdir(dir);
}

/* All of a stripped function has one name, by where it begins; the next one has another. */
static void without_names(void **state)
{
	struct fixture *f = *state;
	char dir[] = "/tmp/gnomon-sym-XXXXXX", cmd[2 * PATH_MAX], path[64], want[64];
	uint64_t offset = own_offset(f->sp);
	const struct mapping *mp;
	struct frame_name n;
	struct symproc *sp;
	struct child c;

	if (!can_open_map_files() || system("command -v objcopy >/dev/null"))
		skip();
	mp = maps_find(symproc_maps(f->sp), (uintptr_t)symproc_test_global);
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/stripped", dir);
	snprintf(cmd, sizeof(cmd), "objcopy -S '%s' '%s'", maps_path(symproc_maps(f->sp), mp),
		 path);
	assert_int_equal(system(cmd), 0);
	c = child_start(NULL, path, offset);
	assert_int_equal(symproc_open(&sp, c.pid, f->cache, NULL), 0);
	/* code lies at the offset in the file at which it is linked, or a whole segment away */
	assert_int_equal(symproc_lookup(sp, c.addr + 1, &n), 0);
	assert_string_equal(n.klass, "stripped");
	assert_memory_equal(n.method, "+0x", 3);
	assert_int_equal((strtoull(n.method + 1, NULL, 16) - offset) % 4096, 0);
	snprintf(want, sizeof(want), "%s", n.method);
	check_name(sp, c.addr, "stripped", want, FRAME_NATIVE);
	c.addr += (uintptr_t)cpp_spin - (uintptr_t)symproc_test_global; /* beside it */
	assert_int_equal(symproc_lookup(sp, c.addr, &n), 0);
	assert_memory_equal(n.method, "+0x", 3);
	assert_string_not_equal(n.method, want);
	symproc_close(sp);
	child_stop(&c);
	unlink(path);
	rmdir(dir);
}

/* The path alone (as without privileges): verified by inode. */
static void by_path(void **state)
{
	struct fixture *f = *state;
	const struct mapping *mp = maps_find(symproc_maps(f->sp), (uintptr_t)main);
	const char *path = maps_path(symproc_maps(f->sp), mp);
	struct mapping other = *mp;
	int fd;

	other.start++; /* no such entry in map_files */
	fd = mapfile_open(getpid(), symproc_proc_fd(f->sp), &other, path, NULL);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(
		mapfile_open(getpid(), symproc_proc_fd(f->sp), &other, "/etc/passwd", NULL),
		-ESTALE);
	assert_int_equal(mapfile_open(getpid(), symproc_proc_fd(f->sp), &other, "/no/such", NULL),
			 -ENOENT);
	other.inode++;
	assert_int_equal(mapfile_open(getpid(), symproc_proc_fd(f->sp), &other, path, NULL),
			 -ESTALE);
}

/* A chroot()ed process: its maps have the path of its root in front. */
static void chrooted(void **state)
{
	struct fixture *f = *state;
	char dir[] = "/tmp/gnomon-sym-XXXXXX", path[64];
	const struct mapping *mp;
	struct mapping other;
	struct symproc *sp;
	struct child c;
	int fd;

	if (geteuid())
		skip();
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/lib.so", dir);
	copy_self(path);
	c = child_start(dir, "/lib.so", own_offset(f->sp));
	assert_int_equal(symproc_open(&sp, c.pid, f->cache, NULL), 0);
	mp = maps_find(symproc_maps(sp), c.addr);
	assert_non_null(mp);
	other = *mp;
	other.start++; /* no such entry in map_files */
	fd = mapfile_open(c.pid, symproc_proc_fd(sp), &other, maps_path(symproc_maps(sp), mp),
			  NULL);
	assert_true(fd >= 0);
	close(fd);
	assert_string_equal(mapfile_path_in_root(symproc_proc_fd(sp), path), "/lib.so");
	check_name(sp, c.addr, "lib.so", "symproc_test_global", FRAME_NATIVE);
	symproc_close(sp);
	child_stop(&c);
	unlink(path);
	rmdir(dir);
}

static void regular_only(void **state)
{
	char dir[] = "/tmp/gnomon-sym-XXXXXX";
	int root, fd;

	assert_non_null(mkdtemp(dir));
	root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkfifoat(root, "fifo", 0600), 0);
	assert_int_equal(symlinkat("/etc/passwd", root, "out"), 0);
	assert_int_equal(symlinkat("/../../../../real", root, "in"), 0);
	fd = openat(root, "real", O_CREAT | O_WRONLY, 0600);
	close(fd);
	assert_int_equal(inroot_open_regular(root, "/fifo", O_RDONLY), -EINVAL);
	assert_int_equal(inroot_open_regular(root, "/", O_RDONLY), -EINVAL);
	assert_int_equal(inroot_open_regular(root, "/out", O_RDONLY),
			 -ENOENT); /* stays below root */
	fd = inroot_open_regular(root, "/in", O_RDONLY);
	assert_true(fd >= 0);
	close(fd);
	unlinkat(root, "fifo", 0);
	unlinkat(root, "out", 0);
	unlinkat(root, "in", 0);
	unlinkat(root, "real", 0);
	close(root);
	rmdir(dir);
}

static void loaded_later(void **state)
{
	struct fixture *f = *state;
	void *h, *p;
	struct frame_name n;
	glob_t g;

	if (glob("/usr/lib/*/libm.so.6", 0, NULL, &g))
		skip();
	symproc_lookup(f->sp, 0x10, &n);
	h = dlopen(g.gl_pathv[0], RTLD_NOW);
	assert_non_null(h);
	p = dlsym(h, "cbrt");
	usleep(300000); /* no hint: the unknown address alone, once the limit has passed */
	check_name(f->sp, (uintptr_t)p, "libm.so.6", "cbrt", FRAME_NATIVE);
	dlclose(h);
	symproc_changed(f->sp);
	usleep(100000);
	check_name(f->sp, (uintptr_t)p, "libm.so.6", "cbrt", FRAME_NATIVE);
	globfree(&g);
}

#define SECOND 1000000000ULL

/*
 * Whether other code is mapped is looked at within a second of names being asked for, and seldom
 * where nobody asks.
 */
static void moved(void **state)
{
	struct fixture *f = *state;
	uint64_t now = 100 * SECOND;
	int fd = open("/proc/self/exe", O_RDONLY);
	struct frame_name n;
	void *p;

	symproc_lookup(f->sp, (uintptr_t)symproc_test_global, &n);
	assert_false(symproc_moved(f->sp, now)); /* the first look */
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_false(symproc_moved(f->sp, now + 9 * SECOND));
	symproc_lookup(f->sp, (uintptr_t)symproc_test_global, &n);
	now += 100 * SECOND;
	assert_true(symproc_moved(f->sp, now));
	assert_false(symproc_moved(f->sp, now + 100 * SECOND));
	munmap(p, 4096);
	assert_true(symproc_moved(f->sp, now + 300 * SECOND));
}

static void no_process(void **state)
{
	struct error e = {0};
	struct symproc *sp;

	assert_int_equal(symproc_open(&sp, 0x3fffffff, NULL, &e), -ESRCH);
	assert_int_equal(e.exit, EXIT_TARGET);
}

/* ---- the cache ------------------------------------------------------------------------------- */

static int try_get(struct image_cache *c, const char *path, struct image_ref **r)
{
	const struct debugfile_place nowhere = {.proc_fd = -1, .path = ""};
	int fd = open(path, O_RDONLY);
	struct broker_file file;

	assert_int_equal(broker_identify(fd, &file), 0);
	return image_cache_get(c, fd, &file, &nowhere, r);
}

static struct image_ref *get(struct image_cache *c, const char *path)
{
	struct image_ref *r = NULL;

	assert_int_equal(try_get(c, path, &r), 0);
	return r;
}

static void cache_shares(void **state)
{
	struct image_cache *c = image_cache_new(0);
	struct image_cache_stats s;
	char path[] = "/tmp/gnomon-sym-XXXXXX";
	struct image_ref *a, *b, *d;

	close(mkstemp(path));
	copy_self(path);
	a = get(c, "/proc/self/exe");
	b = get(c, "/proc/self/exe");
	d = get(c, path);
	assert_ptr_equal(a, b);
	assert_ptr_equal(a, d);
	image_cache_stats(c, &s);
	assert_int_equal(s.images, 1);
	assert_int_equal(s.loads, 2);
	assert_int_equal(s.hits, 1);
	assert_true(s.bytes > image_bytes(image_ref_image(a)));
	image_ref_put(a);
	image_ref_put(b);
	image_ref_put(d);
	image_cache_free(c);
	unlink(path);
}

static void cache_bound(void **state)
{
	struct image_ref *a, *r = NULL;
	struct image_cache *c = image_cache_new(0);
	struct image_cache_stats s;
	size_t size;

	a = get(c, "/proc/self/exe");
	size = image_bytes(image_ref_image(a));
	image_ref_put(a);
	image_cache_free(c);

	c = image_cache_new(size + 512); /* room for this one only */
	a = get(c, "/proc/self/exe");
	assert_int_equal(try_get(c, "/usr/bin/env", &r), -ENOSPC);
	image_ref_put(a); /* unused now: it makes room */
	assert_int_equal(try_get(c, "/usr/bin/env", &r), 0);
	image_cache_stats(c, &s);
	assert_int_equal(s.images, 1);
	assert_int_equal(s.evicted, 1);
	image_ref_put(r);
	image_cache_free(c);

	c = image_cache_new(size / 2);
	assert_int_equal(try_get(c, "/proc/self/exe", &r), -ENOSPC);
	image_cache_stats(c, &s);
	assert_int_equal(s.images, 0);
	image_cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(own_functions, setup, teardown),
		cmocka_unit_test_setup_teardown(libc_functions, setup, teardown),
		cmocka_unit_test_setup_teardown(vdso, setup, teardown),
		cmocka_unit_test_setup_teardown(without_symbol, setup, teardown),
		cmocka_unit_test_setup_teardown(not_elf, setup, teardown),
		cmocka_unit_test_setup_teardown(deleted_and_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(without_names, setup, teardown),
		cmocka_unit_test_setup_teardown(by_path, setup, teardown),
		cmocka_unit_test_setup_teardown(chrooted, setup, teardown),
		cmocka_unit_test(regular_only),
		cmocka_unit_test_setup_teardown(loaded_later, setup, teardown),
		cmocka_unit_test_setup_teardown(moved, setup, teardown),
		cmocka_unit_test(no_process),
		cmocka_unit_test(cache_shares),
		cmocka_unit_test(cache_bound),
	};

	return cmocka_run_group_tests_name("symproc", tests, NULL, NULL);
}
