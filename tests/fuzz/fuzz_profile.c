/* SPDX-License-Identifier: Apache-2.0 */
// clang-format off
// FUZZ-LINK: user/base/frame.c user/jfr/read.c user/jfr/read_chunk.c user/jfr/read_cursor.c
// FUZZ-LINK: user/jfr/read_known.c user/jfr/read_meta.c user/jfr/read_parts.c user/jfr/read_pool.c
// FUZZ-LINK: user/jfr/stretch.c user/jfr/segment.c
// FUZZ-LINK: user/jfr/read_reservoir.c user/jfr/read_sample.c user/jfr/read_text.c
// FUZZ-LINK: user/jfr/read_rates.c
// FUZZ-LINK: user/jfr/read_value.c user/out/profile.c user/out/profile_load.c
// FUZZ-LINK: user/out/profile_tiers.c user/out/profile_threads.c user/out/stable.c user/out/idle.c user/out/stackrule.c user/base/pattern.c
// FUZZ-LINK: user/out/profile_times.c user/out/vitals.c user/model/live.c user/out/fields.c user/out/lanes.c user/out/xml.c user/out/gzip.c user/model/totals.c
// FUZZ-LINK: user/out/contexts.c user/out/requests.c user/out/served.c user/out/entered.c user/base/json.c
// FUZZ-LINK: user/out/endpoint.c user/out/waits.c user/out/joins.c user/out/blame.c user/out/profile_facts.c user/out/names.c user/out/tree.c user/out/format.c
// FUZZ-LINK: user/out/text.c user/out/methods.c user/out/csv.c user/out/html.c user/out/html_data.c user/out/html_lanes.c user/out/html_requests.c user/out/pprof.c
// FUZZ-LINK: user/model/threadname.c
// FUZZ-LINK: user/out/findings.c user/out/findings_causes.c user/out/findings_cpu.c user/out/findings_memory.c user/out/findings_wait.c
// FUZZ-LINK: user/out/summary.c user/out/diff.c user/out/assets.S
// FUZZ-LINK: user/push/series.c user/push/otlp.c user/push/parts.c user/push/labels.c user/spool/spool.c user/base/protobuf.c
// FUZZ-LINK: user/out/nativefiles.c
// FUZZ-LINK: user/base/buffer.c user/base/error.c user/base/idmap.c user/base/utf8.c
// clang-format on
/* A recording with any content, through all that shows it. */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "out/diff.h"
#include "out/findings.h"
#include "out/html.h"
#include "out/methods.h"
#include "out/pprof.h"
#include "out/requests.h"
#include "out/summary.h"
#include "out/text.h"
#include "push/otlp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void findings_show(const struct profile *p, FILE *f)
{
	struct findings *found;

	if (findings_new(&found, p, NULL))
		return;
	findings_print(found, f);
	findings_free(found);
}

struct seen {
	uint64_t samples;
	struct parts parts;
};

static int series_see(void *ctx, const struct series *s)
{
	struct seen *seen = ctx;
	struct buffer request = BUFFER_INIT;

	seen->samples += s->n;
	otlp.encode(&seen->parts, s, &request);
	buffer_free(&request);
	return s->n ? 0 : -1;
}

static void show(const struct profile *p, const struct jfr_report *r, FILE *f)
{
	struct html_options h = {.title = "x"};
	struct series_form windows = {.window_ns = 15000000000,
				      .dims = {true, true, true},
				      .apart = SERIES_THREADS,
				      .ticks = true};
	struct labels labels = {0};
	struct seen seen = {.parts = {.protocol = &otlp, .p = p, .labels = &labels}};

	summary_head(p, r, "x", f);
	summary_quality(p, r, f);
	summary_groups(p, 3, f, NULL);
	findings_show(p, f);
	summary_events(p, f, NULL);
	text_top(p, 10, f, NULL);
	text_tree(p, DIM_WALL, 0, f, NULL);
	text_collapsed(p, DIM_WALL, true, f, NULL);
	methods_csv(p, f, NULL);
	methods_xml(p, f, NULL);
	diff_table(p, DIM_WALL, 5, f, NULL);
	pprof_write(p, -1, f, NULL);
	series_each(p, &windows, series_see, &seen);
	html_write(p, &h, f, NULL);
}

/* The middle third of its time. */
static int part_load(struct profile *p, const char *path, struct jfr_report *r)
{
	struct stretch s;
	int64_t third;
	int rc = stretch_open(&s, path, NULL);

	third = s.end_ns / 3 - s.start_ns / 3;
	if (!rc && s.known && third > 0)
		stretch_cut(&s, s.start_ns + third, s.end_ns - third, NULL);
	if (!rc)
		rc = profile_load_stretch(p, &s, 0, r, NULL);
	stretch_free(&s);
	return rc;
}

static void requests_show(const char *path, FILE *f)
{
	const struct requests_options o = {.slowest = 3};
	struct stretch s = stretch_unseen(path);

	requests_print(&s, &o, f, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const any = "*a*";
	struct profile_options o = {.keep_times = true,
				    .hide = {&any, size % 2},
				    .endpoints = {&any, size % 8 == 7},
				    .slower_ns = size % 16 == 6,
				    .keep_links = size % 4 == 1,
				    .keep_files = size % 2 == 1,
				    .causes = size % 4 < 3,
				    .owners = size % 2 == 0};
	struct profile *p = NULL;
	struct jfr_report r;
	char path[32];
	static FILE *null;
	static int fd;

	if (!null) {
		null = fopen("/dev/null", "w");
		fd = memfd_create("recording", 0);
	}
	if (!null || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (profile_new(&p, &o, NULL))
		return 0;
	if (!(size % 4 ? profile_load(p, path, 0, &r, NULL) : part_load(p, path, &r))) {
		profile_finish(p, NULL);
		show(p, &r, null);
	}
	profile_free(p);
	requests_show(path, null);
	return 0;
}
