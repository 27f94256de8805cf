/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deaf_fuse PID DIR [FILE [MS]]: mounts a file system on DIR in PID's mount namespace that never
 * answers, and prints "READY". Until it is ended whoever asks for anything in DIR waits. With FILE
 * there is a file of that name in it, of 32 kB, that can be opened and mapped: whoever reads it
 * waits. With MS he is given zeros after so many milliseconds, one after the other.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* The one answer, without which a mount is not in use. */
static void init_answer(int fd)
{
	union {
		struct fuse_in_header h;
		char bytes[1 << 16];
	} in;
	struct {
		struct fuse_out_header h;
		struct fuse_init_out i;
	} out;

	if (read(fd, &in, sizeof(in)) < (ssize_t)sizeof(in.h) || in.h.opcode != FUSE_INIT)
		fail("no first request");
	memset(&out, 0, sizeof(out));
	out.h.len = sizeof(out);
	out.h.unique = in.h.unique;
	out.i.major = FUSE_KERNEL_VERSION;
	out.i.minor = FUSE_KERNEL_MINOR_VERSION;
	out.i.max_readahead = 4096;
	out.i.max_write = 4096;
	if (write(fd, &out, sizeof(out)) != sizeof(out))
		fail("cannot answer");
}

/* ---- a file that can be opened ---- */

#define FILE_NODE 2

static void answer(int fd, const struct fuse_in_header *h, int error, const void *body, size_t len)
{
	char bytes[4096];
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + len), .error = error, .unique = h->unique};

	memcpy(bytes, &out, sizeof(out));
	if (len)
		memcpy(bytes + sizeof(out), body, len);
	if (write(fd, bytes, out.len) != (ssize_t)out.len)
		perror("answer");
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){.ino = node,
				  .size = node == FILE_NODE ? 32768 : 0,
				  .blocks = 64,
				  .mode = node == FILE_NODE ? S_IFREG | 0644 : S_IFDIR | 0755,
				  .nlink = 1,
				  .blksize = 4096};
}

static void look_up(int fd, const struct fuse_in_header *h, bool there)
{
	struct fuse_entry_out e = {.nodeid = FILE_NODE,
				   .entry_valid = 3600,
				   .attr_valid = 3600,
				   .attr = attr_of(FILE_NODE)};

	if (there)
		answer(fd, h, 0, &e, sizeof(e));
	else
		answer(fd, h, -ENOENT, NULL, 0);
}

/* How it is read: never, or `ms` after it was asked for. */
static void read_answer(int fd, const struct fuse_in_header *h, int ms)
{
	static const char zeros[2048];
	const struct fuse_read_in *r = (const void *)(h + 1);

	if (!ms) {
		puts("READ");
		fflush(stdout);
		return;
	}
	usleep((useconds_t)ms * 1000);
	answer(fd, h, 0, zeros, r->size < sizeof(zeros) ? r->size : sizeof(zeros));
}

/* All is answered but what reads it, which `ms` is for. */
static void serve(int fd, const char *file, int ms)
{
	static union {
		struct fuse_in_header h;
		char bytes[1 << 17];
	} in;
	/* a slow one is asked each time */
	struct fuse_open_out opened = {.fh = 1, .open_flags = ms ? FOPEN_DIRECT_IO : 0};
	struct fuse_attr_out attr = {.attr_valid = 3600};

	while (read(fd, &in, sizeof(in)) >= (ssize_t)sizeof(in.h)) {
		switch (in.h.opcode) {
		case FUSE_LOOKUP:
			look_up(fd, &in.h, !strcmp(in.bytes + sizeof(in.h), file));
			break;
		case FUSE_GETATTR:
			attr.attr = attr_of(in.h.nodeid);
			answer(fd, &in.h, 0, &attr, sizeof(attr));
			break;
		case FUSE_OPEN:
		case FUSE_OPENDIR:
			answer(fd, &in.h, 0, &opened, sizeof(opened));
			break;
		case FUSE_READ:
			read_answer(fd, &in.h, ms);
			break;
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
		case FUSE_INTERRUPT:
			break;
		default:
			answer(fd, &in.h, -ENOSYS, NULL, 0);
		}
	}
}

int main(int argc, char **argv)
{
	char ns[64], opt[128];
	int mnt, fd;

	if (argc < 3 || argc > 5)
		return 2;
	snprintf(ns, sizeof(ns), "/proc/%s/ns/mnt", argv[1]);
	mnt = open(ns, O_RDONLY);
	fd = open("/dev/fuse", O_RDWR);
	if (mnt < 0 || fd < 0)
		fail("cannot open");
	if (setns(mnt, CLONE_NEWNS))
		fail("setns");
	snprintf(opt, sizeof(opt), "fd=%d,rootmode=41777,user_id=0,group_id=0,allow_other", fd);
	if (mount("deaf", argv[2], "fuse.deaf", 0, opt))
		fail("mount");
	init_answer(fd);
	puts("READY");
	fflush(stdout);
	if (argc > 3)
		serve(fd, argv[3], argc > 4 ? atoi(argv[4]) : 0);
	pause();
	return 0;
}
