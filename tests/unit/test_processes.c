/* SPDX-License-Identifier: Apache-2.0 */
/* The processes beside a JVM: they are read once for all JVMs that begin within a second. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jfrmade.h"
#include "naming/processes.h"
#include "target/procfs.h"

#define S     1000000000ull
#define OLD   "gnomon-test-process-old"
#define YOUNG "gnomon-test-process-young"

static char dir[] = "/tmp/gnomon_processes.XXXXXX", path[64];

static int setup(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/p.jfr", dir);
	return 0;
}

static int teardown(void **state)
{
	unlink(path);
	return rmdir(dir);
}

static struct jfrw *opened(void)
{
	struct jfrw *w = jm_open(path, (struct jfrw_form){.vitals = true});

	assert_non_null(w);
	return w;
}

/* Is called `name` when this returns. */
static pid_t started(const char *name)
{
	char command[256] = "";
	pid_t pid = fork();

	if (!pid) {
		execl("/bin/sleep", name, "600", NULL);
		_exit(1);
	}
	assert_true(pid > 0);
	while (strcmp(command, name)) {
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		if (proc_read(pid, "cmdline", command, sizeof(command)) <= 0)
			command[0] = '\0';
	}
	return pid;
}

static void ended(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* In the recording. */
static unsigned int times(const char *text)
{
	size_t len = strlen(text), n;
	char *bytes = malloc(8 << 20);
	unsigned int found = 0;
	FILE *f = fopen(path, "re");

	assert_non_null(f);
	assert_non_null(bytes);
	n = fread(bytes, 1, 8 << 20, f);
	fclose(f);
	for (char *at = bytes; (at = memmem(at, n - (size_t)(at - bytes), text, len)); at += len)
		found++;
	free(bytes);
	return found;
}

static void test_read_once(void **state)
{
	struct processes *p = processes_new();
	pid_t old = started(OLD), young;
	struct jfrw *w;

	assert_non_null(p);
	w = opened();
	processes_write(p, w, 10 * S, getpid());
	young = started(YOUNG);
	processes_write(p, w, 10 * S + S / 2, getpid()); /* as they were */
	assert_int_equal(jfrw_close(w, NULL), 0);
	assert_int_equal(times(OLD), 2);
	assert_int_equal(times(YOUNG), 0);

	w = opened();
	processes_write(p, w, 10 * S + S / 2, young); /* a JVM that was not there then */
	processes_rest(p, 12 * S);
	ended(old);
	processes_write(p, w, 12 * S, getpid());
	assert_int_equal(jfrw_close(w, NULL), 0);
	assert_int_equal(times(OLD), 1);
	assert_int_equal(times(YOUNG), 2);

	ended(young);
	processes_free(p);
}

/* Who is gone has no namespace, and so nobody beside it. */
static void test_gone(void **state)
{
	struct processes *p = processes_new();
	pid_t old = started(OLD), young = started(YOUNG);
	struct jfrw *w;

	w = opened();
	ended(old);
	processes_write(p, w, 10 * S, old);
	assert_int_equal(jfrw_close(w, NULL), 0);
	assert_int_equal(times(YOUNG), 0);
	ended(young);
	processes_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_once),
		cmocka_unit_test(test_gone),
	};

	return cmocka_run_group_tests_name("processes", tests, setup, teardown);
}
