/* SPDX-License-Identifier: Apache-2.0 */
#include "target/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target/procfs.h"
#include "target/text.h"

#define CGROUP_TEXT_MAX	   (64u << 10)
#define CGROUP_MOUNTS_MAX  (4u << 20)
#define CGROUP_V1_NO_LIMIT (1ULL << 60) /* v1 writes "none" as the largest page count */

/* ---- parsers --------------------------------------------------------------------------------- */

static bool list_has(struct text list, const char *name)
{
	struct text item;

	while (text_cut(&list, ',', &item))
		if (text_is(item, name))
			return true;
	return false;
}

/* "0::/path" (v2), "4:cpu,cpuacct:/path", "1:name=systemd:/path". A path may contain colons. */
static bool cgroup_line(struct text line, struct cgroup_ref *out)
{
	struct text id, ctl;

	if (!text_cut(&line, ':', &id) || !text_cut(&line, ':', &ctl) || line.p >= line.end ||
	    *line.p != '/' || text_len(line) >= CGROUP_PATH_LEN)
		return false;
	if (text_is(id, "0") && ctl.p == ctl.end)
		text_copy(line, out->v2, sizeof(out->v2));
	if (list_has(ctl, "cpu"))
		text_copy(line, out->cpu, sizeof(out->cpu));
	if (list_has(ctl, "cpuacct"))
		text_copy(line, out->cpuacct, sizeof(out->cpuacct));
	if (list_has(ctl, "memory"))
		text_copy(line, out->memory, sizeof(out->memory));
	if (list_has(ctl, "freezer"))
		text_copy(line, out->freezer, sizeof(out->freezer));
	if (list_has(ctl, "name=systemd"))
		text_copy(line, out->systemd, sizeof(out->systemd));
	return true;
}

int cgroup_parse(const char *text, size_t len, struct cgroup_ref *out)
{
	struct text t = text_of(text, len), line;
	bool any = false;

	memset(out, 0, sizeof(*out));
	while (text_line(&t, &line))
		any |= cgroup_line(line, out);
	return any ? 0 : -EBADMSG;
}

static void mount_set(struct cgroup_mount *to, const struct proc_mount *m)
{
	if (to->point[0])
		return; /* the first one is the usual place */
	snprintf(to->point, sizeof(to->point), "%s", m->point);
	snprintf(to->root, sizeof(to->root), "%s", m->root);
}

static int mount_take(const struct proc_mount *m, void *arg)
{
	struct text opts = text_of(m->options, strlen(m->options));
	struct cgroup_mounts *out = arg;

	if (!strcmp(m->fstype, "cgroup2"))
		mount_set(&out->v2, m);
	if (strcmp(m->fstype, "cgroup"))
		return 0;
	if (list_has(opts, "cpu"))
		mount_set(&out->cpu, m);
	if (list_has(opts, "cpuacct"))
		mount_set(&out->cpuacct, m);
	if (list_has(opts, "memory"))
		mount_set(&out->memory, m);
	if (list_has(opts, "freezer"))
		mount_set(&out->freezer, m);
	return 0;
}

int cgroup_mounts_parse(const char *mountinfo, size_t len, struct cgroup_mounts *out)
{
	memset(out, 0, sizeof(*out));
	return proc_mountinfo_parse(mountinfo, len, mount_take, out);
}

int cgroup_cpu_max_parse(const char *text, size_t len, uint64_t *quota_us, uint64_t *period_us)
{
	struct text t = text_of(text, len), line, w;

	if (!text_line(&t, &line) || !text_word(&line, &w))
		return -EBADMSG;
	if (text_is(w, "max"))
		*quota_us = CGROUP_NO_LIMIT;
	else if (!text_number(&w, 10, quota_us) || w.p != w.end)
		return -EBADMSG;
	return text_word_u64(&line, period_us) && *period_us ? 0 : -EBADMSG;
}

void cgroup_cpu_stat_parse(const char *text, size_t len, struct cgroup_limits *out)
{
	struct text t = text_of(text, len), line, key;
	uint64_t v;

	out->nr_periods = out->nr_throttled = out->throttled_us = 0;
	while (text_line(&t, &line)) {
		if (!text_word(&line, &key) || !text_word_u64(&line, &v))
			continue;
		if (text_is(key, "nr_periods"))
			out->nr_periods = v;
		else if (text_is(key, "nr_throttled"))
			out->nr_throttled = v;
		else if (text_is(key, "throttled_usec"))
			out->throttled_us = v;
		else if (text_is(key, "throttled_time"))
			out->throttled_us = v / 1000;
	}
}

/* ---- readers --------------------------------------------------------------------------------- */

int cgroup_read(pid_t pid, struct cgroup_ref *out)
{
	char *text;
	size_t len;
	int rc = proc_read_all(pid, "cgroup", CGROUP_TEXT_MAX, &text, &len);

	if (rc)
		return rc;
	rc = cgroup_parse(text, len, out);
	free(text);
	return rc;
}

int cgroup_mounts_read(struct cgroup_mounts *out)
{
	char *text;
	size_t len;
	int rc = proc_read_all(getpid(), "mountinfo", CGROUP_MOUNTS_MAX, &text, &len);

	memset(out, 0, sizeof(*out));
	if (rc)
		return rc;
	rc = cgroup_mounts_parse(text, len, out);
	free(text);
	return rc;
}

/* `path` is `above` or lies below it. */
static bool path_within(const char *path, const char *above)
{
	size_t n = strlen(above);

	while (n && above[n - 1] == '/')
		n--;
	return !strncmp(path, above, n) && (path[n] == '/' || !path[n]);
}

bool cgroup_dir(const struct cgroup_mount *m, const char *path, char *dir, size_t cap)
{
	size_t skip = strcmp(m->root, "/") ? strlen(m->root) : 0;

	if (!m->point[0] || !path[0] || strstr(path, "/..") || !path_within(path, m->root))
		return false;
	return snprintf(dir, cap, "%s%s", m->point, path + skip) < (int)cap;
}

ssize_t cgroup_file_read(const char *dir, const char *name, char *buf, size_t cap)
{
	char path[2048];

	if (!dir[0])
		return -ENOENT;
	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	return file_read_once(path, buf, cap);
}

static bool group_u64(const char *dir, const char *name, uint64_t *v)
{
	char buf[64];
	ssize_t n = cgroup_file_read(dir, name, buf, sizeof(buf));
	struct text t;

	if (n <= 0)
		return false;
	t = text_of(buf, (size_t)n);
	return text_number(&t, 10, v);
}

/* The parent directory, in place; false at the mount point. */
static bool group_up(const struct cgroup_mount *m, char *dir)
{
	char *slash = strrchr(dir, '/');

	if (!slash || strlen(dir) <= strlen(m->point) || (size_t)(slash - dir) < strlen(m->point))
		return false;
	*slash = '\0';
	return true;
}

static bool quota_read(const char *dir, bool v2, uint64_t *quota, uint64_t *period)
{
	char buf[128];
	ssize_t n;

	if (!v2) /* no quota is -1, which is not a number here */
		return group_u64(dir, "cpu.cfs_quota_us", quota) &&
		       group_u64(dir, "cpu.cfs_period_us", period) && *period;
	n = cgroup_file_read(dir, "cpu.max", buf, sizeof(buf));
	return n > 0 && !cgroup_cpu_max_parse(buf, (size_t)n, quota, period) &&
	       *quota != CGROUP_NO_LIMIT;
}

static void stat_read(const char *dir, struct cgroup_limits *out)
{
	char buf[4096];
	ssize_t n = cgroup_file_read(dir, "cpu.stat", buf, sizeof(buf));

	if (n > 0)
		cgroup_cpu_stat_parse(buf, (size_t)n, out);
}

static void cpu_limits(const struct cgroup_mount *m, const char *path, bool v2,
		       struct cgroup_limits *out, struct cgroup_places *where)
{
	uint64_t quota, period;
	char dir[CGROUP_DIR_LEN];

	if (!cgroup_dir(m, path, dir, sizeof(dir)))
		return;
	stat_read(dir, out);
	do {
		if (!quota_read(dir, v2, &quota, &period))
			continue;
		/* a quota of fewer CPUs is tighter: compare quota / period without dividing */
		if (out->quota_us != CGROUP_NO_LIMIT &&
		    (double)quota * (double)out->period_us >=
			    (double)out->quota_us * (double)period)
			continue;
		out->quota_us = quota;
		out->period_us = period;
		stat_read(dir, out);
		memcpy(where->quota, dir, sizeof(dir));
	} while (group_up(m, dir));
}

static void memory_limits(const struct cgroup_mount *m, const char *path, const char *file,
			  struct cgroup_limits *out, struct cgroup_places *where)
{
	char dir[CGROUP_DIR_LEN];
	uint64_t v;

	if (!cgroup_dir(m, path, dir, sizeof(dir)))
		return;
	do {
		if (!group_u64(dir, file, &v) || v >= CGROUP_V1_NO_LIMIT || v >= out->memory_max)
			continue;
		out->memory_max = v;
		memcpy(where->memory, dir, sizeof(dir));
	} while (group_up(m, dir));
}

static bool frozen_v2(const struct cgroup_mount *m, const char *path)
{
	struct text t, line;
	char dir[CGROUP_DIR_LEN], buf[256];
	ssize_t n;

	if (!cgroup_dir(m, path, dir, sizeof(dir)))
		return false;
	n = cgroup_file_read(dir, "cgroup.events", buf, sizeof(buf));
	t = text_of(buf, n > 0 ? (size_t)n : 0);
	while (text_line(&t, &line))
		if (text_is(line, "frozen 1"))
			return true;
	return false;
}

static bool frozen_v1(const struct cgroup_mount *m, const char *path)
{
	char dir[CGROUP_DIR_LEN], buf[64];

	return cgroup_dir(m, path, dir, sizeof(dir)) &&
	       cgroup_file_read(dir, "freezer.state", buf, sizeof(buf)) > 0 &&
	       (!strncmp(buf, "FROZEN", 6) || !strncmp(buf, "FREEZING", 8));
}

/* A hybrid host has the controllers in v1 and still a v2 path: what is mounted decides. */
void cgroup_limits_find(const struct cgroup_mounts *m, const struct cgroup_ref *ref,
			struct cgroup_limits *out, struct cgroup_places *where)
{
	where->quota[0] = where->memory[0] = '\0';
	*out = (struct cgroup_limits){
		.quota_us = CGROUP_NO_LIMIT,
		.memory_max = CGROUP_NO_LIMIT,
	};
	cpu_limits(&m->v2, ref->v2, true, out, where);
	cpu_limits(&m->cpu, ref->cpu, false, out, where);
	memory_limits(&m->v2, ref->v2, "memory.max", out, where);
	memory_limits(&m->memory, ref->memory, "memory.limit_in_bytes", out, where);
	out->frozen = frozen_v2(&m->v2, ref->v2) || frozen_v1(&m->freezer, ref->freezer);
}

void cgroup_limits_read(const struct cgroup_mounts *m, const struct cgroup_ref *ref,
			struct cgroup_limits *out)
{
	struct cgroup_places where;

	cgroup_limits_find(m, ref, out, &where);
}

const char *cgroup_path(const struct cgroup_ref *ref)
{
	const char *const all[] = {ref->v2, ref->cpu, ref->memory, ref->systemd};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i][0] && strcmp(all[i], "/"))
			return all[i];
	return ref->v2[0] || ref->cpu[0] ? "/" : "";
}

static bool within(const struct cgroup_mount *m, const char *group, const char *path)
{
	size_t n = strlen(m->point);

	if (!group[0])
		return false;
	if (n && path_within(path, m->point))
		path = path[n] ? path + n : "/";
	return path_within(group, path);
}

bool cgroup_within(const struct cgroup_mounts *m, const struct cgroup_ref *ref, const char *path)
{
	static const struct cgroup_mount none;

	return within(&m->v2, ref->v2, path) || within(&m->cpu, ref->cpu, path) ||
	       within(&m->memory, ref->memory, path) || within(&m->freezer, ref->freezer, path) ||
	       within(&none, ref->systemd, path);
}
