/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/doze.h"

#include <stdbool.h>

/* A tick at which threads were pending takes QUIET_LESS from what is needed: two a second do not
 * end it. */
#define QUIET	   100
#define QUIET_MAX  200
#define QUIET_LESS 50
#define DOZE_NS	   100000000ull

#define AWAKE_NS     1000000000ull
#define AWAKE_MAX_NS 60000000000ull

void doze_note(struct doze *d, enum doze_tick what, uint64_t n)
{
	switch (what) {
	case DOZE_QUIET:
		d->quiet = d->quiet + n < QUIET_MAX ? d->quiet + n : QUIET_MAX;
		break;
	case DOZE_PENDING:
		d->quiet -= d->quiet < QUIET_LESS ? d->quiet : QUIET_LESS;
		break;
	case DOZE_BUSY:
		d->quiet = 0;
		break;
	}
}

static void awake(struct doze *d, uint64_t now_ns)
{
	bool again = d->awake_ns && now_ns < d->until_ns + AWAKE_MAX_NS;

	d->awake_ns = again ? 2 * d->awake_ns : AWAKE_NS;
	if (d->awake_ns > AWAKE_MAX_NS)
		d->awake_ns = AWAKE_MAX_NS;
	d->until_ns = now_ns + d->awake_ns;
}

uint64_t doze_ticks(struct doze *d, uint64_t now_ns, uint64_t unseen, uint64_t interval_ns)
{
	if (unseen != d->unseen)
		awake(d, now_ns);
	d->unseen = unseen;
	if (d->quiet < QUIET || now_ns < d->until_ns || 2 * interval_ns > DOZE_NS)
		return 1;
	return DOZE_NS / interval_ns;
}
