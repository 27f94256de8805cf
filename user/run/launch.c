/* SPDX-License-Identifier: Apache-2.0 */
#include "run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sigpipe.h"
#include "target/jvmproc.h"
#include "target/procfs.h"

#define OFTEN_NS  10000000000ull /* a command becomes a JVM soon after its start, if ever */
#define SELDOM_NS 1000000000ull

static void child_run(int go, int failed, char *const argv[])
{
	sigset_t none;
	char b;
	int err;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	sigpipe_restore();
	if (read(go, &b, 1) != 1)
		_exit(127);
	execvp(argv[0], argv);
	err = errno;
	if (write(failed, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

int launch_prepare(struct launch *l, char *const argv[], struct error *e)
{
	int go[2], failed[2];

	if (pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC))
		return error_set(e, -errno, EXIT_INTERNAL, "cannot make a pipe: %s",
				 strerror(errno));
	l->pid = fork();
	if (l->pid < 0)
		return error_set(e, -errno, EXIT_INTERNAL, "cannot fork: %s", strerror(errno));
	if (!l->pid) {
		/* otherwise the child would hold its own gate open if we die */
		close(go[1]);
		close(failed[0]);
		child_run(go[0], failed[1], argv);
	}
	close(go[0]);
	close(failed[1]);
	l->go = go[1];
	l->failed = failed[0];
	return 0;
}

int launch_go(struct launch *l, const char *name, struct error *e)
{
	int err = 0;
	ssize_t n;

	if (write(l->go, "x", 1) != 1)
		return error_set(e, -errno, EXIT_INTERNAL, "cannot start '%s': %s", name,
				 strerror(errno));
	close(l->go);
	l->go = -1;
	do
		n = read(l->failed, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	close(l->failed);
	l->failed = -1;
	if (n != sizeof(err))
		return 0;
	waitpid(l->pid, NULL, 0);
	l->pid = 0;
	error_set(e, -err, EXIT_TARGET, "cannot run '%s': %s", name, strerror(err));
	return err == ENOENT ? error_hint(e, "give a path, or a name found in PATH") : -err;
}

/*
 * Notes whether the process is another program than the JDK's launcher, which loads libjvm.so only
 * after a look at its arguments. A process that is ending has no program any more: then the last
 * look counts.
 */
static void other_look(struct launch *l)
{
	char exe[PATH_MAX];
	ssize_t n = proc_link_read(l->pid, "exe", exe, sizeof(exe));

	if (n > 0)
		l->other = strcmp(strrchr(exe, '/') ? strrchr(exe, '/') : exe, "/java");
}

void launch_look(struct launch *l, uint64_t now_ns)
{
	int rc;

	if (l->pid <= 0 || l->is_jvm)
		return;
	if (!l->started_ns)
		l->started_ns = now_ns;
	if (now_ns - l->started_ns > OFTEN_NS && now_ns - l->looked_ns < SELDOM_NS)
		return;
	l->looked_ns = now_ns;
	rc = jvm_proc_check(l->pid);
	l->is_jvm = !rc;
	if (rc == -ENOEXEC)
		other_look(l);
}

int launch_judge(const struct launch *l, const char *name, struct error *e)
{
	if (l->is_jvm || !l->other)
		return 0;
	error_set(e, -ENOEXEC, EXIT_TARGET,
		  "'%s' never became a JVM: the recording has its native frames alone", name);
	return error_hint(e, "a script that starts one has to exec it; a JVM that runs already is "
			     "recorded with -p or --name");
}

void launch_signal(const struct launch *l, const struct signalfd_siginfo *si)
{
	if (l->pid > 0 && si->ssi_code <= 0)
		kill(l->pid, (int)si->ssi_signo);
}

static void signals_pass(const struct launch *l, int sigfd)
{
	struct signalfd_siginfo si;

	while (read(sigfd, &si, sizeof(si)) == sizeof(si))
		launch_signal(l, &si);
}

bool launch_runs(struct launch *l)
{
	int status;

	if (l->pid > 0 && waitpid(l->pid, &status, WNOHANG) == l->pid) {
		l->pid = 0;
		l->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	}
	return l->pid > 0;
}

bool launch_wait(struct launch *l, int sigfd, int ms)
{
	struct pollfd fds[] = {
		{.fd = (int)syscall(SYS_pidfd_open, l->pid, 0), .events = POLLIN},
		{.fd = sigfd, .events = POLLIN},
	};
	bool waits = true;

	while (waits && launch_runs(l)) {
		waits = poll(fds, 2, ms) != 0;
		if (waits && fds[1].revents)
			signals_pass(l, sigfd);
	}
	if (fds[0].fd >= 0)
		close(fds[0].fd);
	return !launch_runs(l);
}

void launch_end(struct launch *l)
{
	if (l->go > 0)
		close(l->go);
	if (l->failed > 0)
		close(l->failed);
	launch_runs(l);
	*l = (struct launch){0};
}
