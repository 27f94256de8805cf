/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deaf_fuse PID DIR: mounts a file system on DIR in PID's mount namespace that never answers, and
 * prints "READY". Until it is ended whoever asks for anything in DIR waits.
 */
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
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

int main(int argc, char **argv)
{
	char ns[64], opt[128];
	int mnt, fd;

	if (argc != 3)
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
	pause();
	return 0;
}
