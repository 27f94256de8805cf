/* SPDX-License-Identifier: Apache-2.0 */
/* The expected times follow from the recording described at jb_sample_chunk(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "jfrbuild.h"
#include "jfrmade.h"
#include "out/diff.h"
#include "out/format.h"
#include "out/html.h"
#include "out/html_data.h"
#include "out/methods.h"
#include "out/pprof.h"
#include "out/profile.h"
#include "out/summary.h"
#include "out/text.h"
#include "profileload.h"

static char path[] = "/tmp/gnomon-test.XXXXXX";

static int setup(void **state)
{
	struct jb j = {0};
	int fd = mkstemp(path);

	jb_sample_chunk(&j);
	if (fd < 0 || write(fd, j.f.data, j.f.len) != (ssize_t)j.f.len)
		return -1;
	close(fd);
	jb_free(&j);
	return 0;
}

static int teardown(void **state)
{
	return unlink(path);
}

static struct profile *load(const struct profile_options *o)
{
	return profile_of(path, o);
}

static void expect_totals(const struct profile_options *o, uint64_t cpu, uint64_t wall,
			  uint64_t off)
{
	struct profile *p = load(o);

	assert_int_equal(p->total_ns[0][DIM_CPU], cpu);
	assert_int_equal(p->total_ns[0][DIM_WALL], wall);
	assert_int_equal(p->total_ns[0][DIM_OFF], off);
	profile_free(p);
}

static void test_totals(void **state)
{
	struct profile *p;

	expect_totals(NULL, 40 * MS, 140 * MS, 100 * MS);
	p = load(NULL);
	assert_int_equal(p->samples[JFR_SOURCE_EXECUTION], 4);
	assert_int_equal(p->samples[JFR_SOURCE_WALL], 5);
	assert_int_equal(p->period_ns[JFR_SOURCE_WALL], 20 * MS);
	assert_false(p->period_assumed[JFR_SOURCE_EXECUTION]);
	assert_int_equal(p->nthreads, 2);
	assert_int_equal(p->facts.truncated_samples[JFR_SOURCE_EXECUTION], 1);
	profile_free(p);
}

static void test_filters(void **state)
{
	const char *worker = "worker-?", *work = "a.B.work", *park = "park", *parked = "PARKED";

	expect_totals(&(struct profile_options){.threads = {&worker, 1}}, 10 * MS, 110 * MS,
		      100 * MS);
	expect_totals(&(struct profile_options){.states = {&parked, 1}}, 0, 100 * MS, 100 * MS);
	expect_totals(&(struct profile_options){.include = {&park, 1}}, 0, 100 * MS, 100 * MS);
	expect_totals(&(struct profile_options){.exclude = {&work, 1}}, 0, 100 * MS, 100 * MS);
	expect_totals(&(struct profile_options){.focus = {&work, 1}}, 40 * MS, 40 * MS, 0);
	expect_totals(&(struct profile_options){.hide = {&work, 1}}, 40 * MS, 140 * MS, 100 * MS);
}

/* CPU samples at 0, 10, 20, 30 ms; ticks of the batch at 40, 60, 80, 100, 120 ms. */
static void test_time_range(void **state)
{
	expect_totals(&(struct profile_options){.from_ns = 10 * MS, .to_ns = 30 * MS}, 20 * MS,
		      20 * MS, 0);
	expect_totals(&(struct profile_options){.from_ns = 50 * MS, .to_ns = 100 * MS}, 0, 40 * MS,
		      40 * MS);
	expect_totals(&(struct profile_options){.from_ns = 100 * MS, .to_ns = 101 * MS}, 0, 20 * MS,
		      20 * MS);
	expect_totals(&(struct profile_options){.from_ns = 5000 * MS}, 0, 0, 0);
}

static char *printed(int (*print)(const struct profile *, FILE *), const struct profile_options *o)
{
	struct profile *p = load(o);
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(print(p, f), 0);
	fclose(f);
	profile_free(p);
	return text;
}

static int collapsed_cpu(const struct profile *p, FILE *f)
{
	return text_collapsed(p, DIM_CPU, false, f, NULL);
}

static int collapsed_threads(const struct profile *p, FILE *f)
{
	return text_collapsed(p, DIM_WALL, true, f, NULL);
}

static int tree_cpu(const struct profile *p, FILE *f)
{
	return text_tree(p, DIM_CPU, 0, f, NULL);
}

static int csv(const struct profile *p, FILE *f)
{
	return methods_csv(p, f, NULL);
}

static void expect_text(int (*print)(const struct profile *, FILE *),
			const struct profile_options *o, const char *want)
{
	char *got = printed(print, o);

	assert_string_equal(got, want);
	free(got);
}

static void test_collapsed(void **state)
{
	const char *work = "a.B.work";

	expect_text(collapsed_cpu, NULL,
		    "a.B.run;a.B.work 30000000\na.B.run;a.B.work;a.B.work 10000000\n");
	expect_text(collapsed_threads, NULL,
		    "[main];a.B.run;a.B.work 30000000\n"
		    "[worker-7];a.B.run;a.B.work;a.B.work 10000000\n"
		    "[worker-7];a.B.run;a.B.park 100000000\n");
	expect_text(collapsed_cpu, &(struct profile_options){.hide = {&work, 1}},
		    "a.B.run 40000000\n");
	expect_text(collapsed_cpu, &(struct profile_options){.lines = true},
		    "a.B.run:10;a.B.work:20 30000000\n"
		    "a.B.run:10;a.B.work:22;a.B.work:21 10000000\n");
}

static void test_tree(void **state)
{
	expect_text(tree_cpu, NULL,
		    " total     time      self\n"
		    "100.0%     40 ms         0  all\n"
		    "100.0%     40 ms         0   a.B.run\n"
		    "100.0%     40 ms     30 ms    a.B.work\n"
		    " 25.0%     10 ms     10 ms     a.B.work\n");
	expect_text(tree_cpu, &(struct profile_options){.split_tiers = true},
		    " total     time      self\n"
		    "100.0%     40 ms         0  all\n"
		    "100.0%     40 ms         0   a.B.run [interpreted]\n"
		    "100.0%     40 ms     30 ms    a.B.work\n"
		    " 25.0%     10 ms     10 ms     a.B.work\n");
}

/* A method that calls itself has its total once. */
static void test_csv(void **state)
{
	expect_text(csv, NULL,
		    "method,cpu_self_ns,cpu_total_ns,wall_self_ns,wall_total_ns,off_self_ns,"
		    "off_total_ns\n"
		    "\"a.B.work\",40000000,40000000,40000000,40000000,0,0\n"
		    "\"a.B.run\",0,40000000,0,140000000,0,100000000\n"
		    "\"a.B.park\",0,0,100000000,100000000,100000000,100000000\n");
}

static int xml(const struct profile *p, FILE *f)
{
	return methods_xml(p, f, NULL);
}

static void test_xml(void **state)
{
	const char *park = "park";

	expect_text(xml, &(struct profile_options){.include = {&park, 1}},
		    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		    "<profile duration_ns=\"10000000000\" threads=\"2\" cpu_ns=\"0\" "
		    "wall_ns=\"100000000\" off_ns=\"100000000\">\n"
		    "  <method name=\"a.B.run\" cpu_self_ns=\"0\" cpu_total_ns=\"0\" "
		    "wall_self_ns=\"0\" wall_total_ns=\"100000000\" off_self_ns=\"0\" "
		    "off_total_ns=\"100000000\"/>\n"
		    "  <method name=\"a.B.park\" cpu_self_ns=\"0\" cpu_total_ns=\"0\" "
		    "wall_self_ns=\"100000000\" wall_total_ns=\"100000000\" "
		    "off_self_ns=\"100000000\" off_total_ns=\"100000000\"/>\n"
		    "</profile>\n");
}

/* Names that would end an attribute, or that no XML may hold. */
static void test_xml_names(void **state)
{
	struct profile *p = load(NULL);
	const char odd[] = "<a>&\"\xef\xbf\xbf\x01\xff\xc3\xa9";
	uint32_t name = names_add(&p->names, odd, sizeof(odd) - 1, NULL), frame = 0;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	while (strcmp(profile_frame_name(p, frame), "a.B.park"))
		frame++;
	p->frames[frame].name = name;
	assert_int_equal(methods_xml(p, f, NULL), 0);
	fclose(f);
	assert_non_null(strstr(text, "name=\"&#60;a&#62;&#38;&#34;???\xc3\xa9\""));
	free(text);
	profile_free(p);
}

/*
 * Thread 1 serves /cart from 0 to 15 ms and from 25 to 26 ms, thread 2 /buy from 20 to 90 ms: CPU
 * samples of 1 lie at 0, 10 and 20 ms, one of 2 at 30 ms, and its wall ticks at 40, 60, ... 120 ms.
 */
static void endpoints_recording(const char *file)
{
	struct jb j = {0};
	FILE *f = fopen(file, "w");

	jb_chunk(&j);
	jb_exec(&j, 1000, 1, 1);
	jb_exec(&j, 10001000, 1, 1);
	jb_exec(&j, 20001000, 1, 1);
	jb_exec(&j, 30001000, 2, 3);
	jb_wall(&j, 40001000, 2, 2, 5, 100000000);
	jb_setting(&j, T_EXEC, "period", "10 ms");
	jb_setting(&j, T_WALL, "period", "20 ms");
	jb_request(&j, 25001000, 1000000, 1, "GET /cart/2");
	jb_request(&j, 1000, 15000000, 1, "GET /cart/1");
	jb_request(&j, 20001000, 30000000, 2, "POST /buy");
	jb_request(&j, 45001000, 45000000, 2, "POST /buy");
	jb_request(&j, 119001000, 900000, 2, "POST /buy"); /* between ticks */
	jb_metadata_begin(&j, JB_CLASSES + 1);
	jb_classes_declare(&j);
	jb_events_declare(&j);
	jb_request_declare(&j);
	jb_metadata_end(&j);
	jb_constants(&j);
	jb_finish(&j);
	fwrite(j.f.data, 1, j.f.len, f);
	fclose(f);
	jb_free(&j);
}

static void endpoint_totals(const char *file, const char *glob, uint64_t cpu, uint64_t off)
{
	struct profile *p = NULL;

	assert_int_equal(profile_new(&p, &(struct profile_options){.endpoints = {&glob, 1}}, NULL),
			 0);
	assert_int_equal(profile_load(p, file, 0, NULL, NULL), 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(p->total_ns[0][DIM_CPU], cpu);
	assert_int_equal(p->total_ns[0][DIM_OFF], off);
	profile_free(p);
}

static void test_endpoints(void **state)
{
	const char *any = "*";
	struct profile *p = NULL;
	struct error e = {0};
	char file[64];

	snprintf(file, sizeof(file), "%s.endpoints", path);
	endpoints_recording(file);
	endpoint_totals(file, "/cart", 20 * MS, 0);
	endpoint_totals(file, "GET */2", 0, 0);
	endpoint_totals(file, "POST*", 10 * MS, 3 * 20 * MS);
	endpoint_totals(file, "*", 30 * MS, 3 * 20 * MS);
	unlink(file);

	assert_int_equal(profile_new(&p, &(struct profile_options){.endpoints = {&any, 1}}, NULL),
			 0);
	assert_true(profile_load(p, path, 0, NULL, &e) < 0);
	assert_non_null(strstr(e.msg, "names no endpoints"));
	assert_int_equal(e.exit, EXIT_INPUT);
	assert_true(profile_load(p, "-", 0, NULL, &e) < 0);
	assert_int_equal(e.exit, EXIT_USAGE);
	profile_free(p);
}

/* Three CPU samples and two wall ticks, whose settings are async-profiler's. */
static void async_totals(const char *event, const char *interval, const char *wall, uint64_t cpu,
			 uint64_t off)
{
	char file[] = "/tmp/gnomon-async.XXXXXX";
	struct profile *p = NULL;
	struct jb j = {0};
	FILE *f = fdopen(mkstemp(file), "w");

	jb_chunk(&j);
	jb_exec(&j, 1000, 1, 1);
	jb_exec(&j, 10001000, 1, 1);
	jb_exec(&j, 20001000, 1, 1);
	jb_wall(&j, 40001000, 2, 2, 2, 0);
	jb_setting(&j, T_EXEC, "event", event);
	if (interval)
		jb_setting(&j, T_EXEC, "interval", interval);
	if (wall)
		jb_setting(&j, T_EXEC, "wall", wall);
	jb_metadata(&j);
	jb_constants(&j);
	jb_finish(&j);
	fwrite(j.f.data, 1, j.f.len, f);
	fclose(f);
	jb_free(&j);
	assert_int_equal(profile_new(&p, &(struct profile_options){0}, NULL), 0);
	assert_int_equal(profile_load(p, file, 0, NULL, NULL), 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(p->total_ns[0][DIM_CPU], cpu);
	assert_int_equal(p->total_ns[0][DIM_OFF], off);
	profile_free(p);
	unlink(file);
}

/* What it writes for "no interval given" is 0, and then samples by its default. */
static void test_async_intervals(void **state)
{
	async_totals("cpu", "0", NULL, 30 * MS, 100 * MS);
	async_totals("ctimer", "0", "0", 30 * MS, 100 * MS);
	async_totals("itimer", "0", "20000000", 30 * MS, 40 * MS);
	async_totals("cpu", "1000000", "5000000", 3 * MS, 10 * MS);
	async_totals("wall", "0", NULL, 150 * MS, 100 * MS);
	async_totals("wall", "20000000", NULL, 60 * MS, 40 * MS);
}

static void test_two_sides(void **state)
{
	struct profile *p = NULL;

	assert_int_equal(profile_new(&p, NULL, NULL), 0);
	assert_int_equal(profile_load(p, path, 0, NULL, NULL), 0);
	assert_int_equal(profile_load(p, path, 1, NULL, NULL), 0);
	assert_int_equal(profile_load(p, path, 1, NULL, NULL), 0);
	/* what is recorded twice is twice as long, though at one time */
	assert_true(p->side_ns[0] > 0);
	assert_int_equal(p->side_ns[0], profile_recorded_ns(p));
	assert_int_equal(p->side_ns[1], 2 * p->side_ns[0]);
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(p->total_ns[0][DIM_WALL], 140 * MS);
	assert_int_equal(p->total_ns[1][DIM_WALL], 280 * MS);
	assert_int_equal(p->nnodes, 5); /* root, run, work, work below work, park */
	profile_free(p);
}

static void virtual_write(const char *file, const char *name)
{
	struct jfrw *w = jm_open(file, (struct jfrw_form){0});
	struct jfrw_thread t = {.os_name = "", .java_name = name, .java_tid = 30};

	assert_non_null(w);
	t.is_virtual = true;
	jfrw_cpu_sample(w, START + 10 * MS, jfrw_thread(w, &t), 0);
	assert_int_equal(jfrw_close(w, NULL), 0);
}

/* Virtual threads of two JVMs have the same ids, and are not one thread for it. */
static void test_virtual(void **state)
{
	char file[] = "/tmp/gnomon-test.XXXXXX";
	struct profile *p = NULL;

	assert_true(mkstemp(file) >= 0);
	assert_int_equal(profile_new(&p, NULL, NULL), 0);
	virtual_write(file, "order-1");
	assert_int_equal(profile_load(p, file, 0, NULL, NULL), 0);
	virtual_write(file, "mail-1");
	assert_int_equal(profile_load(p, file, 0, NULL, NULL), 0);
	virtual_write(file, "order-1");
	assert_int_equal(profile_load(p, file, 0, NULL, NULL), 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(p->nthreads, 2);
	assert_int_equal(p->nselves, 2);
	profile_free(p);
	unlink(file);
}

/* Names of event types are the recording's choice, and none steers a terminal. */
static void test_event_names(void **state)
{
	char file[] = "/tmp/gnomon-test.XXXXXX", *text = NULL;
	struct jb j = {0};
	int fd = mkstemp(file);
	struct profile *p;
	size_t len = 0;
	uint8_t *at;
	FILE *f;

	jb_sample_chunk(&j);
	at = memmem(j.f.data, j.f.len, "jdk.ActiveSetting", 17);
	assert_non_null(at);
	at[3] = 0x1b;
	assert_int_equal(write(fd, j.f.data, j.f.len), (ssize_t)j.f.len);
	close(fd);
	jb_free(&j);
	p = profile_of(file, NULL);
	f = open_memstream(&text, &len);
	assert_int_equal(summary_events(p, f, NULL), 0);
	fclose(f);
	assert_null(strchr(text, 0x1b));
	assert_non_null(strstr(text, "  jdk?ActiveSetting\n"));
	free(text);
	profile_free(p);
	unlink(file);
}

/* CPU samples of a side are left out for others of that side only, and it is said of which. */
static void test_two_sources(void **state)
{
	char file[] = "/tmp/gnomon-test.XXXXXX";
	struct jfrw *w = jm_temp(file);
	struct profile *p = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *f;

	assert_non_null(w);
	assert_int_equal(jfrw_close(w, NULL), 0);
	w = jm_open(file, (struct jfrw_form){.cpu_event = JFRW_CPUTIME});
	assert_non_null(w);
	jfrw_cpu_sample(w, START + 10 * MS, jm_main(w), 0);
	assert_int_equal(jfrw_close(w, NULL), 0);
	assert_int_equal(profile_new(&p, NULL, NULL), 0);
	assert_int_equal(profile_load(p, path, 0, NULL, NULL), 0);
	assert_int_equal(profile_load(p, file, 1, NULL, NULL), 0);
	assert_int_equal(profile_load(p, path, 1, NULL, NULL), 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	assert_int_equal(p->total_ns[0][DIM_CPU], 40 * MS);
	assert_int_equal(p->total_ns[1][DIM_CPU], 10 * MS);
	f = open_memstream(&text, &len);
	assert_int_equal(diff_table(p, DIM_CPU, 10, f, NULL), 0);
	fclose(f);
	assert_null(strstr(text, "A: CPU is from"));
	assert_non_null(strstr(text, "B: CPU is from jdk.CPUTimeSample; jdk.ExecutionSample left"));
	free(text);
	profile_free(p);
	unlink(file);
}

/* The page must be whole whatever the title, and nothing in it may end the script early. */
static void test_html(void **state)
{
	struct html_options h = {.title = "</script><b>\"x\\", .first = DIM_CPU};
	struct profile *p = load(&(struct profile_options){.keep_times = true});
	struct buffer b = BUFFER_INIT;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_int_equal(html_write(p, &h, f, NULL), 0);
	fclose(f);
	assert_non_null(strstr(text, "\"title\":\"\\u003c/script>\\u003cb>\\u0022x\\u005c\""));
	assert_null(strstr(text, "@@"));
	assert_non_null(strstr(text, "\"totals_us\":[40000,140000,100000]"));
	assert_string_equal(text + len - strlen("</html>\n"), "</html>\n");
	free(text);
	assert_int_equal(html_data(p, &b), 0);
	assert_int_equal(b.data[0], 4); /* frames: all, run, work, park */
	buffer_free(&b);
	profile_free(p);
}

static void test_format(void **state)
{
	assert_string_equal(format_ns(0).s, "0");
	assert_string_equal(format_ns(999).s, "999 ns");
	assert_string_equal(format_ns(20 * MS).s, "20 ms");
	assert_string_equal(format_ns(1500 * MS).s, "1.50 s");
	assert_string_equal(format_ns(7384000 * MS).s, "2 h 03 m");
	assert_string_equal(format_count(0).s, "0");
	assert_string_equal(format_count(999).s, "999");
	assert_string_equal(format_count(1000).s, "1,000");
	assert_string_equal(format_count(1234567).s, "1,234,567");
	assert_string_equal(format_count(UINT64_MAX).s, "18,446,744,073,709,551,615");
	assert_string_equal(format_bytes(999).s, "999 B");
	assert_string_equal(format_bytes(12345).s, "12.3 kB");
	assert_string_equal(format_bytes(123456789).s, "123 MB");
	assert_string_equal(format_share(1, 8).s, " 12.5%");
	assert_string_equal(format_share(1, 0).s, "  0.0%");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_totals),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_time_range),
		cmocka_unit_test(test_collapsed),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_async_intervals),
		cmocka_unit_test(test_two_sides),
		cmocka_unit_test(test_two_sources),
		cmocka_unit_test(test_event_names),
		cmocka_unit_test(test_virtual),
		cmocka_unit_test(test_xml),
		cmocka_unit_test(test_xml_names),
		cmocka_unit_test(test_endpoints),
		cmocka_unit_test(test_html),
		cmocka_unit_test(test_format),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
