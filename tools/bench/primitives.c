/* SPDX-License-Identifier: Apache-2.0 */
/*
 * primitives OBJECT: what this host takes for the things that BPF programs are made of, a line each
 * of a name and nanoseconds. OBJECT is primitives.bpf.c, compiled. Medians of some runs; `cold`
 * goes to another place of 64 MB each time, `empty` is what the kernel's BPF statistics say of a
 * program that does nothing, and so a part of every cost taken from them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define RUNS  41
#define COUNT 2000 /* as in primitives.bpf.c */
#define SLOTS (1 << 18)
#define BYTES (SLOTS * 256UL)

/* Its .bss, in the order of its definitions. */
struct globals {
	__u64 memory, spread, ns;
};

static int fail(const char *what)
{
	fprintf(stderr, "primitives: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static int program(struct bpf_object *obj, const char *name)
{
	struct bpf_program *p = bpf_object__find_program_by_name(obj, name);

	return p ? bpf_program__fd(p) : fail(name);
}

static void run(int fd)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	if (bpf_prog_test_run_opts(fd, &opts))
		fail("a program cannot be run");
}

/* Of one, in ns: the median of the runs. */
static double each(struct bpf_object *obj, struct globals *g, const char *name, int cold)
{
	int fd = program(obj, name);
	double v[RUNS];

	g->spread = cold ? SLOTS - 1 : 0;
	for (int i = 0; i < RUNS; i++) {
		run(fd);
		v[i] = (double)g->ns / COUNT;
	}
	qsort(v, RUNS, sizeof(v[0]), by_value);
	return v[RUNS / 2];
}

static void empty(struct bpf_object *obj)
{
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);
	int fd = program(obj, "empty"), stats = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (stats < 0)
		fail("the kernel's BPF statistics");
	for (int i = 0; i < 20000; i++)
		run(fd);
	if (bpf_obj_get_info_by_fd(fd, &info, &len) || !info.run_cnt)
		fail("no statistics of a program");
	close(stats);
	printf("empty %.1f\n", (double)info.run_time_ns / info.run_cnt);
}

static void fill(struct bpf_object *obj)
{
	int fd = bpf_object__find_map_fd_by_name(obj, "a_hash");
	__u64 zero = 0;

	for (__u32 i = 0; i < SLOTS; i++)
		if (bpf_map_update_elem(fd, &i, &zero, BPF_ANY))
			fail("a map cannot be filled");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name, *program;
		int cold;
	} lines[] = {
		{"clock", "clock", 0},
		{"array_warm", "array", 0},
		{"array_cold", "array", 1},
		{"hash_warm", "hash", 0},
		{"hash_cold", "hash", 1},
		{"read_16_warm", "read_16", 0},
		{"read_16_cold", "read_16", 1},
		{"read_1024_warm", "read_1024", 0},
		{"read_1024_cold", "read_1024", 1},
	};
	struct bpf_object *obj = argc == 2 ? bpf_object__open(argv[1]) : NULL;
	struct globals *g;
	char *memory;
	int bss;

	if (!obj) {
		fprintf(stderr, "usage: primitives OBJECT\n");
		return 2;
	}
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED)
		fail("64 MB");
	memset(memory, 0, BYTES);
	if (bpf_object__load(obj))
		fail(argv[1]);
	bss = bpf_object__find_map_fd_by_name(obj, ".bss");
	g = mmap(NULL, sizeof(*g), PROT_READ | PROT_WRITE, MAP_SHARED, bss, 0);
	if (bss < 0 || g == MAP_FAILED)
		fail("the object's variables");
	g->memory = (unsigned long)memory;
	fill(obj);
	empty(obj);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		double none = each(obj, g, "none", lines[i].cold);
		double ns = each(obj, g, lines[i].program, lines[i].cold) - none;

		printf("%s %.1f\n", lines[i].name, ns > 0 ? ns : 0);
	}
	bpf_object__close(obj);
	return 0;
}
