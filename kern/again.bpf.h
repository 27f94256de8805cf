/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reading a thread once more in the interval it is in, since what was to be read of it was being
 * changed just then.
 */
#ifndef GNOMON_AGAIN_BPF_H
#define GNOMON_AGAIN_BPF_H

#include "abi.h"

#define AGAIN_MOST 16 /* in a row: a target that changes all the time costs no more */

static __always_inline bool again_is_due(const struct gn_again *a, __u32 seq)
{
	return a->seq == seq + 1;
}

/* It was looked at in the interval `seq`. */
static __always_inline void again_note(struct gn_again *a, __u32 seq, bool changing)
{
	a->seq = 0;
	if (!changing)
		a->times = 0;
	else if (a->times++ < AGAIN_MOST)
		a->seq = seq + 1;
}

#endif
