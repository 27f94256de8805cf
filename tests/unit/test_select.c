/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/select.h"

static void exactly_one(void **state)
{
	struct error e = {0};

	assert_int_equal(select_check(&(struct select_spec){.pid = 1}, &e), 0);
	assert_int_equal(select_check(&(struct select_spec){.all = true}, &e), 0);
	assert_int_equal(select_check(&(struct select_spec){0}, &e), -EINVAL);
	assert_int_equal(e.exit, EXIT_USAGE);
	assert_int_equal(select_check(&(struct select_spec){.pid = 1, .name = "x"}, &e), -EINVAL);
	assert_true(e.hint[0]);
}

static bool matches(const char *glob, enum java_main_kind kind, const char *main_name)
{
	struct jvm_proc j = {.id = {.pid = 7}};
	struct select_spec s = {.name = glob};

	j.cmd.kind = kind;
	snprintf(j.cmd.main, sizeof(j.cmd.main), "%s", main_name);
	return select_match(&s, &(struct cgroup_mounts){0}, &j);
}

static void names(void **state)
{
	assert_true(
		matches("org.apache.*", JAVA_MAIN_CLASS, "org.apache.catalina.startup.Bootstrap"));
	assert_true(matches("Bootstrap", JAVA_MAIN_CLASS, "org.apache.catalina.startup.Bootstrap"));
	assert_true(matches("Boot*", JAVA_MAIN_CLASS, "org.apache.catalina.startup.Bootstrap"));
	assert_true(matches("app-*.jar", JAVA_MAIN_JAR, "/opt/x/app-1.jar"));
	assert_true(matches("/opt/*", JAVA_MAIN_JAR, "/opt/x/app-1.jar"));
	assert_true(matches("M", JAVA_MAIN_MODULE, "mod/org.M"));
	assert_false(matches("jar", JAVA_MAIN_JAR, "/opt/x/app-1.jar"));
	assert_false(matches("startup", JAVA_MAIN_CLASS, "org.apache.catalina.startup.Bootstrap"));
	assert_false(matches("*", JAVA_MAIN_NONE, ""));
}

static void others(void **state)
{
	struct jvm_proc j = {.id = {.pid = 7}};
	struct cgroup_mounts m = {0};

	j.container.kind = CONTAINER_PODMAN;
	strcpy(j.container.name, "web");
	strcpy(j.cgroup.v2, "/a/b");
	assert_true(select_match(&(struct select_spec){.pid = 7}, &m, &j));
	assert_false(select_match(&(struct select_spec){.pid = 8}, &m, &j));
	assert_true(select_match(&(struct select_spec){.container = "web"}, &m, &j));
	assert_false(select_match(&(struct select_spec){.container = "db"}, &m, &j));
	assert_true(select_match(&(struct select_spec){.cgroup = "/a"}, &m, &j));
	assert_true(select_match(&(struct select_spec){.all = true}, &m, &j));
}

static void no_such_process(void **state)
{
	struct jvm_proc j;
	struct error e = {0};

	assert_int_equal(select_pid(0x7ffffff0, &j, &e), -ESRCH);
	assert_int_equal(e.exit, EXIT_TARGET);
	assert_string_equal(e.msg, "no such process: '2147483632'");
	assert_true(e.hint[0]);
}

static void not_a_jvm(void **state)
{
	struct jvm_proc j;
	struct error e = {0};
	char want[64];

	assert_int_equal(select_pid(getpid(), &j, &e), -ENOEXEC);
	assert_int_equal(e.exit, EXIT_TARGET);
	snprintf(want, sizeof(want), "process '%d' is not a JVM", getpid());
	assert_non_null(strstr(e.msg, want));
	assert_non_null(strstr(e.msg, "test_select"));
	assert_null(strchr(e.msg, '\n'));
}

static void *wait_for_ever(void *arg)
{
	__atomic_store_n((pid_t *)arg, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

static void a_thread(void **state)
{
	struct jvm_proc j;
	struct error e = {0};
	pid_t tid = 0;
	char want[64];
	pthread_t th;

	assert_int_equal(pthread_create(&th, NULL, wait_for_ever, &tid), 0);
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		sched_yield();
	assert_int_equal(select_pid(tid, &j, &e), -EINVAL);
	assert_int_equal(e.exit, EXIT_TARGET);
	snprintf(want, sizeof(want), "use -p %d", getpid());
	assert_string_equal(e.hint, want);
	pthread_cancel(th);
	pthread_join(th, NULL);
}

static void a_zombie(void **state)
{
	struct jvm_proc j;
	struct error e = {0};
	siginfo_t si;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
	assert_int_equal(select_pid(pid, &j, &e), -ESRCH);
	assert_int_equal(e.exit, EXIT_TARGET);
	assert_non_null(strstr(e.msg, "zombie"));
	waitpid(pid, NULL, 0);
}

static void *sleeper(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Its other threads run on, but /proc shows it as a zombie, without memory. */
static void main_thread_ended(void **state)
{
	struct proc_stat st = {0};
	struct error e = {0};
	struct jvm_proc j;
	pthread_t th;
	pid_t pid = fork();
	int rc;

	if (!pid) {
		if (pthread_create(&th, NULL, sleeper, NULL))
			_exit(1);
		syscall(SYS_exit, 0);
	}
	for (int i = 0; i < 500 && st.state != 'Z'; i++) {
		usleep(10000);
		proc_stat_read(pid, 0, &st);
	}
	rc = select_pid(pid, &j, &e);
	kill(pid, SIGKILL); /* before anything fails: it would hold our output open */
	waitpid(pid, NULL, 0);
	assert_int_equal(st.threads, 2);
	assert_int_equal(rc, -ESRCH);
	assert_int_equal(e.exit, EXIT_TARGET);
	assert_null(strstr(e.msg, "zombie"));
	assert_non_null(strstr(e.msg, "main thread"));
	assert_true(e.hint[0]);
}

/* As an ordinary user, somebody else's process: pid 1 is root's. */
static void not_permitted(void **state)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct error e = {0};
		struct jvm_proc j;

		if (!geteuid() && (setgid(65534) || setuid(65534)))
			_exit(2);
		select_pid(1, &j, &e);
		_exit(e.exit == EXIT_PERMISSION && strstr(e.hint, "root") ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void no_match(void **state)
{
	struct select_spec s = {.name = "no-such-main-class-anywhere"};
	struct select_list l;
	struct error e = {0};

	assert_true(select_all(&s, &l, &e) < 0);
	assert_true(e.exit == EXIT_TARGET || e.exit == EXIT_PERMISSION);
	assert_non_null(strstr(e.msg, s.name));
	assert_int_equal(l.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exactly_one), cmocka_unit_test(names),
		cmocka_unit_test(others),      cmocka_unit_test(no_such_process),
		cmocka_unit_test(not_a_jvm),   cmocka_unit_test(a_thread),
		cmocka_unit_test(a_zombie),    cmocka_unit_test(not_permitted),
		cmocka_unit_test(no_match),    cmocka_unit_test(main_thread_ended),
	};

	return cmocka_run_group_tests_name("select", tests, NULL, NULL);
}
