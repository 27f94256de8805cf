/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/doze.h"

#define LATELY 16 /* ticks: an older one counts 1/e */

void doze_note(struct doze *d, bool needed, uint64_t n)
{
	for (uint64_t i = 0; i < n && d->needed; i++)
		d->needed -= (d->needed + LATELY - 1) / LATELY;
	if (needed)
		d->needed += DOZE_WHOLE / LATELY;
}

bool doze_pays(const struct doze *d)
{
	return d->needed < DOZE_WHOLE / 2;
}
