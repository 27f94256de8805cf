/* SPDX-License-Identifier: Apache-2.0 */
#include "base/inroot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * A path that the process keeps renaming makes openat2 give up with EAGAIN: the process could keep
 * us here for ever, so only a few attempts are made.
 */
#define TRIES 8

#define REAPER_STACK 65536

int inroot_open(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1;

	for (int i = 0; i < TRIES; i++) {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : fd;
}

int inroot_reopen_regular(int at, int flags)
{
	char self[64];
	struct stat st;
	int fd;

	if (fstat(at, &st) || !S_ISREG(st.st_mode)) {
		close(at);
		return -EINVAL;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	fd = open(self, flags | O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	close(at);
	return fd;
}

int inroot_open_regular(int root, const char *path, int flags)
{
	int at = inroot_open(root, path, O_PATH);

	return at < 0 ? at : inroot_reopen_regular(at, flags);
}

/*
 * The child closes all other descriptors of ours: if it hung with them, clocks and programs would
 * stay for as long, and whoever reads our output would wait for it.
 */
static void ask(int root, const char *path)
{
	struct statfs fs;
	int fd;

	if (root > 0)
		close_range(0, (unsigned int)root - 1, 0);
	close_range((unsigned int)root + 1, UINT_MAX, 0);
	fd = inroot_open(root, path, O_PATH);
	if (fd >= 0)
		fstatfs(fd, &fs);
	_exit(0);
}

static void *reap(void *pid)
{
	waitpid((pid_t)(intptr_t)pid, NULL, 0);
	return NULL;
}

/*
 * A child that hangs in the kernel ends when its file system answers or goes. A thread of its own
 * waits for that, since otherwise the child would stay a zombie for as long as we live.
 */
static void leave_behind(pid_t pid)
{
	pthread_attr_t attr;
	pthread_t thread;

	kill(pid, SIGKILL);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, REAPER_STACK);
	pthread_create(&thread, &attr, reap, (void *)(intptr_t)pid);
	pthread_attr_destroy(&attr);
}

bool inroot_answers(int root, const char *path, int ms)
{
	struct pollfd ended = {.events = POLLIN};
	pid_t pid = fork();
	bool in_time;

	if (!pid)
		ask(root, path);
	if (pid < 0)
		return true;
	ended.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	in_time = ended.fd >= 0 && poll(&ended, 1, ms) > 0;
	if (ended.fd >= 0)
		close(ended.fd);
	if (in_time)
		waitpid(pid, NULL, 0);
	else
		leave_behind(pid);
	return in_time;
}
