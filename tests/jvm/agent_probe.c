/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives jvm/attach.h and jvm/agent.h from the shell:
 *
 *   agent_probe check PID            attach state, "ok" or the reason
 *   agent_probe names PID MS         attach, follow for MS, print every piece of code that is known
 *   agent_probe cycle PID N          N times attach and stop
 *   agent_probe die PID              attach and exit without a word (as kill -9 would)
 *   agent_probe perfmap PID
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <dirent.h>

#include "jvm/agent.h"
#include "jvm/attach.h"
#include "jvm/jproc.h"

static int fail(const struct error *e)
{
	error_print(e);
	return e->exit;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static int run_check(pid_t pid)
{
	struct attach_status st;

	if (attach_check(pid, &st) == ATTACH_OK)
		printf("ok listening=%d agents=%d\n", st.listening, st.agents);
	else
		printf("no %d: %s (%s)\n", st.state, st.reason, st.hint);
	return 0;
}

/* One line per change of the logical frames. */
static void print_frames(struct agent *a, uint64_t pc, uint64_t now)
{
	static char last[8192];
	struct frame_name f[64];
	char text[8192];
	int i, n = agent_lookup(a, pc, now, f, 64), len = 0;

	for (i = 0; i < n && len < 8000; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len,
				" %.100s.%.100s%.100s:%d@%d/%d", f[i].klass, f[i].method, f[i].sig,
				f[i].line, f[i].bci, f[i].type);
	text[len] = '\0';
	if (strcmp(text, last))
		printf("pc %#lx%s\n", pc, text);
	memcpy(last, text, sizeof(last));
}

/* Walk the executable mappings without a file: the code cache. */
static void print_code(struct agent *a, uint64_t lo, uint64_t hi)
{
	uint64_t pc, start, now = now_ns();
	uint32_t size;

	for (pc = lo; pc < hi;) {
		if (!agent_range(a, pc, now, &start, &size)) {
			pc += 32;
			continue;
		}
		printf("code %#lx %u\n", start, size);
		for (pc = start; pc < start + size; pc += 4)
			print_frames(a, pc, now);
		pc = start + size > pc ? start + size : pc + 32;
	}
}

static void print_codecache(struct agent *a, pid_t pid)
{
	char path[64], line[512], perms[8];
	unsigned long lo, hi, ino;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &lo, &hi, perms, &ino) == 4 &&
		    !strcmp(perms, "rwxp") && !ino)
			print_code(a, lo, hi);
	if (f)
		fclose(f);
}

static void print_threads(struct agent *a, pid_t pid)
{
	char path[64];
	struct dirent *de;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (de = readdir(d))) {
		const char *name = agent_thread_name(a, atoi(de->d_name));

		if (name)
			printf("thread %s %s\n", de->d_name, name);
	}
	if (d)
		closedir(d);
}

static void print_stats(struct agent *a)
{
	struct agent_stats s;

	agent_stats(a, &s);
	printf("stats records=%lu lost=%lu bad=%lu refused=%lu methods=%u codes=%u threads=%u "
	       "bytes=%lu overtaken=%lu attach_ms=%.1f reused=%d complete=%d\n",
	       s.index.records, s.index.lost, s.index.bad, s.index.refused, s.index.methods,
	       s.index.codes, s.index.threads, s.index.bytes, s.overtaken, s.attach_ns / 1e6,
	       s.reused, s.complete);
}

static int run_names(pid_t pid, int ms, bool perfmap)
{
	struct agent_config cfg = {.perfmap = perfmap};
	struct error e = {0};
	struct agent *a;
	uint64_t end;

	if (agent_start(&a, pid, &cfg, &e))
		return fail(&e);
	end = now_ns() + (uint64_t)ms * 1000000;
	while (now_ns() < end) {
		if (agent_poll(a) < 0)
			break;
		usleep(10000);
	}
	print_codecache(a, pid);
	print_threads(a, pid);
	print_stats(a);
	agent_stop(a);
	return 0;
}

static int run_cycle(pid_t pid, int n)
{
	struct error e = {0};
	struct agent *a;
	int i;

	for (i = 0; i < n; i++) {
		if (agent_start(&a, pid, NULL, &e))
			return fail(&e);
		if (i == n - 1)
			print_stats(a);
		agent_stop(a);
	}
	return 0;
}

static int run_die(pid_t pid)
{
	struct error e = {0};
	struct agent *a;

	if (agent_start(&a, pid, NULL, &e))
		return fail(&e);
	_exit(0);
}

static int run_perfmap(pid_t pid)
{
	struct error e = {0};

	return agent_write_perfmap(pid, 0, &e) ? fail(&e) : 0;
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 2 ? atoi(argv[2]) : 0;
	int n = argc > 3 ? atoi(argv[3]) : 0;

	if (argc < 3)
		return EXIT_USAGE;
	if (!strcmp(argv[1], "check"))
		return run_check(pid);
	if (!strcmp(argv[1], "names"))
		return run_names(pid, n, false);
	if (!strcmp(argv[1], "follow"))
		return run_names(pid, n, true);
	if (!strcmp(argv[1], "cycle"))
		return run_cycle(pid, n);
	if (!strcmp(argv[1], "die"))
		return run_die(pid);
	if (!strcmp(argv[1], "perfmap"))
		return run_perfmap(pid);
	return EXIT_USAGE;
}
