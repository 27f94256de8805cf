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
#include "broker/broker.h"
#include "target/jvmproc.h"
#include "target/procfs.h"

#define STATUS_MAX (64u << 10)
#define MAPS_READ  (64u << 20) /* two lines per thread: 30,000 threads have 6 MB */

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

/* Reads the status of the process or, with a name like "task/7/status", of one of its threads. */
static int status_of(const struct jproc *p, const char *name, struct proc_status *st)
{
	struct buffer b = BUFFER_INIT;
	int rc = jproc_read(p, name, &b, STATUS_MAX);

	if (!rc)
		rc = proc_status_parse((const char *)b.data, b.len, st);
	buffer_free(&b);
	return rc == -ENOENT ? -ESRCH : rc;
}

static int status_read(struct jproc *p, pid_t *tgid)
{
	struct proc_status st;
	int rc = status_of(p, "status", &st);

	if (rc)
		return rc;
	p->uid = st.uid[1];
	p->gid = st.gid[1];
	p->state = st.state;
	p->caught = st.sigcgt;
	p->inner = proc_status_inner(&st);
	*tgid = st.tgid;
	return st.state == 'Z' || st.state == 'X' ? -ESRCH : 0;
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
	p->root = proc_at_open(p->dir, "root", O_PATH | O_DIRECTORY);
	if (p->root < 0)
		return open_failed(p, p->root, e);
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

int jproc_directory(const struct jproc *p, const char *path)
{
	return broker_directory(p->pid, p->root, path);
}

int jproc_signal(const struct jproc *p, int sig)
{
	/* a descriptor of /proc/PID is a pidfd to this call */
	return syscall(SYS_pidfd_send_signal, p->dir, sig, NULL, 0) ? -errno : 0;
}

bool jproc_is_jvm(const struct jproc *p)
{
	struct buffer b = BUFFER_INIT;
	int rc = jproc_read(p, "maps", &b, MAPS_READ);
	struct jvm_image image;
	bool found = false;

	if ((!rc || rc == -E2BIG) && b.len)
		found = jvm_image_find((const char *)b.data, b.len, &image);
	buffer_free(&b);
	return found;
}

bool jproc_frozen(const struct jproc *p)
{
	struct buffer b = BUFFER_INIT;
	struct cgroup_limits limits = {0};
	struct cgroup_mounts mounts;
	struct cgroup_ref ref;

	if (!jproc_read(p, "cgroup", &b, STATUS_MAX) && !cgroup_mounts_read(&mounts) &&
	    !cgroup_parse((const char *)b.data, b.len, &ref))
		cgroup_limits_read(&mounts, &ref, &limits);
	buffer_free(&b);
	return limits.frozen;
}

uint32_t jproc_inner_tid(const struct jproc *p, pid_t tid)
{
	struct proc_status st;
	char name[64];

	if (p->inner == p->pid)
		return (uint32_t)tid;
	snprintf(name, sizeof(name), "task/%d/status", tid);
	return status_of(p, name, &st) ? 0 : (uint32_t)proc_status_inner(&st);
}
