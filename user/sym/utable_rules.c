/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sym/utable_rules.h"

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
	if (!rs->rules || !rs->slots) {
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
	memset(rs, 0, sizeof(*rs));
}

uint32_t rule_set_add(struct rule_set *rs, const struct uw_rule *r)
{
	uint32_t i = rule_hash(r);

	for (; rs->slots[i]; i = (i + 1) & (SLOTS - 1))
		if (!memcmp(&rs->rules[rs->slots[i] - 1], r, sizeof(*r)))
			return rs->slots[i] - 1;
	if (rs->n == UW_MAX_RULES) {
		rs->refused++;
		return UW_RULE_NONE;
	}
	rs->rules[rs->n] = *r;
	rs->slots[i] = ++rs->n;
	return rs->n - 1;
}
