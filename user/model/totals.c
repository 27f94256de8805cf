/* SPDX-License-Identifier: Apache-2.0 */
#include "model/totals.h"

#include <string.h>

#include "model/stack.h"

const char *loss_name(unsigned int reason)
{
	static const char *const names[LOSS_MAX] = {
		[GN_LOSS_RING] = "CPU samples: ring buffer full",
		[GN_LOSS_WALL] = "wall samples: ring buffer full",
		[GN_LOSS_STACK] = "stacks: ring buffer full",
		[GN_LOSS_MISSED] = "wall samples without a stack",
		[GN_LOSS_STATE] = "no memory for a thread's state",
		[GN_LOSS_FORK] = "births of threads: buffer full",
		[GN_LOSS_EXIT] = "ends of threads: buffer full",
		[GN_LOSS_EXEC] = "execs: buffer full, or too many a second",
		[GN_LOSS_COMM] = "new names of threads: buffer full",
		[GN_LOSS_CHURN] = "births, ends and names of threads: too many a second",
		[GN_LOSS_BARE] = "wall samples left out: of threads in no context",
		[LOSS_QUEUE_CPU] = "CPU samples: naming too slow",
		[LOSS_QUEUE_WALL] = "wall samples: naming too slow",
		[LOSS_QUEUE_STACK] = "stacks: naming too slow",
		[LOSS_QUEUE_VTHREAD] = "names of virtual threads: naming too slow",
		[LOSS_QUEUE] = "records: naming too slow",
		[LOSS_FILE] = "events: the disk did not keep up",
		[LOSS_SIZE] = "events: the file is as large as it may be",
		[LOSS_STACKS] = "stacks: too many new ones a second",
		[LOSS_UNREAD] = "files of its code: reading them takes too long",
		[LOSS_RULES] = "unwind rules: more than its share",
		[LOSS_HASTE] = "names of stacks: naming took too long to end",
		[LOSS_HASTE_CPU] = "CPU samples: naming took too long to end",
		[LOSS_HASTE_WALL] = "wall samples: naming took too long to end",
		[LOSS_UNTRIED] = "names of stacks: the process that names was lost at this one",
		[LOSS_NAMER_CPU] = "CPU samples: the process that names was lost",
		[LOSS_NAMER_WALL] = "wall samples: the process that names was lost",
		[LOSS_NAMES] = "samples whose frames were lost",
	};

	return reason < LOSS_MAX && names[reason] ? names[reason] : "unknown";
}

const char *loss_remedy(unsigned int reason)
{
	static const char rings[] = "larger rings from the start: --ring-size 4m (128k by "
				    "default); or a longer --cpu and --wall",
			  queue[] = "a larger queue: --queue-size 256m (32m by default); or a "
				    "longer --cpu and --wall",
			  disk[] = "a faster disk for -o; or a longer --cpu and --wall",
			  size[] = "larger files: --max-size 16g (4g by default)";

	switch (reason) {
	case GN_LOSS_RING:
	case GN_LOSS_WALL:
	case GN_LOSS_STACK:
	case GN_LOSS_FORK:
	case GN_LOSS_EXIT:
	case GN_LOSS_EXEC:
	case GN_LOSS_COMM:
		return rings;
	case LOSS_QUEUE_CPU:
	case LOSS_QUEUE_WALL:
	case LOSS_QUEUE_STACK:
	case LOSS_QUEUE_VTHREAD:
	case LOSS_QUEUE:
		return queue;
	case LOSS_FILE:
		return disk;
	case LOSS_SIZE:
		return size;
	default: /* what frames were lost by is told beside; samples without a stack have their time
		  */
		return NULL;
	}
}

unsigned int loss_reason(const char *text)
{
	size_t n = strlen(text);

	for (unsigned int i = 0; i < LOSS_MAX; i++) {
		size_t k = strlen(loss_name(i));

		if (k <= n && !strcmp(text + n - k, loss_name(i)))
			return i;
	}
	return LOSS_MAX;
}

const char *loss_kind(unsigned int reason)
{
	switch (reason) {
	case GN_LOSS_RING:
	case LOSS_QUEUE_CPU:
	case LOSS_HASTE_CPU:
	case LOSS_NAMER_CPU:
		return "cpu";
	case GN_LOSS_WALL:
	case GN_LOSS_MISSED:
	case GN_LOSS_BARE:
	case LOSS_QUEUE_WALL:
	case LOSS_HASTE_WALL:
	case LOSS_NAMER_WALL:
		return "wall";
	default:
		return "any";
	}
}

unsigned int loss_of_record(const struct gn_rec *rec, uint64_t *count)
{
	const struct gn_sample *s = (const void *)rec;

	*count = 1;
	switch (rec->type) {
	case GN_REC_SAMPLE:
		*count = s->n;
		return s->clock == GN_CLOCK_WALL ? LOSS_QUEUE_WALL : LOSS_QUEUE_CPU;
	case GN_REC_STACK:
		return LOSS_QUEUE_STACK;
	case GN_REC_VTHREAD:
		return LOSS_QUEUE_VTHREAD;
	case GN_REC_FORK:
	case GN_REC_EXIT:
	case GN_REC_EXEC:
	case GN_REC_COMM:
		return GN_LOSS_FORK + (rec->type - GN_REC_FORK);
	case GN_REC_FOUND: /* the name is read from /proc */
		*count = 0;
		return LOSS_QUEUE;
	default:
		return LOSS_QUEUE;
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

uint64_t totals_lost(const struct totals *t)
{
	uint64_t n = 0;

	for (int i = 0; i < LOSS_MAX; i++)
		n += t->lost[i];
	return n;
}

void totals_add(struct totals *sum, const struct totals *t)
{
	sum->cpu_samples += t->cpu_samples;
	sum->wall_samples += t->wall_samples;
	sum->wall_records += t->wall_records;
	sum->wall_queued += t->wall_queued;
	sum->wall_blocked += t->wall_blocked;
	sum->stacks += t->stacks;
	walks_sum(&sum->cpu, &t->cpu);
	walks_sum(&sum->wall, &t->wall);
	sum->threads += t->threads;
	sum->file_bytes += t->file_bytes;
	sum->held_bytes += t->held_bytes;
	for (int i = 0; i < LOSS_MAX; i++)
		sum->lost[i] += t->lost[i];
}
