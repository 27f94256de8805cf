/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine, a process and its control group have used so far: sums that only grow, read
 * from the kernel's files, for differences between two looks. Formats: proc(5), the kernel's
 * Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/ and accounting/psi.rst. What a kernel does
 * not tell is 0, and `has` lacks its bit.
 */
#ifndef GNOMON_TARGET_USAGE_H
#define GNOMON_TARGET_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "target/cgroup.h"

struct host_usage {
	uint64_t busy_ns, all_ns; /* of all CPUs together, in steps of 10 ms; all: idle, too */
	uint64_t stolen_ns;	  /* a hypervisor gave to others */
	uint64_t switches;
	uint64_t memory, memory_used; /* bytes, now; used: all but what can be had at once */
};

/* Bytes from and to storage. */
struct proc_io {
	uint64_t read, written;
};

struct proc_usage {
	uint64_t user_ns, system_ns; /* in steps of 10 ms */
	uint64_t minor_faults, major_faults;
	uint64_t io_wait_ns;	/* 0 without delay accounting */
	uint64_t rss, rss_peak; /* bytes, now */
	uint64_t threads;
	struct proc_io io;
};

enum group_has {
	GROUP_CPU = 1,
	GROUP_THROTTLING = 2, /* a quota is in force, here or above */
	GROUP_MEMORY = 4,
	GROUP_PRESSURE = 8,	  /* the control group's own */
	GROUP_HOST_PRESSURE = 16, /* the machine's in its place */
};

struct group_usage {
	unsigned int has;
	uint64_t cpu_ns, user_ns, system_ns;
	uint64_t slices, throttled_slices, throttled_ns; /* of the group with the quota */
	uint64_t memory, memory_swap; /* bytes, now; of the group with the limit */
	uint64_t memory_limit;	      /* 0: none */
	uint64_t limit_hits;	      /* the same */
	uint64_t oom_kills;	      /* of its own */
	/* time in which some, or all, of its tasks waited */
	uint64_t cpu_some_ns, memory_some_ns, memory_full_ns, io_some_ns, io_full_ns;
};

/*
 * A process's control group: where its files are, "" not there. What a limit does is told by the
 * group that has it, which may be one above.
 */
struct group {
	char v2[CGROUP_DIR_LEN], accounting[CGROUP_DIR_LEN], kills[CGROUP_DIR_LEN]; /* its own */
	char throttling[CGROUP_DIR_LEN], memory[CGROUP_DIR_LEN];
	uint64_t memory_limit; /* the tightest of it and those above, 0 none */
	bool quota;
	bool memory_v2; /* the files of `memory` are called as in version 2 */
};

/* ---- pure: 0 or -EBADMSG -----------------------------------------------------------------------
 */
int host_stat_parse(const char *text, size_t len, struct host_usage *out);
void host_meminfo_parse(const char *text, size_t len, struct host_usage *out);
int proc_usage_parse(const char *stat, size_t len, struct proc_usage *out);

/* The `total` of a PSI file's lines "some" and "full"; false: neither is there. */
bool pressure_parse(const char *text, size_t len, uint64_t *some_ns, uint64_t *full_ns);

/* The number in the line "NAME NUMBER" of a file such as cpu.stat. */
bool flat_number(const char *text, size_t len, const char *name, uint64_t *v);

/* ---- readers: 0 or a negative errno ------------------------------------------------------------
 */
/* But for memory, which is 0. */
int host_usage_read(struct host_usage *out);
/* Memory alone. */
void host_memory_read(struct host_usage *out);

/* But for io and rss_peak, which are 0; and rss may lag behind by much. -ESRCH: gone. */
int proc_usage_read(pid_t pid, struct proc_usage *out);
/* rss and rss_peak alone. */
void proc_memory_read(pid_t pid, struct proc_usage *out);
/* Bytes of n processes; who may look there is asked once for all. 0 where they are not known. */
void proc_io_read(const pid_t *pids, size_t n, struct proc_io *out);

int group_find(pid_t pid, struct group *out);
void group_usage_read(const struct group *g, struct group_usage *out);
/*
 * The same with fewer files, where *out is of a look shortly before: the parts of CPU time and
 * memory_swap stay as they were; and so do limit_hits without a limit, and oom_kills where the
 * limit was not hit since.
 */
void group_usage_glance(const struct group *g, struct group_usage *out);

/* CPU time of one thread, in steps of 10 ms. */
int thread_usage_read(pid_t pid, pid_t tid, uint64_t *user_ns, uint64_t *system_ns);

#endif
