/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/jproc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/inroot.h"

#define STATUS_MAX (64u << 10)
#define MAPS_MAX   (64u << 20) /* two lines per thread: 30,000 threads have 6 MB */

static int fd_read(int fd, struct buffer *b, size_t max)
{
	size_t start = b->len;
	ssize_t n;

	do {
		size_t room = max - (b->len - start);
		size_t want = room < 65536 ? room : 65536;
		char *to = buffer_reserve(b, want + 1);

		if (!to)
			return -ENOMEM;
		n = read(fd, to, want ? want : 1);
		if (n < 0)
			return -errno;
		if (n > 0 && !want)
			return -E2BIG;
		b->len += (size_t)n;
	} while (n > 0);
	return 0;
}

int jproc_read(const struct jproc *p, const char *name, struct buffer *b, size_t max)
{
	int fd = openat(p->dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int rc;

	if (fd < 0)
		return -errno;
	rc = fd_read(fd, b, max);
	close(fd);
	return rc;
}

/* The text behind "Key:\t" at the start of a line. */
static const char *status_field(const char *text, const char *key)
{
	size_t n = strlen(key);
	const char *s = text;

	while (s) {
		if (!strncmp(s, key, n) && s[n] == ':')
			return s + n + 1;
		s = strchr(s, '\n');
		if (s)
			s++;
	}
	return NULL;
}

/* The last number of the line: NSpid lists the namespaces from outside in. */
static long last_number(const char *s)
{
	long v = 0;

	while (s && *s && *s != '\n') {
		if (*s >= '0' && *s <= '9')
			v = strtol(s, (char **)&s, 10);
		else
			s++;
	}
	return v;
}

static int status_parse(struct jproc *p, const char *text, pid_t *tgid)
{
	const char *state = status_field(text, "State"), *ns = status_field(text, "NSpid");
	const char *uid = status_field(text, "Uid"), *gid = status_field(text, "Gid");
	const char *sig = status_field(text, "SigCgt"), *tg = status_field(text, "Tgid");
	unsigned int u, g;

	if (!state || !uid || !gid || !sig || !tg)
		return -EBADMSG;
	/* real, effective, saved, file system */
	if (sscanf(uid, "%*u %u", &u) != 1 || sscanf(gid, "%*u %u", &g) != 1)
		return -EBADMSG;
	p->uid = u;
	p->gid = g;
	p->state = state[strspn(state, " \t")];
	p->caught = strtoull(sig, NULL, 16);
	*tgid = (pid_t)strtol(tg, NULL, 10);
	p->inner = ns ? (pid_t)last_number(ns) : *tgid;
	return p->state == 'Z' || p->state == 'X' ? -ESRCH : 0;
}

static int status_read(struct jproc *p, pid_t *tgid)
{
	struct buffer b = BUFFER_INIT;
	int rc = jproc_read(p, "status", &b, STATUS_MAX);

	if (!rc) {
		b.data[b.len] = '\0'; /* fd_read() keeps a byte of room */
		rc = status_parse(p, (const char *)b.data, tgid);
	}
	buffer_free(&b);
	return rc == -ENOENT ? -ESRCH : rc;
}

int jproc_refresh(struct jproc *p)
{
	pid_t tgid;

	return status_read(p, &tgid);
}

static int open_failed(struct jproc *p, int rc, struct error *e)
{
	jproc_close(p);
	if (rc == -ESRCH || rc == -ENOENT)
		return error_set(e, -ESRCH, EXIT_TARGET, "process %d does not exist", p->pid);
	if (rc == -EACCES || rc == -EPERM) {
		error_set(e, rc, EXIT_PERMISSION, "no permission to look into process %d", p->pid);
		return error_hint(e, "run as root");
	}
	return error_set(e, rc, EXIT_INTERNAL, "cannot read '/proc/%d': %s", p->pid, strerror(-rc));
}

int jproc_open(struct jproc *p, pid_t pid, struct error *e)
{
	char path[64];
	pid_t tgid = 0;
	int rc;

	*p = (struct jproc){.dir = -1, .root = -1, .pid = pid};
	snprintf(path, sizeof(path), "/proc/%d", pid);
	p->dir = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (p->dir < 0)
		return open_failed(p, -errno, e);
	rc = status_read(p, &tgid);
	if (rc)
		return open_failed(p, rc, e);
	if (tgid != pid) {
		jproc_close(p);
		error_set(e, -EINVAL, EXIT_TARGET, "%d is a thread of process %d", pid, tgid);
		return error_hint(e, "use -p %d", tgid);
	}
	p->root = openat(p->dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->root < 0)
		return open_failed(p, -errno, e);
	return 0;
}

void jproc_close(struct jproc *p)
{
	if (p->dir >= 0)
		close(p->dir);
	if (p->root >= 0)
		close(p->root);
	p->dir = p->root = -1;
}

int jproc_openat(const struct jproc *p, const char *path, int flags)
{
	return inroot_open(p->root, path, flags);
}

int jproc_signal(const struct jproc *p, int sig)
{
	/* a descriptor of /proc/PID is a pidfd to this call */
	return syscall(SYS_pidfd_send_signal, p->dir, sig, NULL, 0) ? -errno : 0;
}

bool jproc_is_jvm(const struct jproc *p)
{
	struct buffer b = BUFFER_INIT;
	int rc = jproc_read(p, "maps", &b, MAPS_MAX);
	bool found = false;

	if ((!rc || rc == -E2BIG) && b.len)
		found = memmem(b.data, b.len, "/libjvm.so", strlen("/libjvm.so"));
	buffer_free(&b);
	return found;
}

static bool file_says(const char *path, const char *word)
{
	char text[256];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return strstr(text, word);
}

/* One line of /proc/PID/cgroup: "ID:controllers:path". */
static bool cgroup_frozen(char *line)
{
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(controllers + 1, ':') : NULL;
	char file[4400];

	if (!path || strlen(path) > 4096)
		return false;
	*path++ = '\0';
	controllers++;
	if (!*controllers) {
		snprintf(file, sizeof(file), "/sys/fs/cgroup%s/cgroup.events", path);
		if (file_says(file, "frozen 1"))
			return true;
		snprintf(file, sizeof(file), "/sys/fs/cgroup/unified%s/cgroup.events", path);
		return file_says(file, "frozen 1");
	}
	if (!strstr(controllers, "freezer"))
		return false;
	snprintf(file, sizeof(file), "/sys/fs/cgroup/freezer%s/freezer.state", path);
	return file_says(file, "FROZEN") || file_says(file, "FREEZING");
}

bool jproc_frozen(const struct jproc *p)
{
	struct buffer b = BUFFER_INIT;
	char *line, *save = NULL;
	bool frozen = false;

	if (!jproc_read(p, "cgroup", &b, STATUS_MAX)) {
		b.data[b.len] = '\0';
		for (line = strtok_r((char *)b.data, "\n", &save); line && !frozen;
		     line = strtok_r(NULL, "\n", &save))
			frozen = cgroup_frozen(line);
	}
	buffer_free(&b);
	return frozen;
}

uint32_t jproc_inner_tid(const struct jproc *p, pid_t tid)
{
	struct buffer b = BUFFER_INIT;
	char name[64];
	uint32_t inner = 0;

	if (p->inner == p->pid)
		return (uint32_t)tid;
	snprintf(name, sizeof(name), "task/%d/status", tid);
	if (!jproc_read(p, name, &b, STATUS_MAX)) {
		b.data[b.len] = '\0';
		inner = (uint32_t)last_number(status_field((const char *)b.data, "NSpid"));
	}
	buffer_free(&b);
	return inner;
}
