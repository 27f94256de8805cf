/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/rules.h"

#define SLOTS (4 * UW_MAX_RULES) /* a power of two; never more than a quarter full */

static uint32_t rule_hash(const struct uw_rule *r)
{
	uint64_t w[3], h = 0;

	_Static_assert(sizeof(*r) == sizeof(w), "hashed as three words");
	memcpy(w, r, sizeof(w));
	for (int i = 0; i < 3; i++)
		h = uw_mix(h, w[i]);
	return h & (SLOTS - 1);
}

int rule_set_init(struct rule_set *rs)
{
	const struct uw_rule none = {.cfa = UW_CFA_NONE}, stop = {.cfa = UW_CFA_STOP};

	memset(rs, 0, sizeof(*rs));
	rs->rules = calloc(UW_MAX_RULES, sizeof(*rs->rules));
	rs->slots = calloc(SLOTS, sizeof(*rs->slots));
	rs->free = calloc(UW_MAX_RULES, sizeof(*rs->free));
	if (!rs->rules || !rs->slots || !rs->free) {
		rule_set_free(rs);
		return -ENOMEM;
	}
	rule_set_add(rs, &none);
	rule_set_add(rs, &stop);
	return 0;
}

void rule_set_free(struct rule_set *rs)
{
	free(rs->rules);
	free(rs->slots);
	free(rs->free);
	memset(rs, 0, sizeof(*rs));
}

uint32_t rule_set_add(struct rule_set *rs, const struct uw_rule *r)
{
	uint32_t i = rule_hash(r), id;

	for (; rs->slots[i]; i = (i + 1) & (SLOTS - 1))
		if (!memcmp(&rs->rules[rs->slots[i] - 1], r, sizeof(*r)))
			return rs->slots[i] - 1;
	if (rs->n == UW_MAX_RULES && !rs->nfree) {
		rs->refused++;
		return UW_RULE_NONE;
	}
	id = rs->nfree ? rs->free[--rs->nfree] : rs->n++;
	rs->rules[id] = *r;
	rs->slots[i] = id + 1;
	return id;
}

/* Entries that stand behind their own place, because others were there, move up into the hole. */
void rule_set_remove(struct rule_set *rs, uint32_t id)
{
	uint32_t hole = rule_hash(&rs->rules[id]), i;

	while (rs->slots[hole] != id + 1)
		hole = (hole + 1) & (SLOTS - 1);
	for (i = (hole + 1) & (SLOTS - 1); rs->slots[i]; i = (i + 1) & (SLOTS - 1)) {
		uint32_t own = rule_hash(&rs->rules[rs->slots[i] - 1]);

		if (((i - own) & (SLOTS - 1)) < ((i - hole) & (SLOTS - 1)))
			continue;
		rs->slots[hole] = rs->slots[i];
		hole = i;
	}
	rs->slots[hole] = 0;
	rs->free[rs->nfree++] = id;
}
