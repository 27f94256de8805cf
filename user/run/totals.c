/* SPDX-License-Identifier: Apache-2.0 */
#include "run/totals.h"

#include "run/stacks.h"

const char *loss_name(unsigned int reason)
{
	static const char *const names[LOSS_MAX] = {
		[GN_LOSS_RING] = "CPU samples: ring buffer full",
		[GN_LOSS_WALL] = "wall samples: ring buffer full",
		[GN_LOSS_STACK] = "stacks: ring buffer full",
		[GN_LOSS_MISSED] = "wall samples without a stack",
		[GN_LOSS_STATE] = "no memory for a thread's state",
		[LOSS_QUEUE] = "records: naming too slow",
		[LOSS_FILE] = "events: the disk did not keep up",
		[LOSS_NAMES] = "samples whose frames were lost",
	};

	return reason < LOSS_MAX && names[reason] ? names[reason] : "unknown";
}

const char *loss_kind(unsigned int reason)
{
	switch (reason) {
	case GN_LOSS_RING:
		return "cpu";
	case GN_LOSS_WALL:
	case GN_LOSS_MISSED:
		return "wall";
	default:
		return "any";
	}
}

void walks_add(struct walks *w, const struct stack *st, uint32_t n)
{
	if (!st) {
		w->without += n;
		return;
	}
	w->ends[st->end] += n;
	if (st->guessed)
		w->guessed += n;
	if (st->unnamed)
		w->unnamed += n;
}

uint64_t walks_total(const struct walks *w)
{
	uint64_t n = w->without;

	for (int i = 0; i < GN_END_MAX; i++)
		n += w->ends[i];
	return n;
}

static void walks_sum(struct walks *sum, const struct walks *w)
{
	sum->without += w->without;
	sum->guessed += w->guessed;
	sum->unnamed += w->unnamed;
	for (int i = 0; i < GN_END_MAX; i++)
		sum->ends[i] += w->ends[i];
}

void totals_add(struct totals *sum, const struct totals *t)
{
	sum->cpu_samples += t->cpu_samples;
	sum->wall_samples += t->wall_samples;
	sum->wall_records += t->wall_records;
	sum->stacks += t->stacks;
	walks_sum(&sum->cpu, &t->cpu);
	walks_sum(&sum->wall, &t->wall);
	sum->threads += t->threads;
	sum->file_bytes += t->file_bytes;
	for (int i = 0; i < LOSS_MAX; i++)
		sum->lost[i] += t->lost[i];
}
