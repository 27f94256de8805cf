/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening files of other processes by workers: what they refuse, which file it is, and that others
 * take the place of those that die. Whoever hangs: tests/jvm/hostile_overlay.sh.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fdmsg.h"
#include "broker/broker.h"
#include "broker/grants.h"
#include "broker/opening.h"
#include "broker/workers.h"
#include "target/procfs.h"

static char dir[] = "/tmp/gnomon-broker-XXXXXX";
static int proc_fd, root;

static char *in_dir(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void text_write(const char *name, const char *text)
{
	int fd = open(in_dir(name), O_CREAT | O_WRONLY | O_TRUNC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void text_is(int fd, const char *want)
{
	char text[64];
	ssize_t n;

	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	n = pread(fd, text, sizeof(text), 0);
	assert_int_equal(n, strlen(want));
	assert_memory_equal(text, want, strlen(want));
	close(fd);
}

static void text_begins(int fd, const char *want)
{
	char text[64];

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, text, strlen(want), 0), strlen(want));
	assert_memory_equal(text, want, strlen(want));
	close(fd);
}

static int dir_of(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int set_up(void **state)
{
	if (broker_start() || !mkdtemp(dir))
		return -1;
	proc_fd = dir_of(getpid());
	root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	text_write("file", "what it says");
	mkfifo(in_dir("fifo"), 0600);
	symlink("/proc/self/exe", in_dir("link"));
	symlink("/../../../file", in_dir("inside"));
	symlink("/etc/passwd", in_dir("outside"));
	return 0;
}

static int tear_down(void **state)
{
	const char *const names[] = {"file", "fifo", "link", "inside", "outside"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(in_dir(names[i]));
	close(root);
	close(proc_fd);
	broker_stop();
	return rmdir(dir);
}

/* Nothing above the directory, no link of the kernel's, nothing but regular files. */
static void below(void **state)
{
	struct broker_file file;
	struct stat st;

	text_is(broker_below(getpid(), root, "/file", &file), "what it says");
	assert_int_equal(stat(in_dir("file"), &st), 0);
	assert_int_equal(file.ino, st.st_ino);
	assert_int_equal(file.dev, st.st_dev);
	assert_int_equal(file.size, st.st_size);
	assert_int_equal(file.uid, geteuid());
	assert_false(file.copied);
	text_is(broker_below(getpid(), root, "inside", NULL), "what it says");
	assert_int_equal(broker_below(getpid(), root, "outside", NULL), -ENOENT);
	assert_int_equal(broker_below(getpid(), root, "fifo", NULL), -EINVAL);
	assert_int_equal(broker_below(getpid(), root, "/", NULL), -EINVAL);
	assert_int_equal(broker_below(getpid(), root, "none", NULL), -ENOENT);
	text_is(broker_rooted(getpid(), proc_fd, in_dir("file"), NULL), "what it says");
	assert_int_equal(broker_rooted(getpid(), proc_fd, in_dir("link"), NULL), -ELOOP);
}

/* /proc/kmsg is a regular file, too, and reading it takes what others wait for. */
static void kernels_own(void **state)
{
	assert_int_equal(broker_rooted(getpid(), proc_fd, "/proc/self/stat", NULL), -EINVAL);
	assert_int_equal(broker_rooted(getpid(), proc_fd, "/proc/version", NULL), -EINVAL);
}

static void too_long(void **state)
{
	char path[PATH_MAX + 2];

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(broker_below(getpid(), root, path, NULL), -ENAMETOOLONG);
	path[PATH_MAX - 1] = '\0';
	assert_int_equal(broker_below(getpid(), root, path, NULL), -ENAMETOOLONG);
}

/* Whoever waits for a lease to be given back waits for 45 seconds. */
static void leased(void **state)
{
	int fd = open(in_dir("file"), O_RDWR | O_CLOEXEC);

	signal(SIGIO, SIG_IGN);
	/* the worker that opened it for the test before may be about to close it */
	while (fcntl(fd, F_SETLEASE, F_WRLCK)) {
		assert_int_equal(errno, EAGAIN);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	assert_int_equal(broker_below(getpid(), root, "file", NULL), -EWOULDBLOCK);
	assert_int_equal(fcntl(fd, F_SETLEASE, F_UNLCK), 0);
	close(fd);
	text_is(broker_below(getpid(), root, "file", NULL), "what it says");
}

/* By its path where map_files cannot be had, and only if it is that file. */
static void mapped(void **state)
{
	int fd = open(in_dir("file"), O_RDONLY | O_CLOEXEC);
	char *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	struct broker_mapping m = {.start = (uintptr_t)p, .end = (uintptr_t)p + 4096};
	struct stat st;

	assert_ptr_not_equal(p, MAP_FAILED);
	fstat(fd, &st);
	close(fd);
	m.inode = st.st_ino;
	m.major = major(st.st_dev);
	m.minor = minor(st.st_dev);
	text_is(broker_mapped(getpid(), proc_fd, &m, in_dir("file"), NULL), "what it says");
	assert_int_equal(broker_is_mapped(getpid(), proc_fd, &m, in_dir("file")), 0);
	assert_int_equal(broker_is_mapped(getpid(), proc_fd, &m, "/etc/passwd"), -ESTALE);
	if (!geteuid())
		text_is(broker_mapped(getpid(), proc_fd, &m, NULL, NULL), "what it says");
	m.inode++;
	assert_true(broker_mapped(getpid(), proc_fd, &m, in_dir("file"), NULL) < 0);
	munmap(p, 4096);
}

static void program(void **state)
{
	text_begins(broker_exe(getpid(), proc_fd), "\177ELF");
}

static void directory(void **state)
{
	int fd = broker_directory(getpid(), root, ".");
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstatat(fd, "file", &st, 0), 0);
	close(fd);
	assert_int_equal(broker_directory(getpid(), root, "file"), -ENOTDIR);
	assert_int_equal(broker_directory(getpid(), root, "none"), -ENOENT);
}

/* One question about many: each has its own answer, and none that there is no such process. */
static void of_many(void **state)
{
	const pid_t pids[] = {getpid(), 1, INT32_MAX, 0, getpid()};
	char texts[5][BROKER_TEXT_BYTES], want[BROKER_TEXT_BYTES];
	pid_t more[BROKER_TEXTS + 1];

	assert_int_equal(broker_proc_texts(pids, 5, "stat", false, texts), 0);
	for (int i = 0; i < 5; i++) {
		snprintf(want, sizeof(want), "%d (", pids[i]);
		want[i == 2 || i == 3 ? 0 : strlen(want)] = '\0';
		assert_memory_equal(texts[i], want, strlen(want) + !want[0]);
		assert_true(strnlen(texts[i], BROKER_TEXT_BYTES) < BROKER_TEXT_BYTES);
	}
	assert_int_equal(broker_proc_texts(pids, 0, "stat", false, texts), 0);
	assert_int_equal(broker_proc_texts(pids, 1, "none", false, texts), 0);
	assert_string_equal(texts[0], "");
	assert_int_equal(broker_proc_texts(pids, 1, "../version", false, texts), 0);
	assert_string_equal(texts[0], "");
	assert_int_equal(broker_proc_texts(more, BROKER_TEXTS + 1, "stat", false, NULL), -E2BIG);
}

static void links_of_many(void **state)
{
	const pid_t pids[] = {getpid(), INT32_MAX, getppid()};
	char texts[3][BROKER_TEXT_BYTES], want[BROKER_TEXT_BYTES] = "", path[64];

	assert_int_equal(broker_proc_texts(pids, 3, "ns/pid", true, texts), 0);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/proc/%d/ns/pid", pids[i]);
		memset(want, 0, sizeof(want));
		if (readlink(path, want, sizeof(want) - 1) < 0)
			want[0] = '\0';
		assert_string_equal(texts[i], want);
	}
	assert_true(texts[0][0] && !texts[1][0]);
}

/* As many as there may be, and whoever says that there are more is refused. */
static void of_most(void **state)
{
	static char texts[BROKER_TEXTS][BROKER_TEXT_BYTES];
	struct opening_ask ask = {.kind = OPENING_TEXTS, .npids = BROKER_TEXTS + 1, .path = "stat"};
	pid_t pids[BROKER_TEXTS];

	for (int i = 0; i < BROKER_TEXTS; i++)
		pids[i] = getpid();
	assert_int_equal(broker_proc_texts(pids, BROKER_TEXTS, "stat", false, texts), 0);
	assert_int_equal(atoi(texts[BROKER_TEXTS - 1]), getpid());
	assert_int_equal(opening_bytes(&ask, -1, texts), -EINVAL);
	ask.npids = UINT32_MAX;
	assert_int_equal(opening_bytes(&ask, -1, texts), -EINVAL);
	assert_int_equal(opening_room(&ask), OPENING_BYTES);
}

/* What is a link in the midst of a name leads nowhere, whoever asks. */
static void no_detour(void **state)
{
	static const char *const names[] = {"root/etc/passwd", "cwd/..", "exe",
					    "/version",	       "",	 "task/../../version"};
	char text[BROKER_TEXT_BYTES], want[PATH_MAX] = "";
	int fd;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_true(broker_proc_text(getpid(), names[i], text, sizeof(text)) < 0);
	assert_true(broker_proc_link(getpid(), "root/proc/self", text, sizeof(text)) < 0);
	assert_true(broker_proc_open(getpid(), "root/etc", O_PATH | O_DIRECTORY) < 0);
	assert_true(broker_proc_open(getpid(), "cwd", O_PATH | O_DIRECTORY) < 0);
	assert_true(broker_proc_text(getpid(), "task/self", text, sizeof(text)) < 0);
	assert_true(broker_proc_text(getpid(), "status", text, sizeof(text)) > 0);
	assert_true(readlink("/proc/self/exe", want, sizeof(want) - 1) > 0);
	assert_int_equal(broker_proc_link(getpid(), "exe", text, sizeof(text)), strlen(want));
	assert_string_equal(text, want);
	fd = broker_proc_open(getpid(), "root", O_PATH | O_DIRECTORY);
	assert_true(fd >= 0);
	close(fd);
	fd = broker_proc_open(getpid(), "task", O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	close(fd);
}

static void users(void **state)
{
	char text[BROKER_TEXT_BYTES];

	assert_int_equal(broker_user(0, text, sizeof(text)), 4);
	assert_string_equal(text, "root");
	assert_int_equal(broker_user(0, text, 3), 2); /* as much as there is room for */
	assert_string_equal(text, "ro");
	assert_int_equal(broker_user(0x7ffffff3, text, sizeof(text)), -ENOENT);
	assert_string_equal(text, "");
}

/* ---- one that is bound ---- */

/* A process of a user that has no rights here, or of ours; it is that user's on return. */
static pid_t nobodys(void)
{
	int is[2];
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(is), 0);
	pid = fork();
	if (pid) {
		close(is[1]);
		assert_int_equal(read(is[0], &byte, 1), 1);
		close(is[0]);
		return pid;
	}
	if (!geteuid() && setuid(65534))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* another user's id takes it back */
	if (write(is[1], &byte, 1) != 1)
		_exit(1);
	close(is[1]);
	for (;;)
		pause();
}

#define WANT(is)                                                                                   \
	do {                                                                                       \
		if (!(is))                                                                         \
			return __LINE__;                                                           \
	} while (0)

/* What is asked in the process that may ask about `ours`, and about itself: 0, or a line. */
static int asked(pid_t ours, pid_t other)
{
	const pid_t pids[] = {other, ours, getpid()};
	char texts[3][BROKER_TEXT_BYTES];
	int own = dir_of(ours), others = dir_of(other), file;

	WANT(broker_proc_text(ours, "status", texts[0], BROKER_TEXT_BYTES) > 0);
	WANT(broker_proc_text(getpid(), "status", texts[0], BROKER_TEXT_BYTES) > 0);
	WANT(broker_proc_text(other, "status", texts[0], BROKER_TEXT_BYTES) == -EPERM);
	WANT(broker_proc_link(other, "exe", texts[0], BROKER_TEXT_BYTES) == -EPERM);
	WANT(broker_proc_open(other, "maps", O_RDONLY) == -EPERM);
	WANT(broker_user(0, texts[0], BROKER_TEXT_BYTES) == -EPERM);
	WANT(broker_proc_texts(pids, 3, "environ", false, texts) == -EPERM);
	WANT(!broker_proc_texts(pids, 3, "io", false, texts));
	WANT(!texts[0][0] && texts[1][0] && texts[2][0]);
	/* one that it may ask about, with the directory of another */
	WANT(broker_exe(ours, others) == -EPERM);
	WANT(broker_exe(other, others) == -EPERM);
	WANT(broker_rooted(ours, others, "/etc/passwd", NULL) == -EPERM);
	WANT(broker_rooted(ours, root, "/etc/passwd", NULL) == -EPERM);
	file = broker_exe(ours, own);
	WANT(file >= 0);
	/* below its root, and not below the directory that came with it */
	WANT(broker_below(ours, root, "/file", NULL) == -ENOENT);
	file = broker_below(ours, root, "/etc/passwd", NULL);
	WANT(file >= 0);
	file = broker_rooted(ours, own, "/etc/passwd", NULL);
	WANT(file >= 0);
	/* what belongs to others, and is for them alone */
	file = broker_rooted(ours, own, in_dir("file"), NULL);
	WANT(geteuid() ? file >= 0 : file == -EACCES);
	WANT(geteuid() || broker_below(getpid(), root, in_dir("other"), NULL) == -EACCES);
	return 0;
}

/* What it says of itself does not count either. */
static void bound(void **state)
{
	pid_t ours = nobodys(), other = nobodys(), asker;
	int go[2], status;
	char byte = 0;

	text_write("other", "a third one's");
	if (!geteuid())
		assert_int_equal(chown(in_dir("other"), 1, 1), 0);
	assert_int_equal(pipe(go), 0);
	asker = fork();
	if (!asker) {
		int line;

		if (read(go[0], &byte, 1) != 1)
			_exit(2);
		line = asked(ours, other);
		if (line)
			fprintf(stderr, "line %d\n", line);
		_exit(line != 0);
	}
	assert_int_equal(grants_bind(asker), 0);
	assert_int_equal(grants_give(asker, other, GRANTS_ANY), 0);
	assert_int_equal(grants_give(asker, ours, GRANTS_ANY), 0);
	grants_take(asker, other);
	assert_int_equal(write(go[1], &byte, 1), 1);
	waitpid(asker, &status, 0);
	assert_int_equal(status, 0);
	grants_unbind(asker);
	assert_true(grants_has(asker, other));
	kill(ours, SIGKILL);
	kill(other, SIGKILL);
	waitpid(ours, NULL, 0);
	waitpid(other, NULL, 0);
	unlink(in_dir("other"));
	close(go[0]);
	close(go[1]);
}

/* What is given is a user's process: with another one's rights it is none. */
static void changed_user(void **state)
{
	pid_t ours = nobodys();
	struct opening_ask ask = {.pid = ours, .bound = 1, .room = 4096};
	uint32_t uid = geteuid() ? geteuid() : 65534;
	struct broker_file file;
	char text[4096];
	int fd;

	strcpy(ask.path, "maps");
	for (int is = 1; is >= 0; is--) {
		ask.uid = is ? uid : uid + 1;
		ask.kind = OPENING_PROC;
		fd = opening_do(&ask, -1, &file);
		assert_true(is ? fd >= 0 : fd == -EPERM);
		if (fd >= 0)
			close(fd);
		ask.kind = OPENING_TEXT;
		assert_true(is ? opening_bytes(&ask, -1, text) > 0
			       : opening_bytes(&ask, -1, text) == -EPERM);
	}
	kill(ours, SIGKILL);
	waitpid(ours, NULL, 0);
}

/* In a namespace of its own a directory in place of /proc, which leads to a file of the host. */
static bool false_proc_make(void)
{
	char path[64], map[64];
	uid_t uid = geteuid();
	int fd;

	if (unshare(uid ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS))
		return false;
	if (uid) {
		snprintf(map, sizeof(map), "%u %u 1", uid, uid);
		fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
		if (write(fd, map, strlen(map)) != (ssize_t)strlen(map))
			return false;
	}
	snprintf(path, sizeof(path), "/proc/%d", getpid());
	return !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("false", "/proc", "tmpfs", 0, NULL) && !mkdir(path, 0755) && !chdir(path) &&
	       !mkdir("map_files", 0755) && !symlink(in_dir("file"), "exe") &&
	       !symlink(in_dir("file"), "map_files/1000-2000") && !symlink("/", "root");
}

/* A process that has made it; 0: it cannot. */
static pid_t false_proc_process(void)
{
	int is[2];
	char made = 0;
	pid_t pid;

	assert_int_equal(pipe(is), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		made = false_proc_make();
		while (write(is[1], &made, 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(is[0], &made, 1), 1);
	close(is[0]);
	close(is[1]);
	if (made)
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

/* Anybody can mount a directory that is called as the kernel's own: it is not believed. */
static void false_proc(void **state)
{
	static const enum opening_kind kinds[] = {OPENING_EXE, OPENING_ROOTED, OPENING_MAPPED,
						  OPENING_ANSWERS};
	pid_t liar = false_proc_process();
	struct opening_ask ask = {
		.kind = OPENING_DIRECTORY, .pid = liar, .bound = 1, .uid = GRANTS_ANY};
	char path[64], is[64] = "";
	struct broker_file file;
	struct stat st;
	int at, own;

	if (!liar)
		skip();
	snprintf(ask.path, sizeof(ask.path), "/proc/%d", liar);
	at = opening_do(&ask, -1, &file);
	assert_true(at >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	assert_true(readlink(path, is, sizeof(is) - 1) > 0);
	assert_string_equal(is, ask.path);
	assert_int_equal(stat(in_dir("file"), &st), 0);
	ask.mapping = (struct broker_mapping){0x1000, 0x2000, st.st_ino, major(st.st_dev),
					      minor(st.st_dev)};
	strcpy(ask.path, in_dir("file"));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		ask.kind = kinds[i];
		assert_int_equal(opening_do(&ask, at, &file), -EPERM);
	}
	own = dir_of(liar);
	ask.kind = OPENING_EXE;
	text_begins(opening_do(&ask, own, &file), "\177ELF");
	close(own);
	close(at);
	kill(liar, SIGKILL);
	waitpid(liar, NULL, 0);
}

/* Directories and files of users: 65534 is who asks. */
static const struct {
	const char *name;
	mode_t mode;
	uid_t uid;
	gid_t gid;
} way[] = {
	{"open", S_IFDIR | 0711, 1, 1},
	{"open/file", 0644, 1, 1},
	{"closed", S_IFDIR | 0700, 1, 1},
	{"closed/file", 0644, 1, 1},
	{"closed/below", S_IFDIR | 0755, 1, 1},
	{"closed/below/file", 0644, 1, 1},
	{"his", S_IFDIR | 0700, 65534, 1},
	{"his/file", 0600, 65534, 1},
	{"his/closed", 0640, 1, 1},
	{"group", S_IFDIR | 0710, 1, 0},
	{"group/file", 0640, 1, 0},
};

#define WAY (sizeof(way) / sizeof(*way))

static void way_make(void)
{
	assert_int_equal(chmod(dir, 0711), 0);
	for (size_t i = 0; i < WAY; i++) {
		if (S_ISDIR(way[i].mode))
			mkdir(in_dir(way[i].name), 0700);
		else
			text_write(way[i].name, "on the way");
		assert_int_equal(chown(in_dir(way[i].name), way[i].uid, way[i].gid), 0);
		assert_int_equal(chmod(in_dir(way[i].name), way[i].mode & 07777), 0);
	}
	assert_int_equal(symlink("closed", in_dir("detour")), 0);
}

static void way_remove(void)
{
	unlink(in_dir("detour"));
	for (size_t i = WAY; i--;)
		remove(in_dir(way[i].name));
	chmod(dir, 0700);
}

/* Rights are its user's on the whole way, be it by a link: 0700 of another keeps what is in it. */
static void bound_way(void **state)
{
	static const struct {
		const char *path;
		int want;
	} cases[] = {
		{"open/file", 0},
		{"closed/file", -EACCES},
		{"detour/file", -EACCES}, /* a link to closed */
		{"closed/below/file", -EACCES},
		{"his/file", 0},
		{"his/closed", -EACCES},
		{"group/file", 0},
		{"his", -EINVAL},
		{"none/file", -ENOENT},
	};
	struct opening_ask ask = {
		.kind = OPENING_BELOW, .pid = nobodys(), .bound = 1, .uid = GRANTS_ANY};
	struct broker_file file;

	if (!geteuid())
		way_make();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases) && !geteuid(); i++) {
		int fd;

		strcpy(ask.path, in_dir(cases[i].path));
		fd = opening_do(&ask, -1, &file);
		if (!cases[i].want)
			text_is(fd, "on the way");
		else
			assert_int_equal(fd, cases[i].want);
	}
	ask.kind = OPENING_DIRECTORY;
	strcpy(ask.path, in_dir("closed/below"));
	assert_true(geteuid() || opening_do(&ask, -1, &file) == -EACCES);
	strcpy(ask.path, "/");
	close(opening_do(&ask, -1, &file));
	kill(ask.pid, SIGKILL);
	waitpid(ask.pid, NULL, 0);
	if (geteuid())
		skip();
	way_remove();
}

/* Of some files the kernel shows more to who reads with the workers' rights. */
static void bound_memory(void **state)
{
	static const char what[] = "in memory";
	struct opening_ask ask = {
		.kind = OPENING_MEMORY,
		.pid = getpid(),
		.bound = 1,
		.uid = GRANTS_ANY,
		.mapping = {.start = (uintptr_t)what, .end = (uintptr_t)what + sizeof(what)},
	};
	char got[sizeof(what)];
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	int stat = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

	assert_int_equal(opening_bytes(&ask, mem, got), sizeof(what));
	assert_string_equal(got, what);
	ask.mapping.start = 0;
	ask.mapping.end = 4;
	assert_int_equal(opening_bytes(&ask, stat, got), -EPERM);
	close(stat);
	close(mem);
}

/* Descriptors of all processes below ours. */
static int fds_below(pid_t pid)
{
	char path[64], line[4096] = "", *at = line;
	int sum = 0, n;
	long child;
	FILE *f;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(line, sizeof(line), f))
		line[0] = 0;
	fclose(f);
	for (; sscanf(at, "%ld%n", &child, &n) == 1; at += n) {
		snprintf(path, sizeof(path), "/proc/%ld/fd", child);
		d = opendir(path);
		for (; d && readdir(d); sum++)
			;
		if (d)
			closedir(d);
		sum += fds_below((pid_t)child);
	}
	return sum;
}

/* What an asker may send to any socket that it has: nothing, and descriptors that nobody wants. */
static void nonsense_send(void)
{
	const int gifts[] = {0, 1, 2, 0, 1, 2, 0, 1};
	struct iovec v = {(char[]){"no question"}, 11}, none = {NULL, 0};
	int to[2];
	size_t n = broker_descriptors(to);

	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 40; k++) {
			fdmsg_send(to[i], &v, 1, gifts, 8, 0);
			fdmsg_send(to[i], &none, 1, NULL, 0, 0);
		}
}

static void nonsense(void **state)
{
	pid_t asker;
	int status, before, after = 0, go[2], file;
	char byte = 0;

	for (int i = 0; i < 8; i++) { /* each worker is awake, and has what it has */
		file = broker_below(getpid(), root, "file", NULL);
		assert_true(file >= 0);
		close(file);
	}
	assert_int_equal(pipe(go), 0);
	before = fds_below(getpid());
	asker = fork();
	if (!asker) {
		if (read(go[0], &byte, 1) != 1)
			_exit(2);
		nonsense_send();
		_exit(0);
	}
	assert_int_equal(grants_bind(asker), 0);
	assert_int_equal(write(go[1], &byte, 1), 1);
	waitpid(asker, &status, 0);
	assert_int_equal(status, 0);
	grants_unbind(asker);
	for (int i = 0; i < 200 && (i < 20 || after > before); i++) {
		file = broker_below(getpid(), root, "file", NULL);
		assert_true(file >= 0);
		close(file);
		usleep(5000);
		after = fds_below(getpid());
	}
	assert_in_range(after, 1, before);
	close(go[0]);
	close(go[1]);
}

/* Asks for good, and hears no answer. */
static pid_t flooder(void)
{
	static const struct opening_ask ask = {.kind = OPENING_BELOW, .path = "file"};
	struct iovec v = {(void *)&ask, sizeof(ask)};
	int to[2], ends[2], fds[2];
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		_exit(1);
	broker_descriptors(to);
	fds[0] = root;
	fds[1] = ends[1];
	for (;;)
		fdmsg_send(to[0], &v, 1, fds, 2, 0);
}

/* One that asks all the time keeps no other from its answers. */
static void flood(void **state)
{
	pid_t pids[] = {flooder(), flooder()};

	usleep(100000);
	for (int i = 0; i < 200; i++)
		text_is(broker_below(getpid(), root, "file", NULL), "what it says");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(waitpid(pids[i], NULL, WNOHANG), 0);
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

/* Who asks reads which worker has its question, and cannot come to write it. */
static void board_is_shown(void **state)
{
	char line[512], may[5];
	unsigned long low, high;
	int n = 0;
	FILE *f = fopen("/proc/self/maps", "re");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strstr(line, "gnomon-openers"))
			continue;
		n++;
		assert_int_equal(sscanf(line, "%lx-%lx %4s", &low, &high, may), 3);
		assert_string_equal(may, "r--s");
		assert_int_equal(mprotect((void *)low, high - low, PROT_READ | PROT_WRITE), -1);
		assert_int_equal(errno, EACCES);
	}
	fclose(f);
	assert_int_equal(n, 1);
}

/* As many as there is room for; what was taken back is room. */
static void grants_full(void **state)
{
	int n = 0;

	assert_int_equal(grants_bind(7), 0);
	while (!grants_give(7, 1000 + n, GRANTS_ANY))
		n++;
	assert_int_equal(n, GRANTS_MAX - 2);
	assert_true(grants_has(7, 1000 + n - 1));
	assert_false(grants_has(7, 1000 + n));
	assert_int_equal(grants_bind(8), -ENOSPC);
	grants_take(7, 1000);
	assert_false(grants_has(7, 1000));
	assert_int_equal(grants_give(7, 1000 + n, GRANTS_ANY), 0);
	assert_int_equal(grants_give(7, 0, GRANTS_ANY), -EINVAL);
	assert_false(grants_has(7, 0));
	assert_false(grants_has(7, -1));
	grants_unbind(7);
	assert_false(grants_is_bound(7));
	assert_int_equal(grants_bind(8), 0);
	assert_false(grants_has(8, 1001));
	grants_unbind(8);
}

/* Of whom the kernel does not say who it is may ask about nothing, whatever places are free. */
static void grants_nameless(void **state)
{
	assert_int_equal(grants_bind(0), -EINVAL);
	assert_int_equal(grants_give(0, 1000, GRANTS_ANY), -EINVAL);
	for (int i = 0; i < 2; i++) {
		assert_true(grants_is_bound(0));
		assert_false(grants_has(0, 1000));
		assert_false(grants_has(0, 0));
		assert_int_equal(grants_bind(7), 0);
		assert_true(grants_has(8, 1000));
		grants_unbind(7); /* leaves places that are free */
	}
}

/* ---- the processes ---- */

static bool is_worker(pid_t pid)
{
	char comm[32];

	return !proc_comm_read(pid, 0, comm, sizeof(comm)) && !strcmp(comm, "gnomon-opener");
}

/* The fields of the process's status file that begin with `key`, as one number; or -1. */
static long long status_of(pid_t pid, const char *key, int base)
{
	char path[64], line[256];
	long long v = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			v = strtoll(line + strlen(key) + 1, NULL, base);
	if (f)
		fclose(f);
	return v;
}

/* Those of our own program. */
static size_t workers_look(pid_t *v, size_t max)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	size_t n = 0;

	while ((e = readdir(d)) && n < max) {
		pid_t pid = atoi(e->d_name);
		char a[PATH_MAX], b[PATH_MAX], path[64];
		ssize_t len;

		if (pid <= 0 || !is_worker(pid))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/exe", pid);
		len = readlink(path, a, sizeof(a));
		if (len > 0 && readlink("/proc/self/exe", b, sizeof(b)) == len &&
		    !memcmp(a, b, len))
			v[n++] = pid;
	}
	closedir(d);
	return n;
}

/* All that there are to be; a new one takes a moment. */
static size_t workers_find(pid_t *v, size_t max)
{
	size_t n = 0;

	for (int i = 0; i < 1000 && n < 2; i++) {
		n = workers_look(v, max);
		usleep(n < 2 ? 10000 : 0);
	}
	assert_true(n >= 2);
	return n;
}

/* Whoever dies is replaced. */
static void killed(void **state)
{
	pid_t v[64];
	size_t n;

	if (geteuid())
		skip(); /* /proc/PID/exe of processes with other rights than ours */
	n = workers_find(v, 64);
	for (size_t i = 0; i < n; i++)
		kill(v[i], SIGKILL);
	/* one that was killed as it took the question leaves it unanswered */
	for (int i = 0; i < 1000; i++) {
		int fd = broker_below(getpid(), root, "file", NULL);

		if (fd >= 0) {
			text_is(fd, "what it says");
			return;
		}
		assert_int_equal(fd, -EIO);
	}
	fail_msg("nobody opens anything any more");
}

#define BIT(cap) (1ll << (cap))

/* They can look into processes and directories, and nothing else. */
static void rights(void **state)
{
	const long long most = BIT(2) | BIT(19) | BIT(40); /* DAC_READ_SEARCH PTRACE CHECKPOINT */
	pid_t v[64];
	size_t n;

	if (geteuid())
		skip();
	n = workers_find(v, 64);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(status_of(v[i], "CapPrm", 16) & ~most, 0);
		assert_int_equal(status_of(v[i], "CapEff", 16) & ~most, 0);
		assert_int_equal(status_of(v[i], "CapBnd", 16), 0);
		assert_int_equal(status_of(v[i], "NoNewPrivs", 10), 1);
	}
}

/* Its children, two at most: how many. */
static int children_of(pid_t pid, pid_t v[2])
{
	char path[64];
	int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	f = fopen(path, "re");
	while (f && n < 2 && fscanf(f, "%d", &v[n]) == 1)
		n++;
	if (f)
		fclose(f);
	return n;
}

/* Waits until the process has so many; whether it has. */
static bool has_children(pid_t pid, int n)
{
	pid_t v[2];

	for (int i = 0; i < 500; i++, usleep(10000))
		if (children_of(pid, v) == n)
			return true;
	return false;
}

/* As a user who cannot have another process for a while: 0, or a line. */
static int short_of_processes(void)
{
	struct rlimit rl, none;
	struct workers *w;
	pid_t parent[2], v[2];

	WANT(geteuid() || !setuid(65534));
	prctl(PR_SET_DUMPABLE, 1);
	WANT(!workers_start(&w));
	WANT(children_of(getpid(), parent) == 1);
	WANT(has_children(parent[0], 2));
	WANT(!prlimit(parent[0], RLIMIT_NPROC, NULL, &rl));
	none = (struct rlimit){0, rl.rlim_max};
	WANT(!prlimit(parent[0], RLIMIT_NPROC, &none, NULL));
	WANT(children_of(parent[0], v) == 2);
	WANT(!kill(v[0], SIGKILL) && !kill(v[1], SIGKILL));
	WANT(has_children(parent[0], 0));
	usleep(50000); /* it has tried, in vain */
	WANT(!prlimit(parent[0], RLIMIT_NPROC, &rl, NULL));
	WANT(has_children(parent[0], 2));
	workers_stop(w);
	return 0;
}

/* Where no worker can be made that is tried again. */
static void none_to_be_had(void **state)
{
	pid_t pid = fork();
	int status, line;

	if (!pid) {
		line = short_of_processes();
		if (line)
			fprintf(stderr, "line %d\n", line);
		_exit(line != 0);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

/* Who was made of us and does not end keeps what it has open: that holds up nobody. */
static void ends_all_the_same(void **state)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	broker_stop();
	assert_int_equal(kill(pid, 0), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(below),	  cmocka_unit_test(kernels_own),
		cmocka_unit_test(too_long),	  cmocka_unit_test(leased),
		cmocka_unit_test(mapped),	  cmocka_unit_test(program),
		cmocka_unit_test(directory),	  cmocka_unit_test(of_many),
		cmocka_unit_test(links_of_many),  cmocka_unit_test(of_most),
		cmocka_unit_test(no_detour),	  cmocka_unit_test(users),
		cmocka_unit_test(bound),	  cmocka_unit_test(changed_user),
		cmocka_unit_test(false_proc),	  cmocka_unit_test(bound_memory),
		cmocka_unit_test(bound_way),	  cmocka_unit_test(nonsense),
		cmocka_unit_test(flood),	  cmocka_unit_test(board_is_shown),
		cmocka_unit_test(grants_full),	  cmocka_unit_test(grants_nameless),
		cmocka_unit_test(rights),	  cmocka_unit_test(killed),
		cmocka_unit_test(none_to_be_had), cmocka_unit_test(ends_all_the_same),
	};

	return cmocka_run_group_tests_name("broker", tests, set_up, tear_down);
}
