/* SPDX-License-Identifier: Apache-2.0 */
/* What lives in the heap, and what the container allows. */
#include "out/findings_int.h"

#include "out/format.h"

/* Of what may live at most. */
#define FULL 0.85

/* Less is not worth a sentence: of what there was, and of what may live. */
#define GROWN	     0.1
#define GROWN_OF_MAX 0.01
#define GROWN_BYTES  (1u << 20)

static const struct live *live_of(const struct find *x)
{
	const struct live *l = &x->p->vitals[0].live;

	return !x->part && x->one && l->n ? l : NULL;
}

/* Collections come ever more often, and take ever longer, before memory is out. */
void find_full(struct find *x)
{
	const struct prof_vitals *v = &x->p->vitals[0];
	const struct live *l = live_of(x);
	uint64_t max = vitals_live_max(v);
	uint64_t full = (uint64_t)((double)max * FULL);
	uint32_t above = l && max ? live_above(l, full) : 0;
	char often[64] = "";

	if (!above || (l->last.bytes < full && above * 2 < l->n))
		return;
	if (l->n > 1)
		snprintf(often, sizeof(often), ", and more than %.0f%% after %u of %u such",
			 100 * FULL, above, l->n);
	find_add(x, "heap", "",
		 "The heap is near its limit: %s of the %s that may live%s were still in use after "
		 "the last old collection%s. With less to keep, or a larger heap, there would be "
		 "fewer collections.",
		 format_bytes(l->last.bytes).s, format_bytes(max).s,
		 max < v->heap_max ? " in the old generation" : "", often);
}

/* When it would be full, for who has to decide how urgent it is. */
static void until_say(struct buffer *b, uint64_t left, double bytes_a_second)
{
	double s = (double)left / bytes_a_second;

	if (s < 120)
		buffer_printf(b, "%.0f s", s);
	else if (s < 7200)
		buffer_printf(b, "%.0f min", s / 60);
	else if (s < 172800)
		buffer_printf(b, "%.0f h", s / 3600);
	else
		buffer_printf(b, "%.0f days", s / 86400);
}

static void live_say(struct find *x, const struct live_growth *g, uint64_t n, uint64_t max)
{
	double rate = (double)(g->last - g->first) * 1e9 / (double)g->span_ns;
	struct buffer until = BUFFER_INIT;

	if (max > g->last) {
		buffer_printf(&until, " At this rate the %s that may live are full in ",
			      format_bytes(max).s);
		until_say(&until, max - g->last, rate);
		buffer_printf(&until, ".");
	}
	buffer_byte(&until, 0);
	find_add(x, "live set", "",
		 "What old collections leave grew all the time: from %s to %s in %s, after %s of "
		 "them.%s Is it a leak, or does a cache still fill? The recording does not say: a "
		 "heap dump, or a longer recording, does.",
		 format_bytes(g->first).s, format_bytes(g->last).s, format_ns(g->span_ns).s,
		 format_count(n).s, until.failed ? "" : (char *)until.data);
	buffer_free(&until);
}

static bool is_worth(uint64_t grown, uint64_t first, uint64_t max)
{
	return grown >= GROWN_BYTES && find_share(grown, first) >= GROWN &&
	       (!max || find_share(grown, max) >= GROWN_OF_MAX);
}

/* What lasts for a part of the time only, a start say, is not all of it. */
void find_live(struct find *x)
{
	const struct live *l = live_of(x);
	uint64_t max = vitals_live_max(&x->p->vitals[0]);
	struct live_growth g;

	if (l && live_grows(l, &g) && g.span_ns >= x->recorded_ns / 2 &&
	    is_worth(g.last - g.first, g.first, max))
		live_say(x, &g, l->all, max);
}

void find_killed(struct find *x)
{
	const struct prof_vitals *v = &x->p->vitals[0];

	if (!x->part && v->oom_kills)
		find_add(x, "killed", "",
			 "The container ran out of memory: the kernel killed %s of its processes.",
			 format_count(v->oom_kills).s);
}
