/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ordinary user's process (it becomes one, uid 65534) that maps a file called libjvm.so of which
 * it decides when anybody may open or read it. Prints "READY", from when on nobody may; it uses the
 * CPU meanwhile. Its command line means nothing; from the environment come OWN_KIND, OWN_DIR (its
 * own, empty), OWN_LIB (a libjvm.so) and OWN_NODE (/dev/fuse).
 *
 *   lease    a `release` file beside the library is leased: who opens it waits (45 seconds)
 *   fuse     the library lies on a FUSE mount of its own user namespace, whose server takes every
 *            question and answers none
 *   overlay  the same below an overlay file system, by which it cannot be told from a container's
 *   stack    as `fuse`, but mounted in the first user namespace, as fusermount does for everybody
 * (in others' Linux does not read memory from outside), and the stack of a thread that sleeps lies
 * there, never touched
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME	  "libjvm.so"
#define FILE_NODE 2
#define USER	  65534

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- the server ---- */

static int fuse_fd, lib_fd;
static off_t lib_size;
static volatile sig_atomic_t deaf;

static void on_deaf(int sig)
{
	deaf = 1;
}

static void reply(const struct fuse_in_header *in, int error, const void *p, size_t n)
{
	static char out[sizeof(struct fuse_out_header) + (1 << 20)];
	struct fuse_out_header h = {
		.len = (uint32_t)(sizeof(h) + n), .error = error, .unique = in->unique};

	memcpy(out, &h, sizeof(h));
	if (n)
		memcpy(out + sizeof(h), p, n);
	if (write(fuse_fd, out, h.len) < 0 && errno != ENOENT)
		fail("answer");
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == FILE_NODE ? (uint64_t)lib_size : 0,
		.blocks = (uint64_t)lib_size / 512,
		.mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
}

static void answer(const struct fuse_in_header *h, const void *arg)
{
	static char data[1 << 20];
	struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = 4096,
		.max_write = 4096,
	};
	struct fuse_entry_out entry = {.nodeid = FILE_NODE, .attr = attr_of(FILE_NODE)};
	struct fuse_attr_out attr = {.attr = attr_of(h->nodeid)};
	struct fuse_open_out open_out = {0};
	struct fuse_statfs_out statfs_out = {.st = {.bsize = 4096, .namelen = 255}};
	const struct fuse_read_in *read_in = arg;
	ssize_t n;

	switch (h->opcode) {
	case FUSE_INIT:
		return reply(h, 0, &init, sizeof(init));
	case FUSE_LOOKUP:
		if (h->nodeid != FUSE_ROOT_ID || strcmp(arg, NAME))
			return reply(h, -ENOENT, NULL, 0);
		return reply(h, 0, &entry, sizeof(entry));
	case FUSE_GETATTR:
		return reply(h, 0, &attr, sizeof(attr));
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		return reply(h, 0, &open_out, sizeof(open_out));
	case FUSE_READ:
		n = pread(lib_fd, data, read_in->size, (off_t)read_in->offset);
		return reply(h, n < 0 ? -EIO : 0, data, n < 0 ? 0 : (size_t)n);
	case FUSE_STATFS:
		return reply(h, 0, &statfs_out, sizeof(statfs_out));
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FLUSH:
	case FUSE_ACCESS:
		return reply(h, 0, NULL, 0);
	default:
		return reply(h, -ENOSYS, NULL, 0);
	}
}

/* Once it is deaf it takes questions all the same: who asked such a one cannot even be killed. */
static void serve(void)
{
	static char in[1 << 20];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		ssize_t n = read(fuse_fd, in, sizeof(in));

		if (n < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT)
			_exit(0);
		if (n >= (ssize_t)sizeof(struct fuse_in_header) && !deaf)
			answer((void *)in, in + sizeof(struct fuse_in_header));
	}
}

/* ---- the mounts ---- */

static void text_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail(path);
	close(fd);
}

static void namespace_make(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		fail("unshare");
	text_write("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	text_write("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	text_write("/proc/self/gid_map", map);
}

static char *in_dir(const char *dir, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		fail("memory");
	return path;
}

static char *dir_make(const char *dir, const char *name)
{
	char *path = in_dir(dir, name);

	if (mkdir(path, 0755) && errno != EEXIST)
		fail(path);
	return path;
}

static void user_become(void)
{
	if (setgroups(0, NULL) || setresgid(USER, USER, USER) || setresuid(USER, USER, USER))
		fail("setresuid");
	prctl(PR_SET_DUMPABLE, 1); /* as whoever was this user from the start */
}

static void fuse_mount(const char *dir, const char *node, uid_t uid)
{
	char opt[128];

	fuse_fd = open(node, O_RDWR);
	if (fuse_fd < 0)
		fail(node);
	snprintf(opt, sizeof(opt), "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other",
		 fuse_fd, uid, uid);
	if (mount("own", dir, "fuse.own", 0, opt))
		fail("mount of fuse");
}

/* What fusermount does for a user. */
static void fuse_mount_for_user(const char *dir, const char *node)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		fail("unshare");
	fuse_mount(dir, node, USER);
	user_become();
}

static pid_t server_start(void)
{
	struct sigaction sa = {.sa_handler = on_deaf};
	pid_t pid;

	sigaction(SIGUSR1, &sa, NULL);
	pid = fork();
	if (!pid)
		serve();
	return pid;
}

static char *overlay_mount(const char *dir, const char *lower)
{
	char *merged = dir_make(dir, "merged"), *other = dir_make(dir, "other"), *opt;

	if (asprintf(&opt, "lowerdir=%s:%s", lower, other) < 0 ||
	    mount("overlay", merged, "overlay", 0, opt))
		fail("mount of overlay");
	return merged;
}

/* ---- what it maps ---- */

static char *map(const char *path, int prot)
{
	int fd = open(path, O_RDONLY);
	char *p = fd < 0 ? MAP_FAILED : mmap(NULL, (size_t)lib_size, prot, MAP_PRIVATE, fd, 0);

	if (p == MAP_FAILED)
		fail(path);
	close(fd);
	return p;
}

static void lease(const char *dir)
{
	char *release = in_dir(dir, "release");
	int fd = open(release, O_CREAT | O_RDWR, 0644);

	signal(SIGIO, SIG_IGN);
	if (fd < 0 || fcntl(fd, F_SETLEASE, F_WRLCK))
		fail("lease");
}

/* A copy, since a lease is for one's own files. */
static void own_copy(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0755);
	off_t at = 0;

	while (fd >= 0 && at < lib_size)
		if (copy_file_range(lib_fd, &at, fd, NULL, (size_t)(lib_size - at), 0) <= 0)
			fail(path);
	if (fd < 0)
		fail(path);
	close(fd);
}

static void *sleeper(void *sp)
{
#if defined(__x86_64__)
	register long nr __asm__("rax") = SYS_pause;

	__asm__ volatile("mov %1, %%rsp; mov %1, %%rbp; 1: mov %2, %%eax; syscall; jmp 1b"
			 : "+r"(nr)
			 : "r"(sp), "i"(SYS_pause)
			 : "rcx", "r11", "memory");
#else
	pause();
#endif
	return NULL;
}

static void stack_lend(const char *path)
{
	char *p = map(path, PROT_READ | PROT_WRITE);
	pthread_t thread;

	if (pthread_create(&thread, NULL, sleeper, p + (lib_size / 2 & ~4095l)))
		fail("thread");
}

int main(void)
{
	const char *kind = getenv("OWN_KIND"), *dir = getenv("OWN_DIR"), *lib = getenv("OWN_LIB");
	const char *node = getenv("OWN_NODE");
	pid_t server = 0;
	struct stat st;
	bool leases;
	char *path;

	if (!kind || !dir || !lib || !node)
		return 2;
	leases = !strcmp(kind, "lease");
	lib_fd = open(lib, O_RDONLY | O_CLOEXEC);
	if (lib_fd < 0 || fstat(lib_fd, &st))
		fail(lib);
	lib_size = st.st_size;
	if (leases) {
		user_become();
		path = in_dir(dir, NAME);
		own_copy(path);
		lease(dir);
	} else {
		char *fuse = dir_make(dir, "fuse");

		if (strcmp(kind, "stack")) {
			user_become();
			namespace_make();
			fuse_mount(fuse, node, 0);
		} else {
			fuse_mount_for_user(fuse, node);
		}
		server = server_start();
		path = in_dir(strcmp(kind, "overlay") ? fuse : overlay_mount(dir, fuse), NAME);
	}
	map(path, PROT_READ);
	map(path, PROT_READ | PROT_EXEC);
	if (!strcmp(kind, "stack"))
		stack_lend(path);
	if (server)
		kill(server, SIGUSR1);
	usleep(100000);
	puts("READY");
	fflush(stdout);
	for (;;)
		for (volatile int i = 0; i < 1000000; i++)
			if (i == 999999)
				usleep(1000);
}
