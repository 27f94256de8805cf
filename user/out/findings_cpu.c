/* SPDX-License-Identifier: Apache-2.0 */
/* Who had the CPUs, and who had not. */
#include "out/findings_int.h"

#include <string.h>

#include "model/threadname.h"
#include "model/totals.h"
#include "out/format.h"

/* Below this share of the wanted CPU time, waiting for a CPU is not worth a sentence. */
#define STARVED 0.05

/* Below this share of the machine's CPU time its CPUs were not what was lacking. */
#define BUSY 0.8

/* From this share of the CPU time on. */
#define COLLECTING 0.1
#define STOLEN	   0.02
#define THROTTLED  0.01 /* of the time */
#define LOST	   0.01

static uint64_t state_wall_ns(const struct profile *p, const char *state)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < p->ncells; i++)
		if (p->cells[i].source == JFR_SOURCE_WALL && p->cells[i].dims &&
		    !strcmp(names_get(&p->names, p->states[p->cells[i].state].name), state))
			ns += p->cells[i].ns;
	return ns;
}

/* ---- starved ---- */

static void user_say(struct buffer *b, const struct prof_cpu_user *u, uint64_t machine)
{
	if (u->count > 1)
		buffer_printf(b, "%s (%llu processes) ", u->name, (unsigned long long)u->count);
	else
		buffer_printf(b, "%s (pid %lld) ", u->name, (long long)u->pid);
	buffer_printf(b, "%.0f%%", find_percent(u->ns, machine));
}

/* The others by name, and those that came and went as what is left. */
static void others_say(struct buffer *b, const struct prof_cpus *c, uint64_t machine,
		       uint64_t others)
{
	uint64_t named = 0;

	for (uint32_t i = 0; i < c->nothers; i++) {
		const struct prof_cpu_user *u = &c->others[i];

		if (find_share(u->ns, machine) < 0.01)
			break;
		buffer_printf(b, "%s", i ? ", " : ": ");
		user_say(b, u, machine);
		named += u->ns;
	}
	if (others > named && find_share(others - named, machine) >= 0.05)
		buffer_printf(b, "%s%.0f%% processes that have ended, and small ones",
			      named ? ", " : ": ", find_percent(others - named, machine));
}

/* Who had the CPUs that its threads waited for, and so what would help. */
static void holders_say(struct buffer *b, const struct profile_facts *x, bool part)
{
	const struct prof_cpus *c = &x->cpus;
	uint64_t machine = c->period_ns * (x->hw_threads ? x->hw_threads : 1);
	uint64_t others = c->machine_ns > c->own_ns ? c->machine_ns - c->own_ns : 0;

	if (machine < c->machine_ns) /* clock ticks are coarse */
		machine = c->machine_ns;
	if (!c->period_ns) {
		buffer_printf(b, " Who had the CPUs meanwhile the recording does not say.");
		return;
	}
	buffer_printf(b, "%sf the machine's CPU time this process used %.0f%%, others %.0f%%",
		      part ? " In the whole recording, o" : " O", find_percent(c->own_ns, machine),
		      find_percent(others, machine));
	others_say(b, c, machine, others);
	if (find_share(c->machine_ns, machine) < BUSY)
		buffer_printf(b, ". So there were CPUs with nothing to do: a CPU limit, a choice "
				 "of CPUs, or bursts of work made them wait.");
	else if (others > c->own_ns)
		buffer_printf(b, ". So it was others who had the CPUs: less work of theirs, a "
				 "higher priority or more CPUs would help.");
	else
		buffer_printf(b, ". So its own threads had the CPUs: more CPUs, fewer threads, or "
				 "code that uses less CPU would help.");
}

/* Waiting that was seen as such. */
static void queued_say(struct find *x, uint64_t cpu, uint64_t queued)
{
	struct buffer b = BUFFER_INIT;

	holders_say(&b, &x->p->facts, x->part);
	buffer_byte(&b, 0);
	find_add(x, "starved", "d=wall&s=QUEUED",
		 "Threads that wanted to run waited %s for a CPU and had one for %s: of the time "
		 "they could have run, %.0f%% was lost in the queue.%s",
		 format_ns(queued).s, format_ns(cpu).s, find_percent(queued, cpu + queued),
		 b.failed ? "" : (char *)b.data);
	buffer_free(&b);
}

/* Waiting that shows as the difference between looking runnable and running. */
static void runnable_say(struct find *x, uint64_t cpu, uint64_t runnable)
{
	if (!cpu || runnable <= cpu || find_share(runnable - cpu, runnable) < STARVED)
		return;
	find_add(x, "starved", "d=wall&s=RUNNABLE",
		 "Runnable threads took %s of wall time but only %s of CPU: for the other %s "
		 "(%.0f%%) they waited for a CPU, or were in native code that waits and looks "
		 "runnable.",
		 format_ns(runnable).s, format_ns(cpu).s, format_ns(runnable - cpu).s,
		 find_percent(runnable - cpu, runnable));
}

void find_starved(struct find *x)
{
	uint64_t cpu = x->p->total_ns[0][DIM_CPU], queued = state_wall_ns(x->p, "QUEUED");

	if (queued && cpu && find_share(queued, cpu + queued) >= STARVED)
		queued_say(x, cpu, queued);
	else if (!queued && x->p->wall_runs[0])
		runnable_say(x, cpu, state_wall_ns(x->p, "RUNNABLE"));
}

/* ---- taken by others ---- */

/*
 * The JDK's event has sums since the container's start, ours what of them is of the recording;
 * below a hundredth of it, it is what a quota does to any burst.
 */
void find_throttled(struct find *x)
{
	const struct profile_facts *f = &x->p->facts;
	const struct prof_vitals *v = &x->p->vitals[0];

	if (x->part)
		return;
	if (v->throttled_ns && find_share(v->throttled_ns, x->recorded_ns) >= THROTTLED)
		find_add(x, "throttled", "d=wall&s=QUEUED",
			 "The container's CPU limit stopped it for %s in all, added up over the "
			 "CPUs.",
			 format_ns(v->throttled_ns).s);
	else if (f->throttled_slices && !v->period_ns)
		find_add(x, "throttled", "d=wall&s=QUEUED",
			 "The container's CPU limit stopped it in %s of %s periods, for %s in all.",
			 format_count(f->throttled_slices).s, format_count(f->slices).s,
			 format_ns(f->throttled_ns).s);
}

bool findings_says_stolen(uint64_t stolen_ns, uint64_t machine_ns)
{
	return stolen_ns && stolen_ns >= machine_ns / 1000;
}

void find_stolen(struct find *x)
{
	const struct profile_facts *f = &x->p->facts;
	uint64_t machine = f->overhead_period_ns * (f->hw_threads ? f->hw_threads : 1);

	if (!x->part && find_share(f->stolen_ns, machine) >= STOLEN)
		find_add(x, "stolen", "",
			 "Other virtual machines on its host took %.0f%% of the machine's CPU time "
			 "(%s): it is in no sample.",
			 find_percent(f->stolen_ns, machine), format_ns(f->stolen_ns).s);
}

/* ---- collections ---- */

/* The VM thread also does other things. */
static bool is_collector(const struct profile *p, const struct prof_thread *t)
{
	return !t->java_id && threadname_is_collector(names_get(&p->names, t->name));
}

void find_collections(struct find *x)
{
	const struct profile *p = x->p;
	uint64_t cpu = p->total_ns[0][DIM_CPU], gc = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nselves; i++) {
		if (!is_collector(p, &p->threads[x->selves[i].thread]))
			continue;
		gc += x->selves[i].cpu_ns;
		n += x->selves[i].cpu_ns != 0;
	}
	if (find_share(gc, cpu) >= COLLECTING)
		find_add(x, "gc", "d=cpu&p=group",
			 "%u thread%s of the garbage collector took %.0f%% of the CPU time (%s of "
			 "%s). What the VM thread does for collections is not counted.",
			 n, n == 1 ? "" : "s", find_percent(gc, cpu), format_ns(gc).s,
			 format_ns(cpu).s);
}

/* Pauses of those collections, too, of which only their number and sum is known. */
void find_pauses(struct find *x)
{
	const struct prof_vitals *v = &x->p->vitals[0];
	uint64_t ns = vitals_pause_ns(v), n = v->collections + v->unseen;
	char longest[192] = "";

	if (x->part || find_share(ns, x->recorded_ns) < COLLECTING)
		return;
	if (v->longest_ns)
		snprintf(longest, sizeof(longest), "; the longest pause took %s (%s, %s)",
			 format_ns(v->longest_ns).s, v->longest_name, v->longest_cause);
	find_add(
		x, "pauses", "d=wall&b=in",
		"Collections stopped the JVM for %.0f%% of the time: %s had pauses of %s in all%s.",
		find_percent(ns, x->recorded_ns), format_count(n).s, format_ns(ns).s, longest);
}

/* ---- one CPU is not enough ---- */

void find_bound(struct find *x)
{
	const struct profile *p = x->p;
	const struct find_self *most = NULL;
	char link[48];
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nselves && find_knows_threads(x); i++) {
		const struct find_self *s = &x->selves[i];

		if (find_share(s->cpu_ns, x->recorded_ns) < FIND_THROUGHOUT)
			continue;
		n++;
		if (!most || s->cpu_ns > most->cpu_ns)
			most = s;
	}
	if (!n)
		return;
	snprintf(link, sizeof(link), "d=cpu&t=%u", p->threads[most->thread].self);
	if (n == 1)
		find_add(x, "one cpu", link,
			 "The thread '%s' ran on a CPU for %.0f%% of the time: what it does is as "
			 "fast as one CPU.",
			 names_get(&p->names, p->threads[most->thread].name),
			 find_percent(most->cpu_ns, x->recorded_ns));
	else
		find_add(x, "one cpu", link,
			 "%u threads ran on a CPU nearly all of the time, '%s' for %.0f%%: what "
			 "each does is as fast as one CPU.",
			 n, names_get(&p->names, p->threads[most->thread].name),
			 find_percent(most->cpu_ns, x->recorded_ns));
}

/* ---- what is missing ---- */

void find_losses(struct find *x)
{
	const struct profile_facts *f = &x->p->facts;
	uint64_t lost = 0, taken = 0;
	const char *remedy;
	uint32_t worst = 0;

	for (int i = 0; i < JFR_SOURCES; i++)
		taken += x->p->samples[i];
	for (uint32_t i = 0; i < f->nlosses; i++) {
		lost += f->losses[i].count;
		if (f->losses[i].count > f->losses[worst].count)
			worst = i;
	}
	remedy = loss_remedy(loss_reason(f->losses[worst].what));
	if (lost && !x->part && find_share(lost, lost + taken) >= LOST)
		find_add(x, "lost", "", "%s samples (%.0f%%) were lost, most of them as: %s.%s%s",
			 format_count(lost).s, find_percent(lost, lost + taken),
			 f->losses[worst].what, remedy ? " Remedy: " : "", remedy ? remedy : "");
}
