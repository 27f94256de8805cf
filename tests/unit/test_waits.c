/* SPDX-License-Identifier: Apache-2.0 */
/* What waits waited for, in a profile: each sample has the cause that was written for it. */
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
#include "out/findings.h"
#include "out/profile.h"
#include "out/text.h"

#define MS 1000000ull

static char path[] = "/tmp/gnomon-waits-XXXXXX";
static struct jfrw *w;
static uint32_t thread, stack;

static void begin(void)
{
	struct jfrw_config cfg = {.path = path, .overwrite = true};
	struct frame_name f[] = {
		{.klass = "(kernel)", .method = "wait_woken", .type = FRAME_KERNEL},
		{.klass = "java.net.Socket", .method = "read", .sig = "()V", .type = FRAME_JIT},
		{.klass = "shop.Db", .method = "query", .sig = "()V", .type = FRAME_JIT},
	};
	struct error e = {0};
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(jfrw_open(&w, &cfg, &e), 0);
	jfrw_active_setting(w, 0,
			    &(struct jfr_active_setting){.id = JFR_WALL_CLOCK_SAMPLE,
							 .name = "period",
							 .value = "20 ms"});
	thread = jfrw_thread(w,
			     &(struct jfrw_thread){
				     .os_name = "t", .os_tid = 9, .java_name = "t", .java_tid = 9});
	stack = jfrw_stack(w, f, 3, false);
}

static void wait(uint64_t at_ms, uint32_t n)
{
	jfrw_wall_sample(w, at_ms * MS, thread, stack, JFR_STATE_IO, n, 20 * MS * n);
}

static void cause(uint64_t from_ms, uint64_t to_ms, uint32_t n, const char *what)
{
	jfrw_wait_cause(w, from_ms * MS,
			&(struct jfr_wait_cause){
				.thread = thread,
				.stack = stack,
				.state = JFR_STATE_IO,
				.kind = jfrw_name(w, JFR_WORD, "TCP"),
				.operation = jfrw_name(w, JFR_WORD, "read"),
				.cause = jfrw_name(w, JFR_WORD, what),
				.samples = n,
				.span_ns = 20 * MS * n,
				.period_ns = (to_ms - from_ms) * MS,
			});
}

static struct profile *loaded(bool causes)
{
	struct profile_options o = {.causes = causes};
	struct profile *p = NULL;

	assert_int_equal(profile_new(&p, &o, NULL), 0);
	assert_int_equal(profile_load(p, path, 0, NULL, NULL), 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	return p;
}

/* Collapsed stacks; to be freed. */
static char *shown(bool causes)
{
	struct profile *p = loaded(causes);
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(text_collapsed(p, DIM_OFF, false, f, NULL), 0);
	fclose(f);
	profile_free(p);
	return text;
}

static void has(const char *text, const char *line)
{
	if (!strstr(text, line))
		fail_msg("no '%s' in:\n%s", line, text);
}

#define PLACE "shop.Db.query;java.net.Socket.read;"

/* Two causes in the same second, in turns, and a wait of which nothing is known. */
static void in_turns(void **state)
{
	char *text;

	begin();
	wait(100, 3);
	wait(200, 2);
	wait(300, 4);
	wait(5000, 1);
	cause(100, 380, 7, "a:1");
	cause(200, 220, 2, "b:2");
	assert_int_equal(jfrw_close(w, NULL), 0);

	text = shown(true);
	has(text, PLACE "(TCP) a:1 140000000\n");
	has(text, PLACE "(TCP) b:2 40000000\n");
	has(text, PLACE "(kernel).wait_woken 20000000\n");
	free(text);
	text = shown(false);
	has(text, PLACE "(kernel).wait_woken 200000000\n");
	assert_null(strstr(text, "TCP"));
	free(text);
	unlink(path);
}

/* The self time of what a method is called by, by methods. */
static uint64_t self_of(const struct profile *p, bool causes, const char *name)
{
	uint64_t *self = calloc(p->nnodes, sizeof(*self)), ns = 0;
	uint64_t *total = calloc(p->nnodes, sizeof(*total));

	profile_weigh_java(p, DIM_OFF, 0, PROF_ANY_STATE, causes, self, total);
	for (uint32_t i = 1; i < p->nnodes; i++)
		if (!strcmp(profile_frame_name(p, p->nodes[i].frame), name))
			ns += self[i];
	free(self);
	free(total);
	return ns;
}

/* By methods a cause is the method's that waits, unless it is asked for: `gnomon diff --causes`. */
static void by_method(void **state)
{
	struct profile *p;

	begin();
	wait(100, 3);
	wait(5000, 1);
	cause(100, 160, 3, "a:1");
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = loaded(true);
	assert_int_equal(self_of(p, false, "java.net.Socket.read"), 80 * MS);
	assert_int_equal(self_of(p, true, "java.net.Socket.read"), 20 * MS);
	assert_int_equal(self_of(p, true, "(TCP) a:1"), 60 * MS);
	profile_free(p);
	unlink(path);
}

/* A cause that claims more, or fewer, samples than there are. */
static void liars(void **state)
{
	char *text;

	begin();
	wait(100, 5);
	wait(900, 1);
	cause(100, 180, 2, "few:1");
	cause(800, 1000, 99, "many:2");
	cause(0, 0, 7, "never:3");
	assert_int_equal(jfrw_close(w, NULL), 0);

	text = shown(true);
	has(text, PLACE "(TCP) few:1 40000000\n");
	has(text, PLACE "(TCP) many:2 20000000\n");
	has(text, PLACE "(kernel).wait_woken 60000000\n");
	assert_null(strstr(text, "never"));
	free(text);
	unlink(path);
}

static void found(void **state)
{
	struct findings *x = NULL;
	struct profile *p;
	bool told = false;

	begin();
	wait(0, 60);
	wait(1300, 40);
	cause(1300, 2080, 40, "10.0.0.7:5432");
	assert_int_equal(jfrw_flush(w, 2100 * MS, NULL), 0);
	assert_int_equal(jfrw_close(w, NULL), 0);
	p = loaded(true);
	assert_int_equal(findings_new(&x, p, NULL), 0);
	for (size_t i = 0; i < x->n; i++)
		told |= !strcmp(x->v[i].text,
				"40% of the time off the CPU (800 ms; idle threads left out) was "
				"waiting for (TCP) 10.0.0.7:5432, most of it in shop.Db.query.");
	assert_true(told);
	findings_free(x);
	profile_free(p);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_turns),
		cmocka_unit_test(by_method),
		cmocka_unit_test(liars),
		cmocka_unit_test(found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
