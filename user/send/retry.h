/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer means for its payload, and how long to wait before the next try. */
#ifndef GNOMON_SEND_RETRY_H
#define GNOMON_SEND_RETRY_H

#include <stdbool.h>
#include <stdint.h>

struct answer {
	int status;		 /* of HTTP; 0: none came */
	uint64_t retry_after_ns; /* as the server asked, 0 not */
	bool is_page;		 /* for people: no server of profiles answers so */
	char words[256];	 /* the server's, or what went wrong; printable */
};

enum verdict {
	VERDICT_SENT,
	VERDICT_LATER,	 /* no answer, 408, 429, 5xx */
	VERDICT_REFUSED, /* any other: it would be refused again; or a page in place of an answer */
};

enum verdict answer_verdict(const struct answer *a);

/*
 * Tells how long to wait after `failures` in a row (1, 2, ...): a random time from 1 s to a bound
 * that doubles from 2 s to 30 s, so that many senders do not come back at once. What the server
 * asked for is waited for, five minutes at most. `random`: any number.
 */
uint64_t retry_wait_ns(unsigned int failures, uint64_t retry_after_ns, uint64_t random);

/*
 * How often one payload is tried, counting only failures since which the server has taken another
 * one: a server that takes nothing says nothing about this payload, and one that takes the others
 * will not take it.
 */
#define RETRY_MOST 5

#endif
