/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process that names cannot do any more, tried by one: it is made and confined as naming's
 * is. Likewise gnomon itself, when it has made the others.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "naming/cell.h"
#include "naming/confine.h"
#include "run/renounce.h"

#define LANDLOCK_CREATE 444

static char made[] = "/tmp/gnomon-confine.XXXXXX";
static char file_made[64];

/* ---- what is tried: 0 or -errno ---- */

static int rc_of(long rc)
{
	return rc < 0 ? -errno : 0;
}

static int try_open_write(void)
{
	return rc_of(open("/proc/self/comm", O_WRONLY));
}

static int try_open_both(void)
{
	return rc_of(open("/proc/self/comm", O_RDWR));
}

static int try_create(void)
{
	return rc_of(open(file_made, O_RDONLY | O_CREAT | O_EXCL, 0600));
}

static int try_temporary(void)
{
	return rc_of(open("/tmp", O_TMPFILE | O_RDWR, 0600));
}

static int try_truncate(void)
{
	return rc_of(open("/proc/self/comm", O_RDONLY | O_TRUNC));
}

static int try_openat2(void)
{
	struct open_how how = {.flags = O_RDONLY};

	return rc_of(syscall(SYS_openat2, AT_FDCWD, "/proc/self/comm", &how, sizeof(how)));
}

static int try_socket(void)
{
	return rc_of(socket(AF_INET, SOCK_STREAM, 0));
}

static int try_unix_socket(void)
{
	return rc_of(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int try_ptrace(void)
{
	return rc_of(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int try_traceme(void)
{
	return rc_of(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int try_memory(void)
{
	char buf[8];
	struct iovec ours = {buf, sizeof(buf)}, theirs = {buf, sizeof(buf)};

	return rc_of(process_vm_readv(getppid(), &ours, 1, &theirs, 1, 0));
}

static int try_execve(void)
{
	char *const argv[] = {"true", NULL}, *const envp[] = {NULL};

	return rc_of(execve("/bin/true", argv, envp));
}

static int try_kill(void)
{
	return rc_of(kill(getppid(), 0));
}

static int try_kill_own(void)
{
	return rc_of(kill(getpid(), 0));
}

static int try_fork(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (!pid)
		_exit(0);
	return rc_of(pid);
}

static int try_clone3(void)
{
	return rc_of(syscall(SYS_clone3, NULL, 0));
}

static int try_user(void)
{
	return rc_of(setresuid(0, 0, 0));
}

static int try_namespace(void)
{
	return rc_of(unshare(CLONE_NEWUSER));
}

static int try_mount(void)
{
	return rc_of(mount("none", "/tmp", "tmpfs", 0, NULL));
}

static int try_bpf(void)
{
	return rc_of(syscall(SYS_bpf, 0, NULL, 0));
}

static int try_perf(void)
{
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(a)};

	return rc_of(syscall(SYS_perf_event_open, &a, 0, -1, -1, 0));
}

static int try_limit(void)
{
	struct rlimit rl = {RLIM_INFINITY, RLIM_INFINITY};

	return rc_of(setrlimit(RLIMIT_AS, &rl));
}

static int try_remove(void)
{
	return rc_of(unlink(made));
}

static int try_ioctl(void)
{
	return rc_of(syscall(SYS_ioctl, 0, 0x5412 /* TIOCSTI */, ""));
}

/* Landlock: what anybody may read elsewhere. */
static int try_read_elsewhere(void)
{
	return rc_of(open("/etc/passwd", O_RDONLY));
}

/* ---- and what it has to be able to ---- */

static int try_read(void)
{
	return rc_of(open("/proc/self/status", O_RDONLY | O_CLOEXEC));
}

static int try_setns(void)
{
	return rc_of(setns(-1, CLONE_NEWNET));
}

static int try_module(void)
{
	return rc_of(syscall(SYS_finit_module, -1, "", 0));
}

static int try_uring(void)
{
	char params[256] = {0};

	return rc_of(syscall(SYS_io_uring_setup, 1, params));
}

static int try_pair(void)
{
	int fds[2];

	return rc_of(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds));
}

static void *nothing(void *arg)
{
	return NULL;
}

static int try_thread(void)
{
	pthread_t t;
	int rc = pthread_create(&t, NULL, nothing, NULL);

	return rc ? -rc : -pthread_join(t, NULL);
}

static const struct attempt {
	const char *what;
	int (*try)(void);
	int want;
} attempts[] = {
	{"open to write", try_open_write, -EPERM},
	{"open to read and write", try_open_both, -EPERM},
	{"create a file", try_create, -EPERM},
	{"create a temporary file", try_temporary, -EPERM},
	{"truncate a file", try_truncate, -EPERM},
	{"openat2", try_openat2, -ENOSYS},
	{"a socket", try_socket, -EPERM},
	{"a local socket", try_unix_socket, -EPERM},
	{"ptrace", try_ptrace, -EPERM},
	{"ptrace of itself", try_traceme, -EPERM},
	{"memory of another", try_memory, -EPERM},
	{"execve", try_execve, -EPERM},
	{"kill", try_kill, -EPERM},
	{"kill itself", try_kill_own, -EPERM},
	{"fork", try_fork, -EPERM},
	{"clone3", try_clone3, -ENOSYS},
	{"another user", try_user, -EPERM},
	{"a namespace", try_namespace, -EPERM},
	{"mount", try_mount, -EPERM},
	{"bpf", try_bpf, -EPERM},
	{"perf_event_open", try_perf, -EPERM},
	{"a higher limit", try_limit, -EPERM},
	{"remove a file", try_remove, -EPERM},
	{"push into a terminal", try_ioctl, -EPERM},
	{"read elsewhere", try_read_elsewhere, -EACCES},
	{"read what anybody may", try_read, 0},
	{"make a thread", try_thread, 0},
};

/* What gnomon itself cannot do when it has made the others, and what it has to be able to. */
static const struct attempt of_session[] = {
	{"a socket", try_socket, -EPERM},
	{"a local socket", try_unix_socket, -EPERM},
	{"ptrace", try_ptrace, -EPERM},
	{"ptrace of itself", try_traceme, -EPERM},
	{"memory of another", try_memory, -EPERM},
	{"execve", try_execve, -EPERM},
	{"fork", try_fork, -EPERM},
	{"clone3", try_clone3, -ENOSYS},
	{"another user", try_user, -EPERM},
	{"a namespace", try_namespace, -EPERM},
	{"a process's namespace", try_setns, -EPERM},
	{"mount", try_mount, -EPERM},
	{"a module", try_module, -EPERM},
	{"io_uring", try_uring, -EPERM},
	{"create a file", try_create, 0},
	{"kill itself", try_kill_own, 0},
	{"a pair of sockets", try_pair, 0},
	{"make a thread", try_thread, 0},
};

#define COUNT(v)     (sizeof(v) / sizeof(*(v)))
#define ATTEMPTS_MAX 64

static int renounce_all(void)
{
	return renounce(false, NULL);
}

struct told {
	int (*enter)(void);
	const struct attempt *v;
	size_t n;
	int confined;
	int rc[ATTEMPTS_MAX];
};

static void prisoner(void *arg)
{
	struct told *t = arg;

	t->confined = t->enter();
	for (size_t i = 0; i < t->n; i++)
		t->rc[i] = t->v[i].try();
}

static int confine_self(void)
{
	int rc = confine_mould();

	return rc ? rc : confine_calls();
}

static bool has_landlock(void)
{
	return syscall(LANDLOCK_CREATE, NULL, 0, 1) > 0;
}

static size_t wrong_count(const struct told *t)
{
	size_t wrong = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i].try == try_read_elsewhere && !has_landlock())
			continue;
		if (t->rc[i] == t->v[i].want)
			continue;
		print_error("%s: %d (%s), not %d\n", t->v[i].what, t->rc[i],
			    t->rc[i] < 0 ? strerror(-t->rc[i]) : "done", t->v[i].want);
		wrong++;
	}
	return wrong;
}

static void all_tried(int (*enter)(void), const struct attempt *v, size_t n)
{
	struct told *t =
		mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct cell *c;

	assert_ptr_not_equal(t, MAP_FAILED);
	assert_true(n <= ATTEMPTS_MAX);
	*t = (struct told){.enter = enter, .v = v, .n = n, .confined = 1};
	for (size_t i = 0; i < n; i++)
		t->rc[i] = 1; /* not tried */
	assert_int_equal(cell_start(&c, prisoner, t, NULL, 0), 0);
	assert_true(cell_wait(c, 60000));
	cell_free(c);
	assert_int_equal(t->confined, 0);
	assert_int_equal(wrong_count(t), 0);
	munmap(t, sizeof(*t));
}

static void each_is_refused(void **state)
{
	all_tried(confine_self, attempts, COUNT(attempts));
	assert_int_equal(access(made, F_OK), 0);
	assert_int_not_equal(access(file_made, F_OK), 0);
}

static void session_is_bound(void **state)
{
	all_tried(renounce_all, of_session, COUNT(of_session));
	assert_int_equal(unlink(file_made), 0);
}

/* The same without it: the test can fail. */
static void each_is_possible(void **state)
{
	assert_int_equal(try_open_write(), 0);
	assert_int_equal(try_unix_socket(), 0);
	assert_int_equal(try_kill_own(), 0);
	assert_int_equal(try_fork(), 0);
	assert_int_equal(try_create(), 0);
	assert_int_equal(try_read_elsewhere(), 0);
	assert_int_equal(unlink(file_made), 0);
	while (wait(NULL) > 0)
		;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_refused),
		cmocka_unit_test(session_is_bound),
		cmocka_unit_test(each_is_possible),
	};
	int fd = mkstemp(made), rc;

	if (fd < 0)
		return 1;
	snprintf(file_made, sizeof(file_made), "%s.made", made);
	rc = cmocka_run_group_tests_name("confine", tests, NULL, NULL);
	close(fd);
	unlink(made);
	unlink(file_made);
	return rc;
}
