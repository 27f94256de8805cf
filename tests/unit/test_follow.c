/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who follows recordings, without a server to send to: what it opens, and what it goes on after.
 * The chunks that it is told of are in files that are not there, which it counts.
 */
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
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "jfr/write.h"
#include "push/follower.h"
#include "push/pyroscope.h"
#include "push/source.h"

#define S	  1000000000ull
#define SEGMENT	  "20251123T140500Z.jfr"
#define PATIENT_S 60

static char root[64];

static int setup(void **state)
{
	strcpy(root, "/tmp/gnomon-follow.XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	return system(cmd);
}

static const char *at(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

/* ---- what it opens --------------------------------------------------------------------------- */

static void ours(void **state)
{
	assert_true(source_is_ours("/var/x", "/var/x/jvm-1/" SEGMENT));
	assert_true(source_is_ours("/var/x/", "/var/x//jvm-1/" SEGMENT));
	assert_false(source_is_ours("/var/x", "/var/xy/jvm-1/" SEGMENT));
	assert_false(source_is_ours("/var/x", "/var/x/" SEGMENT));
	assert_false(source_is_ours("/var/x", "/var/x/../" SEGMENT));
	assert_false(source_is_ours("/var/x", "/var/x/.push/" SEGMENT));
	assert_false(source_is_ours("/var/x", "/var/x/a/b/" SEGMENT));
	assert_false(source_is_ours("/var/x", "/var/x/a/../../../etc/" SEGMENT));
	assert_false(source_is_ours("/var/x", "/var/x/jvm-1/other.jfr"));
	assert_false(source_is_ours("/var/x", "/dev/watchdog"));
	assert_false(source_is_ours("/var/x", ""));
	assert_false(source_is_ours(NULL, ""));
	assert_true(source_is_ours(NULL, "some.jfr"));
}

static void file_make(const char *name)
{
	close(open(at(name), O_WRONLY | O_CREAT, 0600));
}

static void opened(void **state)
{
	int fd;

	mkdir(at("jvm"), 0700);
	mkdir(at("other"), 0700);
	file_make("jvm/" SEGMENT);
	fd = source_open(root, at("jvm/" SEGMENT));
	assert_true(fd >= 0);
	close(fd);
	fd = source_open(NULL, at("jvm/" SEGMENT));
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(source_open(root, at("jvm/20251123T140501Z.jfr")), -ENOENT);
	assert_int_equal(source_open(root, "/etc/passwd"), -EACCES);
	assert_int_equal(symlink("jvm", at("link")), 0);
	assert_true(source_open(root, at("link/" SEGMENT)) < 0);
	assert_int_equal(symlink("../jvm/" SEGMENT, at("other/" SEGMENT)), 0);
	assert_true(source_open(root, at("other/" SEGMENT)) < 0);
	assert_true(source_open(NULL, at("other/" SEGMENT)) < 0);
	assert_int_equal(mkfifo(at("jvm/20251123T140502Z.jfr"), 0600), 0);
	assert_int_equal(source_open(root, at("jvm/20251123T140502Z.jfr")), -EINVAL);
	assert_int_equal(source_open(NULL, "/dev/null"), -EINVAL);
}

/* ---- what it is told ------------------------------------------------------------------------- */

static struct follower_config config(void)
{
	return (struct follower_config){.dir = root, .window_ns = 2 * S};
}

static void tell(int to, const char *path)
{
	finished_tell(&(struct finished_to){.fd = to}, path, 0, 100);
}

/* In files that are not there two windows are looked for; a device and a file beside are not. */
static void believed(void **state)
{
	const struct follower_config cfg = config();
	struct delivery d = {0};
	char many[5000];
	int p[2];

	assert_int_equal(pipe(p), 0);
	tell(p[1], "/dev/null");
	tell(p[1], at("jvm/" SEGMENT));
	memset(many, 'x', sizeof(many));
	assert_int_equal(write(p[1], many, sizeof(many)), sizeof(many));
	tell(p[1], at("jvm/" SEGMENT));
	tell(p[1], at("beside.jfr"));
	close(p[1]);
	assert_int_equal(follow(&cfg, p[0], &d), 0);
	assert_int_equal(d.windows, 2);
	assert_in_range(d.unreadable, 4, 6);
	assert_int_equal(d.waiting, 0);
}

/* As a process without a descriptor to spare, for a while. */
static void descriptors_limit(pid_t of, rlim_t n)
{
	struct rlimit l;

	assert_int_equal(prlimit(of, RLIMIT_NOFILE, NULL, &l), 0);
	l.rlim_cur = n;
	assert_int_equal(prlimit(of, RLIMIT_NOFILE, &l, NULL), 0);
}

/* Where no process can be made what is to be read waits until one can. */
static void no_process(void **state)
{
	const struct follower_config cfg = config();
	struct delivery d = {0};
	pid_t helper, self = getpid();
	int p[2], next;

	assert_int_equal(pipe(p), 0);
	for (int i = 0; i < 40; i++)
		tell(p[1], at("jvm/" SEGMENT));
	close(p[1]);
	next = dup(0);
	close(next);
	helper = fork();
	if (!helper) {
		usleep(2500000);
		descriptors_limit(self, 1024);
		_exit(0);
	}
	descriptors_limit(0, (rlim_t)next); /* one, once the pipe is at its end */
	assert_int_equal(follow(&cfg, p[0], &d), 0);
	assert_int_equal(waitpid(helper, NULL, 0), helper);
	assert_int_equal(d.windows, 40);
}

/* ---- what it keeps --------------------------------------------------------------------------- */

static int no_label(void *ctx, const char *service, struct labels *l)
{
	return 0;
}

static void recording_write(int told)
{
	struct jfrw_config cfg = {
		.path = at("jvm"),
		.start_unix_ns = 1763906400 * S,
		.start_mono_ns = 1000 * S,
		.cpu_period_ns = 10000000,
		.form = {.segments = true, .window_ns = 2 * S},
		.finished = {.fd = told},
	};
	struct frame_name f = {.klass = "a.B", .method = "c", .sig = "()V", .line = 7};
	struct jfrw *w = NULL;

	assert_int_equal(jfrw_open(&w, &cfg, NULL), 0);
	jfrw_cpu_sample(w, 1000 * S + 1, 0, jfrw_stack(w, &f, 1, false));
	assert_int_equal(jfrw_close(w, NULL), 0);
}

/* What it says on stderr while it follows until `in` ends. */
static const char *followed(const struct follower_config *cfg, int in, struct delivery *d)
{
	static char text[4096];
	int before = dup(STDERR_FILENO), to = open(at("said"), O_RDWR | O_CREAT, 0600);
	ssize_t n;

	dup2(to, STDERR_FILENO);
	assert_int_equal(follow(cfg, in, d), 0);
	dup2(before, STDERR_FILENO);
	n = pread(to, text, sizeof(text) - 1, 0);
	text[n < 0 ? 0 : n] = '\0';
	close(before);
	close(to);
	return text;
}

/* Where there is no room for what was made, it says why. */
static void not_kept(void **state)
{
	struct follower_config cfg = config();
	struct destination to = {.url = "http://localhost:1"};
	struct delivery d = {0};
	struct spool *s;
	int p[2];

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(p), 0);
	recording_write(p[1]);
	close(p[1]);
	assert_int_equal(spool_open(&s, at("spool"), 0, (uid_t)-1, NULL), 0);
	assert_int_equal(rmdir(at("spool")), 0);
	cfg.to[0] = (struct follower_to){&pyroscope, s, &to};
	cfg.n = 1;
	cfg.label = no_label;
	assert_non_null(strstr(followed(&cfg, p[0], &d), "cannot keep what is to be sent: "));
	assert_int_equal(d.windows, 1);
	assert_int_equal(d.unreadable, 0);
	assert_int_equal(d.to[0].refused[REFUSED_NO_ROOM], 1);
	spool_close(s);
}

/* ---- one that is lost ------------------------------------------------------------------------ */

/* Of a process its only child; 0: it has none. */
static pid_t child_of(pid_t pid)
{
	char path[64];
	int child = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%d", &child) != 1)
		child = 0;
	if (f)
		fclose(f);
	return child;
}

static bool windows_are(const struct follower *f, uint64_t n)
{
	uint64_t until = now_ns() + PATIENT_S * S;
	struct delivery d;

	do {
		follower_read(f, &d);
		if (d.windows == n)
			return true;
		usleep(50000);
	} while (now_ns() < until);
	return false;
}

static void lost(void **state)
{
	const struct follower_config cfg = config();
	struct delivery d;
	struct follower f;
	struct error e;
	pid_t worker;

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(follower_start(&f, &cfg, &e), 0);
	tell(f.in, at("jvm/" SEGMENT));
	assert_true(windows_are(&f, 1));
	worker = child_of(f.pid);
	kill(worker ? worker : f.pid, SIGKILL);
	tell(f.in, at("jvm/" SEGMENT));
	assert_true(windows_are(&f, 2));
	assert_true(follower_finish(&f, &d));
	assert_int_equal(d.windows, 2);
	assert_int_equal(d.unreadable, 2);
	assert_int_equal(d.untold, 0);
}

/* ---- what a sender tells --------------------------------------------------------------------- */

/* A line that does not end takes no memory without end, and the next ones are heard. */
static void endless_line(void **state)
{
	struct sender s = {.in = -1, .quiet = true};
	char many[4096];
	int p[2];

	memset(many, 'x', sizeof(many));
	assert_int_equal(pipe(p), 0);
	s.out = p[0];
	for (int i = 0; i < 100; i++) {
		assert_int_equal(write(p[1], many, sizeof(many)), sizeof(many));
		assert_true(sender_listen(&s, false));
		assert_in_range(s.text.len, 0, 100000);
	}
	assert_int_equal(write(p[1], "\nsent 1 2 3\n", 12), 12);
	assert_true(sender_listen(&s, false));
	assert_int_equal(s.counts.sent, 1);
	assert_int_equal(s.counts.sent_samples, 3);
	close(p[1]);
	assert_false(sender_listen(&s, false));
	sender_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ours),
		cmocka_unit_test_setup_teardown(opened, setup, teardown),
		cmocka_unit_test_setup_teardown(believed, setup, teardown),
		cmocka_unit_test_setup_teardown(no_process, setup, teardown),
		cmocka_unit_test_setup_teardown(not_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(lost, setup, teardown),
		cmocka_unit_test(endless_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
