/* SPDX-License-Identifier: Apache-2.0 */
#include "run/overhead.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "broker/broker.h"
#include "capture/capture.h"
#include "capture/runprice.h"
#include "target/procfs.h"

#define PERIOD_NS 1000000000ull
#define WINDOW_NS 100000000ull
#define FIRST_NS  900000000ull
#define EARLY	  30		 /* windows, one a second */
#define AGAIN	  5		 /* of them after a change of rates */
#define LATER_NS  9500000000ull	 /* between two of the others where nothing changes */
#define RATE_LESS 1000		 /* switches a second: fewer of them cost next to nothing */
#define STOLEN_NS 10000000000ull /* reading /proc/stat is slow on machines with many CPUs */

/* Ours and that of who opens files for us. */
static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) + broker_cpu_ns();
}

void overhead_start(struct overhead *o)
{
	*o = (struct overhead){
		.start_ns = clock_ns(CLOCK_MONOTONIC),
		.cpu_start_ns = cpu_ns(),
		.run_price_ns = runprice_measure(),
		.stats_fd = -1,
	};
	host_stolen_read(&o->stolen_start_ns);
	o->stolen_read = o->start_ns;
}

static void stolen_read(struct overhead *o, uint64_t now)
{
	uint64_t ns;

	if (!host_stolen_read(&ns) && ns > o->stolen_start_ns)
		o->stolen_ns = ns - o->stolen_start_ns;
	o->stolen_read = now;
}

/*
 * Begins a window of measuring. Others may have the kernel's statistics on, too, so only what is
 * added within our windows counts.
 */
static void window_open(struct overhead *o, const struct capture *c, uint64_t now)
{
	o->stats_fd = capture_run_time_on();
	o->on_since = now;
	capture_run_time(c, &o->before_ns, &o->before_runs);
}

uint64_t overhead_net(const struct overhead *o, uint64_t ns, uint64_t runs)
{
	uint64_t price = o->run_price_ns * runs;

	return ns > price ? ns - price : 0;
}

static bool rates_differ(uint64_t before, uint64_t now)
{
	uint64_t d = now > before ? now - before : before - now;

	return d > RATE_LESS && 4 * d > before;
}

bool overhead_is_due(struct overhead *o, uint64_t now, uint64_t switches, uint64_t rate_changes)
{
	uint64_t since = now - o->second_ns, rate = 0;

	if (rate_changes != o->rate_changes && o->windows > EARLY - AGAIN)
		o->windows = EARLY - AGAIN;
	o->rate_changes = rate_changes;
	if (since)
		rate = (uint64_t)((double)(switches - o->switches) * 1e9 / (double)since);
	o->second_ns = now;
	o->switches = switches;
	if (o->windows >= EARLY && now - o->window_ns < LATER_NS && !rates_differ(o->rate, rate))
		return false;
	o->windows++;
	o->window_ns = now;
	o->rate = rate;
	return true;
}

void overhead_measured(struct overhead *o, uint64_t now, uint64_t ns)
{
	uint64_t length = now > o->on_since ? now - o->on_since : 1, all = now - o->start_ns;
	uint64_t done = o->known_ns + o->covered_ns, span = all > done ? all - done : 0;
	double share = (double)ns / (double)length;

	o->lately_ns = (uint64_t)(share * 1e9);
	o->covered_bpf_ns += (uint64_t)(share * (double)span);
	o->covered_ns += span;
	o->bpf_ns += ns;
}

static void window_close(struct overhead *o, const struct capture *c, uint64_t now)
{
	uint64_t ns, runs;

	close(o->stats_fd);
	o->stats_fd = -1;
	capture_run_time(c, &ns, &runs);
	o->runs += runs - o->before_runs;
	if (o->inferring) {
		overhead_measured(o, now,
				  overhead_net(o, ns - o->before_ns, runs - o->before_runs));
	} else {
		o->known_ns += now - o->on_since;
		o->known_bpf_ns += ns - o->before_ns;
		o->bpf_ns += ns - o->before_ns;
	}
}

static void window_end(struct overhead *o, const struct capture *c)
{
	if (o->stats_fd >= 0)
		window_close(o, c, clock_ns(CLOCK_MONOTONIC));
}

void overhead_burst(struct overhead *o, const struct capture *c)
{
	window_end(o, c);
	o->resume = o->inferring;
	o->inferring = false;
	window_open(o, c, clock_ns(CLOCK_MONOTONIC));
}

void overhead_burst_end(struct overhead *o, const struct capture *c)
{
	window_end(o, c);
	o->inferring = o->resume;
}

void overhead_tick(struct overhead *o, const struct capture *c)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), into = (now - o->start_ns) % PERIOD_NS;
	uint64_t length = o->inferring ? WINDOW_NS : FIRST_NS;

	if (o->stats_fd >= 0 && now - o->on_since >= length) {
		window_close(o, c, now);
		o->inferring = true;
	} else if (o->stats_fd < 0 && !o->inferring) {
		window_open(o, c, now);
	} else if (o->stats_fd < 0 && into < WINDOW_NS &&
		   overhead_is_due(o, now, capture_switches_sum(c), capture_rate_changes(c))) {
		window_open(o, c, now);
	}
	if (now - o->stolen_read >= STOLEN_NS)
		stolen_read(o, now);
}

void overhead_stop(struct overhead *o, const struct capture *c)
{
	window_end(o, c);
	stolen_read(o, clock_ns(CLOCK_MONOTONIC));
}

uint64_t overhead_bpf_ns(const struct overhead *o, uint64_t wall_ns)
{
	uint64_t done = o->known_ns + o->covered_ns, rest = wall_ns > done ? wall_ns - done : 0;

	return o->known_bpf_ns + o->covered_bpf_ns +
	       (uint64_t)((double)o->lately_ns * (double)rest / 1e9);
}

/*
 * The peak is that of this program: ru_maxrss of getrusage() is inherited over execve from whoever
 * started it (begin_new_exec in fs/exec.c), VmHWM belongs to the memory that it got there.
 */
static void memory_read(struct overhead_cost *out)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long kb;
	char line[128];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "VmHWM: %lu kB", &kb) == 1)
			out->memory_peak = kb * 1024ull;
		else if (sscanf(line, "VmRSS: %lu kB", &kb) == 1)
			out->memory = kb * 1024ull;
	}
	if (f)
		fclose(f);
}

void overhead_cost(const struct overhead *o, struct overhead_cost *out)
{
	*out = (struct overhead_cost){
		.wall_ns = clock_ns(CLOCK_MONOTONIC) - o->start_ns,
		.cpu_ns = cpu_ns() - o->cpu_start_ns,
		.stolen_ns = o->stolen_ns,
		.bpf_lately_ns = o->lately_ns,
	};
	memory_read(out);
	out->bpf_ns = overhead_bpf_ns(o, out->wall_ns);
	if (o->runs)
		out->bpf_run_ns = o->bpf_ns / o->runs;
}
