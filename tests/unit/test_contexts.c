// SPDX-License-Identifier: Apache-2.0
/* Which request each sample belongs to, and what requests did, of a recording made by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "jfr/write.h"
#include "out/requests.h"
#include "profileload.h"

#define MS 1000000ull

static char path[] = "/tmp/gnomon-contexts-XXXXXX";
static struct jfrw *w;
static uint32_t thread[2], stack;

static void period(enum jfr_type event, const char *value)
{
	jfrw_active_setting(
		w, 0, &(struct jfr_active_setting){.id = event, .name = "period", .value = value});
}

static void begin(void)
{
	struct jfrw_config cfg = {.path = path, .overwrite = true, .cpu_period_ns = 10 * MS};
	struct frame_name f[] = {
		{.klass = "shop.Db", .method = "query", .sig = "()V", .type = FRAME_JIT},
	};
	struct error e = {0};
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(jfrw_open(&w, &cfg, &e), 0);
	period(JFR_WALL_CLOCK_SAMPLE, "20 ms");
	period(JFR_EXECUTION_SAMPLE, "10 ms");
	for (uint32_t i = 0; i < 2; i++)
		thread[i] = jfrw_thread(w, &(struct jfrw_thread){.os_name = i ? "b" : "a",
								 .os_tid = 9 + i,
								 .java_name = i ? "b" : "a",
								 .java_tid = 9 + i});
	stack = jfrw_stack(w, f, 1, false);
}

static void wall(uint32_t t, enum jfr_state state, uint64_t at_ms, uint32_t n)
{
	jfrw_wall_sample(w, at_ms * MS, thread[t], stack, state, n, 20 * MS * n);
}

static void cpu(uint32_t t, uint64_t at_ms)
{
	jfrw_cpu_sample(w, at_ms * MS, thread[t], stack);
}

static void context(uint32_t t, uint64_t from_ms, uint64_t to_ms, const char *trace,
		    const char *span, const char *root, const char *endpoint)
{
	jfrw_context(w, from_ms * MS,
		     &(struct jfr_context){.duration_ns = (to_ms - from_ms) * MS,
					   .thread = thread[t],
					   .trace = trace,
					   .span = span,
					   .root = root,
					   .endpoint = jfrw_name(w, JFR_WORD, endpoint),
					   .samples = 1});
}

/*
 * Thread a: request aa of 200 ms, with a span of its own from 100 ms on; then 40 ms of none; then
 * bb of 60 ms, in the midst of which a sample is of none. Thread b works for aa, too, for 40 ms.
 */
static void scene(void)
{
	struct error e = {0};

	begin();
	cpu(0, 100);
	wall(0, JFR_STATE_SLEEPING, 110, 4);
	wall(0, JFR_STATE_IO, 200, 5);
	wall(0, JFR_STATE_SLEEPING, 310, 2);
	wall(0, JFR_STATE_QUEUED, 400, 1);
	wall(0, JFR_STATE_PARKED, 430, 1);
	wall(0, JFR_STATE_BLOCKED, 460, 1);
	wall(1, JFR_STATE_PARKED_TIMED, 250, 2);
	wall(1, JFR_STATE_PARKED, 900, 2);
	context(0, 100, 190, "aa", "01", "01", "GET /a");
	context(0, 200, 300, "aa", "02", "01", "GET /a");
	context(0, 400, 460, "bb", "03", "03", "GET /b");
	context(0, 430, 430, NULL, NULL, NULL, NULL);
	context(1, 250, 270, "aa", "04", "01", "GET /a");
	jfrw_wait_cause(w, 200 * MS,
			&(struct jfr_wait_cause){.thread = thread[0],
						 .stack = stack,
						 .state = JFR_STATE_IO,
						 .kind = jfrw_name(w, JFR_WORD, "TCP"),
						 .operation = jfrw_name(w, JFR_WORD, "read"),
						 .cause = jfrw_name(w, JFR_WORD, "db:1"),
						 .samples = 5,
						 .period_ns = 80 * MS});
	assert_int_equal(jfrw_close(w, &e), 0);
}

/* Wall time that passes, in ms. */
static uint64_t passes(const struct profile_options *o)
{
	struct profile *p = profile_of(path, o);
	uint64_t ns = p->total_ns[0][DIM_WALL];

	profile_free(p);
	assert_int_equal(ns % MS, 0);
	return ns / MS;
}

static uint64_t by(const char *trace, const char *span, const char *endpoint, uint64_t slower_ms)
{
	const struct profile_options o = {
		.traces = {&trace, trace != NULL},
		.spans = {&span, span != NULL},
		.endpoints = {&endpoint, endpoint != NULL},
		.slower_ns = slower_ms * MS,
		.show_idle = true,
	};

	return passes(&o);
}

static void filters(void **state)
{
	scene();
	assert_int_equal(by(NULL, NULL, NULL, 0), 10 + 18 * 20);
	assert_int_equal(by("aa", NULL, NULL, 0), 10 + 11 * 20);
	assert_int_equal(by("bb", NULL, NULL, 0), 2 * 20);
	assert_int_equal(by("cc", NULL, NULL, 0), 0);
	assert_int_equal(by(NULL, "02", NULL, 0), 5 * 20);
	assert_int_equal(by(NULL, "01", NULL, 0), 10 + 11 * 20); /* and all below it */
	assert_int_equal(by(NULL, NULL, "GET /b", 0), 2 * 20);
	assert_int_equal(by(NULL, NULL, "GET", 100), 10 + 11 * 20);
	assert_int_equal(by("bb", NULL, NULL, 100), 0);
	assert_int_equal(by(NULL, NULL, NULL, 60), 10 + 13 * 20);
	unlink(path);
}

static void has(const char *text, const char *line)
{
	if (!strstr(text, line))
		fail_msg("no '%s' in:\n%s", line, text);
}

/* 300 - 100 ms and 460 - 400 ms, and an interval; of aa: 10 ms on a CPU, 100 for the database, 120
 * else. */
static void view(void **state)
{
	const struct requests_options o = {.slowest = 1};
	struct stretch s;
	struct error e = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	scene();
	assert_int_equal(stretch_open(&s, path, &e), 0);
	assert_int_equal(requests_print(&s, &o, f, &e), 0);
	stretch_free(&s);
	fclose(f);
	has(text, "2 requests to 2 endpoints were seen, by 14 samples.\n");
	has(text,
	    "       1    220 ms    220 ms    220 ms     10 ms     4.3%     0.0%     0.0%    95.7%  "
	    "GET /a  (TCP) db:1 43.5%, sleeping 34.8%, parked 17.4%\n");
	has(text,
	    "       1     80 ms     80 ms     80 ms         0     0.0%    50.0%    50.0%     0.0%  "
	    "GET /b  blocked on monitor enter 50.0%\n");
	has(text, "  aa                               01                a and 1 more  GET /a  "
		  "(TCP) db:1 43.5%");
	assert_null(strstr(text, "  bb  "));
	free(text);
	unlink(path);
}

/* The same as JSON. */
static void as_json(void **state)
{
	const struct requests_options o = {.slowest = 1, .json = true};
	struct stretch s;
	struct error e = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	scene();
	assert_int_equal(stretch_open(&s, path, &e), 0);
	assert_int_equal(requests_print(&s, &o, f, &e), 0);
	stretch_free(&s);
	fclose(f);
	has(text,
	    "\"endpoint\": \"GET /a\",\n      \"requests\": 1,\n      \"p50_ns\": 220000000,");
	has(text, "\"running_ns\": 10000000,\n      \"queued_ns\": 0,\n      \"blocked_ns\": 0,\n"
		  "      \"waiting_ns\": 220000000,");
	has(text, "\"cause\": \"(TCP) db:1\",\n          \"while\": \"waiting\",\n"
		  "          \"ns\": 100000000\n");
	has(text, "\"trace_id\": \"aa\",\n      \"local_root_span_id\": \"01\",");
	has(text, "\"thread\": \"a\",\n      \"threads\": 2,");
	assert_null(strstr(text, "\"bb\""));
	free(text);
	unlink(path);
}

/* What requests print of the time from and to, in ms since the start; to 0: to its end. */
static char *cut_text(uint64_t from_ms, uint64_t to_ms)
{
	const struct requests_options o = {.slowest = 1};
	struct error e = {0};
	struct stretch s;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(stretch_open(&s, path, &e), 0);
	assert_int_equal(stretch_cut(&s, s.start_ns + (int64_t)(from_ms * MS),
				     to_ms ? s.start_ns + (int64_t)(to_ms * MS) : INT64_MAX, &e),
			 0);
	assert_int_equal(requests_print(&s, &o, f, &e), 0);
	stretch_free(&s);
	fclose(f);
	return text;
}

/*
 * A chunk holds more than the time that was cut: what was done at another time counts nowhere. A
 * request of which a part was then has all of its wall time.
 */
static void cut(void **state)
{
	char *text;

	scene();
	text = cut_text(390, 0);
	has(text, "1 requests to 1 endpoints were seen, by 2 samples.\n");
	assert_null(strstr(text, "GET /a"));
	free(text);
	text = cut_text(240, 300);
	has(text, "1 requests to 1 endpoints were seen, by 5 samples.\n");
	has(text,
	    "       1    220 ms    220 ms    220 ms         0     0.0%     0.0%     0.0%   100.0%  "
	    "GET /a  (TCP) db:1 60.0%, parked 40.0%\n");
	assert_null(strstr(text, "GET /b"));
	free(text);
	unlink(path);
}

static uint32_t stack_of(const char *const methods[], size_t n)
{
	struct frame_name f[4] = {0};

	for (size_t i = 0; i < n; i++)
		f[i] = (struct frame_name){
			.klass = i == n - 1   ? "java.lang.Thread"
				 : i == n - 2 ? "javax.servlet.http.HttpServlet"
					      : "shop.CartServlet",
			.method = methods[i],
			.sig = "()V",
			.type = FRAME_JIT,
		};
	return jfrw_stack(w, f, n, false);
}

static void cpu_in(uint32_t t, uint64_t at_ms, uint32_t in)
{
	jfrw_cpu_sample(w, at_ms * MS, thread[t], in);
}

/*
 * Thread a gets, for 70 ms, is idle, gets and posts; b is in the servlet, gets, for so long that it
 * would be two requests but for samples between of whose stacks not all is known, and does so much
 * later once more.
 */
static void scene_by_rule(void)
{
	uint32_t gets, posts, early, idle;
	struct error e = {0};

	begin();
	gets = stack_of((const char *[]){"query", "doGet", "service", "run"}, 4);
	posts = stack_of((const char *[]){"doPost", "service", "run"}, 3);
	early = stack_of((const char *[]){"service", "run"}, 2);
	idle = stack_of((const char *[]){"run"}, 1);
	cpu_in(0, 100, gets);
	jfrw_wall_sample(w, 110 * MS, thread[0], gets, JFR_STATE_SLEEPING, 4, 80 * MS);
	cpu_in(0, 190, idle);
	cpu_in(1, 165,
	       jfrw_stack(w,
			  (struct frame_name[]){{.klass = "libc.so.6",
						 .method = "syscall",
						 .sig = "()L;",
						 .type = FRAME_NATIVE}},
			  1, true));
	cpu_in(1, 220,
	       jfrw_stack(w,
			  (struct frame_name[]){{.klass = "(jvm)",
						 .method = "[unloaded method]",
						 .sig = "()L;",
						 .type = FRAME_JIT}},
			  1, false));
	cpu_in(1, 275, gets);
	cpu_in(0, 200, gets);
	cpu_in(0, 210, posts);
	cpu_in(1, 100, early);
	cpu_in(1, 110, gets);
	cpu_in(1, 900, gets);
	assert_int_equal(jfrw_close(w, &e), 0);
}

static uint64_t by_rule(const char *rule, const char *endpoint, uint64_t slower_ms)
{
	const struct profile_options o = {
		.endpoint_rules = {&rule, 1},
		.endpoints = {&endpoint, endpoint != NULL},
		.slower_ns = slower_ms * MS,
		.show_idle = true,
	};

	return passes(&o);
}

static void rule_tells(const char *rule, const char *line)
{
	const struct requests_options o = {.which = {.rules = {&rule, 1}}, .slowest = 1};
	struct stretch s;
	struct error e = {0};
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(stretch_open(&s, path, &e), 0);
	assert_int_equal(requests_print(&s, &o, f, &e), 0);
	stretch_free(&s);
	fclose(f);
	has(text, line);
	free(text);
}

static void rules(void **state)
{
	const char *one = "Servlet.service", *two = "HttpServlet.service > shop.*.do*",
		   *none = " > x";
	const struct requests_options o = {.which = {.rules = {&none, 1}}};
	struct error e = {0};
	struct stretch s;

	scene_by_rule();
	assert_int_equal(by_rule(one, NULL, 0), 9 * 10 + 4 * 20);
	assert_int_equal(by_rule(two, NULL, 0), 9 * 10 + 4 * 20);
	assert_int_equal(by_rule(two, "doPost", 0), 10);
	assert_int_equal(by_rule(two, "doGet", 0), 8 * 10 + 4 * 20);
	assert_int_equal(by_rule(two, NULL, 60), 10 + 4 * 20 + 5 * 10);
	rule_tells(one, "4 requests to 1 endpoints were seen, by 13 samples.\n");
	rule_tells(one, "  javax.servlet.http.HttpServlet.service");
	rule_tells(two, "5 requests to 2 endpoints were seen, by 13 samples.\n");
	rule_tells(two, "       1     20 ms     20 ms     20 ms     10 ms   100.0%     0.0%     "
			"0.0%     0.0%  shop.CartServlet.doPost\n");
	assert_int_equal(stretch_open(&s, path, &e), 0);
	assert_int_equal(requests_print(&s, &o, stdout, &e), -EINVAL);
	assert_int_equal(e.exit, EXIT_USAGE);
	stretch_free(&s);
	unlink(path);
}

static void without(void **state)
{
	const struct requests_options o = {.slowest = 1};
	struct profile_options po = {.slower_ns = 1};
	struct profile *p = NULL;
	struct error e = {0};
	struct stretch s;

	begin();
	cpu(0, 100);
	assert_int_equal(jfrw_close(w, &e), 0);
	assert_int_equal(stretch_open(&s, path, &e), 0);
	assert_int_equal(requests_print(&s, &o, stdout, &e), -ENODATA);
	assert_int_equal(e.exit, EXIT_INPUT);
	stretch_free(&s);
	assert_int_equal(profile_new(&p, &po, &e), 0);
	assert_int_equal(profile_load(p, path, 0, NULL, &e), -ENODATA);
	profile_free(p);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters), cmocka_unit_test(view),  cmocka_unit_test(as_json),
		cmocka_unit_test(cut),	   cmocka_unit_test(rules), cmocka_unit_test(without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
