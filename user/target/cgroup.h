/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control groups of a process, version 1, version 2 or both (hybrid), and the limits that
 * explain what a profile shows: CPU quota and throttling, memory. File formats: the kernel's
 * Documentation/admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst and cgroup-v1/.
 */
#ifndef GNOMON_TARGET_CGROUP_H
#define GNOMON_TARGET_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_PATH_LEN 1024
#define CGROUP_DIR_LEN	1600 /* of a group: its path behind where it is mounted */
#define CGROUP_NO_LIMIT UINT64_MAX

/* Paths as /proc/PID/cgroup has them, relative to each hierarchy; "" where there is none. */
struct cgroup_ref {
	char v2[CGROUP_PATH_LEN];
	char cpu[CGROUP_PATH_LEN]; /* v1 */
	char cpuacct[CGROUP_PATH_LEN];
	char memory[CGROUP_PATH_LEN];
	char freezer[CGROUP_PATH_LEN];
	char systemd[CGROUP_PATH_LEN]; /* v1 named hierarchy */
};

struct cgroup_limits {
	/* the tightest of the group and those above it */
	uint64_t quota_us; /* CGROUP_NO_LIMIT: none */
	uint64_t period_us;
	uint64_t memory_max; /* bytes, CGROUP_NO_LIMIT: none */
	/* of the group that has the quota, else of the process's own */
	uint64_t nr_periods, nr_throttled;
	uint64_t throttled_us;
	bool frozen;
};

/* The directories of the groups that have the limits, the process's own or above it; "" none. */
struct cgroup_places {
	char quota[CGROUP_DIR_LEN];
	char memory[CGROUP_DIR_LEN];
};

/* Where the hierarchies are mounted; from our own mountinfo. */
struct cgroup_mount {
	char point[512]; /* "" not mounted */
	char root[512];	 /* which cgroup is at the mount point, "/" usually */
};

struct cgroup_mounts {
	struct cgroup_mount v2, cpu, cpuacct, memory, freezer;
};

/* Pure. 0, or -EBADMSG when no line makes sense. */
int cgroup_parse(const char *text, size_t len, struct cgroup_ref *out);
int cgroup_mounts_parse(const char *mountinfo, size_t len, struct cgroup_mounts *out);

/* "50000 100000" or "max 100000" of cpu.max; 0 or -EBADMSG. */
int cgroup_cpu_max_parse(const char *text, size_t len, uint64_t *quota_us, uint64_t *period_us);

/* cpu.stat of either version: throttled_usec (v2) or throttled_time in ns (v1). */
void cgroup_cpu_stat_parse(const char *text, size_t len, struct cgroup_limits *out);

/*
 * The directory of a group, or false when it lies outside of what is mounted (".." in the path:
 * above the root of our cgroup namespace).
 */
bool cgroup_dir(const struct cgroup_mount *m, const char *path, char *dir, size_t cap);

/* A group's file by one read(): its length, or -errno. `dir` may be "": there is none. */
ssize_t cgroup_file_read(const char *dir, const char *name, char *buf, size_t cap);

int cgroup_read(pid_t pid, struct cgroup_ref *out);
int cgroup_mounts_read(struct cgroup_mounts *out);

/*
 * Reads the limits. A file that is not there (root group, controller not enabled, cgroup
 * namespace) means no limit. Never fails.
 */
void cgroup_limits_read(const struct cgroup_mounts *m, const struct cgroup_ref *ref,
			struct cgroup_limits *out);

/*
 * The most telling path for a person and for recordings: v2 unless that is the root, then v1's cpu,
 * memory and systemd.
 */
const char *cgroup_path(const struct cgroup_ref *ref);

void cgroup_limits_find(const struct cgroup_mounts *m, const struct cgroup_ref *ref,
			struct cgroup_limits *out, struct cgroup_places *where);

/*
 * `path` names a group as a person writes it: with or without the mount point
 * ("/sys/fs/cgroup/system.slice/x" or "/system.slice/x"). True when the process is in that group or
 * below.
 */
bool cgroup_within(const struct cgroup_mounts *m, const struct cgroup_ref *ref, const char *path);

#endif
