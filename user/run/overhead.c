/* SPDX-License-Identifier: Apache-2.0 */
#include "run/overhead.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "run/capture.h"

#define PERIOD_NS 1000000000ull
#define WINDOW_NS 100000000ull

void overhead_start(struct overhead *o)
{
	*o = (struct overhead){
		.start_ns = clock_ns(CLOCK_MONOTONIC),
		.cpu_start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
		.stats_fd = -1,
	};
}

static void stats_off(struct overhead *o, const struct capture *c, uint64_t now)
{
	close(o->stats_fd);
	o->stats_fd = -1;
	o->on_ns += now - o->on_since;
	capture_run_time(c, &o->bpf_ns, &o->bpf_runs);
}

void overhead_tick(struct overhead *o, const struct capture *c)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), into = (now - o->start_ns) % PERIOD_NS;

	if (o->stats_fd >= 0 && now - o->on_since >= WINDOW_NS) {
		stats_off(o, c, now);
	} else if (o->stats_fd < 0 && into < WINDOW_NS) {
		o->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
		o->on_since = now;
	}
}

void overhead_stop(struct overhead *o, const struct capture *c)
{
	if (o->stats_fd >= 0)
		stats_off(o, c, clock_ns(CLOCK_MONOTONIC));
}

static uint64_t memory_now(void)
{
	unsigned long total, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%lu %lu", &total, &resident) != 2)
		resident = 0;
	fclose(f);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

void overhead_cost(const struct overhead *o, struct overhead_cost *out)
{
	struct rusage ru;

	getrusage(RUSAGE_SELF, &ru);
	*out = (struct overhead_cost){
		.wall_ns = clock_ns(CLOCK_MONOTONIC) - o->start_ns,
		.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - o->cpu_start_ns,
		.memory = memory_now(),
		.memory_peak = (uint64_t)ru.ru_maxrss * 1024,
	};
	if (o->on_ns)
		out->bpf_ns =
			(uint64_t)((double)o->bpf_ns * (double)out->wall_ns / (double)o->on_ns);
	if (o->bpf_runs)
		out->bpf_run_ns = o->bpf_ns / o->bpf_runs;
}
