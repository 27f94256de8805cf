/* SPDX-License-Identifier: Apache-2.0 */
#include "http/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/utf8.h"

#define NICE 10

static void limits_set(pid_t pid)
{
	const struct rlimit cpu = {CHILD_CPU_S, CHILD_CPU_S}, none = {0, 0};

	prlimit(pid, RLIMIT_CPU, &cpu, NULL);
	prlimit(pid, RLIMIT_CORE, &none, NULL);
	setpriority(PRIO_PROCESS, (id_t)pid, NICE);
}

/* Signals as they are for any program: who serves ignores some, and blocks others. */
static int spawn(struct child *c, int out, const char *program, char *const *argv)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t all, none;
	int rc;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&how);
	posix_spawnattr_setsigdefault(&how, &all);
	posix_spawnattr_setsigmask(&how, &none);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, c->err, STDERR_FILENO);
	rc = posix_spawn(&c->pid, program, &files, &how, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&how);
	return -rc;
}

int child_start(struct child *c, const char *program, char *const *argv)
{
	int ends[2] = {-1, -1}, rc;

	*c = (struct child){.out = -1, .err = memfd_create("words", MFD_CLOEXEC)};
	if (c->err < 0 || pipe2(ends, O_CLOEXEC)) {
		rc = -errno;
		if (c->err >= 0)
			close(c->err);
		return rc;
	}
	c->out = ends[0];
	rc = spawn(c, ends[1], program, argv);
	close(ends[1]);
	if (!rc) {
		limits_set(c->pid);
		return 0;
	}
	c->pid = 0;
	close(c->out);
	close(c->err);
	return rc;
}

static int timeout_ms(uint64_t deadline)
{
	uint64_t now = now_ns();

	return now >= deadline ? 0 : (int)((deadline - now) / 1000000) + 1;
}

ssize_t child_read(struct child *c, int client, uint64_t deadline, void *to, size_t cap)
{
	for (;;) {
		struct pollfd fds[2] = {{.fd = c->out, .events = POLLIN},
					{.fd = client, .events = POLLRDHUP}};
		int rc = poll(fds, 2, timeout_ms(deadline));
		ssize_t n;

		if (rc < 0 && errno != EINTR)
			return -errno;
		if (rc < 0)
			continue;
		if (!rc)
			return -ETIMEDOUT;
		if (fds[1].revents)
			return -EPIPE;
		n = read(c->out, to, cap);
		if (n >= 0 || errno != EINTR)
			return n < 0 ? -errno : n;
	}
}

static void words_read(const struct child *c, char *to, size_t cap)
{
	ssize_t n = pread(c->err, to, cap - 1, 0);

	n = n < 0 ? 0 : n;
	to[n] = '\0';
	utf8_clean(to, (size_t)n, true);
}

int child_end(struct child *c, bool kills, char *words, size_t cap)
{
	int status = 0;

	if (!c->pid)
		return -1;
	if (kills)
		kill(c->pid, SIGKILL);
	close(c->out);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (words)
		words_read(c, words, cap);
	close(c->err);
	c->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
