/* SPDX-License-Identifier: Apache-2.0 */
/* What a JVM's counters become in its recording: the JVM is this process, with a file of counters.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "jfrmade.h"
#include "naming/vitals.h"
#include "out/profile.h"
#include "target/usage.h"
#include "perfimage.h"

#define S 1000000000ull

static char dir[] = "/tmp/hsperfdata_test.XXXXXX", counters[64], recording[64];
static struct perfimage *im; /* mapped, as a JVM has it */
static uint32_t cause, invocations[3], total[3], entry[3], last_exit[3];

static int setup(void **state)
{
	int fd;

	if (!mkdtemp(dir))
		return -1;
	snprintf(counters, sizeof(counters), "%s/%d", dir, (int)getpid());
	snprintf(recording, sizeof(recording), "%s/v.jfr", dir);
	fd = open(counters, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*im)))
		return -1;
	im = mmap(NULL, sizeof(*im), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return im == MAP_FAILED ? -1 : 0;
}

static int teardown(void **state)
{
	munmap(im, sizeof(*im));
	unlink(counters);
	unlink(recording);
	return rmdir(dir);
}

static uint32_t of_collector(unsigned int n, const char *what, uint32_t bytes)
{
	char name[64];

	snprintf(name, sizeof(name), "sun.gc.collector.%u.%s", n, what);
	return perfimage_add(im, name, bytes);
}

/* A JVM with these collectors, none of which has collected. */
static void collectors(const char *const names[3])
{
	perfimage_init(im);
	perfimage_set(im, perfimage_add(im, "sun.os.hrt.frequency", 0), S);
	cause = perfimage_add(im, "sun.gc.cause", 32);
	memcpy(im->b + cause, "No GC", 6);
	memcpy(im->b + perfimage_add(im, "sun.gc.lastCause", 32), "System.gc()", 12);
	for (unsigned int n = 0; n < 3; n++) {
		if (!names[n])
			continue;
		memcpy(im->b + of_collector(n, "name", 48), names[n], strlen(names[n]));
		invocations[n] = of_collector(n, "invocations", 0);
		total[n] = of_collector(n, "time", 0);
		entry[n] = of_collector(n, "lastEntryTime", 0);
		last_exit[n] = of_collector(n, "lastExitTime", 0);
	}
}

/* Its first collection, of 2 ms. */
static void collected(unsigned int n)
{
	perfimage_set(im, invocations[n], 1);
	perfimage_set(im, total[n], 2 * MS);
	perfimage_set(im, entry[n], 100 * MS);
	perfimage_set(im, last_exit[n], 102 * MS);
}

static uint64_t events(const struct profile *p, const char *name)
{
	for (uint32_t i = 0; i < p->ncounts; i++)
		if (!strcmp(names_get(&p->names, p->counts[i].name), name))
			return p->counts[i].events;
	return 0;
}

/* What the recording has, to be freed. */
static struct profile *loaded(void)
{
	struct profile *p = NULL;
	struct jfr_report r;

	assert_int_equal(profile_new(&p, NULL, NULL), 0);
	assert_int_equal(profile_load(p, recording, 0, &r, NULL), 0);
	assert_int_equal(profile_finish(p, NULL), 0);
	return p;
}

static void none(const char *name)
{
	struct profile *p = loaded();

	assert_int_equal(events(p, name), 0);
	profile_free(p);
}

struct pulse {
	struct vitals_host *host;
	struct jfrw *w;
	struct vitals *v;
};

/* A recording of ourselves, with these collectors, that has looked once. */
static void pulse_begin(struct pulse *p, const char *const names[3])
{
	p->host = vitals_host_new();
	p->w = jm_open(recording, (struct jfrw_form){.vitals = true});
	assert_non_null(p->host);
	assert_non_null(p->w);
	collectors(names);
	p->v = vitals_new(getpid(), p->w, p->host, false);
	assert_non_null(p->v);
	vitals_poll(p->v, NULL, START + MS, false);
}

static void pulse_end(struct pulse *p)
{
	vitals_free(p->v);
	vitals_host_free(p->host);
	assert_int_equal(jfrw_close(p->w, NULL), 0);
}

/* What one collection of collector n is recorded as: numbers of events. `now`: the cause then. */
static void recorded(const char *const names[3], unsigned int n, const char *now, uint64_t young,
		     uint64_t old)
{
	struct profile *p;
	struct pulse is;

	pulse_begin(&is, names);
	collected(n);
	memcpy(im->b + cause, now, strlen(now) + 1);
	vitals_poll(is.v, NULL, START + 500 * MS, true);
	pulse_end(&is);

	p = loaded();
	assert_int_equal(events(p, "jdk.GarbageCollection"), 1);
	assert_int_equal(events(p, "jdk.GCPhasePause"), 1);
	assert_int_equal(events(p, "jdk.YoungGarbageCollection"), young);
	assert_int_equal(events(p, "jdk.OldGarbageCollection"), old);
	profile_free(p);
}

/*
 * A pause of a concurrent collection of old objects is neither: what it leaves in the heap is not
 * what lives. One of the whole heap is an old one when it has ended.
 */
static void kinds(void **state)
{
	static const char *const serial[3] = {"Serial young collection pauses",
					      "Serial full collection pauses"};
	static const char *const g1[3] = {"G1 young collection pauses", "G1 full collection pauses",
					  "G1 concurrent cycle pauses"};
	static const char *const z17[3] = {"Z concurrent cycle pauses"};
	static const char *const z25[3] = {"ZGC minor collection pauses", NULL,
					   "ZGC major collection pauses"};

	recorded(serial, 0, "No GC", 1, 0);
	recorded(serial, 1, "No GC", 0, 1);
	recorded(g1, 0, "No GC", 1, 0);
	recorded(g1, 1, "No GC", 0, 1);
	recorded(g1, 2, "No GC", 0, 0);
	recorded(z17, 0, "Allocation Rate", 0, 0);
	recorded(z17, 0, "No GC", 0, 1);
	recorded(z25, 0, "No GC", 1, 0);
	recorded(z25, 2, "Proactive", 0, 0);
	recorded(z25, 2, "No GC", 0, 1);
}

/* A collection that began after the recording's end is not in it, with its end as its beginning. */
static void after_the_end(void **state)
{
	static const char *const serial[3] = {"Serial full collection pauses"};
	struct pulse p;

	pulse_begin(&p, serial);
	jfrw_end(p.w, START + 10 * MS);
	vitals_stop(p.v, START + 10 * MS);
	collected(0);
	vitals_poll(p.v, NULL, START + 500 * MS, true);
	pulse_end(&p);
	none("jdk.GarbageCollection");
}

/* In how many gaps, and how many of these collections are the recording's. */
static uint64_t unseen(uint64_t gaps)
{
	struct profile *p = loaded();
	uint64_t n = p->vitals[0].unseen;

	assert_int_equal(events(p, "gnomon.CollectionsUnseen"), gaps);
	profile_free(p);
	return n;
}

/* Ten of them between two looks, and then ten more; the recording ended at `end`, 0: between. */
static void gaps_until(uint64_t end)
{
	static const char *const serial[3] = {"Serial full collection pauses"};
	struct pulse p;

	pulse_begin(&p, serial);
	for (uint64_t i = 1; i <= 2; i++) {
		perfimage_set(im, invocations[0], 10 * i);
		perfimage_set(im, total[0], 20 * MS * i);
		perfimage_set(im, entry[0], i * 100 * MS);
		perfimage_set(im, last_exit[0], i * 100 * MS + 2 * MS);
		if (i == 2)
			vitals_stop(p.v, end ? end : now_ns());
		vitals_poll(p.v, NULL, START + i * 500 * MS, i == 2);
	}
	pulse_end(&p);
}

/* Those that came and went after the end are not in it; of a gap that goes on behind it, a part. */
static void gaps_after_the_end(void **state)
{
	gaps_until(now_ns() + S * 3600);
	assert_int_equal(unseen(2), 18);
	gaps_until(0);
	assert_in_range(unseen(2), 9, 17);
	gaps_until(1);
	assert_int_equal(unseen(1), 9);
}

/* jdk.CPULoad of two looks, `ms` after each other by gnomon's clock. */
static void loads(uint64_t ms, uint64_t want)
{
	static const char *const serial[3] = {"Serial full collection pauses"};
	struct host_usage was, is;
	struct pulse looks;
	struct profile *p;

	pulse_begin(&looks, serial);
	assert_int_equal(host_usage_read(&was), 0);
	do
		assert_int_equal(host_usage_read(&is), 0);
	while (is.all_ns == was.all_ns);
	vitals_poll(looks.v, NULL, START + MS + ms * MS, true);
	pulse_end(&looks);
	p = loaded();
	assert_int_equal(events(p, "jdk.CPULoad"), want);
	assert_int_equal(events(p, "gnomon.Vitals"), 1);
	profile_free(p);
}

/* The machine is looked at twice a second at most: a recording's last moment is no load of 0. */
static void load_of_no_time(void **state)
{
	loads(300, 0);
	loads(1000, 1);
}

/* Seconds between two looks: many JVMs, and many threads of one, are looked at less often. */
static void looks(size_t jvms, uint64_t threads, uint64_t seconds)
{
	assert_int_equal(vitals_interval(jvms, threads), seconds * 1000 * MS);
}

static void intervals(void **state)
{
	looks(1, 0, 1);
	looks(1, 1999, 1);
	looks(1, 2000, 2);
	looks(1, 30000, 30);
	looks(19, 10, 1);
	looks(100, 10, 10);
	looks(100, 4000, 10);
	looks(20, 30000, 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals),	   cmocka_unit_test(kinds),
		cmocka_unit_test(after_the_end),   cmocka_unit_test(gaps_after_the_end),
		cmocka_unit_test(load_of_no_time),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
