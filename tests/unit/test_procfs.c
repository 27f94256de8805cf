/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tasks.h"
#include "target/procfs.h"

#define PARSE(fn, s, out) fn((s), strlen(s), (out))

static void stat_odd_comm(void **state)
{
	static const struct {
		const char *text, *comm;
		char st;
		uint64_t start;
	} t[] = {
		{"7 (cat) R 1 7 7 0 -1 4194304 9 0 0 0 11 12 0 0 20 0 1 0 999 5 6\n", "cat", 'R',
		 999},
		{"7 (a b) S 1 7 7 0 -1 0 9 0 0 0 11 12 0 0 20 -5 1 0 8 5 6", "a b", 'S', 8},
		{"7 (x) R 9) Z 1 7 7 0 -1 0 9 0 0 0 11 12 0 0 20 0 1 0 18446744073709551615",
		 "x) R 9", 'Z', UINT64_MAX},
		{"7 (n\nl)) T 1 7 7 0 -1 0 9 0 0 0 11 12 0 0 20 0 1 0 3", "n\nl)", 'T', 3},
		{"7 () D 1 7 7 0 -1 0 9 0 0 0 11 12 0 0 20 0 1 0 3", "", 'D', 3},
	};
	struct proc_stat s;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(PARSE(proc_stat_parse, t[i].text, &s), 0);
		assert_string_equal(s.comm, t[i].comm);
		assert_int_equal(s.state, t[i].st);
		assert_int_equal(s.start, t[i].start);
		assert_int_equal(s.utime, 11);
		assert_int_equal(s.stime, 12);
		assert_int_equal(s.ppid, 1);
		assert_int_equal(s.threads, 1);
	}
}

static void stat_malformed(void **state)
{
	static const char *const bad[] = {
		"",
		"7",
		"7 (",
		"7 (x",
		"7 (x)",
		"7 (x) R",
		"(x) R 1",
		"7 x) R",
		"7 (x) RR 1 7 7 0 -1 0 9 0 0 0 1 2 0 0 20 0 1 0 3",
		"7 (x) R 1 7 7 0 -1 0 9 0 0 0 1 2 0 0 20 0 1 0",
		"7 (x) R 1 7 7 0 -1 0 9 0 0 0 1 2 0 0 20 0 1 0 99999999999999999999",
		")7 (",
	};
	struct proc_stat s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(PARSE(proc_stat_parse, bad[i], &s), -EBADMSG);
}

static const char status_nested[] = "Name:\tja\\nva\n"
				    "Umask:\t0022\n"
				    "State:\tT (stopped)\n"
				    "Tgid:\t4711\n"
				    "Ngid:\t0\n"
				    "Pid:\t4712\n"
				    "PPid:\t4000\n"
				    "TracerPid:\t12\n"
				    "Uid:\t1000\t1001\t1002\t4294967294\n"
				    "Gid:\t5\t6\t7\t8\n"
				    "NStgid:\t4711\t31\t1\n"
				    "NSpid:\t4712\t32\t2\n"
				    "Threads:\t37\n"
				    "SigBlk:\t0000000000000004\n"
				    "SigIgn:\t0000000000000006\n"
				    "SigCgt:\t8000000181005ccf\n"
				    "CapEff:\t000001ffffffffff\n";

static void status_fields(void **state)
{
	struct proc_status s;

	assert_int_equal(PARSE(proc_status_parse, status_nested, &s), 0);
	assert_int_equal(s.state, 'T');
	assert_int_equal(s.tgid, 4711);
	assert_int_equal(s.pid, 4712);
	assert_int_equal(s.ppid, 4000);
	assert_int_equal(s.tracer, 12);
	assert_int_equal(s.uid[1], 1001);
	assert_int_equal(s.uid[3], 4294967294u);
	assert_int_equal(s.gid[1], 6);
	assert_int_equal(s.nspid_n, 3);
	assert_int_equal(proc_status_inner(&s), 2);
	assert_int_equal(s.threads, 37);
	assert_int_equal(s.sigblk, 4);
	assert_int_equal(s.sigign, 6);
	assert_true(s.sigcgt == 0x8000000181005ccfULL);
	assert_true(s.cap_eff == 0x1ffffffffffULL);
}

static void status_without_nspid(void **state)
{
	struct proc_status s;
	char many[2048] = "State:\tS\nTgid:\t5\nPid:\t5\nNSpid:";

	assert_int_equal(PARSE(proc_status_parse, "State:\tS\nTgid:\t5\nPid:\t5\n", &s), 0);
	assert_int_equal(s.nspid_n, 0);
	assert_int_equal(proc_status_inner(&s), 5);
	for (int i = 0; i < 100; i++)
		strcat(many, "\t9");
	assert_int_equal(PARSE(proc_status_parse, many, &s), 0);
	assert_int_equal(s.nspid_n, PROC_NS_LEVELS);
	assert_int_equal(PARSE(proc_status_parse, "Tgid:\t5\n", &s), -EBADMSG);
	assert_int_equal(PARSE(proc_status_parse, "", &s), -EBADMSG);
}

static void stolen(void **state)
{
	uint64_t ticks;

	assert_int_equal(PARSE(proc_stolen_parse,
			       "cpu  5801075 1732472 1449630 2881129 28623 0 54706 25917 7 8\n"
			       "cpu0 1 2 3 4 5 6 7 8 9 10\n",
			       &ticks),
			 0);
	assert_int_equal(ticks, 25917);
	/* as old kernels had it */
	assert_int_equal(PARSE(proc_stolen_parse, "cpu  1 2 3 4\n", &ticks), 0);
	assert_int_equal(ticks, 0);
	assert_int_equal(PARSE(proc_stolen_parse, "cpu  1 2 3 4 5 6 7\n", &ticks), 0);
	assert_int_equal(ticks, 0);
	assert_int_equal(PARSE(proc_stolen_parse, "cpu  1 2 3\n", &ticks), -EBADMSG);
	assert_int_equal(PARSE(proc_stolen_parse, "cpu0 1 2 3 4 5 6 7 8\n", &ticks), -EBADMSG);
	assert_int_equal(PARSE(proc_stolen_parse, "", &ticks), -EBADMSG);
}

static void busy(void **state)
{
	uint64_t ticks;

	assert_int_equal(PARSE(proc_busy_parse,
			       "cpu  5801075 1732472 1449630 2881129 28623 5 54706 25917 7 8\n"
			       "cpu0 1 2 3 4 5 6 7 8 9 10\n",
			       &ticks),
			 0);
	assert_int_equal(ticks, 5801075 + 1732472 + 1449630 + 5 + 54706);
	assert_int_equal(PARSE(proc_busy_parse, "cpu  1 2 3 4\n", &ticks), 0);
	assert_int_equal(ticks, 6);
	assert_int_equal(PARSE(proc_busy_parse, "cpu  1 2 3\n", &ticks), -EBADMSG);
	assert_int_equal(PARSE(proc_busy_parse, "", &ticks), -EBADMSG);
}

static void timens(void **state)
{
	static const char *const bad[] = {
		"",
		"boottime 1 2\n",
		"monotonic\n",
		"monotonic 1\n",
		"monotonic 1 -2\n",
		"monotonic 1 1000000000\n",
		"monotonic 1 9223372036854775807\n", /* with the seconds beyond 64 bits */
		"monotonic 4611686019 0\n",
		"monotonic -9223372036854775808 0\n",
		"monotonic --1 0\n",
		"xmonotonic 1 2\n",
	};
	int64_t ns;

	assert_int_equal(
		PARSE(proc_timens_parse, "monotonic  864000  7\nboottime  1728000  0\n", &ns), 0);
	assert_int_equal(ns, 864000000000007);
	/* a third of a second less than two: whole seconds go down, nanoseconds up */
	assert_int_equal(PARSE(proc_timens_parse, "boottime 0 0\nmonotonic -2 333000000", &ns), 0);
	assert_int_equal(ns, -1667000000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(PARSE(proc_timens_parse, bad[i], &ns), -EBADMSG);
		assert_int_equal(ns, 0);
	}
}

static void args(void **state)
{
	static const char text[] = "java\0-cp\0\0a b\0last";
	struct proc_args a;

	assert_int_equal(proc_args_parse(text, sizeof(text) - 1, &a), 0);
	assert_int_equal(a.n, 5);
	assert_string_equal(a.v[2], "");
	assert_string_equal(a.v[3], "a b");
	assert_string_equal(a.v[4], "last");
	assert_false(a.cut);
	proc_args_free(&a);
	assert_int_equal(proc_args_parse("", 0, &a), 0);
	assert_int_equal(a.n, 0);
	proc_args_free(&a);
}

static void args_bounded(void **state)
{
	size_t len = PROC_ARGC_MAX + 100;
	char *text = calloc(1, len);
	struct proc_args a;

	assert_int_equal(proc_args_parse(text, len, &a), 0);
	assert_int_equal(a.n, PROC_ARGC_MAX);
	assert_true(a.cut);
	proc_args_free(&a);
	free(text);
}

static void environment(void **state)
{
	static const char text[] = "PATHX=no\0PATH=/bin\0EMPTY=\0PATH=second";
	struct proc_args a;

	assert_int_equal(proc_args_parse(text, sizeof(text) - 1, &a), 0);
	assert_string_equal(proc_env_find(&a, "PATH"), "/bin");
	assert_string_equal(proc_env_find(&a, "EMPTY"), "");
	assert_null(proc_env_find(&a, "PAT"));
	proc_args_free(&a);
}

static int mount_count(const struct proc_mount *m, void *arg)
{
	int *n = arg;

	if ((*n)++ == 0) {
		assert_string_equal(m->root, "/a b");
		assert_string_equal(m->point, "/mnt\n\\x");
		assert_string_equal(m->fstype, "cgroup2");
		assert_string_equal(m->options, "rw,nsdelegate");
		assert_int_equal(m->dev_minor, 27);
		assert_false(m->read_only || m->noexec);
	} else {
		/* of the mount, not of the file system */
		assert_true(m->read_only && m->noexec);
	}
	return 0;
}

static void mountinfo_lines(void **state)
{
	static const char text[] =
		"36 35 0:27 /a\\040b /mnt\\012\\134x rw,noatime master:1 shared:2 - cgroup2 none "
		"rw,nsdelegate\n"
		"no mount at all\n"
		"37 35 0:28 / /p rw no separator\n"
		"38 35 0:29 / /q ro,nosuid,noexec - tmpfs\n";
	int n = 0;

	assert_int_equal(proc_mountinfo_parse(text, strlen(text), mount_count, &n), 0);
	assert_int_equal(n, 2);
}

/* ---- readers, against ourselves -------------------------------------------------------------- */

static void own_stat(void **state)
{
	struct proc_stat s;
	struct proc_status st;
	pid_t tgid;

	prctl(PR_SET_NAME, "a) R (b");
	assert_int_equal(proc_stat_read(getpid(), 0, &s), 0);
	assert_string_equal(s.comm, "a) R (b");
	assert_int_equal(s.pid, getpid());
	assert_int_equal(s.ppid, getppid());
	assert_int_equal(s.state, 'R');
	assert_int_equal(proc_status_read(getpid(), 0, &st), 0);
	assert_int_equal(st.uid[1], geteuid());
	assert_int_equal(st.nspid[0], getpid());
	assert_int_equal(proc_tgid(getpid(), &tgid), 0);
	assert_int_equal(tgid, getpid());
	assert_true(proc_uptime_ns(s.start) < 600ULL * 1000000000);
}

static void *thread_main(void *arg)
{
	pid_t *tid = arg;

	__atomic_store_n(tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	for (;;)
		pause();
	return NULL;
}

static void own_threads(void **state)
{
	pid_t tid = 0, tgid = 0, *tids;
	pthread_t th;
	size_t n;
	bool seen = false;

	assert_int_equal(pthread_create(&th, NULL, thread_main, &tid), 0);
	while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
		sched_yield();
	assert_int_equal(proc_tgid(tid, &tgid), 0);
	assert_int_equal(tgid, getpid());
	assert_int_equal(tasks_read(getpid(), &tids, &n), 0);
	for (size_t i = 0; i < n; i++) {
		seen |= tids[i] == tid;
		assert_true(!i || tids[i - 1] < tids[i]);
	}
	assert_true(seen);
	assert_int_equal(tasks_count(getpid()), n);
	free(tids);
	pthread_cancel(th);
	pthread_join(th, NULL);
}

static void identity(void **state)
{
	struct proc_id id, other;
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	assert_int_equal(proc_id_read(pid, &id), 0);
	assert_true(proc_id_alive(&id));
	other = (struct proc_id){pid, id.start + 1};
	assert_false(proc_id_alive(&other));
	kill(pid, SIGKILL);
	/* a zombie keeps its stat, but is not alive */
	for (int i = 0; i < 1000 && proc_id_alive(&id); i++)
		usleep(1000);
	assert_false(proc_id_alive(&id));
	waitpid(pid, NULL, 0);
	assert_int_equal(proc_id_read(pid, &id), -ESRCH);
	assert_int_equal(tasks_read(pid, &(pid_t *){NULL}, &(size_t){0}), -ESRCH);
	assert_int_equal(tasks_count(pid), 0);
}

/* RESOLVE_IN_ROOT with our own root: what is not a regular file must not be opened. */
static void root_files(void **state)
{
	char dir[] = "/tmp/gnomon-procfs-XXXXXX", path[128], link[128];
	int fd;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(proc_root_open(getpid(), path), -EINVAL);
	unlink(path);
	assert_int_equal(proc_root_open(getpid(), path), -ENOENT);
	snprintf(path, sizeof(path), "%s/file", dir);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	fd = proc_root_open(getpid(), path);
	assert_true(fd >= 0);
	close(fd);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(symlink("/proc/self/exe", link), 0);
	assert_int_equal(proc_root_open(getpid(), link), -ELOOP);
	assert_int_equal(proc_root_open(getpid(), dir), -EINVAL);
	unlink(link);
	unlink(path);
	rmdir(dir);
}

static void cmdline_of_own(void **state)
{
	struct proc_args a;

	assert_int_equal(proc_cmdline_read(getpid(), &a), 0);
	assert_true(a.n >= 1 && strstr(a.v[0], "test_procfs"));
	proc_args_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_odd_comm),  cmocka_unit_test(stat_malformed),
		cmocka_unit_test(status_fields),  cmocka_unit_test(status_without_nspid),
		cmocka_unit_test(stolen),	  cmocka_unit_test(busy),
		cmocka_unit_test(args),		  cmocka_unit_test(args_bounded),
		cmocka_unit_test(environment),	  cmocka_unit_test(mountinfo_lines),
		cmocka_unit_test(own_stat),	  cmocka_unit_test(own_threads),
		cmocka_unit_test(identity),	  cmocka_unit_test(root_files),
		cmocka_unit_test(cmdline_of_own), cmocka_unit_test(timens),
	};

	return cmocka_run_group_tests_name("procfs", tests, NULL, NULL);
}
