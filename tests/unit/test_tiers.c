/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One method is one frame, whatever ran it. Two recordings of the same program, of which the first
 * saw it interpreted and by C1, the second by C2 with one method inlined: nothing differs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "jfrmade.h"
#include "out/diff.h"
#include "out/profile.h"
#include "out/text.h"

static char dir[] = "/tmp/gnomon-tiers.XXXXXX";
static char path[2][64];

static int setup(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	for (int i = 0; i < 2; i++)
		snprintf(path[i], sizeof(path[i]), "%s/%d.jfr", dir, i);
	return 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < 2; i++)
		unlink(path[i]);
	return rmdir(dir);
}

/* main calls work, which calls into libc. */
static uint32_t stack_write(struct jfrw *w, enum frame_type main, enum frame_type work)
{
	struct frame_name frames[] = {
		{.klass = "libc.so.6",
		 .method = "read",
		 .sig = "",
		 .line = -1,
		 .bci = -1,
		 .type = FRAME_NATIVE},
		{.klass = "a.B", .method = "work", .sig = "()V", .line = 7, .type = (uint8_t)work},
		{.klass = "a.B", .method = "main", .sig = "()V", .line = 3, .type = (uint8_t)main},
	};

	return jfrw_stack(w, frames, 3, false);
}

/* Six samples of one kind and two of the other on the CPU; then 100 ms of waiting. */
static void recording_write(int side, enum frame_type main, enum frame_type work,
			    enum frame_type work2, enum jfr_state waits)
{
	struct error e = {0};
	uint32_t t, a, b;
	struct jfrw *w = jm_open(path[side], (struct jfrw_form){0});

	assert_non_null(w);
	t = jm_main(w);
	a = stack_write(w, main, work);
	b = stack_write(w, main, work2);
	for (uint64_t i = 0; i < 8; i++)
		jfrw_cpu_sample(w, START + i * 10 * MS, t, i < 6 ? a : b);
	jfrw_wall_sample(w, START + 100 * MS, t, a, waits, 5, 100 * MS);
	assert_int_equal(jfrw_close(w, &e), 0);
}

static struct profile *both_read(bool split)
{
	struct profile_options o = {.split_tiers = split, .keep_times = true};
	struct profile *p = NULL;

	assert_int_equal(profile_new(&p, &o, NULL), 0);
	for (int side = 0; side < 2; side++)
		assert_int_equal(profile_load(p, path[side], side, NULL, NULL), 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	return p;
}

static uint32_t node_named(const struct profile *p, const char *name)
{
	for (uint32_t i = 1; i < p->nnodes; i++)
		if (!strcmp(profile_frame_name(p, p->nodes[i].frame), name))
			return i;
	return NODE_NONE;
}

static void test_one_frame(void **state)
{
	struct profile *p;
	uint32_t work;

	recording_write(0, FRAME_INTERPRETED, FRAME_C1, FRAME_INTERPRETED, JFR_STATE_PARKED);
	recording_write(1, FRAME_JIT, FRAME_INLINED, FRAME_INLINED, JFR_STATE_PARKED);
	p = both_read(false);
	assert_int_equal(p->nnodes, 4); /* the root, main, work, read */
	assert_int_equal(p->nframes, 4);
	assert_int_equal(p->ncells, 4); /* running and parked, on each side */
	work = node_named(p, "a.B.work");
	assert_int_equal(p->frames[p->nodes[work].frame].type, PROF_JAVA);
	/* of 180 + 180 ms: 160 by C1, 20 interpreted; all of B's inlined */
	assert_int_equal(p->tiers[work].percent[TIER_C1], 44);
	assert_int_equal(p->tiers[work].percent[TIER_INTERPRETED], 5);
	assert_int_equal(p->tiers[work].percent[TIER_INLINED], 51); /* 50 and what is left */
	assert_int_equal(p->tiers[work].percent[TIER_JIT], 0);
	for (int i = 0; i < TIERS; i++)
		assert_int_equal(p->tiers[node_named(p, "libc.so.6.read")].percent[i], 0);
	assert_int_equal(p->total_ns[0][DIM_CPU], 80 * MS);
	assert_int_equal(p->total_ns[1][DIM_OFF], 100 * MS);
	assert_int_equal(p->ntimes, 18);
	for (size_t i = 0; i < p->ntimes; i++)
		assert_true(p->times[i].cell < p->ncells);
	profile_free(p);

	p = both_read(true);
	assert_null(p->tiers);
	assert_int_equal(p->nnodes, 9); /* the root, two mains; each work with its read */
	assert_int_equal(p->ncells, 5);
	profile_free(p);
}

static char *diff_text(enum dim dim)
{
	struct profile *p = both_read(false);
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(diff_table(p, dim, 10, f, NULL), 0);
	fclose(f);
	profile_free(p);
	return text;
}

static void test_same_program(void **state)
{
	recording_write(0, FRAME_INTERPRETED, FRAME_C1, FRAME_INTERPRETED, JFR_STATE_PARKED);
	recording_write(1, FRAME_JIT, FRAME_INLINED, FRAME_INLINED, JFR_STATE_PARKED);
	for (int d = 0; d < DIMS; d++) {
		char *text = diff_text((enum dim)d);

		assert_non_null(strstr(text, "no method's own share differs"));
		free(text);
	}
}

/* The wait is the Java method's, by its state; what it calls natively is not named. */
static void test_waits(void **state)
{
	char *text;

	recording_write(0, FRAME_JIT, FRAME_JIT, FRAME_JIT, JFR_STATE_PARKED);
	recording_write(1, FRAME_JIT, FRAME_JIT, FRAME_JIT, JFR_STATE_QUEUED);
	text = diff_text(DIM_OFF);
	assert_non_null(
		strstr(text, "  100.0%    0.0%  -100.0%   100.0%    0.0%  PARKED    a.B.work\n"));
	assert_non_null(
		strstr(text, "    0.0%  100.0%  +100.0%     0.0%  100.0%  QUEUED    a.B.work\n"));
	assert_null(strstr(text, "read"));
	free(text);
	text = diff_text(DIM_CPU);
	assert_non_null(strstr(text, "no method's own share differs"));
	free(text);
}

/* Eight samples, of which `n` are in read and the others in work. */
static void cpu_write(int side, unsigned int n)
{
	struct frame_name work = {
		.klass = "a.B", .method = "work", .sig = "()V", .line = 7, .type = FRAME_JIT};
	struct error e = {0};
	uint32_t t, a, b;
	struct jfrw *w = jm_open(path[side], (struct jfrw_form){0});

	assert_non_null(w);
	t = jm_main(w);
	a = stack_write(w, FRAME_JIT, FRAME_JIT);
	b = jfrw_stack(w, &work, 1, false);
	for (uint64_t i = 0; i < 8; i++)
		jfrw_cpu_sample(w, START + i * 10 * MS, t, i < n ? a : b);
	assert_int_equal(jfrw_close(w, &e), 0);
}

/*
 * All 8 of A's samples are in read. Of a share of 7/8 the standard error is 0.117: one sample that
 * went elsewhere is less than two of it. Of 5/8 it is 0.171: three samples are more.
 */
static void test_chance(void **state)
{
	char *text;

	cpu_write(0, 8);
	cpu_write(1, 7);
	text = diff_text(DIM_CPU);
	assert_non_null(
		strstr(text, "  100.0%   87.5%  -12.5%~  100.0%   87.5%  libc.so.6.read\n"));
	assert_non_null(strstr(text, "~ may be chance"));
	free(text);
	cpu_write(1, 5);
	text = diff_text(DIM_CPU);
	assert_non_null(
		strstr(text, "  100.0%   62.5%  -37.5%   100.0%   62.5%  libc.so.6.read\n"));
	assert_null(strstr(text, "chance"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_frame),
		cmocka_unit_test(test_same_program),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_chance),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
