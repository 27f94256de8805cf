/* SPDX-License-Identifier: Apache-2.0 */
/* The agent library's file where several gnomons attach to one process at once, or one is killed.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jvm/agentblob.h"
#include "jvm/agentfile.h"

/* A process that a library may be loaded into; it does nothing. */
static pid_t target_start(struct jproc *p)
{
	pid_t pid = fork();
	struct error e = {0};

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_int_equal(jproc_open(p, pid, &e), 0);
	return pid;
}

static void target_end(struct jproc *p)
{
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	jproc_close(p);
}

static bool is_whole(const char *path)
{
	struct stat st;

	return !stat(path, &st) && st.st_size == agent_blob_end - agent_blob;
}

/* Another gnomon: tells the path when it has a file, and ends when `go` does, killed or not. */
static pid_t other_start(const struct jproc *p, int told, int go, bool killed)
{
	pid_t pid = fork();
	struct agentfile f;
	struct error e;
	char c;

	if (pid)
		return pid;
	if (agentfile_place(&f, p, &e) || write(told, f.path, sizeof(f.path)) != sizeof(f.path) ||
	    read(go, &c, 1) != 1)
		_exit(1);
	if (killed)
		raise(SIGKILL);
	agentfile_remove(&f, p);
	_exit(0);
}

static bool has_said(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

static void pipes_close(const int told[2], const int go[2])
{
	for (int i = 0; i < 2; i++) {
		close(told[i]);
		close(go[i]);
	}
}

/* Lets it go on. Returns what became of it. */
static int other_end(pid_t other, int go)
{
	int status;

	assert_int_equal(write(go, "x", 1), 1);
	assert_int_equal(waitpid(other, &status, 0), other);
	return status;
}

/* The second waits, and the file of each is there, whole, for as long as it needs it. */
static void test_two(void **state)
{
	struct agentfile f;
	struct error e = {0};
	struct jproc p;
	char path[sizeof(f.path)];
	int told[2], go[2];
	pid_t other;

	target_start(&p);
	assert_int_equal(pipe(told) | pipe(go), 0);
	assert_int_equal(agentfile_place(&f, &p, &e), 0);
	other = other_start(&p, told[1], go[0], false);
	assert_false(has_said(told[0], 200));
	assert_true(is_whole(f.path));
	agentfile_remove(&f, &p);
	assert_int_equal(read(told[0], path, sizeof(path)), sizeof(path));
	assert_string_equal(path, f.path);
	assert_true(is_whole(path));
	/* what the first does once more is none of its files */
	agentfile_sweep(&p, path);
	assert_true(is_whole(path));
	assert_int_equal(other_end(other, go[1]), 0);
	assert_int_equal(access(path, F_OK), -1);
	target_end(&p);
	pipes_close(told, go);
}

/* What one leaves that is killed is taken away by the next at once. */
static void test_killed(void **state)
{
	struct agentfile f;
	struct error e = {0};
	struct jproc p;
	char path[sizeof(f.path)];
	int told[2], go[2];
	pid_t other;

	target_start(&p);
	assert_int_equal(pipe(told) | pipe(go), 0);
	other = other_start(&p, told[1], go[0], true);
	assert_int_equal(read(told[0], path, sizeof(path)), sizeof(path));
	assert_true(WIFSIGNALED(other_end(other, go[1])));
	assert_true(is_whole(path));
	assert_int_equal(agentfile_place(&f, &p, &e), 0);
	assert_string_equal(path, f.path);
	assert_true(is_whole(path));
	agentfile_remove(&f, &p);
	assert_int_equal(access(path, F_OK), -1);
	target_end(&p);
	pipes_close(told, go);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two),
		cmocka_unit_test(test_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
