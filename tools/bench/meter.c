/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command and says what a target, a profiler and its BPF programs used meanwhile:
 *
 *	meter [-p TARGET] [-c PROFILER] [-t GLOB] [-e] [-b] [-o FILE] -- COMMAND...
 *
 *	-t GLOB  threads of the target whose comm matches: their context switches, as a sum
 *	-e       a line for each thread of the target that was there at both ends
 *	-b       have the kernel time BPF programs; costs each run of each program two clock reads
 *	-o FILE  the figures go there, not to stdout
 *
 * The window is the command's life: figures are differences over it. switches_* are those of all
 * threads of the target that are there at its end; command_* are the command's own with its
 * children (rusage). What the profiler takes is what its process and those that it has made take,
 * as far as they are there at both ends. Facts: CPU time from a process's CPU clock (exact, the
 * dead threads included); of threads from /proc/PID/task/TID/ schedstat (run time, time in the run
 * queue, ns; Linux with CONFIG_SCHED_INFO), status and children (CONFIG_PROC_CHILDREN); BPF from
 * the programs and maps whose descriptors the profiler holds. Exit code: the command's.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kern/abi.h"

#define MAX_THREADS 70000
#define MAX_PROGS   256
#define MAX_MAPS    4096
#define MAX_TREE    256

struct thread {
	int tid;
	char comm[16];
	uint64_t exec_ns, delay_ns, runs, voluntary, involuntary;
};

struct prog {
	uint32_t id;
	char name[BPF_OBJ_NAME_LEN];
	uint64_t ns, runs;
};

/* A process, those that it has made, and what those have. */
struct tree {
	pid_t pids[MAX_TREE];
	size_t n;
};

struct snapshot {
	uint64_t unix_ns, target_ns, stolen_ns;
	uint64_t profiler_ns[MAX_TREE]; /* of each of `profilers` */
	struct thread *threads;
	size_t nthreads;
	struct prog progs[MAX_PROGS];
	size_t nprogs;
	uint64_t map_bytes;
	uint32_t maps[MAX_MAPS];
	size_t nmaps;
};

static pid_t target, profiler;
static const char *glob;
static bool each, bpf_timed;
static struct snapshot before, after;
static struct tree profilers; /* as they were before the window */
static struct rusage command;

static void die(const char *what)
{
	fprintf(stderr, "meter: %s: %s\n", what, strerror(errno));
	exit(125);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* 0 when the process is gone. */
static uint64_t process_ns(pid_t pid)
{
	clockid_t clock;

	return pid && !clock_getcpuclockid(pid, &clock) ? clock_ns(clock) : 0;
}

/* The file's first `size` - 1 bytes as a string, empty if it cannot be read. */
static const char *slurp(char *buf, size_t size, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, size - 1);

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return buf;
}

/* The number after `key` at the beginning of a line. */
static uint64_t field(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p ? strtoull(p + strlen(key), NULL, 10) : 0;
}

/* CPU time of all CPUs that the host of this machine has given to others (proc(5), "steal"). */
static uint64_t stolen_ns(void)
{
	unsigned long stolen = 0;
	char buf[512];

	if (sscanf(slurp(buf, sizeof(buf), "/proc/stat"), "cpu %*u %*u %*u %*u %*u %*u %*u %lu",
		   &stolen) != 1)
		return 0;
	return stolen * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* ---- the profiler's processes ---- */

static void tree_add(struct tree *t, const char *children)
{
	char *end;

	for (;; children = end) {
		pid_t pid = (pid_t)strtol(children, &end, 10);

		if (end == children || t->n == MAX_TREE)
			return;
		t->pids[t->n++] = pid;
	}
}

static void tree_read(struct tree *t, pid_t root)
{
	char path[300], buf[4096];

	t->pids[t->n++] = root;
	for (size_t i = 0; i < t->n; i++) {
		struct dirent *d;
		DIR *dir;

		snprintf(path, sizeof(path), "/proc/%d/task", t->pids[i]);
		dir = opendir(path);
		while (dir && (d = readdir(dir))) {
			snprintf(path, sizeof(path), "/proc/%d/task/%s/children", t->pids[i],
				 d->d_name);
			tree_add(t, slurp(buf, sizeof(buf), path));
		}
		if (dir)
			closedir(dir);
	}
}

static void profiler_read(struct snapshot *s)
{
	for (size_t i = 0; i < profilers.n; i++)
		s->profiler_ns[i] = process_ns(profilers.pids[i]);
}

/* What those took that are there at both ends. */
static uint64_t profiler_ns(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profilers.n; i++)
		if (after.profiler_ns[i])
			sum += after.profiler_ns[i] - before.profiler_ns[i];
	return sum;
}

/* What all of them have resident, with a part of each page that several have. */
static uint64_t profiler_bytes(void)
{
	char path[40], buf[4096];
	uint64_t sum = 0;

	for (size_t i = 0; i < profilers.n; i++) {
		snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", profilers.pids[i]);
		sum += field(slurp(buf, sizeof(buf), path), "\nPss:") * 1024;
	}
	return sum;
}

/* ---- threads ---- */

static bool thread_read(struct thread *t, int tid)
{
	char path[64], buf[4096];

	t->tid = tid;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", target, tid);
	if (sscanf(slurp(buf, sizeof(buf), path), "%lu %lu %lu", &t->exec_ns, &t->delay_ns,
		   &t->runs) != 3)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", target, tid);
	slurp(buf, sizeof(buf), path);
	if (sscanf(buf, "Name:\t%15[^\n]", t->comm) != 1)
		return false;
	t->voluntary = field(buf, "\nvoluntary_ctxt_switches:");
	t->involuntary = field(buf, "\nnonvoluntary_ctxt_switches:");
	return true;
}

static int by_tid(const void *a, const void *b)
{
	return ((const struct thread *)a)->tid - ((const struct thread *)b)->tid;
}

static void threads_read(struct snapshot *s)
{
	char path[32];
	struct dirent *d;
	DIR *dir;

	s->threads = calloc(MAX_THREADS, sizeof(*s->threads));
	snprintf(path, sizeof(path), "/proc/%d/task", target);
	dir = opendir(path);
	if (!s->threads)
		die("no memory for threads");
	if (!dir) /* gone: its CPU time is missing from what we say, too */
		return;
	while ((d = readdir(dir)) && s->nthreads < MAX_THREADS)
		if (d->d_name[0] != '.' && thread_read(&s->threads[s->nthreads], atoi(d->d_name)))
			s->nthreads++;
	closedir(dir);
	qsort(s->threads, s->nthreads, sizeof(*s->threads), by_tid);
}

/* ---- BPF ---- */

static int prog_info(uint32_t id, struct bpf_prog_info *info)
{
	union bpf_attr attr = {.prog_id = id};
	int fd = (int)syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr)), rc;

	if (fd < 0)
		return -1;
	memset(info, 0, sizeof(*info));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(*info);
	attr.info.info = (uint64_t)(uintptr_t)info;
	rc = (int)syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
	close(fd);
	return rc;
}

static void prog_add(struct snapshot *s, uint32_t id)
{
	struct bpf_prog_info info;
	struct prog *p = &s->progs[s->nprogs];

	for (size_t i = 0; i < s->nprogs; i++)
		if (s->progs[i].id == id)
			return;
	if (s->nprogs == MAX_PROGS || prog_info(id, &info))
		return;
	p->id = id;
	memcpy(p->name, info.name, sizeof(p->name));
	p->ns = info.run_time_ns;
	p->runs = info.run_cnt;
	s->nprogs++;
}

static bool is_ticker(int map)
{
	struct bpf_map_info info = {0};
	union bpf_attr attr = {.info = {.bpf_fd = (uint32_t)map,
					.info_len = sizeof(info),
					.info = (uint64_t)(uintptr_t)&info}};

	return !syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) &&
	       !strcmp(info.name, "tickers") && info.value_size == sizeof(struct gn_ticker);
}

/* A timer of BPF runs for none of the programs. gnomon's keeps its own account. */
static void ticker_add(struct snapshot *s, uint32_t id)
{
	union bpf_attr attr = {.map_id = id};
	int fd = (int)syscall(SYS_bpf, BPF_MAP_GET_FD_BY_ID, &attr, sizeof(attr));
	struct gn_ticker t;
	uint32_t zero = 0;

	if (fd < 0)
		return;
	attr = (union bpf_attr){.map_fd = (uint32_t)fd,
				.key = (uint64_t)(uintptr_t)&zero,
				.value = (uint64_t)(uintptr_t)&t};
	if (is_ticker(fd) && s->nprogs < MAX_PROGS &&
	    !syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)))
		s->progs[s->nprogs++] =
			(struct prog){.id = ~id, .name = "ticker_at", .ns = t.ns, .runs = t.runs};
	close(fd);
}

/* Several descriptors may be of one map: its memory counts once. */
static void map_add(struct snapshot *s, const char *info)
{
	uint32_t id = (uint32_t)field(info, "\nmap_id:");

	for (size_t i = 0; i < s->nmaps; i++)
		if (s->maps[i] == id)
			return;
	if (!id || s->nmaps == MAX_MAPS)
		return;
	s->maps[s->nmaps++] = id;
	s->map_bytes += field(info, "\nmemlock:");
	ticker_add(s, id);
}

/* Programs, links to programs and maps among the profiler's descriptors. */
static void bpf_read(struct snapshot *s)
{
	char path[300], buf[4096];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", profiler);
	dir = opendir(path);
	if (!dir)
		return;
	while ((d = readdir(dir))) {
		uint32_t id;

		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", profiler, d->d_name);
		slurp(buf, sizeof(buf), path);
		map_add(s, buf);
		id = (uint32_t)field(buf, "\nprog_id:");
		if (id)
			prog_add(s, id);
	}
	closedir(dir);
}

/* The descriptor keeps the statistics on until we end. */
static void bpf_time(void)
{
	union bpf_attr attr = {.enable_stats.type = BPF_STATS_RUN_TIME};

	if (syscall(SYS_bpf, BPF_ENABLE_STATS, &attr, sizeof(attr)) < 0)
		die("cannot have BPF programs timed");
}

/* ---- the window ---- */

/* The slow reads lie outside of the window at both ends. */
static void snapshot_before(struct snapshot *s)
{
	if (target)
		threads_read(s);
	if (profiler) {
		bpf_read(s);
		tree_read(&profilers, profiler);
	}
	s->target_ns = process_ns(target);
	profiler_read(s);
	s->stolen_ns = stolen_ns();
	s->unix_ns = clock_ns(CLOCK_REALTIME);
}

static void snapshot_after(struct snapshot *s)
{
	s->unix_ns = clock_ns(CLOCK_REALTIME);
	s->target_ns = process_ns(target);
	profiler_read(s);
	s->stolen_ns = stolen_ns();
	if (profiler)
		bpf_read(s);
	if (target)
		threads_read(s);
}

static int command_run(char **argv)
{
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		execvp(argv[0], argv);
		die(argv[0]);
	}
	while (wait4(pid, &status, 0, &command) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- output ---- */

static void print_memory(FILE *f, const char *who, pid_t pid)
{
	char path[32], buf[4096];

	if (!pid)
		return;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	slurp(buf, sizeof(buf), path);
	fprintf(f, "%s_rss_bytes %lu\n", who, field(buf, "\nVmRSS:") * 1024);
	fprintf(f, "%s_rss_peak_bytes %lu\n", who, field(buf, "\nVmHWM:") * 1024);
	fprintf(f, "%s_threads %lu\n", who, field(buf, "\nThreads:"));
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

static void print_command(FILE *f)
{
	fprintf(f, "command_cpu_ns %lu\ncommand_rss_peak_bytes %lu\ncommand_switches %lu\n",
		timeval_ns(command.ru_utime) + timeval_ns(command.ru_stime),
		(uint64_t)command.ru_maxrss * 1024,
		(uint64_t)(command.ru_nvcsw + command.ru_nivcsw));
}

/* A thread that began in the window has all its switches in it. */
static void print_switches(FILE *f)
{
	uint64_t voluntary = 0, involuntary = 0;

	for (size_t i = 0; i < after.nthreads; i++) {
		const struct thread *b = &after.threads[i];
		const struct thread *a =
			bsearch(b, before.threads, before.nthreads, sizeof(*b), by_tid);

		voluntary += b->voluntary - (a ? a->voluntary : 0);
		involuntary += b->involuntary - (a ? a->involuntary : 0);
	}
	fprintf(f, "switches_voluntary %lu\nswitches_involuntary %lu\n", voluntary, involuntary);
}

static void print_threads(FILE *f)
{
	uint64_t n = 0, voluntary = 0, involuntary = 0, touched = 0;

	for (size_t i = 0; i < after.nthreads; i++) {
		const struct thread *b = &after.threads[i];
		const struct thread *a =
			bsearch(b, before.threads, before.nthreads, sizeof(*b), by_tid);

		if (!a)
			continue;
		if (each)
			fprintf(f, "thread %d %lu %lu %lu %lu %s\n", b->tid,
				b->exec_ns - a->exec_ns, b->delay_ns - a->delay_ns,
				b->voluntary - a->voluntary, b->involuntary - a->involuntary,
				b->comm);
		if (!glob || fnmatch(glob, b->comm, 0))
			continue;
		n++;
		voluntary += b->voluntary - a->voluntary;
		involuntary += b->involuntary - a->involuntary;
		touched += b->runs != a->runs;
	}
	if (glob)
		fprintf(f,
			"matched_threads %lu\nmatched_voluntary %lu\nmatched_involuntary %lu\n"
			"matched_ran %lu\n",
			n, voluntary, involuntary, touched);
}

static void print_bpf(FILE *f)
{
	uint64_t ns = 0, runs = 0;

	for (size_t i = 0; i < after.nprogs; i++) {
		struct prog p = after.progs[i];

		for (size_t k = 0; k < before.nprogs; k++)
			if (before.progs[k].id == p.id) {
				p.ns -= before.progs[k].ns;
				p.runs -= before.progs[k].runs;
			}
		ns += p.ns;
		runs += p.runs;
		if (p.runs)
			fprintf(f, "bpf_prog %s %lu %lu\n", p.name, p.ns, p.runs);
	}
	fprintf(f, "bpf_map_bytes %lu\n", after.map_bytes);
	if (bpf_timed)
		fprintf(f, "bpf_ns %lu\nbpf_runs %lu\n", ns, runs);
}

static void print(FILE *f)
{
	fprintf(f, "from_unix_ns %lu\nto_unix_ns %lu\nwall_ns %lu\n", before.unix_ns, after.unix_ns,
		after.unix_ns - before.unix_ns);
	fprintf(f, "stolen_ns %lu\n", after.stolen_ns - before.stolen_ns);
	/* 0 at the end: gone */
	if (target && after.target_ns)
		fprintf(f, "target_cpu_ns %lu\n", after.target_ns - before.target_ns);
	if (profiler && after.profiler_ns[0])
		fprintf(f, "profiler_cpu_ns %lu\nprofiler_bytes %lu\n", profiler_ns(),
			profiler_bytes());
	print_memory(f, "target", target);
	print_memory(f, "profiler", profiler);
	print_threads(f);
	if (target)
		print_switches(f);
	print_command(f);
	if (profiler)
		print_bpf(f);
}

int main(int argc, char **argv)
{
	FILE *f = stdout;
	int c, rc;

	while ((c = getopt(argc, argv, "+p:c:t:o:eb")) != -1) {
		switch (c) {
		case 'p':
			target = atoi(optarg);
			break;
		case 'c':
			profiler = atoi(optarg);
			break;
		case 't':
			glob = optarg;
			break;
		case 'o':
			f = fopen(optarg, "w");
			if (!f)
				die(optarg);
			break;
		case 'e':
			each = true;
			break;
		case 'b':
			bpf_timed = true;
			break;
		default:
			return 2;
		}
	}
	if (optind == argc) {
		fprintf(stderr,
			"usage: meter [-p PID] [-c PID] [-t GLOB] [-eb] [-o FILE] -- COMMAND\n");
		return 2;
	}
	if (bpf_timed)
		bpf_time();
	snapshot_before(&before);
	rc = command_run(&argv[optind]);
	snapshot_after(&after);
	print(f);
	if (fclose(f))
		die("cannot write");
	return rc;
}
