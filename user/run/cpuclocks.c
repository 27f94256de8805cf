/* SPDX-License-Identifier: Apache-2.0 */
#include "run/cpuclocks.h"

#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "base/tasks.h"
#include "capture/capture.h"
#include "capture/clocks.h"
#include "naming/recorder.h"

void cpuclocks_init(struct cpuclocks *c, uint64_t interval_ns, enum cpu_engine asked, bool several,
		    bool wall)
{
	*c = (struct cpuclocks){
		.interval_ns = interval_ns,
		.alone = asked == CPU_ENGINE_CPU || several,
		.may_change = interval_ns && asked == CPU_ENGINE_AUTO && !several,
		.counts = !wall,
	};
	if (several && asked != CPU_ENGINE_CPU)
		c->why = "several processes";
}

static int clocks_start(struct cpuclocks *c, struct error *e)
{
	int rc = clocks_open(&c->clocks, c->interval_ns,
			     capture_clock_fd(c->cap, CAPTURE_THREAD_CLOCK),
			     capture_clock_fd(c->cap, CAPTURE_CPU_CLOCK), e);

	return rc || c->alone ? rc : clocks_add(c->clocks, c->pid, e);
}

static void alone_begin(struct cpuclocks *c, const char *why)
{
	c->why = why;
	c->alone = true;
	capture_cpu_clocks(c->cap, true);
}

int cpuclocks_start(struct cpuclocks *c, struct capture *cap, struct recorder *rec, pid_t pid,
		    struct error *e)
{
	int rc;

	c->cap = cap;
	c->rec = rec;
	c->pid = pid;
	if (!c->interval_ns)
		return 0;
	if (c->may_change && tasks_count(pid) > CPUCLOCKS_OWN_MOST)
		alone_begin(c, "more than 1,000 threads");
	rc = clocks_start(c, e);
	/* with c->clocks those of the CPUs are open, and only the threads' found no room */
	if (rc != -EMFILE || !c->clocks || c->alone)
		return rc;
	log_warn("more threads than open files allowed: sampling by per-CPU clocks (raise it: "
		 "ulimit -n)");
	alone_begin(c, "more threads than the open-files limit");
	return 0;
}

void cpuclocks_write(const struct cpuclocks *c)
{
	char value[128];

	if (!c->interval_ns)
		return;
	if (c->alone)
		snprintf(value, sizeof(value), "per-CPU clocks%s%s", c->why ? ": " : "",
			 c->why ? c->why : "");
	else
		snprintf(value, sizeof(value), "per-thread clocks (%zu threads at the start)",
			 clocks_count(c->clocks));
	recorder_setting(c->rec, "gnomon.cpuEngine", value);
}

void cpuclocks_begin(struct cpuclocks *c, uint64_t now_ns)
{
	c->considered_ns = now_ns;
	c->agreed = 1; /* the first second decides alone */
	if (c->counts)
		capture_switches(c->cap);
}

static int change(struct cpuclocks *c, bool alone)
{
	int rc;

	if (alone) {
		capture_cpu_clocks(c->cap, true);
		clocks_drop(c->clocks);
		return 0;
	}
	rc = clocks_add(c->clocks, c->pid, NULL);
	if (!rc)
		capture_cpu_clocks(c->cap, false);
	return rc;
}

/* Per second, of all threads, since this was last asked. */
static double switch_rate(struct cpuclocks *c, uint64_t now_ns)
{
	uint64_t counters[GN_CNT_MAX], since = now_ns - c->considered_ns, before = c->switches;

	if (c->counts)
		capture_switches(c->cap);
	capture_counters(c->cap, counters);
	c->considered_ns = now_ns;
	c->switches = counters[GN_CNT_SWITCHES];
	return (double)(c->switches - before) * 1e9 / (double)since;
}

static void cpus_follow(struct cpuclocks *c)
{
	struct error e = {0};
	int rc = c->clocks ? clocks_follow(c->clocks, &e) : 0;

	if (rc > 0)
		log_info("CPUs have come or gone: all have new clocks");
	else if (rc)
		log_warn("CPUs have come or gone, and not all have clocks: %s", e.msg);
}

void cpuclocks_consider(struct cpuclocks *c, uint64_t now_ns)
{
	enum cpu_engine is = c->alone ? CPU_ENGINE_CPU : CPU_ENGINE_THREAD, then;
	double rate;

	cpus_follow(c);
	if (!c->may_change || (c->alone && !c->by_rate))
		return;
	rate = switch_rate(c, now_ns);
	then = engine_cpu(is, rate);
	c->agreed = then == is ? 0 : c->agreed + 1;
	if (c->agreed < 2 || change(c, then == CPU_ENGINE_CPU))
		return;
	c->agreed = 0;
	c->alone = c->by_rate = then == CPU_ENGINE_CPU;
	c->why = c->alone ? "the threads switch too often for clocks of their own" : NULL;
	log_info("CPU samples by %s clocks: %.0f switches/s", c->alone ? "per-CPU" : "per-thread",
		 rate);
	cpuclocks_write(c);
}

#define RESTING_NS 1000000000ull /* where nobody has CPU samples */

void cpuclocks_finest(struct cpuclocks *c, uint64_t interval_ns)
{
	uint64_t ns = interval_ns ? interval_ns : RESTING_NS;
	struct error e = {0};

	if (!c->clocks || !c->interval_ns || c->interval_ns == ns)
		return;
	c->interval_ns = ns;
	if (clocks_interval(c->clocks, ns, &e))
		log_warn("CPU samples go on as they were: %s", e.msg);
}

void cpuclocks_close(struct cpuclocks *c)
{
	clocks_close(c->clocks);
	c->clocks = NULL;
}
