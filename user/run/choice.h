/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record --sample-threads N: of which threads wall samples are taken. Another N of each process's
 * threads are chosen some times a second (for a draw of ticks, kern/abi.h), and the recording
 * says of how many, so that what it shows can be scaled up.
 */
#ifndef GNOMON_RUN_CHOICE_H
#define GNOMON_RUN_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct capture;
struct choice;
struct recorder;

struct choice_config {
	uint32_t n; /* threads per process */
	uint64_t start_ns, wall_ns;
	uint32_t shift; /* choice_shift() */
	bool filtered;	/* only threads in the capture's filter are eligible */
	struct capture *capture;
	struct recorder *recorder;
};

/*
 * log2 of the ticks of a draw: at least 8 ticks, a quarter of a second and CHOICE_THREAD_NS for
 * each of the `threads` there are; less than twice the largest of these. The shorter, the more
 * draws; but at each the collector has to look for sleepers among all threads, and it comes by
 * every 100 ms.
 */
#define CHOICE_THREAD_NS 200000ull
uint32_t choice_shift(uint64_t wall_ns, uint64_t threads);

/*
 * The nth smallest of `count` hashes, which are put into another order: those at most as large are
 * chosen. UINT32_MAX where that is all of them. n > 0.
 */
uint32_t choice_limit(uint32_t *hashes, size_t count, size_t n);

int choice_open(struct choice **out, const struct choice_config *cfg, struct error *e);
void choice_close(struct choice *c);

/*
 * Choose for the next draws, if that has not been done, and for processes that are new. Before the
 * capture is attached, then ten times a second. True, once a draw: it is time to account
 * (capture_account), by which sleepers of the next draw get their stacks.
 */
bool choice_poll(struct choice *c, uint64_t now_ns);

#endif
