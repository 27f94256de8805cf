/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks saved from live JVMs (tests/data/stacks/README.md), walked again: the frames are those
 * that, when they were saved, had the names that the JVM itself gave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <glob.h>

#include "kern/hotspot.h"
#include "kern/unwind_walk.h"

#include "savedjvm.h"

#define DIRECTORY "tests/data/stacks/"

static struct saved_walk walk;
static uint8_t file[1 << 20];

/* Reads and opens it. */
static void stack_open(const char *path)
{
	FILE *f = fopen(path, "re");
	size_t len;

	assert_non_null(f);
	len = fread(file, 1, sizeof(file), f);
	fclose(f);
	assert_true(len < sizeof(file));
	assert_int_equal(saved_walk_open(&walk, file, len), 0);
}

static uint32_t count_kind(const struct uw_state *s, uint32_t kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		n += gn_frame_kind(&s->frames[i]) == kind;
	return n;
}

/*
 * Of a thread at rest only sp and pc were known, and the C code of accept() has its frame by rbp:
 * there the JVM's note of the last Java frame led on, which that frame says.
 */
static void expect_marks(const struct uw_state *s, bool noted)
{
	uint32_t guessed = 0;

	for (uint32_t i = 0; i < s->n; i++)
		guessed += gn_frame_flags(&s->frames[i]) & GN_FF_GUESSED ? 1 : 0;
	assert_int_equal(guessed, noted ? 1 : 0);
}

static void expect_as_saved(const char *path)
{
	struct uw_state *s = &walk.state;
	struct saved_section h;
	const uint8_t *frames = saved_find(&walk.saved, "FRAM", 0, &h);

	assert_non_null(frames);
	assert_int_equal(saved_walk_run(&walk), 0);
	assert_int_equal(s->end, GN_END_COMPLETE);
	assert_int_equal(h.addr, GN_END_COMPLETE);
	assert_int_equal(s->n, h.len / sizeof(s->frames[0]));
	assert_memory_equal(s->frames, frames, h.len);
	expect_marks(s, strstr(path, "-accept"));
	/* below Java there is what started the thread, above it what it waits in, at rest */
	if (!strstr(path, "-enter-"))
		assert_int_equal(gn_frame_kind(&s->frames[0]), GN_FRAME_USER);
	assert_int_equal(gn_frame_kind(&s->frames[s->n - 1]), GN_FRAME_USER);
}

static void test_saved_frames(void **state)
{
	glob_t g;

	assert_int_equal(glob(DIRECTORY "jdk*.stack", 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		stack_open(g.gl_pathv[i]);
		expect_as_saved(g.gl_pathv[i]);
	}
	globfree(&g);
}

/* Each kind of frame is there, by what tests/jvm/java/Rest.java does. */
static void test_saved_shapes(void **state)
{
	static const struct {
		const char *name;
		uint32_t interpreted, compiled; /* at least */
	} v[] = {
		{"cold", 6, 0},	      /* inlined1, 2, 3, leaf, parkNanos, run */
		{"cold-deep", 83, 0}, /* down and rest by turns, 40 times; leaf, parkNanos, run */
		{"inlined", 1, 2},    /* run; what inlines the others, and park's wrapper */
		{"shapes", 1, 3},     {"stream", 1, 2}, {"wait", 1, 1}, {"accept", 4, 0},
	};
	static const int jdk[] = {17, 21, 25};

	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
			char path[128];

			snprintf(path, sizeof(path), DIRECTORY "jdk%d-%s.stack", jdk[k], v[i].name);
			stack_open(path);
			assert_int_equal(saved_walk_run(&walk), 0);
			assert_in_range(count_kind(&walk.state, GN_FRAME_INTERP), v[i].interpreted,
					GN_MAX_FRAMES);
			assert_in_range(count_kind(&walk.state, GN_FRAME_NMETHOD), v[i].compiled,
					GN_MAX_FRAMES);
		}
}

/*
 * A thread stopped where it enters and leaves methods, at another instruction each time:
 * Enter.run() is interpreted, and Enter.top() and mid() are compiled, see running() of
 * hotspot_stacks.sh.
 */
static void test_saved_running(void **state)
{
	static const int jdk[] = {17, 21, 25};
	uint64_t code[24];

	for (size_t k = 0; k < 24; k++) {
		const struct gn_frame *top = walk.state.frames;
		char path[128];

		snprintf(path, sizeof(path), DIRECTORY "jdk%d-enter-%d.stack", jdk[k / 8],
			 (int)(k % 8) + 1);
		stack_open(path);
		assert_int_equal(saved_walk_run(&walk), 0);
		/* run(), the lambda's body and class, Thread.run(), in later ones runWith();
		 * leafy() */
		assert_in_range(count_kind(&walk.state, GN_FRAME_INTERP), k < 8 ? 4 : 5,
				k < 8 ? 5 : 6);
		assert_in_range(count_kind(&walk.state, GN_FRAME_NMETHOD), 0, 2);
		code[k] = gn_frame_kind(top) == GN_FRAME_INTERP ? 0 : gn_frame_addr(top);
		for (size_t i = k / 8 * 8; i < k; i++)
			assert_true(!code[k] || code[i] != code[k]);
	}
}

/* Without any one piece of the memory that a walk read it ends all the same (uwwalk_run() aborts
 * else). */
static void test_saved_holes(void **state)
{
	glob_t g;

	assert_int_equal(glob(DIRECTORY "jdk*.stack", 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		stack_open(g.gl_pathv[i]);
		for (uint32_t k = 0; k < walk.saved.nmem; k++) {
			uint32_t len = walk.saved.mem[k].len;

			walk.saved.mem[k].len = 0;
			assert_int_equal(saved_walk_run(&walk), 0);
			walk.saved.mem[k].len = len / 2;
			assert_int_equal(saved_walk_run(&walk), 0);
			walk.saved.mem[k].len = len;
		}
		expect_as_saved(g.gl_pathv[i]);
	}
	globfree(&g);
}

/* A field that is not in the table would be lost in saving, and be 0 when a stack is walked again.
 */
static void test_saved_fields(void **state)
{
	assert_int_equal(saved_fields_gaps(), 0);
}

static void test_saved_bad(void **state)
{
	static const uint8_t other[64] = "GNSX";
	struct saved_section arm = {"GNST", 0, 183};

	assert_int_equal(saved_walk_open(&walk, other, sizeof(other)), -EBADMSG);
	assert_int_equal(saved_walk_open(&walk, other, 3), -EBADMSG);
	assert_int_equal(saved_walk_open(&walk, (const uint8_t *)&arm, sizeof(arm)), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_saved_frames),  cmocka_unit_test(test_saved_shapes),
		cmocka_unit_test(test_saved_holes),   cmocka_unit_test(test_saved_fields),
		cmocka_unit_test(test_saved_running), cmocka_unit_test(test_saved_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
