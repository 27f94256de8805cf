/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings by time: a directory of segments, and a file of several chunks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jfr/stretch.h"
#include "jfr/write.h"
#include "out/profile.h"

#define S     1000000000ull
#define START (1000 * S)
#define UNIX  (1763906400ll * (int64_t)S) /* 2025-11-23 14:00:00 UTC */
#define AT(s) (UNIX + (s) * (int64_t)S)

static char root[64], dir[128];

/*
 * A sample each 10 s for five minutes, 30 in all. A chunk ends with the first one that is written
 * when its minute is over: they have 7, 7, 7, 7 and 2 of them.
 */
static void recording_write(const char *path, bool segments)
{
	struct jfrw_config cfg = {
		.path = path,
		.start_unix_ns = UNIX,
		.start_mono_ns = START,
		.form = {.segments = segments, .chunk_max_ns = 60 * S},
	};
	struct frame_name f = {.klass = "a.B", .method = "c", .sig = "()V", .line = 7};
	struct jfrw *w = NULL;

	assert_int_equal(jfrw_open(&w, &cfg, NULL), 0);
	for (uint64_t s = 0; s < 300; s += 10) {
		jfrw_cpu_sample(w, START + s * S, 0, jfrw_stack(w, &f, 1, false));
		jfrw_samples_lost(w, START + s * S,
				  &(struct jfr_samples_lost){
					  .kind = "cpu", .reason = "a reason", .count = 1});
		jfrw_flush(w, START + s * S, NULL);
		for (int i = 0; i < 20000 && jfrw_busy(w); i++)
			usleep(1000);
	}
	assert_int_equal(jfrw_close(w, NULL), 0);
}

static int setup(void **state)
{
	strcpy(root, "/tmp/gnomon-stretch.XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(dir, sizeof(dir), "%s/jvm", root);
	recording_write(dir, true);
	return 0;
}

static int teardown(void **state)
{
	char cmd[160];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	return system(cmd);
}

struct read {
	uint64_t samples, lost, chunks, problems;
	int64_t start_ns, end_ns;
	uint64_t from_ns, to_ns;
};

static struct read stretch_read(const struct stretch *s)
{
	struct profile *p = NULL;
	struct jfr_report r;
	struct read got;

	assert_int_equal(profile_new(&p, NULL, NULL), 0);
	assert_int_equal(profile_load_stretch(p, s, 0, &r, NULL), 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	got = (struct read){
		.samples = p->samples[JFR_SOURCE_EXECUTION],
		.lost = p->facts.losses[0].count,
		.chunks = r.chunks,
		.problems = r.problems,
		.start_ns = p->start_ns,
		.end_ns = p->end_ns,
		.from_ns = p->from_ns,
		.to_ns = p->to_ns,
	};
	profile_free(p);
	return got;
}

static void whole_check(const char *path, uint64_t chunks)
{
	struct stretch s;
	struct read got;

	assert_int_equal(stretch_open(&s, path, NULL), 0);
	assert_true(s.known);
	assert_int_equal(s.start_ns, UNIX);
	assert_true(s.end_ns >= AT(290));
	got = stretch_read(&s);
	assert_int_equal(got.samples, 30);
	assert_int_equal(got.lost, 30);
	assert_int_equal(got.chunks, chunks);
	assert_int_equal(got.problems, 0);
	stretch_free(&s);
}

static void whole(void **state)
{
	char file[160];

	whole_check(dir, 5);
	snprintf(file, sizeof(file), "%s/x.jfr", root);
	recording_write(file, false);
	whole_check(file, 5);
}

/* The nth file from the oldest: how a minute is called depends on when its first event came. */
static void file_nth(int n, char *path, size_t cap)
{
	struct dirent **v;
	int count = scandir(dir, &v, NULL, alphasort);

	assert_int_equal(count, 2 + 5); /* with . and .. */
	snprintf(path, cap, "%s/%s", dir, v[2 + n]->d_name);
	while (count > 0)
		free(v[--count]);
	free(v);
}

/* [61 s, 101 s): samples of 70, 80, 90 and 100; files of other minutes are not looked into. */
static void cut(void **state)
{
	struct stretch s;
	struct read got;
	char others[3][512];

	file_nth(0, others[0], sizeof(others[0]));
	file_nth(3, others[1], sizeof(others[1]));
	file_nth(4, others[2], sizeof(others[2]));
	assert_int_equal(stretch_open(&s, dir, NULL), 0);
	assert_int_equal(stretch_cut(&s, AT(61), AT(101), NULL), 0);
	for (int i = 0; i < 3; i++)
		unlink(others[i]);
	got = stretch_read(&s);
	assert_int_equal(got.samples, 4);
	assert_int_equal(got.problems, 0);
	/* of the chunk of 70 to 130 s; the one behind it might have told of a sleep in this one */
	assert_int_equal(got.lost, 7);
	assert_int_equal(got.chunks, 2);
	assert_int_equal(got.start_ns, s.start_ns);
	assert_true(s.start_ns > AT(59) && s.start_ns <= AT(61));
	assert_true(got.end_ns >= AT(101) && got.end_ns <= AT(131));
	assert_int_equal(s.start_ns + (int64_t)got.from_ns, AT(61));
	assert_int_equal(s.start_ns + (int64_t)got.to_ns, AT(101));
	stretch_free(&s);
}

static void cut_open(void **state)
{
	struct stretch s;

	assert_int_equal(stretch_open(&s, dir, NULL), 0);
	assert_int_equal(stretch_cut(&s, AT(245), INT64_MAX, NULL), 0);
	assert_int_equal(stretch_read(&s).samples, 5);
	stretch_free(&s);
	assert_int_equal(stretch_open(&s, dir, NULL), 0);
	assert_int_equal(stretch_cut(&s, INT64_MIN, AT(25), NULL), 0);
	assert_int_equal(stretch_read(&s).samples, 3);
	stretch_free(&s);
}

/* The same of one file of several chunks. */
static void cut_file(void **state)
{
	struct stretch s;
	struct read got;
	char file[160];

	snprintf(file, sizeof(file), "%s/x.jfr", root);
	recording_write(file, false);
	assert_int_equal(stretch_open(&s, file, NULL), 0);
	assert_int_equal(stretch_cut(&s, AT(61), AT(101), NULL), 0);
	got = stretch_read(&s);
	assert_int_equal(got.samples, 4);
	assert_int_equal(got.chunks, 2);
	assert_int_equal(got.problems, 0);
	stretch_free(&s);
}

/* What goes while it is read is told of, and the rest counts. */
static void removed(void **state)
{
	struct stretch s;
	struct read got;
	char path[512];

	file_nth(2, path, sizeof(path));
	assert_int_equal(stretch_open(&s, dir, NULL), 0);
	unlink(path);
	got = stretch_read(&s);
	assert_int_equal(got.chunks, 4);
	assert_int_equal(got.samples, 23);
	assert_true(got.problems > 0);
	stretch_free(&s);
}

/* Cut anywhere, as by a disk that was full, a file costs none of those behind it. */
static void damaged(void **state)
{
	char path[512];
	struct stat st;

	file_nth(2, path, sizeof(path));
	assert_int_equal(stat(path, &st), 0);
	for (off_t size = st.st_size - 1; size > 0; size -= st.st_size / 37) {
		struct stretch s;
		struct read got;

		assert_int_equal(truncate(path, size), 0);
		assert_int_equal(stretch_open(&s, dir, NULL), 0);
		got = stretch_read(&s);
		assert_true(got.samples >= 23 && got.samples <= 30);
		stretch_free(&s);
	}
}

static void outside(void **state)
{
	struct stretch s;
	struct error e = {0};

	setenv("TZ", "UTC", 1);
	assert_int_equal(stretch_open(&s, dir, NULL), 0);
	assert_true(stretch_cut(&s, AT(3600), INT64_MAX, &e) < 0);
	assert_int_equal(e.exit, EXIT_INPUT);
	assert_non_null(strstr(e.msg, "2025-11-23 14:00:00 to 2025-11-23 14:0"));
	assert_true(stretch_cut(&s, INT64_MIN, AT(0), &e) < 0);
	assert_int_equal(stretch_cut(&s, INT64_MIN, AT(0) + 1, &e), 0);
	stretch_free(&s);
}

static void directories(void **state)
{
	struct stretch s;
	struct error e = {0};
	char empty[160];

	/* the one above it */
	assert_true(stretch_open(&s, root, &e) < 0);
	assert_int_equal(e.exit, EXIT_INPUT);
	assert_non_null(strstr(e.msg, "several JVMs"));
	assert_non_null(strstr(e.hint, dir));
	snprintf(empty, sizeof(empty), "%s/empty", root);
	assert_int_equal(mkdir(empty, 0700), 0);
	assert_true(stretch_open(&s, empty, &e) < 0);
	assert_non_null(strstr(e.msg, "without recordings"));
	/* of what is no file nothing is known; reading it says why */
	assert_int_equal(stretch_open(&s, "/nonexistent", &e), 0);
	assert_false(s.known);
	stretch_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole, setup, teardown),
		cmocka_unit_test_setup_teardown(cut, setup, teardown),
		cmocka_unit_test_setup_teardown(cut_open, setup, teardown),
		cmocka_unit_test_setup_teardown(cut_file, setup, teardown),
		cmocka_unit_test_setup_teardown(removed, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged, setup, teardown),
		cmocka_unit_test_setup_teardown(outside, setup, teardown),
		cmocka_unit_test_setup_teardown(directories, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
