/* SPDX-License-Identifier: Apache-2.0 */
#include "send/retry.h"

#define SECOND_NS    1000000000ull
#define WAIT_MOST_S  30
#define AFTER_MOST_S 300

enum verdict answer_verdict(const struct answer *a)
{
	if (a->status >= 200 && a->status < 300)
		return a->is_page ? VERDICT_REFUSED : VERDICT_SENT;
	if (!a->status || a->status == 408 || a->status == 429 || a->status >= 500)
		return VERDICT_LATER;
	return VERDICT_REFUSED;
}

uint64_t retry_wait_ns(unsigned int failures, uint64_t retry_after_ns, uint64_t random)
{
	uint64_t most = failures > 5 ? WAIT_MOST_S : 1ull << failures, wait;

	if (most > WAIT_MOST_S)
		most = WAIT_MOST_S;
	wait = SECOND_NS + random % ((most - 1) * SECOND_NS + 1);
	if (retry_after_ns > AFTER_MOST_S * SECOND_NS)
		retry_after_ns = AFTER_MOST_S * SECOND_NS;
	return wait > retry_after_ns ? wait : retry_after_ns;
}
