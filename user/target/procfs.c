/* SPDX-License-Identifier: Apache-2.0 */
#include "target/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "broker/broker.h"
#include "target/text.h"

_Static_assert(PROC_TEXT_BYTES == BROKER_TEXT_BYTES, "one is the other");

/* ---- parsers --------------------------------------------------------------------------------- */

static const char *last_paren(const char *text, size_t len)
{
	return len ? memrchr(text, ')', len) : NULL;
}

/* Fields 3 (state) to 22 (start time) of stat, which follow the comm. */
static int stat_fields(struct text t, struct proc_stat *out)
{
	uint64_t f[23] = {0};
	struct text w;

	if (!text_word(&t, &w) || text_len(w) != 1)
		return -EBADMSG;
	out->state = *w.p;
	for (int i = 4; i <= 22; i++) {
		bool negative;

		if (!text_word(&t, &w))
			return -EBADMSG;
		/* tty, tpgid, priority and nice may be negative: not of interest, but well-formed
		 */
		negative = text_eat(&w, "-");
		if (!text_number(&w, 10, &f[i]))
			return -EBADMSG;
		if (negative)
			f[i] = 0;
	}
	out->ppid = (pid_t)f[4];
	out->flags = (uint32_t)f[9];
	out->utime = f[14];
	out->stime = f[15];
	out->threads = f[20];
	out->start = f[22];
	return 0;
}

/* The comm may hold spaces, newlines and parentheses; nothing after it does, so the last one ends
 * it. */
int proc_stat_parse(const char *text, size_t len, struct proc_stat *out)
{
	const char *close = last_paren(text, len);
	struct text t = text_of(text, len);
	uint64_t pid;

	memset(out, 0, sizeof(*out));
	if (!text_number(&t, 10, &pid) || pid > INT32_MAX || !text_eat(&t, " (") || !close ||
	    close < t.p)
		return -EBADMSG;
	out->pid = (pid_t)pid;
	text_copy((struct text){t.p, close}, out->comm, sizeof(out->comm));
	t.p = close + 1;
	return stat_fields(t, out);
}

static void status_ids(struct text v, uint32_t ids[4])
{
	uint64_t n;

	for (int i = 0; i < 4 && text_word_u64(&v, &n); i++)
		ids[i] = (uint32_t)n;
}

static void status_nspid(struct text v, struct proc_status *out)
{
	uint64_t n;

	out->nspid_n = 0;
	while (out->nspid_n < PROC_NS_LEVELS && text_word_u64(&v, &n))
		out->nspid[out->nspid_n++] = (pid_t)n;
}

static void status_pid(struct text v, pid_t *pid)
{
	uint64_t n;

	if (text_word_u64(&v, &n) && n <= INT32_MAX)
		*pid = (pid_t)n;
}

static void status_mask(struct text v, uint64_t *mask)
{
	text_skip_blanks(&v);
	if (!text_number(&v, 16, mask))
		*mask = 0;
}

static void status_field(struct text key, struct text v, struct proc_status *out)
{
	if (text_is(key, "State")) {
		text_skip_blanks(&v);
		out->state = v.p < v.end ? *v.p : 0;
	} else if (text_is(key, "Tgid")) {
		status_pid(v, &out->tgid);
	} else if (text_is(key, "Pid")) {
		status_pid(v, &out->pid);
	} else if (text_is(key, "PPid")) {
		status_pid(v, &out->ppid);
	} else if (text_is(key, "TracerPid")) {
		status_pid(v, &out->tracer);
	} else if (text_is(key, "Uid")) {
		status_ids(v, out->uid);
	} else if (text_is(key, "Gid")) {
		status_ids(v, out->gid);
	} else if (text_is(key, "NSpid")) {
		status_nspid(v, out);
	} else if (text_is(key, "Threads")) {
		status_pid(v, &out->threads);
	} else if (text_is(key, "SigBlk")) {
		status_mask(v, &out->sigblk);
	} else if (text_is(key, "SigIgn")) {
		status_mask(v, &out->sigign);
	} else if (text_is(key, "SigCgt")) {
		status_mask(v, &out->sigcgt);
	} else if (text_is(key, "CapEff")) {
		status_mask(v, &out->cap_eff);
	}
}

/* Line by line is safe: the kernel escapes newlines in Name, the only free text. */
int proc_status_parse(const char *text, size_t len, struct proc_status *out)
{
	struct text t = text_of(text, len), line, key;

	memset(out, 0, sizeof(*out));
	while (text_line(&t, &line))
		if (text_cut(&line, ':', &key))
			status_field(key, line, out);
	return out->pid > 0 && out->tgid > 0 && out->state ? 0 : -EBADMSG;
}

int proc_stolen_parse(const char *text, size_t len, uint64_t *ticks)
{
	struct text t = text_of(text, len), line;
	uint64_t other;

	*ticks = 0;
	if (!text_line(&t, &line) || !text_eat(&line, "cpu "))
		return -EBADMSG;
	for (int i = 0; i < 7; i++) /* user nice system idle iowait irq softirq */
		if (!text_word_u64(&line, &other))
			return i < 4 ? -EBADMSG : 0;
	text_word_u64(&line, ticks);
	return 0;
}

int proc_busy_parse(const char *text, size_t len, uint64_t *ticks)
{
	struct text t = text_of(text, len), line;
	uint64_t v;

	*ticks = 0;
	if (!text_line(&t, &line) || !text_eat(&line, "cpu "))
		return -EBADMSG;
	for (int i = 0; i < 7; i++) { /* user nice system idle iowait irq softirq */
		if (!text_word_u64(&line, &v))
			return i < 4 ? -EBADMSG : 0;
		if (i != 3 && i != 4)
			*ticks += v;
	}
	return 0;
}

/* The kernel keeps seconds within KTIME_SEC_MAX / 2 and nanoseconds in one second. */
static bool timens_offset(struct text line, int64_t *ns)
{
	uint64_t seconds, rest;
	bool negative;
	struct text w;

	if (!text_word(&line, &w))
		return false;
	negative = text_eat(&w, "-");
	if (!text_number(&w, 10, &seconds) || w.p != w.end || !text_word_u64(&line, &rest) ||
	    seconds > INT64_MAX / 2 / 1000000000 || rest >= 1000000000)
		return false;
	*ns = (negative ? -(int64_t)seconds : (int64_t)seconds) * 1000000000 + (int64_t)rest;
	return true;
}

int proc_timens_parse(const char *text, size_t len, int64_t *monotonic)
{
	struct text t = text_of(text, len), line, key;

	*monotonic = 0;
	while (text_line(&t, &line))
		if (text_word(&line, &key) && text_is(key, "monotonic"))
			return timens_offset(line, monotonic) ? 0 : -EBADMSG;
	return -EBADMSG;
}

/* Takes over `data`, which has a NUL at data[len]. */
static int args_index(char *data, size_t len, struct proc_args *out)
{
	size_t n = 0;

	*out = (struct proc_args){.data = data};
	for (size_t i = 0; i < len && n < PROC_ARGC_MAX; i += strlen(data + i) + 1)
		n++;
	out->v = calloc(n + 1, sizeof(*out->v));
	if (!out->v) {
		proc_args_free(out);
		return -ENOMEM;
	}
	for (size_t i = 0; i < len; i += strlen(data + i) + 1) {
		if (out->n == n) {
			out->cut = true;
			break;
		}
		out->v[out->n++] = data + i;
	}
	return 0;
}

int proc_args_parse(const char *text, size_t len, struct proc_args *out)
{
	bool cut = len > PROC_ARGS_MAX;
	char *copy;
	int rc;

	*out = (struct proc_args){0};
	if (cut)
		len = PROC_ARGS_MAX;
	copy = malloc(len + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	copy[len] = '\0';
	rc = args_index(copy, len, out);
	out->cut |= cut;
	return rc;
}

void proc_args_free(struct proc_args *a)
{
	free(a->data);
	free(a->v);
	*a = (struct proc_args){0};
}

const char *proc_env_find(const struct proc_args *env, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < env->n; i++)
		if (!strncmp(env->v[i], name, n) && env->v[i][n] == '=')
			return env->v[i] + n + 1;
	return NULL;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Blanks, newlines and backslashes come as \040 and the like. */
static void unescape(struct text t, char *to, size_t cap)
{
	size_t n = 0;

	while (t.p < t.end && n + 1 < cap) {
		if (text_len(t) >= 4 && t.p[0] == '\\' && is_octal(t.p[1]) && is_octal(t.p[2]) &&
		    is_octal(t.p[3])) {
			to[n++] =
				(char)((t.p[1] - '0') << 6 | (t.p[2] - '0') << 3 | (t.p[3] - '0'));
			t.p += 4;
		} else {
			to[n++] = *t.p++;
		}
	}
	to[n] = '\0';
}

/* "36 35 98:0 /root /point rw,noatime [optional fields] - type source superoptions" */
static void mount_flags(struct text t, struct proc_mount *m)
{
	struct text one;

	m->read_only = m->noexec = false;
	while (text_cut(&t, ',', &one)) {
		m->read_only |= text_is(one, "ro");
		m->noexec |= text_is(one, "noexec");
	}
}

static bool mount_parse(struct text t, struct proc_mount *m)
{
	struct text w, dev, root, point;
	uint64_t major, minor;

	if (!text_word(&t, &w) || !text_word(&t, &w) || !text_word(&t, &dev) ||
	    !text_word(&t, &root) || !text_word(&t, &point))
		return false;
	if (!text_number(&dev, 10, &major) || !text_eat(&dev, ":") ||
	    !text_number(&dev, 10, &minor))
		return false;
	m->dev_major = (uint32_t)major;
	m->dev_minor = (uint32_t)minor;
	unescape(root, m->root, sizeof(m->root));
	unescape(point, m->point, sizeof(m->point));
	if (!text_word(&t, &w))
		return false;
	mount_flags(w, m);
	do {
		if (!text_word(&t, &w))
			return false;
	} while (!text_is(w, "-"));
	if (!text_word(&t, &w))
		return false;
	unescape(w, m->fstype, sizeof(m->fstype));
	m->options[0] = '\0';
	if (text_word(&t, &w) && text_word(&t, &w))
		unescape(w, m->options, sizeof(m->options));
	return true;
}

int proc_mountinfo_parse(const char *text, size_t len,
			 int (*cb)(const struct proc_mount *m, void *arg), void *arg)
{
	struct text t = text_of(text, len), line;
	struct proc_mount m;
	int rc;

	while (text_line(&t, &line)) {
		if (!mount_parse(line, &m))
			continue;
		rc = cb(&m, arg);
		if (rc)
			return rc;
	}
	return 0;
}

pid_t proc_status_inner(const struct proc_status *st)
{
	return st->nspid_n ? st->nspid[st->nspid_n - 1] : st->pid;
}

/* ---- readers --------------------------------------------------------------------------------- */

static bool pid_parse(const char *s, pid_t *pid)
{
	struct text t = text_of(s, strlen(s));
	uint64_t v;

	if (!text_number(&t, 10, &v) || t.p != t.end || !v || v > INT32_MAX)
		return false;
	*pid = (pid_t)v;
	return true;
}

/* Whether others have the rights that we lack. */
static bool is_denied(int rc)
{
	return (rc == -EACCES || rc == -EPERM) && broker_is_relied_on();
}

static int proc_open(pid_t pid, const char *name, int flags)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	if (is_denied(fd))
		fd = broker_proc_open(pid, name, flags);
	return fd == -ENOENT ? -ESRCH : fd;
}

/* Whose /proc/PID a descriptor is of. */
static int dir_pid(int dir, pid_t *pid)
{
	char path[32], to[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	n = readlink(path, to, sizeof(to) - 1);
	if (n < 0)
		return -errno;
	to[n] = '\0';
	return !strncmp(to, "/proc/", 6) && pid_parse(to + 6, pid) ? 0 : -ESRCH;
}

int proc_at_open(int dir, const char *name, int flags)
{
	int fd = openat(dir, name, flags | O_CLOEXEC), rc = fd < 0 ? -errno : 0;
	pid_t pid;

	if (is_denied(rc)) {
		rc = dir_pid(dir, &pid);
		fd = rc ? rc : broker_proc_open(pid, name, flags);
		return fd;
	}
	return rc ? rc : fd;
}

ssize_t proc_at_link(int dir, const char *name, char *buf, size_t cap)
{
	ssize_t n = readlinkat(dir, name, buf, cap - 1);
	int rc = n < 0 ? -errno : 0;
	pid_t pid;

	if (is_denied(rc)) {
		rc = dir_pid(dir, &pid);
		return rc ? rc : broker_proc_link(pid, name, buf, cap);
	}
	buf[rc ? 0 : n] = '\0';
	return rc ? rc : n;
}

int proc_file_open(pid_t pid, const char *name)
{
	return proc_open(pid, name, O_RDONLY);
}

static ssize_t fd_read(int fd, char *buf, size_t cap)
{
	size_t n = 0;

	while (n < cap - 1) {
		ssize_t r = read(fd, buf + n, cap - 1 - n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (!r)
			break;
		n += (size_t)r;
	}
	buf[n] = '\0';
	return (ssize_t)n;
}

ssize_t file_read(const char *path, char *buf, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = fd_read(fd, buf, cap);
	close(fd);
	return n;
}

ssize_t file_read_once(const char *path, char *buf, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = read(fd, buf, cap - 1);
	while (n < 0 && errno == EINTR);
	n = n < 0 ? -errno : n;
	close(fd);
	buf[n < 0 ? 0 : n] = '\0';
	return n;
}

/* Some files ask who reads, too, and not only who opens: io. */
static ssize_t text_read(pid_t pid, const char *name, char *buf, size_t cap,
			 ssize_t (*read)(const char *path, char *buf, size_t cap))
{
	char path[128];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	n = read(path, buf, cap);
	if (is_denied((int)n))
		n = broker_proc_text(pid, name, buf, cap);
	return n == -ENOENT ? -ESRCH : n;
}

ssize_t proc_read(pid_t pid, const char *name, char *buf, size_t cap)
{
	return text_read(pid, name, buf, cap, file_read);
}

ssize_t proc_read_once(pid_t pid, const char *name, char *buf, size_t cap)
{
	return text_read(pid, name, buf, cap, file_read_once);
}

static int text_direct(pid_t pid, const char *name, bool link, char text[PROC_TEXT_BYTES])
{
	char path[128];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	n = link ? readlink(path, text, PROC_TEXT_BYTES - 1)
		 : file_read_once(path, text, PROC_TEXT_BYTES);
	if (n < 0 && link)
		n = -errno;
	text[n < 0 ? 0 : n] = '\0';
	return n < 0 ? (int)n : 0;
}

/* Where a question for many is not answered, each is asked alone: the others are answered then. */
static void texts_ask(const pid_t *pids, size_t n, const char *name, bool link,
		      char (*texts)[PROC_TEXT_BYTES])
{
	if (!broker_proc_texts(pids, n, name, link, texts))
		return;
	for (size_t i = 0; i < n; i++)
		(link ? proc_link_read : proc_read)(pids[i], name, texts[i], PROC_TEXT_BYTES);
}

static void some_read(const pid_t *pids, size_t n, const char *name, bool link,
		      char (*texts)[PROC_TEXT_BYTES])
{
	char theirs[BROKER_TEXTS][PROC_TEXT_BYTES];
	size_t whose[BROKER_TEXTS], denied = 0;
	pid_t them[BROKER_TEXTS];

	for (size_t i = 0; i < n; i++) {
		if (!is_denied(text_direct(pids[i], name, link, texts[i])))
			continue;
		whose[denied] = i;
		them[denied++] = pids[i];
	}
	texts_ask(them, denied, name, link, theirs);
	for (size_t i = 0; i < denied; i++)
		memcpy(texts[whose[i]], theirs[i], PROC_TEXT_BYTES);
}

void proc_texts_read(const pid_t *pids, size_t n, const char *name, bool link,
		     char (*texts)[PROC_TEXT_BYTES])
{
	for (size_t i = 0; i < n; i += BROKER_TEXTS)
		some_read(pids + i, n - i < BROKER_TEXTS ? n - i : BROKER_TEXTS, name, link,
			  texts + i);
}

/* Grows by doubling: the size of a /proc file is not known before it was read. */
static int fd_read_all(int fd, size_t max, char **text, size_t *len)
{
	size_t cap = 4096, n = 0;
	char *buf = NULL;

	for (;;) {
		size_t want = cap < max ? cap : max;
		char *p = realloc(buf, want + 1);
		ssize_t r;

		if (!p) {
			free(buf);
			return -ENOMEM;
		}
		buf = p;
		r = fd_read(fd, buf + n, want - n + 1);
		if (r < 0) {
			free(buf);
			return (int)r;
		}
		n += (size_t)r;
		if (n < want || n >= max)
			break;
		cap *= 2;
	}
	*text = buf;
	*len = n;
	return 0;
}

int proc_read_all(pid_t pid, const char *name, size_t max, char **text, size_t *len)
{
	int fd = proc_open(pid, name, O_RDONLY), rc;

	if (fd < 0)
		return fd;
	rc = fd_read_all(fd, max, text, len);
	close(fd);
	return rc;
}

/* /proc/PID/NAME, or that of a thread of it. */
static ssize_t task_read(pid_t pid, pid_t tid, const char *name, char *buf, size_t cap)
{
	char path[64];

	if (!tid)
		return proc_read(pid, name, buf, cap);
	snprintf(path, sizeof(path), "task/%d/%s", tid, name);
	return proc_read(pid, path, buf, cap);
}

int proc_stat_read(pid_t pid, pid_t tid, struct proc_stat *out)
{
	char buf[1024];
	ssize_t n = task_read(pid, tid, "stat", buf, sizeof(buf));

	return n < 0 ? (int)n : proc_stat_parse(buf, (size_t)n, out);
}

int proc_leader_read(pid_t pid, struct proc_stat *out)
{
	return proc_stat_read(pid, pid, out);
}

int proc_status_read(pid_t pid, pid_t tid, struct proc_status *out)
{
	char buf[8192];
	ssize_t n = task_read(pid, tid, "status", buf, sizeof(buf));

	return n < 0 ? (int)n : proc_status_parse(buf, (size_t)n, out);
}

uint64_t proc_ticks_ns(uint64_t ticks)
{
	return ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

int host_stolen_read(uint64_t *ns)
{
	char buf[512]; /* its first line */
	ssize_t n = file_read("/proc/stat", buf, sizeof(buf));
	int rc = n < 0 ? (int)n : proc_stolen_parse(buf, (size_t)n, ns);

	*ns = rc ? 0 : proc_ticks_ns(*ns);
	return rc;
}

int host_busy_read(uint64_t *ns)
{
	char buf[512]; /* its first line */
	ssize_t n = file_read("/proc/stat", buf, sizeof(buf));
	uint64_t ticks = 0;
	int rc = n < 0 ? (int)n : proc_busy_parse(buf, (size_t)n, &ticks);

	*ns = proc_ticks_ns(ticks);
	return rc;
}

int proc_comm_read(pid_t pid, pid_t tid, char *comm, size_t cap)
{
	ssize_t n = task_read(pid, tid, "comm", comm, cap);

	if (n < 0)
		return (int)n;
	if (n && comm[n - 1] == '\n')
		comm[n - 1] = '\0';
	return 0;
}

static int args_read(pid_t pid, const char *name, struct proc_args *out)
{
	char *text;
	size_t len;
	int rc;

	*out = (struct proc_args){0};
	rc = proc_read_all(pid, name, PROC_ARGS_MAX, &text, &len);
	if (rc)
		return rc;
	rc = args_index(text, len, out);
	out->cut |= len == PROC_ARGS_MAX;
	return rc;
}

int proc_cmdline_read(pid_t pid, struct proc_args *out)
{
	return args_read(pid, "cmdline", out);
}

int proc_environ_read(pid_t pid, struct proc_args *out)
{
	return args_read(pid, "environ", out);
}

static int ns_inode(pid_t pid, const char *name, uint64_t *ino)
{
	char path[64];
	char link[64];
	ssize_t n;

	snprintf(path, sizeof(path), "ns/%s", name);
	n = proc_link_read(pid, path, link, sizeof(link));
	if (n < 0)
		return (int)n;
	return sscanf(link, "%*[a-z_]:[%" SCNu64 "]", ino) == 1 ? 0 : -EBADMSG;
}

/*
 * An error of a namespace that every kernel has is the error of all; user and cgroup may be
 * compiled out.
 */
int proc_namespaces_read(pid_t pid, struct proc_namespaces *out)
{
	int rc;

	memset(out, 0, sizeof(*out));
	rc = ns_inode(pid, "mnt", &out->mnt);
	if (rc)
		return rc;
	ns_inode(pid, "pid", &out->pid);
	ns_inode(pid, "user", &out->user);
	ns_inode(pid, "net", &out->net);
	ns_inode(pid, "cgroup", &out->cgroup);
	return 0;
}

int proc_tgid(pid_t id, pid_t *tgid)
{
	struct proc_status st;
	int rc = proc_status_read(id, 0, &st);

	if (!rc)
		*tgid = st.tgid;
	return rc;
}

int proc_id_read(pid_t pid, struct proc_id *out)
{
	struct proc_stat st;
	int rc = proc_leader_read(pid, &st);

	if (!rc)
		*out = (struct proc_id){pid, st.start};
	return rc;
}

bool proc_id_alive(const struct proc_id *id)
{
	struct proc_stat st;

	return !proc_leader_read(id->pid, &st) && st.start == id->start && st.state != 'Z' &&
	       st.state != 'X';
}

/* /proc counts from boot with suspend included (and in our time namespace): CLOCK_BOOTTIME. */
uint64_t proc_uptime_ns(uint64_t start_ticks)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK), now = clock_ns(CLOCK_BOOTTIME), start;

	if (start_ticks / hz > now / 1000000000u)
		return 0;
	start = start_ticks / hz * 1000000000u + start_ticks % hz * (1000000000u / hz);
	return now > start ? now - start : 0;
}

int proc_each(int (*cb)(pid_t pid, void *arg), void *arg)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	pid_t pid;
	int rc = 0;

	if (!d)
		return -errno;
	while (!rc && (e = readdir(d)))
		if (pid_parse(e->d_name, &pid))
			rc = cb(pid, arg);
	closedir(d);
	return rc;
}

/* ---- the process's files --------------------------------------------------------------------- */

int proc_dir_open(pid_t pid)
{
	return proc_open(pid, "", O_PATH | O_DIRECTORY);
}

int proc_root_open(pid_t pid, const char *path)
{
	int dir = proc_dir_open(pid), fd;

	if (dir < 0)
		return dir;
	fd = broker_rooted(pid, dir, path, NULL);
	close(dir);
	return fd;
}

int proc_root_dir(pid_t pid, const char *path)
{
	int root = proc_open(pid, "root", O_PATH | O_DIRECTORY), fd;

	if (root < 0)
		return root;
	fd = broker_directory(pid, root, path);
	close(root);
	return fd;
}

ssize_t proc_exe_read(pid_t pid, void *buf, size_t n)
{
	int dir = proc_dir_open(pid), fd;
	ssize_t got;

	if (dir < 0)
		return dir;
	fd = broker_exe(pid, dir);
	close(dir);
	if (fd < 0)
		return fd;
	got = pread(fd, buf, n, 0);
	close(fd);
	return got < 0 ? -errno : got;
}

ssize_t proc_link_read(pid_t pid, const char *name, char *buf, size_t cap)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	n = readlink(path, buf, cap - 1);
	if (n < 0)
		n = -errno;
	else
		buf[n] = '\0';
	if (is_denied((int)n))
		n = broker_proc_link(pid, name, buf, cap);
	return n == -ENOENT ? -ESRCH : n;
}
