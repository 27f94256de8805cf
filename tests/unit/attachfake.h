/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child process that plays a JVM for who attaches: it has mapped a file named libjvm.so, notes
 * SIGQUIT, and listens where HotSpot does.
 */
#ifndef GNOMON_TESTS_ATTACHFAKE_H
#define GNOMON_TESTS_ATTACHFAKE_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];
static volatile sig_atomic_t quit_seen;

static void path_of(char *path, size_t n, const char *what, pid_t pid)
{
	snprintf(path, n, "/tmp/.%s_pid%d", what, pid);
}

static void map_libjvm(void)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/libjvm.so", dir);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, 4096) ||
	    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(1);
	close(fd);
}

static void on_quit(int sig)
{
	quit_seen = 1;
}

/*
 * As HotSpot's listener does it (attachListener_linux.cpp): bound under another name and renamed
 * into place, so that what a killed JVM of the same pid left there is no obstacle.
 */
static int listen_at(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s.tmp", path);
	unlink(a.sun_path);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 5) || rename(a.sun_path, path))
		_exit(1);
	return fd;
}

static size_t request_read(int fd, char *text, size_t max)
{
	size_t n = 0, nuls = 0;

	while (nuls < 5 && n < max) {
		ssize_t r = read(fd, text + n, 1);

		if (r <= 0)
			break;
		nuls += !text[n];
		n++;
	}
	return n;
}

static void say(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		_exit(1);
}

/* The rest of the child, once it is known where its libjvm.so is to lie. */
static void fake_run(void (*body)(void), bool handler, int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(30);
	signal(SIGQUIT, handler ? on_quit : SIG_DFL);
	map_libjvm();
	close(ready);
	body();
	_exit(0);
}

/* What it does then is `body`; `handler`: it does not die of SIGQUIT. */
static pid_t fake_fork(void (*body)(void), bool handler)
{
	char path[64], c;
	int ready[2];
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		close(ready[0]);
		fake_run(body, handler, ready[1]);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 0); /* both ends closed: it is set up */
	close(ready[0]);
	path_of(path, sizeof(path), "java", pid);
	unlink(path); /* pids come again: another test's JVM may have been killed */
	return pid;
}

/* Its exit code; 128 + signal where it was killed. */
static int fake_end(pid_t pid)
{
	char path[64];
	int status;

	waitpid(pid, &status, 0);
	path_of(path, sizeof(path), "attach", pid);
	assert_int_equal(access(path, F_OK), -1); /* no trigger is left behind */
	path_of(path, sizeof(path), "java", pid);
	unlink(path);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int setup(void **state)
{
	strcpy(dir, "/tmp/gnomon-attach-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/libjvm.so", dir);
	unlink(path);
	return rmdir(dir);
}

#endif
