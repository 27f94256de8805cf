/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dictionary of unwind rules: equal rules have one number. Numbers UW_RULE_NONE and UW_RULE_STOP
 * are there from the start.
 */
#ifndef GNOMON_WIRE_RULES_H
#define GNOMON_WIRE_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "kern/unwind.h"

struct rule_set {
	struct uw_rule *rules; /* UW_MAX_RULES of them */
	uint16_t *slots;       /* hash: number + 1, 0 free */
	uint16_t *free;	       /* numbers given back */
	uint32_t n, nfree;     /* numbers given out ever, and of them free again */
	uint32_t refused;      /* rules that found the dictionary full */
};

int rule_set_init(struct rule_set *rs); /* 0 or -ENOMEM */
void rule_set_free(struct rule_set *rs);

/* The rule's number, added if new; UW_RULE_NONE when the dictionary is full. */
uint32_t rule_set_add(struct rule_set *rs, const struct uw_rule *r);

/* Take out a number that rule_set_add() gave: it may be given to another rule. Not those fixed. */
void rule_set_remove(struct rule_set *rs, uint32_t id);

#endif
