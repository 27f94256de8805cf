/* SPDX-License-Identifier: Apache-2.0 */
/* A recording that goes on and on: a file for each chunk, and which of them are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jfr/read.h"
#include "jfr/read_sample.h"
#include "jfr/segment.h"
#include "jfr/write.h"
#include "run/retention.h"

#define S     1000000000ull
#define MS    1000000ull
#define START (1000 * S)
#define UNIX  (1763906400ull * S) /* 2025-11-23 14:00:00 UTC */

static char root[64], dir[128];

static int setup(void **state)
{
	strcpy(root, "/tmp/gnomon-segments.XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(dir, sizeof(dir), "%s/jvm", root);
	return 0;
}

static int teardown(void **state)
{
	char cmd[160];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", root);
	return system(cmd);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void names(void **state)
{
	char name[SEGMENT_NAME_LEN];

	segment_name(UNIX, 0, name);
	assert_string_equal(name, "20251123T140000Z.jfr");
	assert_true(segment_is(name));
	segment_name(UNIX + 59 * S, 1, name);
	assert_string_equal(name, "20251123T140059Z_2.jfr");
	assert_true(segment_is(name));
	assert_true(strcmp(name, "20251123T140059Z.jfr") > 0);
	assert_true(strcmp(name, "20251123T140059Z_3.jfr") < 0);
	assert_false(segment_is("app.jfr"));
	assert_false(segment_is(".20251123T140000Z.jfr"));
	assert_false(segment_is("20251123T140000Z.jfr~"));
	assert_false(segment_is("20251123T140000Z_.jfr"));
	assert_false(segment_is("20251123T140000Z_2x.jfr"));
	assert_false(segment_is("20251123T140000.jfr"));
	assert_false(segment_is(""));
}

/* ---- the writer ------------------------------------------------------------------------------ */

static struct jfrw *writer(uint64_t held)
{
	struct jfrw_config cfg = {
		.path = dir,
		.start_unix_ns = UNIX,
		.start_mono_ns = START,
		.form = {.segments = true, .chunk_max_ns = 60 * S, .held_max_bytes = held},
	};
	struct jfrw *w = NULL;
	struct error e = {0};

	assert_int_equal(jfrw_open(&w, &cfg, &e), 0);
	return w;
}

static void wait_written(struct jfrw *w)
{
	for (int i = 0; i < 20000 && jfrw_busy(w); i++)
		usleep(1000);
	assert_false(jfrw_busy(w));
}

/* One sample, with a stack that all have, and its flush. */
static void sample(struct jfrw *w, uint64_t at)
{
	struct frame_name f = {.klass = "a.B", .method = "c", .sig = "()V", .line = 7};
	uint32_t stack = jfrw_stack(w, &f, 1, false);

	assert_int_not_equal(stack, 0);
	jfrw_cpu_sample(w, at, 0, stack);
	jfrw_flush(w, at, NULL);
}

/* How many samples the file has, each with its stack; it is whole. */
static unsigned int samples_in(const char *path)
{
	struct jfr_reader *r;
	struct jfr_event ev;
	struct error e = {0};
	unsigned int n = 0;

	assert_int_equal(jfr_reader_open(&r, path, NULL, &e), 0);
	while (jfr_reader_next(r, &ev) > 0)
		n += !strcmp(ev.cls->name, "jdk.ExecutionSample");
	assert_int_equal(jfr_reader_report(r)->problems, 0);
	assert_int_equal(jfr_reader_report(r)->chunks, 1);
	jfr_reader_close(r);
	return n;
}

/* Of those whose stack is found in the file itself. */
static unsigned int stacks_in(const char *path)
{
	struct jfr_reader *r;
	struct jfr_sampler *s;
	struct jfr_sample sample;
	struct jfr_event ev;
	struct error e = {0};
	unsigned int n = 0;

	assert_int_equal(jfr_reader_open(&r, path, NULL, &e), 0);
	s = jfr_sampler_new(r, true);
	assert_non_null(s);
	while (jfr_sampler_next(s, &ev, &sample) > 0) {
		struct jfr_value frames;
		bool cut;

		n += sample.ticks && jfr_stack_get(r, &sample.stack, &frames, &cut) &&
		     frames.n == 1;
	}
	jfr_sampler_free(s);
	jfr_reader_close(r);
	return n;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_dots(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* The nth file, and how many there are. */
static int file_at(int n, char *path, size_t cap)
{
	struct dirent **v;
	int count = scandir(dir, &v, not_dots, by_name);

	for (int i = 0; i < count; i++) {
		if (i == n)
			snprintf(path, cap, "%s/%s", dir, v[i]->d_name);
		free(v[i]);
	}
	if (count >= 0)
		free(v);
	return count;
}

static void chunks_are_files(void **state)
{
	struct jfrw *w = writer(0);
	char path[512];
	struct stat st;

	for (uint64_t s = 0; s < 150; s += 10) {
		sample(w, START + s * S);
		wait_written(w);
	}
	assert_int_equal(jfrw_close(w, NULL), 0);
	assert_int_equal(file_at(0, path, sizeof(path)), 3);
	/* a chunk ends with what is written when its time is over */
	assert_int_equal(samples_in(path), 7);
	assert_int_equal(stacks_in(path), 7);
	assert_non_null(strstr(path, "/20251123T140000Z.jfr"));
	stat(path, &st);
	assert_int_equal(st.st_mode & 0777, 0600);
	file_at(1, path, sizeof(path));
	assert_int_equal(samples_in(path), 7);
	assert_int_equal(stacks_in(path), 7);
	assert_non_null(strstr(path, "/20251123T140100Z.jfr"));
	file_at(2, path, sizeof(path));
	assert_int_equal(samples_in(path), 1);
	assert_int_equal(stacks_in(path), 1);
}

/* The first one may be shorter than others. */
static void first_is_shorter(void **state)
{
	struct jfrw_config cfg = {
		.path = dir,
		.start_unix_ns = UNIX,
		.start_mono_ns = START,
		.form = {.segments = true, .chunk_max_ns = 60 * S},
		.chunk_first_ns = 25 * S,
	};
	char path[512];
	struct jfrw *w;

	assert_int_equal(jfrw_open(&w, &cfg, NULL), 0);
	for (uint64_t s = 0; s < 100; s += 10) {
		sample(w, START + s * S);
		wait_written(w);
	}
	assert_int_equal(jfrw_close(w, NULL), 0);
	assert_int_equal(file_at(0, path, sizeof(path)), 2);
	assert_int_equal(samples_in(path), 4);
	file_at(1, path, sizeof(path));
	assert_int_equal(samples_in(path), 6);
}

/* When what the file tells begins, since 1970. */
static uint64_t start_of(const char *path)
{
	struct jfr_reader *r;
	struct jfr_event ev;
	struct error e = {0};
	uint64_t start;

	assert_int_equal(jfr_reader_open(&r, path, NULL, &e), 0);
	assert_int_equal(jfr_reader_next(r, &ev), 1);
	start = (uint64_t)jfr_reader_chunk(r)->start_ns;
	jfr_reader_close(r);
	return start;
}

/*
 * The machine sleeps for an hour, which the clock that never jumps does not count; later the other
 * one is set back by two. The files that begin after it have the time that it is then.
 */
static void clocks_part(void **state)
{
	const uint64_t hour = 3600 * S;
	struct jfrw *w = writer(0);
	char path[512];

	for (uint64_t s = 0; s < 230; s += 10) {
		uint64_t unix_ns = UNIX + s * S + MS; /* so much is no jump */

		unix_ns += s >= 30 ? hour : 0;
		unix_ns -= s >= 90 ? 2 * hour : 0;
		jfrw_clock(w, unix_ns, START + s * S);
		sample(w, START + s * S);
		wait_written(w);
	}
	assert_int_equal(jfrw_close(w, NULL), 0);
	assert_int_equal(file_at(0, path, sizeof(path)), 4);
	/* set back: it comes before, by its name as by its time */
	assert_non_null(strstr(path, "/20251123T130210Z.jfr"));
	assert_in_range(start_of(path), UNIX - hour + 130 * S, UNIX - hour + 131 * S);
	file_at(2, path, sizeof(path));
	assert_int_equal(start_of(path), UNIX);
	file_at(3, path, sizeof(path));
	assert_non_null(strstr(path, "/20251123T150100Z.jfr"));
	assert_in_range(start_of(path), UNIX + hour + 60 * S, UNIX + hour + 61 * S);
	assert_int_equal(samples_in(path), 7);
	assert_int_equal(stacks_in(path), 7);
}

/* Who follows is told of each file once it is whole, and of the last one at the end. */
static void told(void **state)
{
	struct jfrw_config cfg = {
		.path = dir,
		.start_unix_ns = UNIX + 400 * MS,
		.start_mono_ns = START,
		.form = {.segments = true, .window_ns = 2 * S},
	};
	_Atomic uint64_t untold = 0;
	char text[8 * FINISHED_MOST];
	struct finished m;
	struct jfrw *w = NULL;
	unsigned int files = 0, samples = 0;
	size_t at = 0, n;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	cfg.finished = (struct finished_to){.fd = fds[1], .untold = &untold};
	assert_int_equal(jfrw_open(&w, &cfg, NULL), 0);
	for (int i = 0; i < 10; i++) { /* at 0.4, 0.9, ... 4.9 s of the clock: windows of 2 s */
		sample(w, START + (uint64_t)i * 500 * MS);
		wait_written(w);
	}
	assert_int_equal(jfrw_close(w, NULL), 0);
	n = (size_t)read(fds[0], text, sizeof(text));
	for (size_t used; (used = finished_take(text + at, n - at, &m)); at += used) {
		struct stat st;

		assert_int_equal(stat(m.path, &st), 0);
		assert_int_equal(m.from, 0);
		assert_int_equal(m.end, st.st_size);
		samples += samples_in(m.path);
		files++;
	}
	assert_int_equal(at, n);
	assert_int_equal(files, 3);
	assert_int_equal(samples, 10);
	assert_int_equal(untold, 0);
	close(fds[0]);
	close(fds[1]);
}

/* A pipe that is full, or has no other end, holds up nobody, and is counted; what is no message is
 * none. */
static void told_in_vain(void **state)
{
	_Atomic uint64_t untold = 0;
	struct finished m;
	int fds[2];
	struct finished_to to = {.untold = &untold};

	finished_tell(&to, "/a", 0, 1); /* nobody is to be told */
	assert_int_equal(untold, 0);
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	to.fd = fds[1];
	for (int i = 0; i < 100000 && !untold; i++)
		finished_tell(&to, "/a/b.jfr", 68, 1000);
	assert_int_equal(untold, 1);
	signal(SIGPIPE, SIG_IGN);
	close(fds[0]);
	finished_tell(&to, "/a/b.jfr", 68, 1000);
	assert_int_equal(untold, 2);
	close(fds[1]);
	assert_int_equal(finished_take("\n68 1000 /a/b.jfr", 17, &m), 0);
	assert_int_equal(finished_take("\n68 1000 /a b.jfr\0", 18, &m), 18);
	assert_string_equal(m.path, "/a b.jfr");
	assert_int_equal(m.from, 68);
	assert_int_equal(m.end, 1000);
	assert_int_equal(finished_take("x\0rest", 6, &m), 2);
	assert_string_equal(m.path, "");
	assert_int_equal(finished_take("\n9 9 /a\0", 8, &m), 8);
	assert_string_equal(m.path, "");
}

/* What one of those who tell writes garbles no message of another, and does not pile up. */
static void told_lies(void **state)
{
	struct finished_to to = {0};
	char text[3 * FINISHED_MOST];
	struct finished m;
	size_t n = 0, used;
	int fds[2];

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	to.fd = fds[1];
	assert_int_equal(write(fds[1], "\n9 99 /somebody's", 17), 17);
	finished_tell(&to, "/a/b.jfr", 68, 1000);
	n = (size_t)read(fds[0], text, sizeof(text));
	assert_int_equal(finished_take(text, n, &m), n);
	assert_string_equal(m.path, "/a/b.jfr");
	assert_int_equal(m.from, 68);
	memset(text, 'x', sizeof(text));
	used = finished_take(text, sizeof(text), &m);
	assert_in_range(used, sizeof(text) - FINISHED_MOST, sizeof(text));
	assert_string_equal(m.path, "");
	finished_tell(&to, "/a/b.jfr", 68, 1000);
	n = sizeof(text) - used;
	memmove(text, text + used, n);
	n += (size_t)read(fds[0], text + n, sizeof(text) - n);
	assert_int_equal(finished_take(text, n, &m), n);
	assert_string_equal(m.path, "/a/b.jfr");
	close(fds[0]);
	close(fds[1]);
}

/* A restart goes on beside the old files, also within their second. */
static void beside_others(void **state)
{
	char path[512];

	for (int i = 0; i < 2; i++) {
		struct jfrw *w = writer(0);

		sample(w, START + S);
		assert_int_equal(jfrw_close(w, NULL), 0);
	}
	assert_int_equal(file_at(1, path, sizeof(path)), 2);
	assert_int_equal(samples_in(path), 1);
	file_at(0, path, sizeof(path));
	assert_int_equal(samples_in(path), 1);
}

/* The directory is removed under it: what was written goes, what follows is in another file. */
static void removed(void **state)
{
	struct jfrw *w = writer(0);
	struct jfrw_stats st;
	char cmd[160], path[512];

	sample(w, START + S);
	wait_written(w);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	assert_int_equal(system(cmd), 0);
	sample(w, START + 2 * S); /* finds it removed */
	wait_written(w);
	sample(w, START + 3 * S); /* needs a stack that is gone */
	wait_written(w);
	sample(w, START + 4 * S);
	wait_written(w);
	sample(w, START + 5 * S);
	wait_written(w);
	jfrw_stats(w, &st);
	assert_int_equal(st.dropped_events, 2);
	assert_int_equal(jfrw_close(w, NULL), 0);
	assert_int_equal(file_at(0, path, sizeof(path)), 1);
	assert_int_equal(samples_in(path), 2);
	assert_int_equal(stacks_in(path), 2);
}

/*
 * A limit of the size of files stands for the full disk, and is lifted: nothing is lost that there
 * was memory for. 0: as it should be.
 */
static int full_then_not(uint64_t held, uint64_t n, uint64_t *dropped)
{
	struct rlimit none, limit;
	struct jfrw *w = writer(held);
	struct jfrw_stats st;

	getrlimit(RLIMIT_FSIZE, &none);
	limit = none;
	sample(w, START + S);
	wait_written(w);
	limit.rlim_cur = 4096; /* the metadata take more */
	setrlimit(RLIMIT_FSIZE, &limit);
	for (uint64_t i = 0; i < n; i++)
		sample(w, START + 2 * S + i);
	if (!jfrw_busy(w))
		return 1; /* it is not written, so it is being written */
	setrlimit(RLIMIT_FSIZE, &none);
	wait_written(w);
	jfrw_flush(w, START + 2 * S + n - 1, NULL);
	wait_written(w);
	jfrw_stats(w, &st);
	*dropped = st.dropped_events;
	return jfrw_close(w, NULL) ? 2 : 0;
}

static void disk_full(void **state)
{
	char path[512];
	int status;
	pid_t pid = fork();

	if (!pid) {
		uint64_t dropped;
		int rc;

		signal(SIGXFSZ, SIG_IGN);
		rc = full_then_not(0, 1000, &dropped);
		_exit(rc ? rc : dropped ? 3 : 0);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(file_at(0, path, sizeof(path)), 1);
	assert_int_equal(samples_in(path), 1001);
	assert_int_equal(stacks_in(path), 1001);
}

/* When the last event of the file was. */
static uint64_t last_in(const char *path)
{
	struct jfr_reader *r;
	struct jfr_event ev;
	struct error e = {0};
	uint64_t last = 0;

	assert_int_equal(jfr_reader_open(&r, path, NULL, &e), 0);
	while (jfr_reader_next(r, &ev) > 0)
		last = (uint64_t)(jfr_reader_chunk(r)->start_ns + jfr_reader_chunk(r)->duration_ns);
	jfr_reader_close(r);
	return last;
}

#define LONG 60000

/*
 * With little memory the oldest are dropped, and counted: none is missing unsaid, the last ones are
 * there, and what there is can be read.
 */
static void disk_full_long(void **state)
{
	uint64_t dropped = 0, kept = 0, last = 0;
	int to[2], status, files;
	char path[512];
	pid_t pid;

	assert_int_equal(pipe(to), 0);
	pid = fork();
	if (!pid) {
		int rc;

		signal(SIGXFSZ, SIG_IGN);
		rc = full_then_not(256 << 10, LONG, &dropped);
		if (write(to[1], &dropped, sizeof(dropped)) < 0)
			rc = 4;
		_exit(rc);
	}
	close(to[1]); /* where it wrote nothing, what is read ends */
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(read(to[0], &dropped, sizeof(dropped)), sizeof(dropped));
	close(to[0]);
	files = file_at(0, path, sizeof(path));
	assert_in_range(files, 2, 4); /* none is there for what was given up */
	for (int i = 0; i < files; i++) {
		file_at((unsigned int)i, path, sizeof(path));
		kept += samples_in(path);
		assert_int_equal(stacks_in(path), samples_in(path));
		last = last_in(path);
	}
	assert_true(dropped > LONG / 10);
	assert_true(kept > LONG / 20);
	/* what says of losses may be lost itself */
	assert_in_range(kept + dropped, LONG + 1, LONG + 100);
	assert_int_equal(last, UNIX + 2 * S + LONG - 1);
}

static void nowhere(void **state)
{
	struct jfrw_config cfg = {
		.path = "/proc/gnomon/none", .start_unix_ns = UNIX, .form = {.segments = true}};
	struct error e = {0};
	struct jfrw *w = NULL;

	assert_int_equal(jfrw_open(&w, &cfg, &e), -ENOENT);
	assert_int_equal(e.exit, EXIT_OUTPUT);
	assert_non_null(strstr(e.msg, "'/proc/gnomon/none'"));
}

/* ---- what is kept ---------------------------------------------------------------------------- */

#define KIB 1024ull

/* Six files of 10 KiB, a minute apart, of two JVMs by turns; the first is so old, the last open. */
static void six(struct retention_file v[6], uint64_t age)
{
	for (uint32_t i = 0; i < 6; i++)
		v[i] = (struct retention_file){
			.jvm = i % 2,
			.age_ns = age > i * 60 * S ? age - i * 60 * S : 0,
			.written_ns = UNIX + i * 60 * S,
			.bytes = 10 * KIB,
			.open = i == 5,
		};
}

/* What goes, as a word of letters: "ab" are the first two. */
static const char *planned(const struct retention_policy *p, struct retention_file *v, size_t n,
			   uint64_t space)
{
	static char out[32];
	size_t k = 0;

	assert_int_equal(retention_plan(p, v, n, space), 0);
	for (size_t i = 0; i < n; i++)
		if (v[i].goes)
			out[k++] = (char)('a' + i);
	out[k] = '\0';
	return out;
}

static void bounds(void **state)
{
	struct retention_policy none = {0}, age = {.age_max_ns = 150 * S},
				jvm = {.jvm_max_bytes = 25 * KIB},
				total = {.total_max_bytes = 40 * KIB},
				space = {.free_min_bytes = 100 * KIB},
				all = {.age_max_ns = 290 * S,
				       .jvm_max_bytes = 20 * KIB,
				       .total_max_bytes = 39 * KIB};
	struct retention_file v[6];

	six(v, 300 * S);
	assert_string_equal(planned(&none, v, 6, 0), "");
	assert_string_equal(planned(&age, v, 6, 0), "abc");
	assert_string_equal(planned(&jvm, v, 6, 0), "ab");
	assert_string_equal(planned(&total, v, 6, 0), "ab");
	assert_string_equal(planned(&space, v, 6, 100 * KIB), "");
	assert_string_equal(planned(&space, v, 6, 85 * KIB), "ab");
	/* the open one stays, whatever is asked */
	assert_string_equal(planned(&space, v, 6, 0), "abcde");
	six(v, 3900 * S);
	assert_string_equal(planned(&age, v, 6, 0), "abcde");
	six(v, 300 * S);
	/* each bound is held, and what one has taken the others count */
	assert_string_equal(planned(&all, v, 6, 0), "abc");
	/* of files that seem to be of the future the first go first */
	six(v, 0);
	assert_string_equal(planned(&age, v, 6, 0), "");
	assert_string_equal(planned(&total, v, 6, 0), "ab");
	assert_string_equal(planned(&all, v, 0, 0), "");
}

/* In whatever order they are found. */
static void oldest_first(void **state)
{
	struct retention_policy total = {.total_max_bytes = 25 * KIB};
	struct retention_file v[6], w[6];

	six(v, 300 * S);
	for (int i = 0; i < 6; i++)
		w[i] = v[(i * 5 + 3) % 6]; /* d c b a f e */
	assert_string_equal(planned(&total, w, 6, 0), "abcd");
}

static void file_make(const char *name, size_t kib, uint64_t age_s)
{
	char path[256], data[KIB] = {1};
	struct timespec t[2] = {{.tv_sec = time(NULL) - (time_t)age_s}};
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	if (strchr(name, '/')) {
		*strrchr(path, '/') = '\0';
		mkdir(path, 0700);
		path[strlen(path)] = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	while (kib--)
		assert_int_equal(write(fd, data, sizeof(data)), sizeof(data));
	t[1] = t[0];
	futimens(fd, t);
	close(fd);
}

static bool there(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return !access(path, F_OK);
}

/* However the clock is set, what was written is as old as it is. */
static void ages(void **state)
{
	struct age_clock c = {0};
	uint64_t year = 365 * 24 * 3600 * S;

	age_look(&c, UNIX, 100 * S);
	assert_int_equal(age_of(&c, UNIX - 5 * S), 5 * S);
	assert_int_equal(age_of(&c, UNIX + 5 * S), 0);
	/* it drifts, which is no jump */
	age_look(&c, UNIX + 101 * S, 200 * S);
	assert_int_equal(age_of(&c, UNIX), 101 * S);
	/* the machine slept for an hour: that is time, too */
	age_look(&c, UNIX + 3701 * S, 3800 * S);
	assert_int_equal(age_of(&c, UNIX), 3701 * S);
	/* a year forward, within ten seconds */
	age_look(&c, UNIX + 3711 * S + year, 3810 * S);
	assert_int_equal(age_of(&c, UNIX), 3711 * S);
	assert_int_equal(age_of(&c, UNIX + 3701 * S), 10 * S);
	/* and what was written since is young */
	age_look(&c, UNIX + 3731 * S + year, 3830 * S);
	assert_int_equal(age_of(&c, UNIX + 3721 * S + year), 10 * S);
	assert_int_equal(age_of(&c, UNIX + 3701 * S), 30 * S);
	/* back by an hour: what was written before seems to be of the future */
	age_look(&c, UNIX + 141 * S + year, 3840 * S);
	assert_int_equal(age_of(&c, UNIX + 3721 * S + year), 20 * S);
	assert_int_equal(age_of(&c, UNIX + 3701 * S), 40 * S);
}

/* A clock that is set a year forward removes nothing. */
static void age_held(void **state)
{
	struct retention_policy p = {.age_max_ns = 3600 * S};
	uint64_t now = (uint64_t)time(NULL) * S, year = 365 * 24 * 3600 * S;
	struct age_clock clock = {0};
	struct retention_look look;
	struct error e = {0};

	file_make("jvm/20251123T140000Z.jfr", 4, 7200);
	file_make("jvm/20251123T140100Z.jfr", 4, 600);
	file_make("jvm/20251123T140200Z.jfr", 4, 60);
	age_look(&clock, now, 1000 * S);
	age_look(&clock, now + year, 1001 * S);
	assert_int_equal(retention_apply(&p, &clock, root, NULL, &look, &e), 0);
	assert_int_equal(look.removed, 1);
	assert_int_equal(look.files, 2);
}

/* One that was never set. */
static const struct age_clock *clock_now(void)
{
	static struct age_clock c;

	age_look(&c, (uint64_t)time(NULL) * S, 1000 * S);
	return &c;
}

static char jvm_names[8][64];
static uint64_t jvm_bytes[8];
static int njvms;

static void on_jvm(void *ctx, const char *name, uint64_t bytes)
{
	snprintf(jvm_names[njvms], sizeof(jvm_names[0]), "%s", name);
	jvm_bytes[njvms++] = bytes;
}

static uint64_t bytes_of(const char *name)
{
	for (int i = 0; i < njvms; i++)
		if (!strcmp(jvm_names[i], name))
			return jvm_bytes[i];
	return UINT64_MAX;
}

/* Old files go, with a directory that becomes empty; others' names, links and what is locked stay.
 */
static void removing(void **state)
{
	struct retention_policy p = {.age_max_ns = 600 * S};
	struct retention_look look;
	struct error e = {0};
	char path[256], target[256];
	int fd;

	file_make("old/20251123T140000Z.jfr", 8, 3600);
	file_make("old/20251123T140100Z_2.jfr", 8, 3500);
	file_make("mixed/20251123T140000Z.jfr", 8, 3600);
	file_make("mixed/20251123T150000Z.jfr", 8, 10);
	file_make("mixed/notes.jfr", 8, 3600);
	file_make("other/notes.jfr", 8, 3600);
	file_make("20251123T140000Z.jfr", 8, 3600);
	file_make("open/20251123T140000Z.jfr", 8, 3600);
	file_make("elsewhere.jfr", 8, 3600);
	snprintf(path, sizeof(path), "%s/mixed/20251123T120000Z.jfr", root);
	snprintf(target, sizeof(target), "%s/elsewhere.jfr", root);
	assert_int_equal(symlink(target, path), 0);
	snprintf(path, sizeof(path), "%s/linked", root);
	snprintf(target, sizeof(target), "%s/open", root);
	assert_int_equal(symlink(target, path), 0);
	snprintf(path, sizeof(path), "%s/open/20251123T140000Z.jfr", root);
	fd = open(path, O_RDONLY);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(retention_apply(&p, clock_now(), root,
					 &(struct retention_tell){.jvm = on_jvm}, &look, &e),
			 0);
	assert_int_equal(njvms, 3);
	assert_int_equal(bytes_of("old"), 0);
	assert_int_equal(bytes_of("mixed"), look.bytes - bytes_of("open"));
	assert_int_not_equal(bytes_of("mixed"), 0);
	assert_int_equal(look.removed, 3);
	assert_int_equal(look.files, 2);
	assert_int_equal(look.jvms, 3);
	assert_false(there("old"));
	assert_false(there("mixed/20251123T140000Z.jfr"));
	assert_true(there("mixed/20251123T150000Z.jfr"));
	assert_true(there("mixed/20251123T120000Z.jfr"));
	assert_true(there("mixed/notes.jfr") && there("other/notes.jfr"));
	assert_true(there("20251123T140000Z.jfr") && there("elsewhere.jfr"));
	assert_true(there("open/20251123T140000Z.jfr"));
	close(fd); /* its writer has ended */
	assert_int_equal(retention_apply(&p, clock_now(), root, NULL, &look, &e), 0);
	assert_int_equal(look.removed, 1);
	assert_false(there("open"));
}

static void no_directory(void **state)
{
	struct retention_policy p = {.age_max_ns = S};
	struct retention_look look;
	struct error e = {0};

	assert_int_equal(retention_apply(&p, clock_now(), "/nonexistent/gnomon", NULL, &look, &e),
			 -ENOENT);
	assert_non_null(strstr(e.msg, "'/nonexistent/gnomon'"));
}

/* One look of half a minute is no reason to let the directory grow for hours, or a disk run full.
 */
static void paced(void **state)
{
	struct retention_policy any = {0}, space = {.free_min_bytes = 100};
	struct retention_pace p = {0};

	assert_true(retention_is_due(&p, 1000 * S, &any, 0));
	retention_paced(&p, 1000 * S, 1000 * S + MS);
	assert_false(retention_is_due(&p, 1004 * S, &space, 0));
	assert_true(retention_is_due(&p, 1006 * S, &any, 0));
	retention_paced(&p, 1000 * S, 1000 * S + 100 * MS); /* a large one */
	assert_false(retention_is_due(&p, 1019 * S, &any, 0));
	assert_true(retention_is_due(&p, 1021 * S, &any, 0));
	retention_paced(&p, 1000 * S, 1030 * S); /* the disk hung */
	assert_false(retention_is_due(&p, 1059 * S, &space, 99));
	assert_true(retention_is_due(&p, 1061 * S, &space, 99));
	assert_false(retention_is_due(&p, 1061 * S, &space, 100));
	assert_false(retention_is_due(&p, 1089 * S, &any, 0));
	assert_true(retention_is_due(&p, 1091 * S, &any, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test_setup_teardown(chunks_are_files, setup, teardown),
		cmocka_unit_test_setup_teardown(first_is_shorter, setup, teardown),
		cmocka_unit_test_setup_teardown(told, setup, teardown),
		cmocka_unit_test(told_in_vain),
		cmocka_unit_test(told_lies),
		cmocka_unit_test_setup_teardown(beside_others, setup, teardown),
		cmocka_unit_test_setup_teardown(removed, setup, teardown),
		cmocka_unit_test_setup_teardown(clocks_part, setup, teardown),
		cmocka_unit_test_setup_teardown(disk_full, setup, teardown),
		cmocka_unit_test_setup_teardown(disk_full_long, setup, teardown),
		cmocka_unit_test(nowhere),
		cmocka_unit_test(bounds),
		cmocka_unit_test(oldest_first),
		cmocka_unit_test(ages),
		cmocka_unit_test_setup_teardown(age_held, setup, teardown),
		cmocka_unit_test_setup_teardown(removing, setup, teardown),
		cmocka_unit_test(no_directory),
		cmocka_unit_test(paced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
