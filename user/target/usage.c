/* SPDX-License-Identifier: Apache-2.0 */
#include "target/usage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/cgroup.h"
#include "target/procfs.h"
#include "target/text.h"

#define US	 1000ull
#define IO_TEXTS 64 /* that are read at a time */

/* ---- parsers ----------------------------------------------------------------------------------
 */

bool flat_number(const char *text, size_t len, const char *name, uint64_t *v)
{
	struct text t = text_of(text, len), line, word;

	while (text_line(&t, &line))
		if (text_word(&line, &word) && text_is(word, name))
			return text_word_u64(&line, v);
	return false;
}

/* "cpu  user nice system idle iowait irq softirq steal guest guest_nice": guests count as users. */
static bool cpu_line(struct text line, struct host_usage *out)
{
	uint64_t v[8] = {0}, idle, all = 0;
	size_t n = 0;

	while (n < 8 && text_word_u64(&line, &v[n]))
		all += v[n++];
	idle = v[3] + v[4];
	out->all_ns = proc_ticks_ns(all);
	out->stolen_ns = proc_ticks_ns(v[7]);
	out->busy_ns = proc_ticks_ns(all - idle - v[7]);
	return n >= 4;
}

int host_stat_parse(const char *text, size_t len, struct host_usage *out)
{
	struct text t = text_of(text, len), line, word;
	bool cpus = false;

	while (text_line(&t, &line)) {
		if (!text_word(&line, &word))
			continue;
		if (text_is(word, "cpu"))
			cpus = cpu_line(line, out);
		else if (text_is(word, "ctxt"))
			text_word_u64(&line, &out->switches);
	}
	return cpus ? 0 : -EBADMSG;
}

void host_meminfo_parse(const char *text, size_t len, struct host_usage *out)
{
	uint64_t total = 0, available = 0;

	flat_number(text, len, "MemTotal:", &total);
	flat_number(text, len, "MemAvailable:", &available);
	out->memory = total << 10;
	out->memory_used = available < total ? (total - available) << 10 : 0;
}

/* Numbers as proc(5) has them; the state is 3. */
static void stat_field(struct proc_usage *u, int n, uint64_t v)
{
	switch (n) {
	case 10:
		u->minor_faults = v;
		break;
	case 12:
		u->major_faults = v;
		break;
	case 14:
		u->user_ns = proc_ticks_ns(v);
		break;
	case 15:
		u->system_ns = proc_ticks_ns(v);
		break;
	case 20:
		u->threads = v;
		break;
	case 24:
		u->rss = v * (uint64_t)sysconf(_SC_PAGESIZE);
		break;
	case 42:
		u->io_wait_ns = proc_ticks_ns(v);
		break;
	}
}

/* The name stands in round brackets and may hold some, too. */
int proc_usage_parse(const char *stat, size_t len, struct proc_usage *out)
{
	const char *close = memrchr(stat, ')', len);
	struct text t, word;
	int n = 3;

	*out = (struct proc_usage){0};
	if (!close)
		return -EBADMSG;
	t = text_of(close + 1, len - (size_t)(close + 1 - stat));
	for (; text_word(&t, &word); n++) {
		uint64_t v;

		if (text_number(&word, 10, &v))
			stat_field(out, n, v);
	}
	return n > 24 ? 0 : -EBADMSG;
}

bool pressure_parse(const char *text, size_t len, uint64_t *some_ns, uint64_t *full_ns)
{
	struct text t = text_of(text, len), line, word;
	bool any = false;

	while (text_line(&t, &line)) {
		uint64_t *to = NULL, v;

		while (text_word(&line, &word)) {
			if (text_is(word, "some"))
				to = some_ns;
			else if (text_is(word, "full"))
				to = full_ns;
			else if (to && text_eat(&word, "total=") && text_number(&word, 10, &v)) {
				*to = v * US;
				any = true;
			}
		}
	}
	return any;
}

/* ---- readers ----------------------------------------------------------------------------------
 */

int host_usage_read(struct host_usage *out)
{
	/* interrupts have a line of a number each, in front of which is what we want but for ctxt
	 */
	static __thread char buf[64 << 10];
	ssize_t n = file_read_once("/proc/stat", buf, sizeof(buf));

	*out = (struct host_usage){0};
	return n < 0 ? (int)n : host_stat_parse(buf, (size_t)n, out);
}

void host_memory_read(struct host_usage *out)
{
	char buf[4096];
	ssize_t n = file_read_once("/proc/meminfo", buf, sizeof(buf));

	if (n > 0)
		host_meminfo_parse(buf, (size_t)n, out);
}

static struct proc_io io_parse(const char *text, size_t len)
{
	struct proc_io io = {0};

	flat_number(text, len, "read_bytes:", &io.read);
	flat_number(text, len, "write_bytes:", &io.written);
	return io;
}

void proc_io_read(const pid_t *pids, size_t n, struct proc_io *out)
{
	char texts[IO_TEXTS][PROC_TEXT_BYTES];
	size_t some;

	for (size_t at = 0; at < n; at += some) {
		some = n - at < IO_TEXTS ? n - at : IO_TEXTS;
		proc_texts_read(pids + at, some, "io", false, texts);
		for (size_t i = 0; i < some; i++)
			out[at + i] = io_parse(texts[i], strlen(texts[i]));
	}
}

int proc_usage_read(pid_t pid, struct proc_usage *out)
{
	char buf[4096];
	ssize_t n = proc_read_once(pid, "stat", buf, sizeof(buf));

	return n < 0 ? (int)n : proc_usage_parse(buf, (size_t)n, out);
}

void proc_memory_read(pid_t pid, struct proc_usage *out)
{
	char buf[4096];
	ssize_t n = proc_read_once(pid, "status", buf, sizeof(buf));
	uint64_t kb = 0;

	if (n > 0 && flat_number(buf, (size_t)n, "VmHWM:", &kb))
		out->rss_peak = kb << 10;
	if (n > 0 && flat_number(buf, (size_t)n, "VmRSS:", &kb))
		out->rss = kb << 10; /* stat's may lag behind by much */
}

int thread_usage_read(pid_t pid, pid_t tid, uint64_t *user_ns, uint64_t *system_ns)
{
	struct proc_usage u;
	char name[48], buf[2048];
	ssize_t n;
	int rc;

	snprintf(name, sizeof(name), "task/%d/stat", tid);
	n = proc_read_once(pid, name, buf, sizeof(buf));
	if (n < 0)
		return (int)n;
	rc = proc_usage_parse(buf, (size_t)n, &u);
	*user_ns = u.user_ns;
	*system_ns = u.system_ns;
	return rc;
}

/* *v stays as it is where there is none. */
static bool group_number(const char *dir, const char *name, uint64_t *v)
{
	char buf[64];
	ssize_t n = cgroup_file_read(dir, name, buf, sizeof(buf));
	struct text t = text_of(buf, n > 0 ? (size_t)n : 0);
	uint64_t is;

	if (!text_number(&t, 10, &is))
		return false;
	*v = is;
	return true;
}

static void group_dir(const struct cgroup_mount *m, const char *path, char dir[CGROUP_DIR_LEN])
{
	if (!cgroup_dir(m, path, dir, CGROUP_DIR_LEN))
		dir[0] = '\0';
}

int group_find(pid_t pid, struct group *out)
{
	struct cgroup_mounts mounts;
	struct cgroup_limits limits;
	struct cgroup_places where;
	struct cgroup_ref ref;
	int rc = cgroup_mounts_read(&mounts);
	uint64_t any;

	*out = (struct group){0};
	if (!rc)
		rc = cgroup_read(pid, &ref);
	if (rc)
		return rc;
	group_dir(&mounts.v2, ref.v2, out->v2);
	group_dir(&mounts.cpuacct, ref.cpuacct, out->accounting);
	group_dir(&mounts.memory, ref.memory, out->kills);
	cgroup_limits_find(&mounts, &ref, &limits, &where);
	out->memory_limit = limits.memory_max == CGROUP_NO_LIMIT ? 0 : limits.memory_max;
	out->quota = limits.quota_us != CGROUP_NO_LIMIT;
	memcpy(out->throttling, where.quota, sizeof(where.quota));
	if (!out->kills[0])
		memcpy(out->kills, out->v2, sizeof(out->v2));
	memcpy(out->memory, where.memory[0] ? where.memory : out->kills, sizeof(out->memory));
	out->memory_v2 = group_number(out->memory, "memory.current", &any);
	return 0;
}

/* Of version 2: its CPU time. */
static void cpu_stat_cpu(const char *text, size_t len, struct group_usage *out)
{
	uint64_t us;

	if (!flat_number(text, len, "usage_usec", &us))
		return;
	out->has |= GROUP_CPU;
	out->cpu_ns = us * US;
	if (flat_number(text, len, "user_usec", &us))
		out->user_ns = us * US;
	if (flat_number(text, len, "system_usec", &us))
		out->system_ns = us * US;
}

/* Both versions' names: throttled_usec, and throttled_time in ns. */
static void cpu_stat_throttling(const char *text, size_t len, struct group_usage *out)
{
	uint64_t us;

	out->has |= GROUP_THROTTLING;
	flat_number(text, len, "nr_periods", &out->slices);
	flat_number(text, len, "nr_throttled", &out->throttled_slices);
	flat_number(text, len, "throttled_time", &out->throttled_ns);
	if (flat_number(text, len, "throttled_usec", &us))
		out->throttled_ns = us * US;
}

/*
 * Version 1 where it has the controller: the group of version 2 may be the root then. Of that one
 * the file is often the same as that of the group with the quota. `all`: its parts, too.
 */
static void cpu_read(const struct group *g, bool all, struct group_usage *out)
{
	bool v1 = group_number(g->accounting, "cpuacct.usage", &out->cpu_ns);
	bool same = !v1 && !strcmp(g->v2, g->throttling);
	char buf[4096];
	ssize_t n;

	if (v1) {
		out->has |= GROUP_CPU;
		if (all) {
			group_number(g->accounting, "cpuacct.usage_user", &out->user_ns);
			group_number(g->accounting, "cpuacct.usage_sys", &out->system_ns);
		}
	} else {
		n = cgroup_file_read(g->v2, "cpu.stat", buf, sizeof(buf));
		if (n > 0)
			cpu_stat_cpu(buf, (size_t)n, out);
		if (n > 0 && same)
			cpu_stat_throttling(buf, (size_t)n, out);
	}
	n = same ? 0 : cgroup_file_read(g->throttling, "cpu.stat", buf, sizeof(buf));
	if (n > 0)
		cpu_stat_throttling(buf, (size_t)n, out);
}

static void kills_read(const char *dir, struct group_usage *out)
{
	static const char *const names[] = {"memory.events", "memory.oom_control"};
	char buf[1024];

	for (int i = 0; i < 2; i++) {
		ssize_t n = cgroup_file_read(dir, names[i], buf, sizeof(buf));

		if (n > 0 && flat_number(buf, (size_t)n, "oom_kill", &out->oom_kills))
			return;
	}
}

static void hits_read(const struct group *g, struct group_usage *out)
{
	char buf[1024];
	ssize_t n;

	if (!g->memory_v2) {
		group_number(g->memory, "memory.failcnt", &out->limit_hits);
		return;
	}
	n = cgroup_file_read(g->memory, "memory.events", buf, sizeof(buf));
	if (n > 0)
		flat_number(buf, (size_t)n, "max", &out->limit_hits);
}

static void swap_read(const struct group *g, struct group_usage *out)
{
	uint64_t swap = 0;

	if (g->memory_v2) {
		group_number(g->memory, "memory.swap.current", &swap);
		out->memory_swap = out->memory + swap;
	} else {
		out->memory_swap = out->memory;
		group_number(g->memory, "memory.memsw.usage_in_bytes", &out->memory_swap);
	}
}

/*
 * Who was killed is told of the group that it was in: version 1 tells no group above. The root's
 * memory nobody tells in version 2, nor a group's without the controller.
 */
static void memory_read(const struct group *g, bool all, struct group_usage *out)
{
	uint64_t hits = out->limit_hits;

	if (!group_number(g->memory, g->memory_v2 ? "memory.current" : "memory.usage_in_bytes",
			  &out->memory))
		return;
	out->has |= GROUP_MEMORY;
	if (all)
		swap_read(g, out);
	if (all || g->memory_limit)
		hits_read(g, out);
	if (!all && out->limit_hits == hits)
		return;
	kills_read(g->memory, out);
	if (strcmp(g->memory, g->kills))
		kills_read(g->kills, out);
}

static bool pressures_read(const char *dir, const char *suffix, struct group_usage *out)
{
	static const char *const names[] = {"cpu", "memory", "io"};
	uint64_t cpu_full = 0;
	uint64_t *const to[][2] = {{&out->cpu_some_ns, &cpu_full},
				   {&out->memory_some_ns, &out->memory_full_ns},
				   {&out->io_some_ns, &out->io_full_ns}};
	char name[32], buf[256];
	bool any = false;

	for (int i = 0; i < 3; i++) {
		ssize_t n;

		snprintf(name, sizeof(name), "%s%s", names[i], suffix);
		n = cgroup_file_read(dir, name, buf, sizeof(buf));
		any |= n > 0 && pressure_parse(buf, (size_t)n, to[i][0], to[i][1]);
	}
	return any;
}

static void group_look(const struct group *g, bool all, struct group_usage *out)
{
	out->has = 0;
	out->memory_limit = g->memory_limit;
	cpu_read(g, all, out);
	memory_read(g, all, out);
	if (pressures_read(g->v2, ".pressure", out))
		out->has |= GROUP_PRESSURE;
	else if (pressures_read("/proc/pressure", "", out))
		out->has |= GROUP_HOST_PRESSURE;
}

void group_usage_read(const struct group *g, struct group_usage *out)
{
	*out = (struct group_usage){0};
	group_look(g, true, out);
}

void group_usage_glance(const struct group *g, struct group_usage *out)
{
	group_look(g, false, out);
}
