/* SPDX-License-Identifier: Apache-2.0 */
#include "run/quality.h"

#include "run/stacks.h"

void quality_add(struct quality *q, const struct stack *st, uint32_t n)
{
	q->samples += n;
	q->ends[st ? st->end : GN_END_NONE] += n;
	if (st && st->guessed)
		q->guessed += n;
	if (st && st->unnamed)
		q->unnamed += n;
}

void quality_write(struct quality *q, struct jfrw *out, uint64_t now)
{
	if (q->samples)
		jfrw_stack_quality(
			out, now,
			&(struct jfr_stack_quality){
				.period_ns = now - q->since_ns,
				.kind = q->kind,
				.samples = q->samples,
				.complete = q->ends[GN_END_COMPLETE] + q->ends[GN_END_CONT],
				.guessed = q->guessed,
				.truncated = q->ends[GN_END_DEPTH],
				.bad_address = q->ends[GN_END_BADADDR],
				.no_rule = q->ends[GN_END_NORULE] + q->ends[GN_END_FP],
				.failed = q->ends[GN_END_NONE],
				.unnamed = q->unnamed,
			});
	*q = (struct quality){.kind = q->kind, .since_ns = now};
}
