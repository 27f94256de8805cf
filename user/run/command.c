/* SPDX-License-Identifier: Apache-2.0 */
#include "run/command.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/utf8.h"

#define PATIENCE_NS 60000000000ull

struct command_env {
	char text[7][700];
	char *v[9];
};

static void env_make(struct command_env *x, const struct command_facts *f)
{
	char name[128], container[64];

	utf8_printable(f->name, name, sizeof(name));
	utf8_printable(f->container, container, sizeof(container));
	snprintf(x->text[0], sizeof(x->text[0]), "GNOMON_TRIGGER=%s", f->trigger);
	snprintf(x->text[1], sizeof(x->text[1]), "GNOMON_PID=%d", f->pid);
	snprintf(x->text[2], sizeof(x->text[2]), "GNOMON_NAME=%s", name);
	snprintf(x->text[3], sizeof(x->text[3]), "GNOMON_CONTAINER=%s", container);
	snprintf(x->text[4], sizeof(x->text[4]), "GNOMON_DIRECTORY=%s", f->dir);
	snprintf(x->text[5], sizeof(x->text[5]), "GNOMON_REASON=%s", f->words);
	snprintf(x->text[6], sizeof(x->text[6]), "GNOMON_FILE=%s", f->file);
	x->v[0] = (char *)"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	for (int i = 0; i < 7; i++)
		x->v[i + 1] = x->text[i];
	x->v[8] = NULL;
}

/* What is left are the standard ones, of nothing, and `*tell`, until it execs. */
static int descriptors_drop(int *tell)
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
		return errno;
	if (*tell != 3 && dup3(*tell, 3, O_CLOEXEC) < 0)
		return errno;
	*tell = 3;
	return syscall(SYS_close_range, 4, ~0u, 0) ? errno : 0;
}

/* In the child, of a process with several threads: system calls alone. Its errno. */
static int become(uint32_t uid, uint32_t gid)
{
	sigset_t none;

	if (setsid() < 0)
		return errno;
	if (syscall(SYS_setgroups, 0, NULL) || syscall(SYS_setresgid, gid, gid, gid) ||
	    syscall(SYS_setresuid, uid, uid, uid))
		return errno;
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	return chdir("/") ? errno : 0;
}

/* What it says is the errno for which it could not be run. */
static int failure_read(int fd, pid_t pid)
{
	int why = 0;
	ssize_t n;

	do
		n = read(fd, &why, sizeof(why));
	while (n < 0 && errno == EINTR);
	close(fd);
	if (n != sizeof(why))
		return 0;
	waitpid(pid, NULL, 0);
	return why > 0 ? -why : -EIO;
}

static pid_t spawn(char *const argv[], uint32_t uid, uint32_t gid, char *const env[], int *rc)
{
	int pipes[2], why;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC)) {
		*rc = -errno;
		return -1;
	}
	pid = fork();
	if (!pid) {
		why = descriptors_drop(&pipes[1]);
		if (!why)
			why = become(uid, gid);
		if (!why) {
			execve(argv[0], argv, env);
			why = errno;
		}
		_exit(write(pipes[1], &why, sizeof(why)) < 0 ? 126 : 127);
	}
	*rc = pid < 0 ? -errno : 0;
	close(pipes[1]);
	if (pid < 0)
		close(pipes[0]);
	else
		*rc = failure_read(pipes[0], pid);
	return pid;
}

int command_start(struct commands *c, char *const argv[], uint32_t uid, uint32_t gid,
		  const struct command_facts *facts, uint64_t now_ns)
{
	struct command *room = NULL;
	struct command_env env;
	pid_t pid;
	int rc;

	if (uid == (uint32_t)-1 || gid == (uint32_t)-1)
		return -EINVAL; /* to the kernel it means whoever we are */
	commands_look(c, now_ns);
	for (int i = 0; i < COMMANDS_MAX && !room; i++)
		room = c->v[i].pid ? NULL : &c->v[i];
	if (!room)
		return -EAGAIN;
	env_make(&env, facts);
	pid = spawn(argv, uid, gid, env.v, &rc);
	if (!rc)
		*room = (struct command){pid, now_ns + PATIENCE_NS};
	return rc;
}

bool commands_are_done(const struct commands *c)
{
	for (int i = 0; i < COMMANDS_MAX; i++)
		if (c->v[i].pid)
			return false;
	return true;
}

void commands_look(struct commands *c, uint64_t now_ns)
{
	for (int i = 0; i < COMMANDS_MAX; i++) {
		struct command *x = &c->v[i];

		if (!x->pid)
			continue;
		if (waitpid(x->pid, NULL, WNOHANG))
			x->pid = 0;
		else if (now_ns >= x->until_ns)
			kill(-x->pid, SIGKILL); /* its session's, too */
	}
}
