/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of a daemon, by its two ends over a real socket; and metrics of what a JVM calls
 * itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/control.h"
#include "run/metrics.h"

static char root[64], path[96];
static struct control *control;

static int answer(void *ctx, const struct control_request *r, struct control_answer *a,
		  struct error *e)
{
	if (r->what == CONTROL_STOP) {
		error_set(e, -ESRCH, EXIT_TARGET, "there is no process %d", r->pid);
		return error_hint(e, "another one");
	}
	a->state.pid = 77;
	a->state.njvms = CONTROL_JVM_MAX;
	a->jvms = calloc(a->state.njvms, sizeof(*a->jvms));
	assert_non_null(a->jvms);
	for (uint32_t i = 0; i < a->state.njvms; i++) {
		a->jvms[i].pid = (int32_t)i + 1;
		memset(a->jvms[i].name, 'n', sizeof(a->jvms[i].name)); /* without an end */
	}
	return 0;
}

static int setup(void **state)
{
	const struct control_config cfg = {.path = path, .gid = UINT32_MAX, .answer = answer};

	strcpy(root, "/tmp/gnomon-control.XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/run/sock", root);
	return control_open(&control, &cfg, NULL) || control_start(control, NULL);
}

static int teardown(void **state)
{
	char cmd[128];

	control_stop(control);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	return system(cmd);
}

static void asked(void **state)
{
	struct control_answer a;
	struct error e = {0};

	assert_int_equal(
		control_ask(path, &(struct control_request){.what = CONTROL_STATUS}, &a, &e), 0);
	assert_int_equal(a.state.pid, 77);
	assert_int_equal(a.state.njvms, CONTROL_JVM_MAX);
	assert_int_equal(a.jvms[CONTROL_JVM_MAX - 1].pid, CONTROL_JVM_MAX);
	assert_int_equal(strlen(a.jvms[0].name), sizeof(a.jvms[0].name) - 1);
	control_answer_free(&a);
}

static void refused(void **state)
{
	const struct control_request r = {.what = CONTROL_STOP, .pid = 5};
	struct control_answer a;
	struct error e = {0};

	assert_int_equal(control_ask(path, &r, &a, &e), -ESRCH);
	assert_int_equal(e.exit, EXIT_TARGET);
	assert_string_equal(e.msg, "there is no process 5");
	assert_string_equal(e.hint, "another one");
	assert_true(control_ask("/nonexistent/sock", &r, &a, &e) < 0);
	assert_int_equal(e.exit, EXIT_TARGET);
	assert_non_null(strstr(e.msg, "'/nonexistent/sock'"));
}

/* A second one, while the first listens; and after one that was killed and left its socket. */
static void one_alone(void **state)
{
	const struct control_config cfg = {.path = path, .gid = UINT32_MAX, .answer = answer};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	char left[96];
	struct control *other;
	struct control_config there = cfg;
	struct error e = {0};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_int_equal(control_open(&other, &cfg, &e), -EADDRINUSE);
	assert_int_equal(e.exit, EXIT_OUTPUT);
	snprintf(left, sizeof(left), "%s/run/left", root);
	strcpy(to.sun_path, left);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	close(fd);
	there.path = left;
	assert_int_equal(control_open(&other, &there, &e), 0);
	assert_int_equal(control_start(other, &e), 0);
	control_stop(other);
	asked(state);
}

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Where there is no descriptor for who asks, he waits, and it uses no CPU until there is one. */
static void no_descriptor(void **state)
{
	const struct control_request r = {.what = CONTROL_STATUS};
	struct control_answer a;
	struct rlimit before, few;
	struct error e = {0};
	int fd = dup(0);
	uint64_t used;
	pid_t asking;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = (rlim_t)fd;
	close(fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	asking = fork();
	if (!asking) {
		setrlimit(RLIMIT_NOFILE, &before);
		_exit(control_ask(path, &r, &a, &e) != 0);
	}
	used = cpu_ns();
	usleep(1000000);
	used = cpu_ns() - used;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(waitpid(asking, &fd, 0), asking);
	assert_int_equal(fd, 0);
	assert_in_range(used, 0, 50000000);
}

/* Cut anywhere, or of another kind, it is no answer. */
static void damaged(void **state)
{
	static uint8_t bytes[sizeof(struct control_state) + 4096];
	struct control_answer a;

	for (size_t n = 0; n < sizeof(bytes); n += 97) {
		struct error e = {0};

		memset(bytes, (int)n, sizeof(bytes));
		assert_true(control_parse(bytes, n, &a, &e) < 0);
		assert_int_equal(e.exit, EXIT_INTERNAL);
	}
}

static void metrics(void **state)
{
	struct control_jvm j = {.pid = 9, .name = "a\"b\\c\nd", .container = "host", .user = "u"};
	struct control_answer a = {.state = {.njvms = 1, .cpus = 4, .version = "1"}, .jvms = &j};
	char *text = NULL, *save;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	j.totals.cpu_samples = 12;
	a.state.cost.cpu_ns = 1500000000;
	metrics_write(&a, f);
	fclose(f);
	assert_non_null(strstr(text, "gnomon_jvm_samples_total{pid=\"9\",jvm=\"a\\\"b\\\\c"));
	assert_non_null(strstr(text, "user=\"u\",kind=\"cpu\"} 12\n"));
	assert_non_null(strstr(text, "gnomon_cost_seconds_total{part=\"collector\"} 1.5\n"));
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		assert_true(!strncmp(line, "# ", 2) || !strncmp(line, "gnomon_", 7));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(asked, setup, teardown),
		cmocka_unit_test_setup_teardown(refused, setup, teardown),
		cmocka_unit_test_setup_teardown(one_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(no_descriptor, setup, teardown),
		cmocka_unit_test(damaged),
		cmocka_unit_test(metrics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
