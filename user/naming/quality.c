/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/quality.h"

void quality_add(struct quality *q, const struct stack *st, uint32_t n)
{
	walks_add(&q->walks, st, n);
}

void quality_write(struct quality *q, struct jfrw *out, uint64_t now)
{
	const struct walks *w = &q->walks;

	if (walks_total(w))
		jfrw_stack_quality(
			out, now,
			&(struct jfr_stack_quality){
				.period_ns = now - q->since_ns,
				.kind = q->kind,
				.samples = walks_total(w),
				.complete = w->ends[GN_END_COMPLETE] + w->ends[GN_END_CONT],
				.guessed = w->guessed,
				.truncated = w->ends[GN_END_DEPTH],
				.bad_address = w->ends[GN_END_BADADDR],
				.no_rule = w->ends[GN_END_NORULE] + w->ends[GN_END_FP],
				.failed = w->without + w->ends[GN_END_NONE],
				.unnamed = w->unnamed,
				.in_heap = w->ends[GN_END_HEAP],
			});
	*q = (struct quality){.kind = q->kind, .since_ns = now};
}
