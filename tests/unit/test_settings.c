/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's configuration: what a file says, and which JVMs its rules want. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cli/settings.h"

#define S 1000000000ull

static struct settings s;

static void good(const char *text)
{
	struct error e = {0};

	settings_free(&s);
	if (settings_parse(&s, text, "x.conf", &e))
		fail_msg("%s", e.msg);
}

/* The whole message: the line is named, and what was read before stays. */
static void bad(const char *text, const char *msg)
{
	struct error e = {0};

	good("max-age = 7s");
	assert_true(settings_parse(&s, text, "x.conf", &e) < 0);
	assert_string_equal(e.msg, msg);
	assert_int_equal(e.exit, EXIT_USAGE);
	assert_int_equal(s.keep.age_max_ns, 7 * S);
}

/* How often a section's JVMs are sampled. */
static void rates(void **state)
{
	struct rate_wish w;

	good("cpu = 10ms\n[a]\nname = A\ncpu = 1ms\nno-wall = yes\n[b]\nname = B\nwall = 7ms\n"
	     "[c]\nname = C\n");
	assert_true(rules_rate(&s.rules.v[0], &w));
	assert_true(w.cpu && w.wall && w.rate.cpu_ns == 1000000 && !w.rate.wall_ns);
	assert_string_equal(w.reason, "section 'a'");
	assert_true(rules_rate(&s.rules.v[1], &w));
	assert_true(!w.cpu && w.wall && w.rate.wall_ns == 7000000);
	assert_false(rules_rate(&s.rules.v[2], &w));
}

static void defaults(void **state)
{
	good("");
	assert_string_equal(s.directory, "/var/lib/gnomon");
	assert_string_equal(s.socket, "/run/gnomon/gnomon.sock");
	assert_null(s.metrics);
	assert_int_equal(s.gid, UINT32_MAX);
	assert_int_equal(s.keep.age_max_ns, 24 * 3600 * S);
	assert_int_equal(s.keep.jvm_max_bytes, 1 << 30);
	assert_int_equal(s.keep.total_max_bytes, 10ull << 30);
	assert_int_equal(s.keep.free_min_bytes, 1 << 30);
	assert_int_equal(s.record.cpu_ns, S / 100);
	assert_int_equal(s.record.wall_ns, S / 50);
	assert_int_equal(s.record.form.chunk_max_ns, 60 * S);
	assert_true(s.record.form.segments);
	assert_true(s.record.form.vitals);
	assert_int_equal(s.record.form.file_max_bytes, 0);
	assert_true(s.rules.otherwise);
	assert_int_equal(s.rules.n, 0);
}

static void global(void **state)
{
	good("# comment\n"
	     "directory = /srv/profiles ; where\n"
	     "socket = none\nmetrics = /srv/x.prom\ngroup = root\n"
	     "max-age = 90m\nmax-size = 100m\nmax-total-size = 2g\nmin-free = 0\n"
	     "cpu = 19ms\nwall=50ms\nno-vitals = yes\nsample-threads = 64\nchunk-time = 30s\n"
	     "thread = http-*\nthread = main\nrecord = no\n");
	assert_string_equal(s.directory, "/srv/profiles");
	assert_string_equal(s.socket, "none");
	assert_string_equal(s.metrics, "/srv/x.prom");
	assert_string_equal(s.group, "root");
	assert_int_equal(s.keep.age_max_ns, 5400 * S);
	assert_int_equal(s.keep.jvm_max_bytes, 100 << 20);
	assert_int_equal(s.keep.total_max_bytes, 2ull << 30);
	assert_int_equal(s.keep.free_min_bytes, 0);
	assert_int_equal(s.record.cpu_ns, 19000000);
	assert_int_equal(s.record.wall_ns, 50000000);
	assert_int_equal(s.record.reservoir, 64);
	assert_int_equal(s.record.form.chunk_max_ns, 30 * S);
	assert_false(s.record.form.vitals);
	assert_int_equal(s.record.nthreads, 2);
	assert_string_equal(s.record.threads[1], "main");
	assert_false(s.rules.otherwise);
	/* a second file knows nothing of the first */
	good("");
	assert_int_equal(s.record.wall_ns, S / 50);
	assert_int_equal(s.record.nthreads, 0);
	assert_true(s.record.form.vitals && s.rules.otherwise);
}

/* Groups and users are looked up by who may ask for them. */
static void names(void **state)
{
	struct error e = {0};

	good("group = root\n[trigger a]\nwhen = start\nrun = /bin/true\nrun-as = root\n"
	     "[trigger b]\nwhen = start\n");
	assert_int_equal(s.gid, UINT32_MAX);
	assert_int_equal(s.triggers.v[0].uid, UINT32_MAX);
	assert_int_equal(settings_names(&s, &e), 0);
	assert_int_equal(s.gid, 0);
	assert_int_equal(s.triggers.v[0].uid, 0);
	assert_int_equal(s.triggers.v[0].gid, 0);
	assert_int_equal(s.triggers.v[1].uid, UINT32_MAX);
	good("group = no-such-group");
	assert_int_equal(settings_names(&s, &e), -EINVAL);
	assert_string_equal(e.msg, "there is no group 'no-such-group'");
	good("[trigger a]\nwhen = start\nrun = /bin/true\nrun-as = no-such-user");
	assert_int_equal(settings_names(&s, &e), -EINVAL);
	assert_string_equal(e.msg, "trigger 'a': there is no user 'no-such-user'");
	bad("[trigger a]\nwhen = start\nrun = /bin/true",
	    "'x.conf': trigger 'a' does not say as whom (run-as) it runs '/bin/true'");
	bad("[trigger a]\nwhen = start\nrun = /bin/true\nrun-as = a\nrun-as = b",
	    "'x.conf', line 5: 'run-as' is given twice");
}

static void errors(void **state)
{
	char longer[400] = "directory = /";

	bad("cpu = 10", "'x.conf', line 1: bad value '10' for --cpu: expected a time with its "
			"unit, such as 10ms or 2s");
	bad("\n\ncpux = 10ms", "'x.conf', line 3: there is no setting 'cpux'");
	bad("output = x.jfr", "'x.conf', line 1: there is no setting 'output'");
	bad("record = maybe",
	    "'x.conf', line 1: bad value 'maybe' for --record: expected yes or no");
	bad("just words", "'x.conf', line 1: expected NAME = VALUE or [SECTION]");
	bad("[a\nname = x", "'x.conf', line 1: expected NAME = VALUE or [SECTION]");
	bad("[a]\nname = x\ndepth = 9", "'x.conf', line 3: a section has no 'depth'");
	bad("[a]\nname = x\nno-cpu = yes\ncpu = 1ms",
	    "'x.conf': section 'a' wants samples, and none");
	bad("[a]\nname = x\nname = y", "'x.conf', line 3: 'name' is given twice");
	bad("[a]\nname =", "'x.conf', line 2: 'name' has no value");
	bad("[a]\nrecord = no", "'x.conf': section 'a' does not say which JVMs it is about");
	bad("no-cpu = yes\nno-wall = yes", "'x.conf': neither CPU nor wall samples");
	bad("cpu-engine = thread", "'x.conf': 'cpu-engine = thread' is for one JVM: those of a "
				   "daemon are sampled by the CPUs' clocks");
	memset(longer + strlen(longer), 'x', 300);
	bad(longer, "'x.conf', line 1: the line is too long");
	/* the first of several */
	bad("a = 1\nb = 2", "'x.conf', line 1: there is no setting 'a'");
}

static void files(void **state)
{
	struct error e = {0};

	assert_true(settings_read(&s, "/nonexistent/x.conf", &e) < 0);
	assert_string_equal(e.msg, "cannot read '/nonexistent/x.conf': No such file or directory");
	assert_true(settings_read(&s, "/tmp", &e) < 0);
	assert_string_equal(e.msg, "cannot read '/tmp': Is a directory");
}

/* A JVM of that name, user and container. */
static bool wanted(const char *main, const char *user, const char *container)
{
	static const struct cgroup_mounts none;
	struct jvm_proc j = {.uid = 1000, .cmd.kind = JAVA_MAIN_CLASS};

	snprintf(j.cmd.main, sizeof(j.cmd.main), "%s", main);
	snprintf(j.user, sizeof(j.user), "%s", user);
	snprintf(j.container.name, sizeof(j.container.name), "%s", container);
	j.container.kind = *container ? CONTAINER_DOCKER : CONTAINER_NONE;
	return rules_want(&s.rules, &none, &j);
}

static void rules(void **state)
{
	good("[batch]\nname = *Batch*\nrecord = no\n"
	     "[web]\ncontainer = web\nuser = shop\n"
	     "[ci]\nuser = 1000\nrecord = no\n");
	assert_int_equal(s.rules.n, 3);
	assert_false(wanted("org.x.NightBatch", "shop", "web")); /* the first that fits decides */
	assert_true(wanted("org.x.Server", "shop", "web"));
	assert_false(wanted("org.x.Server", "other", "web")); /* both have to fit */
	assert_false(wanted("org.x.Server", "shop", ""));
	good("record = no\n[a]\nname = Server\n");
	assert_true(wanted("org.x.Server", "u", ""));
	assert_false(wanted("org.x.Other", "u", ""));
	good("");
	assert_true(wanted("Any", "u", ""));
}

/* What a reload takes over, and what it says takes a restart. */
static void renewed(void **state)
{
	struct settings newer;
	struct error e = {0};

	good("cpu = 10ms\nmax-age = 1h\n[a]\nname = A\n");
	assert_int_equal(settings_parse(&newer,
					"cpu = 10ms\nmax-age = 2h\n[b]\nname = B\n[c]\nname = C\n",
					"x", &e),
			 0);
	assert_null(settings_renew(&s, &newer));
	assert_int_equal(s.keep.age_max_ns, 7200 * S);
	assert_int_equal(s.rules.n, 2);
	settings_free(&newer);
	assert_int_equal(settings_parse(&newer, "cpu = 5ms\n", "x", &e), 0);
	assert_string_equal(settings_renew(&s, &newer), "cpu");
	assert_int_equal(s.record.cpu_ns, S / 100);
	settings_free(&newer);
	assert_int_equal(settings_parse(&newer, "cpu = 10ms\nwall = 1s\n", "x", &e), 0);
	assert_string_equal(settings_renew(&s, &newer), "wall");
	settings_free(&newer);
	assert_int_equal(settings_parse(&newer, "", "x", &e), 0);
	assert_string_equal(settings_renew(&s, &newer), "cpu");
	settings_free(&newer);
	settings_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates), cmocka_unit_test(defaults), cmocka_unit_test(global),
		cmocka_unit_test(names), cmocka_unit_test(errors),   cmocka_unit_test(files),
		cmocka_unit_test(rules), cmocka_unit_test(renewed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
