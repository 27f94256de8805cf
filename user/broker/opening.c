/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/inroot.h"
#include "broker/grants.h"
#include "broker/reader.h"

#define COPY_CHUNK (1u << 20)
#define COPY_MAX   (64u << 20)

_Static_assert(OPENING_PIDS *OPENING_SLOT <= OPENING_BYTES, "they fit into one answer");

/* ---- whether reading may hang ---- */

/* File systems of this machine alone, as statfs(2) numbers them. */
static const uint32_t local[] = {
	0xef53,	    /* ext2, ext3, ext4 */
	0x58465342, /* xfs */
	0x9123683e, /* btrfs */
	0x01021994, /* tmpfs, memfds */
	0x858458f6, /* ramfs, rootfs */
	0x958458f6, /* hugetlbfs */
	0x73717368, /* squashfs */
	0xe0f5e1e2, /* erofs */
	0xf2f52010, /* f2fs */
	0x2fc12fc1, /* zfs */
	0xca451a4e, /* bcachefs */
	0x9660,	    /* iso9660 */
	0x3153464a, /* jfs */
	0x52654973, /* reiserfs */
	0x4d44,	    /* vfat */
	0x2011bab0, /* exfat */
	0x7366746e, /* ntfs3 */
};

/* Where reading is an action, and no program lies. */
static const uint32_t pseudo[] = {
	PROC_SUPER_MAGIC,   SYSFS_MAGIC,	 DEBUGFS_MAGIC,	   TRACEFS_MAGIC,
	CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, SECURITYFS_MAGIC, BPF_FS_MAGIC,
};

static bool among(uint32_t type, const uint32_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == type)
			return true;
	return false;
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) ? st.st_ino : 0;
}

/*
 * Whether the mounts that the process sees were made by who may mount for the whole machine, or for
 * the container that we are in: its mount namespace belongs to our user namespace. In a user
 * namespace of its own anybody mounts an overlay of his own FUSE file system.
 */
static bool mounts_are_trusted(pid_t pid)
{
	uint64_t ours, theirs;
	char path[64];
	struct stat st;
	int ns, owner;

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	owner = ns < 0 ? -1 : ioctl(ns, NS_GET_USERNS);
	theirs = inode_of(owner);
	ours = stat("/proc/self/ns/user", &st) ? 0 : st.st_ino;
	if (owner >= 0)
		close(owner);
	if (ns >= 0)
		close(ns);
	return theirs && theirs == ours;
}

/*
 * 0: it is read where it is; 1: it is copied first; -EINVAL: it is not read at all. A file system
 * that does not say what it is, as a server of FUSE may, is none of this machine's own.
 */
static int kind_of(int fd, pid_t pid)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return 1;
	if (among((uint32_t)fs.f_type, pseudo, sizeof(pseudo) / sizeof(*pseudo)))
		return -EINVAL;
	if (among((uint32_t)fs.f_type, local, sizeof(local) / sizeof(*local)))
		return 0;
	return fs.f_type != OVERLAYFS_SUPER_MAGIC || !mounts_are_trusted(pid);
}

/* ---- the copy ---- */

static int chunk_copy(int from, int to, char *buf, uint64_t at)
{
	ssize_t n = pread(from, buf, COPY_CHUNK, (off_t)at), m;

	if (n < 0)
		return -errno;
	for (ssize_t done = 0; done < n; done += m) {
		m = pwrite(to, buf + done, (size_t)(n - done), (off_t)at + done);
		if (m < 0)
			return -errno;
	}
	return (int)n;
}

static int bytes_copy(int from, int to)
{
	char *buf = malloc(COPY_CHUNK);
	uint64_t at = 0;
	int n = buf ? 1 : -ENOMEM;

	while (n > 0 && at <= COPY_MAX) {
		n = chunk_copy(from, to, buf, at);
		at += n > 0 ? (uint64_t)n : 0;
	}
	free(buf);
	return n < 0 ? n : at > COPY_MAX ? -EFBIG : 0;
}

static int copy(int fd, uint64_t size)
{
	int to =
		size > COPY_MAX ? -1 : memfd_create("gnomon-copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int rc = size > COPY_MAX ? -EFBIG : to < 0 ? -errno : bytes_copy(fd, to);

	if (!rc && fcntl(to, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		rc = -errno;
	if (rc && to >= 0)
		close(to);
	return rc ? rc : to;
}

/* ---- which file ---- */

/*
 * Whether fd is the mapped file. `exact`: the kernel itself led us to it, so inode numbers that
 * overlayfs gives differently need not agree.
 */
static bool same_file(int fd, const struct broker_mapping *m, bool exact)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if (st.st_ino == m->inode && st.st_dev == makedev(m->major, m->minor))
		return true;
	if (fstatfs(fd, &fs))
		return false;
	switch (fs.f_type) {
	case OVERLAYFS_SUPER_MAGIC:
		return exact || st.st_ino == m->inode;
	case BTRFS_SUPER_MAGIC:
		return st.st_ino == m->inode;
	default:
		return false;
	}
}

static int checked(int fd, const struct broker_mapping *m, bool exact)
{
	if (fd < 0 || same_file(fd, m, exact))
		return fd;
	close(fd);
	return -ESTALE;
}

/* ---- the kernel's own files of a process ---- */

static int proc_directory(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	fd = pid > 0 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	return pid <= 0 ? -EINVAL : fd < 0 ? -errno : fd;
}

/*
 * Names with nothing in them that leads elsewhere: the kernel has made all of it but links, and
 * none is followed ("root/etc/shadow").
 */
static int proc_name_open(pid_t pid, const char *name, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int dir = name[0] ? proc_directory(pid) : -EINVAL, fd;

	if (dir < 0)
		return dir;
	fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
	fd = fd < 0 ? -errno : fd;
	close(dir);
	return fd;
}

/* The root of the process whose /proc/PID that is: the one link of the kernel's that is followed.
 */
static int root_open(int proc_fd)
{
	int fd = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int proc_root(pid_t pid)
{
	int dir = proc_directory(pid), fd;

	if (dir < 0)
		return dir;
	fd = root_open(dir);
	close(dir);
	return fd;
}

/* For reading, or a directory as a mere path. */
static int proc_open(const struct opening_ask *ask)
{
	if (!(ask->flags & O_PATH))
		return proc_name_open(ask->pid, ask->path, O_RDONLY | (ask->flags & O_DIRECTORY));
	return strcmp(ask->path, "root") ? proc_name_open(ask->pid, ask->path, O_PATH | O_DIRECTORY)
					 : proc_root(ask->pid);
}

static int proc_text(pid_t pid, const char *name, char *to, size_t room)
{
	int fd = proc_name_open(pid, name, O_RDONLY);
	size_t n = 0;
	ssize_t got = 1;

	if (fd < 0)
		return fd;
	while (got > 0 && n < room) {
		got = read(fd, to + n, room - n);
		n += got > 0 ? (size_t)got : 0;
	}
	if (got < 0)
		got = -errno;
	close(fd);
	return got < 0 ? (int)got : (int)n;
}

static int proc_link(pid_t pid, const char *name, char *to, size_t room)
{
	int fd = proc_name_open(pid, name, O_PATH | O_NOFOLLOW);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = readlinkat(fd, "", to, room);
	n = n < 0 ? -errno : n;
	close(fd);
	return (int)n;
}

static int proc_texts(const struct opening_ask *ask, char (*to)[OPENING_SLOT])
{
	if (ask->npids > OPENING_PIDS)
		return -EINVAL;
	for (uint32_t i = 0; i < ask->npids; i++) {
		int n = (ask->kind == OPENING_LINKS ? proc_link : proc_text)(
			ask->pids[i], ask->path, to[i], OPENING_SLOT - 1);

		n = n < 0 ? 0 : n;
		memset(to[i] + n, 0, OPENING_SLOT - (size_t)n);
	}
	return (int)(ask->npids * OPENING_SLOT);
}

/* A directory service may be asked, which may take its time. */
static int user_name(uint32_t uid, char *to, size_t room)
{
	struct passwd pw, *found = NULL;
	char buf[4096];
	size_t n;

	if (getpwuid_r(uid, &pw, buf, sizeof(buf), &found) || !found)
		return -ENOENT;
	n = strlen(pw.pw_name);
	n = n < room ? n : room;
	memcpy(to, pw.pw_name, n);
	return (int)n;
}

/* ---- for one that is bound ---- */

static bool is_same(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/*
 * /proc/PID of the process, or a file there, opened here as a mere path. What came with the
 * question has to be that very one, by device and inode: a name says nothing, since anybody mounts
 * what he likes on a /proc of his own, and links that he made there lead to files of ours.
 */
static int own_open(const struct opening_ask *ask, const char *name, int came)
{
	int own = name[0] ? proc_name_open(ask->pid, name, O_PATH) : proc_directory(ask->pid);

	if (own < 0 || is_same(own, came))
		return own;
	close(own);
	return -EPERM;
}

/*
 * What reads memory for one that is bound reads nothing else: of some files the kernel shows more
 * to who reads with the rights that are here.
 */
static int memory_refused(const struct opening_ask *ask, int at)
{
	int own = ask->bound ? own_open(ask, "mem", at) : -1;

	if (own >= 0)
		close(own);
	return ask->bound && own < 0 ? own : 0;
}

static int reader_of(pid_t pid, struct reader *r)
{
	char text[8192];
	int n = proc_text(pid, "status", text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = '\0';
	return n < 0 ? n : reader_parse(text, r) ? 0 : -ESRCH;
}

/*
 * What was opened for one that is bound is the process's that he was given, if it is that user's
 * after it, too: 0 or -EPERM. It may have become a program that runs with another one's rights
 * (set-user-ID).
 */
static int given_check(const struct opening_ask *ask)
{
	struct reader r;

	if (!ask->bound || ask->uid == GRANTS_ANY)
		return 0;
	return reader_of(ask->pid, &r) || r.nobody || r.uid != ask->uid ? -EPERM : 0;
}

/*
 * A path below the root. For one that is bound it leads to what the process itself may reach and
 * read, since it is its word alone that the path is wanted.
 */
static int path_follow(const struct opening_ask *ask, int root, const char *path, int flags)
{
	struct reader r;
	int fd = inroot_open(root, path, flags), rc;

	if (fd < 0 || !ask->bound)
		return fd;
	rc = reader_of(ask->pid, &r);
	if (!rc)
		return reader_reach(&r, root, fd);
	close(fd);
	return rc;
}

/* Of one that is bound below the process's own root, whatever directory came with the question. */
static int below(const struct opening_ask *ask, int at, int flags)
{
	int root, fd;

	if (!ask->bound)
		return path_follow(ask, at, ask->path, flags);
	root = proc_root(ask->pid);
	if (root < 0)
		return root;
	fd = path_follow(ask, root, ask->path, flags);
	close(root);
	return fd;
}

/* Whether the directory that comes with the question is /proc/PID. */
static bool begins_in_proc(const struct opening_ask *ask)
{
	return ask->kind == OPENING_ROOTED || ask->kind == OPENING_EXE ||
	       ask->kind == OPENING_MAPPED || ask->kind == OPENING_ANSWERS;
}

/* Of many at once nobody looks whose they are now: that is for what says nothing of their memory.
 */
static bool is_of_many(const struct opening_ask *ask)
{
	return (ask->kind == OPENING_TEXTS && strcmp(ask->path, "io")) ||
	       (ask->kind == OPENING_LINKS && strcmp(ask->path, "ns/pid"));
}

static bool is_refused(const struct opening_ask *ask)
{
	return ask->denied || (ask->bound && (ask->kind == OPENING_USER || is_of_many(ask)));
}

/* ---- mere paths (O_PATH) ---- */

static int rooted(const struct opening_ask *ask, int proc_fd, const char *path)
{
	int root = root_open(proc_fd), fd;

	if (root < 0)
		return root;
	fd = path_follow(ask, root, path, O_PATH);
	close(root);
	return fd;
}

static int rooted_mapping(const struct opening_ask *ask, int proc_fd)
{
	const char *path = ask->path;
	char root[PATH_MAX];
	ssize_t n = readlinkat(proc_fd, "root", root, sizeof(root));

	if (n > 0 && n < (ssize_t)sizeof(root))
		path = inroot_path(root, (size_t)n, path);
	return rooted(ask, proc_fd, path);
}

static void mapping_name(const struct broker_mapping *m, char *name, size_t n)
{
	snprintf(name, n, "map_files/%" PRIx64 "-%" PRIx64, m->start, m->end);
}

static int mapped(const struct opening_ask *ask, int proc_fd)
{
	char name[64];
	int fd = -ENOENT;

	mapping_name(&ask->mapping, name, sizeof(name));
	if (!ask->path_only) {
		fd = openat(proc_fd, name, O_PATH | O_CLOEXEC);
		fd = checked(fd < 0 ? -errno : fd, &ask->mapping, true);
	}
	if (fd < 0 && ask->path[0])
		fd = checked(rooted_mapping(ask, proc_fd), &ask->mapping, false);
	return fd;
}

static int exe(int proc_fd)
{
	int fd = openat(proc_fd, "exe", O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int path_open(const struct opening_ask *ask, int at)
{
	switch (ask->kind) {
	case OPENING_BELOW:
		return below(ask, at, O_PATH);
	case OPENING_ROOTED:
		return rooted(ask, at, ask->path);
	case OPENING_EXE:
		return exe(at);
	case OPENING_MAPPED:
		return mapped(ask, at);
	default:
		return -EINVAL;
	}
}

static int directory_open(const struct opening_ask *ask, int at)
{
	int fd = below(ask, at, O_PATH | O_DIRECTORY);
	struct statfs fs;

	if (fd >= 0)
		fstatfs(fd, &fs); /* it answers, whatever it says */
	return fd;
}

/* ---- what can be read ---- */

/* O_NONBLOCK: a lease on the file is not waited for (lease_break_time is 45 seconds). */
static int file_open(const struct opening_ask *ask, int at, struct broker_file *file)
{
	int fd = inroot_reopen_regular(at, O_RDONLY | O_NONBLOCK), kind, to;

	if (fd < 0)
		return fd;
	kind = kind_of(fd, ask->pid);
	if (!kind)
		return fd;
	to = kind < 0 ? kind : copy(fd, file->size);
	close(fd);
	file->copied = 1;
	return to;
}

/*
 * Whether who reads the mapping may be held up by its file system: 0, or -EREMOTE. -EACCES also
 * without the capability that map_files takes.
 */
static int mapping_answers(const struct opening_ask *ask, int proc_fd)
{
	char name[64];
	int fd, kind;

	mapping_name(&ask->mapping, name, sizeof(name));
	fd = openat(proc_fd, name, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	kind = kind_of(fd, ask->pid);
	close(fd);
	return kind > 0 ? -EREMOTE : 0;
}

uint32_t opening_room(const struct opening_ask *ask)
{
	uint64_t room = 0;

	if (ask->kind == OPENING_MEMORY)
		room = ask->mapping.end - ask->mapping.start;
	else if (ask->kind == OPENING_TEXT || ask->kind == OPENING_LINK ||
		 ask->kind == OPENING_USER)
		room = ask->room;
	else if (ask->kind == OPENING_TEXTS || ask->kind == OPENING_LINKS)
		room = (uint64_t)ask->npids * OPENING_SLOT;
	return room < OPENING_BYTES ? (uint32_t)room : OPENING_BYTES;
}

bool opening_gives(const struct opening_ask *ask)
{
	return !ask->look && ask->kind != OPENING_ANSWERS && !opening_room(ask);
}

static int memory(const struct opening_ask *ask, int at, char *bytes)
{
	size_t want = ask->mapping.end - ask->mapping.start, done = 0;

	if (want > OPENING_BYTES || ask->mapping.start > INT64_MAX - want)
		return -EINVAL;
	while (done < want) {
		ssize_t n =
			pread(at, bytes + done, want - done, (off_t)(ask->mapping.start + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ESRCH;
		done += (size_t)n;
	}
	return (int)want;
}

/* What the kernel shows of the one process. */
static int shown(const struct opening_ask *ask, void *bytes)
{
	int n = (ask->kind == OPENING_LINK ? proc_link : proc_text)(ask->pid, ask->path, bytes,
								    opening_room(ask));
	int rc = n < 0 ? 0 : given_check(ask);

	return rc ? rc : n;
}

int opening_bytes(const struct opening_ask *ask, int at, void *bytes)
{
	int rc;

	if (is_refused(ask))
		return -EPERM;
	switch (ask->kind) {
	case OPENING_MEMORY:
		rc = memory_refused(ask, at);
		return rc ? rc : memory(ask, at, bytes);
	case OPENING_TEXT:
	case OPENING_LINK:
		return shown(ask, bytes);
	case OPENING_TEXTS:
	case OPENING_LINKS:
		return proc_texts(ask, bytes);
	case OPENING_USER:
		return user_name(ask->flags, bytes, opening_room(ask));
	default:
		return -EINVAL;
	}
}

static int from(const struct opening_ask *ask, int at, struct broker_file *file)
{
	int fd, rc;

	if (ask->kind == OPENING_ANSWERS)
		return mapping_answers(ask, at);
	if (ask->kind == OPENING_DIRECTORY)
		return directory_open(ask, at);
	if (ask->kind == OPENING_PROC)
		return proc_open(ask);
	fd = path_open(ask, at);
	rc = fd < 0 ? fd : broker_identify(fd, file);
	if (rc || ask->look) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	return file_open(ask, fd, file);
}

static int from_own(const struct opening_ask *ask, int at, struct broker_file *file)
{
	int own, rc;

	if (!ask->bound || !begins_in_proc(ask))
		return from(ask, at, file);
	own = own_open(ask, "", at);
	if (own < 0)
		return own;
	rc = from(ask, own, file);
	close(own);
	return rc;
}

int opening_do(const struct opening_ask *ask, int at, struct broker_file *file)
{
	int fd, rc;

	*file = (struct broker_file){0};
	if (is_refused(ask))
		return -EPERM;
	fd = from_own(ask, at, file);
	rc = fd < 0 ? 0 : given_check(ask);
	if (!rc)
		return fd;
	if (opening_gives(ask))
		close(fd);
	return rc;
}
