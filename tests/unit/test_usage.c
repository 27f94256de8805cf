/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's files about what is used, as they are, cut anywhere, and of others; secrets by their
 * looks. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/broker.h"
#include "naming/secret.h"
#include "target/procfs.h"
#include "target/usage.h"

static const char host[] = "cpu  100 10 50 1000 40 3 2 7 9 1\n"
			   "cpu0 100 10 50 1000 40 3 2 7 9 1\n"
			   "intr 12345 1 2 3\n"
			   "ctxt 987654321\n"
			   "btime 1700000000\n";

static void machine(void **state)
{
	struct host_usage u = {0};

	assert_int_equal(host_stat_parse(host, sizeof(host) - 1, &u), 0);
	assert_int_equal(u.busy_ns, proc_ticks_ns(100 + 10 + 50 + 3 + 2));
	assert_int_equal(u.all_ns, proc_ticks_ns(100 + 10 + 50 + 1000 + 40 + 3 + 2 + 7));
	assert_int_equal(u.stolen_ns, proc_ticks_ns(7));
	assert_int_equal(u.switches, 987654321);
	/* kernels before 2.6.11 have fewer columns */
	assert_int_equal(host_stat_parse("cpu  1 2 3 4\n", 13, &u), 0);
	assert_int_equal(u.busy_ns, proc_ticks_ns(6));
	assert_int_equal(host_stat_parse("cpu  1 2 3\n", 11, &u), -EBADMSG);
	assert_int_equal(host_stat_parse("", 0, &u), -EBADMSG);
	for (size_t len = 0; len < sizeof(host); len++)
		host_stat_parse(host, len, &u);
}

static void memory(void **state)
{
	static const char text[] = "MemTotal:       1000 kB\nMemFree: 100 kB\n"
				   "MemAvailable:    400 kB\n";
	struct host_usage u = {0};

	host_meminfo_parse(text, sizeof(text) - 1, &u);
	assert_int_equal(u.memory, 1000 << 10);
	assert_int_equal(u.memory_used, 600 << 10);
	host_meminfo_parse("MemAvailable: 400 kB\n", 21, &u);
	assert_int_equal(u.memory_used, 0);
}

static void process(void **state)
{
	static const char stat[] =
		"7 (a ) (b) S 1 7 7 0 -1 4194560 10 11 12 13 14 15 16 17 20 0 5 0 99 4096 25 "
		"18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 42 0 0\n";
	struct proc_usage u;

	assert_int_equal(proc_usage_parse(stat, sizeof(stat) - 1, &u), 0);
	assert_int_equal(u.minor_faults, 10);
	assert_int_equal(u.major_faults, 12);
	assert_int_equal(u.user_ns, proc_ticks_ns(14));
	assert_int_equal(u.system_ns, proc_ticks_ns(15));
	assert_int_equal(u.rss, 25 * (uint64_t)sysconf(_SC_PAGESIZE));
	assert_int_equal(u.io_wait_ns, proc_ticks_ns(42));
	assert_int_equal(u.threads, 5);
	assert_int_equal(proc_usage_parse("7 (a", 4, &u), -EBADMSG);
	assert_int_equal(proc_usage_parse("7 (a) S 1 2", 11, &u), -EBADMSG);
	for (size_t len = 0; len < sizeof(stat); len++)
		proc_usage_parse(stat, len, &u);
}

static void pressure(void **state)
{
	static const char text[] = "some avg10=1.00 avg60=2.00 avg300=3.00 total=45\n"
				   "full avg10=0.00 avg60=0.00 avg300=0.00 total=6\n";
	uint64_t some = 0, full = 0;

	assert_true(pressure_parse(text, sizeof(text) - 1, &some, &full));
	assert_true(some == 45000 && full == 6000);
	assert_false(pressure_parse("some avg10=0.00\n", 16, &some, &full));
	assert_false(pressure_parse("total=5\n", 8, &some, &full));
}

static void numbers(void **state)
{
	static const char text[] = "usage_usec 12\nusage 13\nnr x\n";
	uint64_t v = 0;

	assert_true(flat_number(text, sizeof(text) - 1, "usage", &v) && v == 13);
	assert_true(flat_number(text, sizeof(text) - 1, "usage_usec", &v) && v == 12);
	assert_false(flat_number(text, sizeof(text) - 1, "nr", &v));
	assert_false(flat_number(text, sizeof(text) - 1, "none", &v));
}

/* Of this process: what it uses is there, and grows. */
static void own(void **state)
{
	struct proc_usage a, b;
	struct host_usage h;
	struct group_usage u;
	struct group g;
	volatile uint64_t sink = 0;

	assert_int_equal(proc_usage_read(getpid(), &a), 0);
	proc_memory_read(getpid(), &a);
	assert_true(a.rss > 100000 && a.rss_peak >= a.rss / 2);
	do {
		for (int i = 0; i < 10000000; i++)
			sink += (uint64_t)i;
		assert_int_equal(proc_usage_read(getpid(), &b), 0);
	} while (b.user_ns == a.user_ns);
	assert_true(b.user_ns > a.user_ns && b.minor_faults >= a.minor_faults);
	assert_int_equal(host_usage_read(&h), 0);
	assert_true(h.busy_ns && h.all_ns > h.busy_ns && h.switches && !h.memory);
	host_memory_read(&h);
	assert_true(h.busy_ns && h.memory > h.memory_used && h.memory_used);
	if (!group_find(getpid(), &g))
		group_usage_read(&g, &u);
	assert_int_equal(proc_usage_read(INT32_MAX, &a), -ESRCH);
}

/* What the kernel says of us, by the C library. */
static struct proc_io truth(void)
{
	unsigned long long r = 0, w = 0;
	FILE *f = fopen("/proc/self/io", "re");

	assert_int_equal(fscanf(f,
				"rchar: %*u wchar: %*u syscr: %*u syscw: %*u read_bytes: %llu "
				"write_bytes: %llu",
				&r, &w),
			 2);
	fclose(f);
	return (struct proc_io){r, w};
}

/* A page of the program may have to be read from storage meanwhile. */
static void bytes_are(const struct proc_io *is, const struct proc_io *before)
{
	struct proc_io after = truth();

	assert_in_range(is->read, before->read, after.read);
	assert_in_range(is->written, before->written, after.written);
}

/* Alone, and in one question with others by who has the rights. */
static void bytes(void **state)
{
	const pid_t pids[] = {getpid(), INT32_MAX, getpid()};
	struct proc_io v[3], before;
	char path[] = "/var/tmp/gnomon-test.XXXXXX", block[65536] = {1};
	int fd = mkstemp(path);

	assert_int_equal(write(fd, block, sizeof(block)), sizeof(block));
	for (int i = 0; i < 2; i++) {
		before = truth();
		proc_io_read(pids, 3, v);
		bytes_are(&v[0], &before);
		bytes_are(&v[2], &before);
		assert_true(!v[1].read && !v[1].written);
		assert_int_equal(broker_start(), 0);
		broker_rely();
	}
	broker_stop();
	close(fd);
	unlink(path);
}

/* ---- control groups, as a kernel that has version 2 shows them, or version 1 ---- */

static char groups[] = "/tmp/gnomon-test.XXXXXX";

static void put(const char *name, const char *text)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", groups, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int groups_make(void **state)
{
	char path[200];

	if (!mkdtemp(groups))
		return -1;
	snprintf(path, sizeof(path), "%s/pod", groups);
	if (mkdir(path, 0700))
		return -1;
	strcat(path, "/app");
	return mkdir(path, 0700);
}

static int groups_remove(void **state)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -r %s", groups);
	strcpy(groups + strlen(groups) - 6, "XXXXXX");
	return system(command);
}

static const char *dir_of(const char *name)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s%s", groups, name);
	return path;
}

/* The pod has the quota and the lower limit, the JVM's own group has its CPU time. */
static void group_v2(void **state)
{
	struct cgroup_mounts m = {0};
	struct cgroup_ref ref = {.v2 = "/pod/app"};
	struct cgroup_limits l;
	struct cgroup_places where;
	struct group_usage u;
	static struct group g;

	snprintf(m.v2.point, sizeof(m.v2.point), "%s", groups);
	snprintf(m.v2.root, sizeof(m.v2.root), "/");
	put("pod/cpu.max", "20000 100000\n");
	put("pod/memory.max", "1000000\n");
	put("pod/cpu.stat", "usage_usec 99\nnr_periods 50\nnr_throttled 20\nthrottled_usec 3000\n");
	put("pod/memory.current", "800000\n");
	put("pod/memory.swap.current", "1000\n");
	put("pod/memory.events", "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\n");
	put("pod/app/cpu.max", "max 100000\n");
	put("pod/app/memory.max", "2000000\n");
	put("pod/app/cpu.stat", "usage_usec 7\nuser_usec 4\nsystem_usec 3\nnr_throttled 0\n");
	put("pod/app/memory.current", "700000\n");
	put("pod/app/memory.events", "max 0\noom_kill 1\n");
	put("pod/app/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\n");
	put("pod/app/memory.pressure",
	    "some avg10=0 avg60=0 avg300=0 total=12\nfull avg10=0 avg60=0 avg300=0 total=13\n");
	put("pod/app/io.pressure",
	    "some avg10=0 avg60=0 avg300=0 total=14\nfull avg10=0 avg60=0 avg300=0 total=15\n");
	cgroup_limits_find(&m, &ref, &l, &where);
	assert_int_equal(l.quota_us, 20000);
	assert_int_equal(l.memory_max, 1000000);
	assert_string_equal(where.quota, dir_of("/pod"));
	assert_string_equal(where.memory, dir_of("/pod"));

	memcpy(g.throttling, where.quota, sizeof(g.throttling));
	memcpy(g.memory, where.memory, sizeof(g.memory));
	strcpy(g.v2, dir_of("/pod/app"));
	g.memory_limit = l.memory_max;
	g.memory_v2 = true;
	group_usage_read(&g, &u);
	assert_int_equal(u.has, GROUP_CPU | GROUP_THROTTLING | GROUP_MEMORY | GROUP_PRESSURE);
	assert_true(u.cpu_ns == 7000 && u.user_ns == 4000 && u.system_ns == 3000);
	assert_true(u.slices == 50 && u.throttled_slices == 20 && u.throttled_ns == 3000000);
	assert_true(u.memory == 800000 && u.memory_swap == 801000 && u.memory_limit == 1000000);
	assert_true(u.limit_hits == 3 && u.oom_kills == 5);
	strcpy(g.kills, dir_of("/pod/app")); /* the others were not of its container */
	group_usage_read(&g, &u);
	assert_true(u.limit_hits == 3 && u.oom_kills == 1);
	assert_true(u.cpu_some_ns == 11000 && u.memory_some_ns == 12000 &&
		    u.memory_full_ns == 13000 && u.io_some_ns == 14000 && u.io_full_ns == 15000);

	/* a glance has what moves, and kills where the limit was hit */
	put("pod/cpu.stat", "usage_usec 99\nnr_periods 51\nnr_throttled 21\nthrottled_usec 3001\n");
	put("pod/app/cpu.stat", "usage_usec 9\nuser_usec 5\nsystem_usec 4\n");
	put("pod/memory.current", "800001\n");
	put("pod/app/memory.events", "max 0\noom_kill 2\n");
	group_usage_glance(&g, &u);
	assert_int_equal(u.has, GROUP_CPU | GROUP_THROTTLING | GROUP_MEMORY | GROUP_PRESSURE);
	assert_true(u.cpu_ns == 9000 && u.slices == 51 && u.throttled_slices == 21 &&
		    u.throttled_ns == 3001000);
	assert_true(u.memory == 800001 && u.memory_swap == 801000 && u.memory_limit == 1000000);
	assert_true(u.limit_hits == 3 && u.oom_kills == 1);
	put("pod/memory.events", "max 4\noom_kill 6\n");
	group_usage_glance(&g, &u);
	assert_true(u.limit_hits == 4 && u.oom_kills == 2);

	/* the group with the quota is its own */
	strcpy(g.throttling, g.v2);
	group_usage_read(&g, &u);
	assert_true((u.has & GROUP_THROTTLING) && u.cpu_ns == 9000 && !u.throttled_ns);

	/* without limits: its own memory, and no throttling */
	strcpy(g.memory, dir_of("/pod/app"));
	g.throttling[0] = '\0';
	group_usage_read(&g, &u);
	assert_int_equal(u.has, GROUP_CPU | GROUP_MEMORY | GROUP_PRESSURE);
	assert_true(u.memory == 700000 && !u.throttled_ns && !u.limit_hits);
}

static void group_v1(void **state)
{
	struct cgroup_mounts m = {0};
	struct cgroup_ref ref = {.cpu = "/pod/app", .memory = "/pod/app"};
	struct cgroup_limits l;
	struct cgroup_places where;
	struct group_usage u;
	static struct group g;

	snprintf(m.cpu.point, sizeof(m.cpu.point), "%s", groups);
	snprintf(m.cpu.root, sizeof(m.cpu.root), "/");
	m.memory = m.cpu;
	put("pod/cpu.cfs_quota_us", "-1\n");
	put("pod/cpu.cfs_period_us", "100000\n");
	put("pod/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
	put("pod/app/cpu.cfs_quota_us", "20000\n");
	put("pod/app/cpu.cfs_period_us", "100000\n");
	put("pod/app/cpu.stat", "nr_periods 50\nnr_throttled 20\nthrottled_time 3000\n");
	put("pod/app/cpuacct.usage", "7000\n");
	put("pod/app/cpuacct.usage_user", "4000\n");
	put("pod/app/cpuacct.usage_sys", "3000\n");
	put("pod/app/memory.limit_in_bytes", "2000000\n");
	put("pod/app/memory.usage_in_bytes", "700000\n");
	put("pod/app/memory.failcnt", "9\n");
	put("pod/app/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
	cgroup_limits_find(&m, &ref, &l, &where);
	assert_string_equal(where.quota, dir_of("/pod/app"));
	assert_string_equal(where.memory, dir_of("/pod/app"));

	memcpy(g.throttling, where.quota, sizeof(g.throttling));
	memcpy(g.memory, where.memory, sizeof(g.memory));
	memcpy(g.accounting, where.quota, sizeof(g.accounting));
	group_usage_read(&g, &u);
	assert_int_equal(u.has & ~(unsigned int)GROUP_HOST_PRESSURE,
			 GROUP_CPU | GROUP_THROTTLING | GROUP_MEMORY);
	assert_true(u.cpu_ns == 7000 && u.user_ns == 4000 && u.system_ns == 3000);
	assert_true(u.slices == 50 && u.throttled_slices == 20 && u.throttled_ns == 3000);
	assert_true(u.memory == 700000 && u.memory_swap == 700000);
	assert_true(u.limit_hits == 9 && u.oom_kills == 2);
}

static void secrets(void **state)
{
	static const char *const yes[][2] = {
		{"db.password", "x"},
		{"MYSQL_PASSWD", "x"},
		{"api-key", "x"},
		{"AWS_SECRET_ACCESS_KEY", "x"},
		{"Auth.Token", "x"},
		{"db_pwd", "x"},
		{"url", "jdbc:postgresql://u:p@host/db"},
		{"javax.net.ssl.keyStorePassword", ""},
	};
	static const char *const no[][2] = {
		{"user.name", "joe"},
		{"PWD", "/home"},
		{"OLDPWD", "/"},
		{"url", "http://host:80/a@b"},
		{"java.home", "/usr"},
		{"keyboard", "de"},
		{"", ""},
	};

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		assert_true(secret_looks(yes[i][0], yes[i][1]));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(secret_looks(no[i][0], no[i][1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machine),
		cmocka_unit_test(memory),
		cmocka_unit_test(process),
		cmocka_unit_test(pressure),
		cmocka_unit_test(numbers),
		cmocka_unit_test(own),
		cmocka_unit_test(bytes),
		cmocka_unit_test_setup_teardown(group_v2, groups_make, groups_remove),
		cmocka_unit_test_setup_teardown(group_v1, groups_make, groups_remove),
		cmocka_unit_test(secrets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
