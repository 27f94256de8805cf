/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vitals_poll PID: what a look at a JVM's performance counters costs, in lines "name us": all of
 * them (poll) and the collectors' alone (glance), with warm caches and with cold ones, beside what
 * this host takes for reading 8 bytes of another process in the same ways. CPU time of the thread,
 * so that others do not count; medians.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "jvm/counters.h"
#include "jvm/vmstructs.h"

#define ROUNDS 60
#define COLD   (96u << 20) /* bytes: more than any cache here */

static struct counters *counters;
static int mem;
static off_t somewhere;

static void poll(void)
{
	counters_poll(counters);
}

static void glance(void)
{
	counters_glance(counters);
}

static void host(void)
{
	char bytes[8];

	if (pread(mem, bytes, sizeof(bytes), somewhere) != sizeof(bytes))
		exit(1);
}

static void nothing(void)
{
}

static int order(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void caches_fill(volatile char *bytes)
{
	for (size_t i = 0; i < COLD; i += 64)
		bytes[i]++;
}

static double took(void (*what)(void))
{
	uint64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	what();
	return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - from) / 1e3;
}

static double median(void (*what)(void), char *cold)
{
	double v[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		if (cold)
			caches_fill(cold);
		else
			what();
		v[i] = took(what);
	}
	qsort(v, ROUNDS, sizeof(*v), order);
	return v[ROUNDS / 2];
}

static void row(const char *name, void (*what)(void), char *bytes)
{
	printf("%s_warm %.2f\n", name, median(what, NULL) - median(nothing, NULL));
	printf("%s_cold %.2f\n", name, median(what, bytes) - median(nothing, bytes));
}

int main(int argc, char **argv)
{
	pid_t pid = argc == 2 ? atoi(argv[1]) : 0;
	char *bytes = calloc(1, COLD), path[64];
	struct vm *vm = NULL;
	int rc;

	vm_open(pid, &vm, NULL);
	rc = counters_open(&counters, pid, vm);
	if (rc || !bytes) {
		fprintf(stderr, "no counters of %d: %s\n", (int)pid, counters_why(rc));
		return 1;
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	somewhere = (off_t)counters_place(counters).statics;
	row("host_read", host, bytes);
	row("poll", poll, bytes);
	row("glance", glance, bytes);
	return 0;
}
