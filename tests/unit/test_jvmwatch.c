/* SPDX-License-Identifier: Apache-2.0 */
/* JVMs as they appear, with children of the test that map a file called libjvm.so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/jvmwatch.h"
#include "target/pidns.h"

#define S 1000000000ull

static char dir[] = "/tmp/test_jvmwatch.XXXXXX";
static char lib[sizeof(dir) + 16];
static int go[2];

/* One that maps the library when told to, and then waits for its end. */
static void child_run(int ready)
{
	int fd = open(lib, O_RDONLY);
	char b;

	if (read(go[0], &b, 1) != 1 ||
	    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
	    write(ready, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static pid_t child_start(int *ready)
{
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		child_run(fds[1]);
	close(fds[1]);
	*ready = fds[0];
	return pid;
}

static void child_map(int ready)
{
	char b;

	assert_int_equal(write(go[1], "x", 1), 1);
	assert_int_equal(read(ready, &b, 1), 1);
	close(ready);
}

struct told {
	pid_t pid;
	int n;
	int refuse; /* so many times */
};

static bool on_jvm(const struct jvm_proc *j, void *arg)
{
	struct told *t = arg;

	if (j->id.pid != t->pid)
		return true;
	t->n++;
	return t->n > t->refuse;
}

static void appears(void **state)
{
	struct jvmwatch *w = jvmwatch_new();
	uint64_t now = 100 * S;
	struct jvmwatch_stats st;
	struct told t = {0};
	int ready;

	t.pid = child_start(&ready);
	assert_int_equal(jvmwatch_look(w, now, on_jvm, &t), 0);
	assert_int_equal(t.n, 0);
	child_map(ready);
	assert_int_equal(jvmwatch_look(w, now += S, on_jvm, &t), 0);
	assert_int_equal(t.n, 1);
	/* told once */
	for (int i = 0; i < 40; i++)
		assert_int_equal(jvmwatch_look(w, now += S, on_jvm, &t), 0);
	assert_int_equal(t.n, 1);
	kill(t.pid, SIGKILL);
	waitpid(t.pid, NULL, 0);
	jvmwatch_look(w, now += S, on_jvm, &t);
	jvmwatch_stats(w, &st);
	assert_int_equal(st.looks, 43);
	jvmwatch_free(w);
}

/* Not one we look at closely every time any more, yet found. */
static void late(void **state)
{
	struct jvmwatch *w = jvmwatch_new();
	struct jvmwatch_stats before, after;
	uint64_t now = 100 * S;
	struct told t = {0};
	int ready;

	t.pid = child_start(&ready);
	for (int i = 0; i < 45; i++)
		jvmwatch_look(w, now += S, on_jvm, &t);
	jvmwatch_stats(w, &before);
	jvmwatch_look(w, now += S / 1000, on_jvm, &t);
	jvmwatch_stats(w, &after);
	assert_true(after.maps - before.maps < before.known / 2 + 2);
	child_map(ready);
	for (int i = 0; i < 36 && !t.n; i++)
		jvmwatch_look(w, now += S, on_jvm, &t);
	assert_int_equal(t.n, 1);
	kill(t.pid, SIGKILL);
	waitpid(t.pid, NULL, 0);
	jvmwatch_free(w);
}

/* Who cannot do with it is told until it can: soon while the process is young, later now and then.
 */
static void refused(void **state)
{
	struct jvmwatch *w = jvmwatch_new();
	struct told t = {.refuse = 11};
	uint64_t now = 100 * S;
	int ready;

	t.pid = child_start(&ready);
	child_map(ready);
	for (int i = 0; i < 10; i++)
		jvmwatch_look(w, now += S, on_jvm, &t);
	assert_int_equal(t.n, 10);
	for (int i = 0; i < 80; i++)
		jvmwatch_look(w, now += S, on_jvm, &t);
	assert_int_equal(t.n, 12);
	kill(t.pid, SIGKILL);
	waitpid(t.pid, NULL, 0);
	jvmwatch_free(w);
}

/* How often it is told of each of two. */
static bool on_either(const struct jvm_proc *j, void *arg)
{
	struct told *t = arg;

	for (int i = 0; i < 2; i++)
		t[i].n += t[i].pid == j->id.pid;
	return true;
}

/* Who has no place costs nothing until there is one, but for a look now and then. */
static void put_off(void **state)
{
	struct jvmwatch *w = jvmwatch_new();
	struct told t[2] = {0};
	uint64_t now = 100 * S;
	int ready;

	for (int i = 0; i < 2; i++) {
		t[i].pid = child_start(&ready);
		child_map(ready);
	}
	jvmwatch_look(w, now, on_either, t);
	assert_int_equal(t[0].n + t[1].n, 2);
	for (int i = 0; i < 2; i++)
		jvmwatch_put_off(w, t[i].pid, 7);
	for (int i = 0; i < 59; i++)
		jvmwatch_look(w, now += S, on_either, t);
	assert_int_equal(t[0].n + t[1].n, 2);
	/* each place is one's */
	jvmwatch_room(w, 8);
	jvmwatch_room(w, 7);
	jvmwatch_look(w, now += S / 1000, on_either, t);
	assert_int_equal(t[0].n + t[1].n, 3);
	jvmwatch_put_off(w, t[t[1].n > 1].pid, 7);
	/* after a minute one by one */
	for (int i = 0; i < 12; i++)
		jvmwatch_look(w, now += S, on_either, t);
	assert_int_equal(t[0].n + t[1].n, 4);
	for (int i = 0; i < 60; i++)
		jvmwatch_look(w, now += S, on_either, t);
	assert_int_equal(t[0].n + t[1].n, 5);
	for (int i = 0; i < 2; i++)
		jvmwatch_put_off(w, t[i].pid, 7);
	now += 100 * S;
	jvmwatch_look(w, now, on_either, t);
	assert_int_equal(t[0].n + t[1].n, 6);
	jvmwatch_look(w, now += 5 * S, on_either, t);
	assert_int_equal(t[0].n + t[1].n, 7);
	for (int i = 0; i < 2; i++) {
		kill(t[i].pid, SIGKILL);
		waitpid(t[i].pid, NULL, 0);
	}
	jvmwatch_free(w);
}

static void namespaces(void **state)
{
	struct error e = {0};

	assert_int_equal(pidns_judge("7", 7, &e), 0);
	assert_int_equal(pidns_judge("4711", 7, &e), -EXDEV);
	assert_int_equal(e.exit, EXIT_PERMISSION);
	assert_non_null(strstr(e.msg, "/proc"));
	assert_non_null(strstr(e.hint, "--pid=host"));
	assert_int_equal(pidns_judge(NULL, 7, &e), -EXDEV);
}

static int setup(void **state)
{
	int fd;

	if (!mkdtemp(dir) || pipe(go))
		return -1;
	snprintf(lib, sizeof(lib), "%s/libjvm.so", dir);
	fd = open(lib, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, 4096))
		return -1;
	return close(fd);
}

static int teardown(void **state)
{
	unlink(lib);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appears), cmocka_unit_test(late),	 cmocka_unit_test(refused),
		cmocka_unit_test(put_off), cmocka_unit_test(namespaces),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
