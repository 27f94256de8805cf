/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/agentfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "jvm/agentblob.h"
#include "jvm/creds.h"
#include "target/procfs.h"

#define MOUNTS_MAX   (4u << 20)
#define TRIES_MAX    200 /* so many mount points are looked at */
#define BUSY_LOOK_US 10000

/* Tells agents of different builds of gnomon apart: FNV-1a of the library's bytes. */
static uint32_t blob_hash(void)
{
	uint32_t h = 2166136261u;
	const uint8_t *p;

	for (p = agent_blob; p < agent_blob_end; p++)
		h = (h ^ *p) * 16777619u;
	return h;
}

static int blob_write(int fd)
{
	const uint8_t *p = agent_blob;

	while (p < agent_blob_end) {
		ssize_t n = write(fd, p, (size_t)(agent_blob_end - p));

		if (n < 0)
			return -errno;
		p += n;
	}
	return 0;
}

static bool is_ours(int dir, const char *name, uid_t uid)
{
	struct stat st;

	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	       st.st_uid == uid;
}

/* Whether the file of that name is the open one. */
static bool is_named(int dir, const char *name, int fd)
{
	struct stat named, open;

	return !fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) && !fstat(fd, &open) &&
	       named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

/* Who uses a file holds its lock, and loses it when he ends, however he does. */
static bool is_taken(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
}

/*
 * Removes a file that a killed gnomon has left, if it is ours by name and owner. -EBUSY: a gnomon
 * that lives uses it, as far as its lock tells.
 */
static int leftover_remove(int dir, const char *name, uid_t uid)
{
	int fd, rc = 0;

	if (!is_ours(dir, name, uid))
		return 0;
	/* one that cannot be opened is none of a gnomon's */
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && is_taken(fd))
		rc = -EBUSY;
	else if (fd < 0 || is_named(dir, name, fd))
		unlinkat(dir, name, 0);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* The file, open and locked. -EBUSY: another gnomon has put one there, or is about to remove it. */
static int file_make(int dir, const char *name, uid_t uid)
{
	int fd, rc = leftover_remove(dir, name, uid);

	if (rc)
		return rc;
	fd = openat(dir, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0500);
	if (fd < 0)
		return errno == EEXIST && is_ours(dir, name, uid) ? -EBUSY : -errno;
	/* between the two somebody may have taken it for one that was left behind */
	rc = is_taken(fd) || !is_named(dir, name, fd) ? -EBUSY : blob_write(fd);
	if (!rc)
		return fd;
	if (rc != -EBUSY)
		unlinkat(dir, name, 0);
	close(fd);
	return rc;
}

/* Waits for another gnomon till `until_ns`, once for all directories. */
static int file_write(int dir, const char *name, const struct jproc *p, uint64_t until_ns)
{
	struct creds old;
	int fd, rc;

	rc = creds_assume(&old, p->uid, p->gid);
	if (rc)
		return rc;
	while ((fd = file_make(dir, name, p->uid)) == -EBUSY && now_ns() < until_ns)
		usleep(BUSY_LOOK_US);
	creds_restore(&old);
	return fd;
}

static int try_dir(struct agentfile *f, const struct jproc *p, const char *dir)
{
	struct statvfs vfs;
	int fd, rc;

	if (strlen(dir) + strlen(f->name) + 2 > sizeof(f->path) || strchr(dir, ','))
		return -ENAMETOOLONG;
	fd = jproc_directory(p, dir);
	if (fd < 0)
		return fd;
	if (fstatvfs(fd, &vfs))
		rc = -errno;
	else if (vfs.f_flag & ST_NOEXEC)
		rc = -EACCES;
	else if (vfs.f_flag & ST_RDONLY)
		rc = -EROFS;
	else
		rc = file_write(fd, f->name, p, f->patience_ns);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	f->dir = fd;
	f->file = rc;
	snprintf(f->path, sizeof(f->path), "%s/%s", strcmp(dir, "/") ? dir : "", f->name);
	return 0;
}

struct mounts_tried {
	struct agentfile *file;
	const struct jproc *proc;
	int tries;
};

/*
 * Whether a library could be put there: not among the kernel's own files, nor in a file system that
 * the target may serve itself (FUSE), which could keep us waiting for ever.
 */
static bool mount_usable(const struct proc_mount *m)
{
	static const char *const kinds[] = {"ext4",    "ext3", "ext2",	"xfs", "btrfs",	  "tmpfs",
					    "overlay", "f2fs", "ramfs", "zfs", "bcachefs"};

	if (m->read_only || m->noexec || strlen(m->point) + 1 >= sizeof(m->point))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(m->fstype, kinds[i]))
			return true;
	return false;
}

/* 1: the file is placed; -ENOENT: enough mount points were tried. */
static int try_mount(const struct proc_mount *m, void *arg)
{
	struct mounts_tried *t = arg;

	if (!mount_usable(m))
		return 0;
	if (t->tries++ >= TRIES_MAX)
		return -ENOENT;
	return !try_dir(t->file, t->proc, m->point);
}

static int try_mounts(struct agentfile *f, const struct jproc *p)
{
	struct mounts_tried t = {.file = f, .proc = p};
	struct buffer b = BUFFER_INIT;
	int rc = jproc_read(p, "mountinfo", &b, MOUNTS_MAX);

	if (!rc)
		rc = proc_mountinfo_parse((const char *)b.data, b.len, try_mount, &t);
	buffer_free(&b);
	return rc == 1 ? 0 : -ENOENT;
}

static void name_make(const struct jproc *p, char *name, size_t n)
{
	snprintf(name, n, ".gnomon-agent-%d-%08x.so", p->inner, blob_hash());
}

void agentfile_sweep(const struct jproc *p, const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[512], name[64];
	struct creds old;
	int fd;

	name_make(p, name, sizeof(name));
	if (!slash || strcmp(slash + 1, name) || slash - path >= (int)sizeof(dir))
		return;
	snprintf(dir, sizeof(dir), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	fd = jproc_directory(p, dir);
	if (fd < 0)
		return;
	if (!creds_assume(&old, p->uid, p->gid)) {
		leftover_remove(fd, name, p->uid);
		creds_restore(&old);
	}
	close(fd);
}

int agentfile_place(struct agentfile *f, const struct jproc *p, struct error *e)
{
	static const char *const usual[] = {"/tmp", "/var/tmp", "/dev/shm", "/run"};
	int rc = -ENOENT, first = 0;
	size_t i;

	f->dir = f->file = -1;
	f->patience_ns = now_ns() + AGENTFILE_BUSY_MS * 1000000ull;
	name_make(p, f->name, sizeof(f->name));
	for (i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		rc = try_dir(f, p, usual[i]);
		if (!rc)
			return 0;
		if (!i)
			first = rc;
	}
	if (!try_mounts(f, p))
		return 0;
	error_set(e, first, first == -EPERM ? EXIT_PERMISSION : EXIT_TARGET,
		  "no directory of process %d can hold the agent library ('/tmp' %s%s)", p->pid,
		  first == -ETIMEDOUT ? "does not answer" : "cannot be used: ",
		  first == -ETIMEDOUT ? "" : strerror(-first));
	return error_hint(e, "give it a writable tmpfs without noexec, or use --jvm vmstructs");
}

void agentfile_remove(struct agentfile *f, const struct jproc *p)
{
	struct creds old;

	if (f->dir < 0)
		return;
	if (is_named(f->dir, f->name, f->file) && !creds_assume(&old, p->uid, p->gid)) {
		unlinkat(f->dir, f->name, 0);
		creds_restore(&old);
	}
	close(f->file);
	close(f->dir);
	f->dir = f->file = -1;
}
