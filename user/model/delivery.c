/* SPDX-License-Identifier: Apache-2.0 */
#include "model/delivery.h"

#include <stddef.h>

#define WORDS (sizeof(struct delivery) / sizeof(uint64_t))

_Static_assert(sizeof(struct delivery) % sizeof(uint64_t) == 0, "it is copied by words");

const char *refusal_name(unsigned int r)
{
	static const char *const names[REFUSALS] = {
		[REFUSED_SERVER] = "server",
		[REFUSED_OLD] = "old",
		[REFUSED_NO_ROOM] = "no_room",
		[REFUSED_LARGE] = "large",
	};

	return r < REFUSALS ? names[r] : "";
}

void delivery_publish(struct delivery *shared, const struct delivery *d)
{
	const uint64_t *from = (const void *)d;
	uint64_t *to = (void *)shared;

	for (size_t i = 0; i < WORDS; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
}

void delivery_read(const struct delivery *shared, struct delivery *d)
{
	const uint64_t *from = (const void *)shared;
	uint64_t *to = (void *)d;

	for (size_t i = 0; i < WORDS; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	if (d->n > DELIVERY_MOST)
		d->n = DELIVERY_MOST;
	for (size_t i = 0; i < DELIVERY_MOST; i++)
		d->to[i].to[sizeof(d->to[i].to) - 1] = '\0';
}
