/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stolen time and a CPU's clock. The host of a virtual machine gives a CPU to others for
 * milliseconds; who had it in the machine has not run meanwhile, and where the kernel counts stolen
 * time, it is in nobody's CPU time. But a clock that was due meanwhile fires when the CPU is back,
 * in that thread: on a host that steals 70% a thread would have three times the samples it is
 * worth. So what comes late there stands for nothing. Which times the clock is due at is learned
 * from its own firings: they are a period apart, and those that come in time agree.
 *
 * Plain C, for BPF and user space.
 */
#ifndef GNOMON_PUNCTUAL_H
#define GNOMON_PUNCTUAL_H

#include "abi.h"

#define GN_LATE_NS	50000	   /* beyond what a machine's own interrupts mostly take */
#define GN_STEALS_NS	1000000000 /* for so long a host is one that steals */
#define GN_AGREED_MAX	128	   /* firings that agree on when they are due: enough */
#define GN_AGREES_WORTH 16	   /* those that disagree have many ways to */

struct gn_punctual {
	__u64 due;    /* a time at which it was due; 0: none known */
	__u64 agreed; /* how many firings say so, by GN_AGREES_WORTH */
	__u64 stolen; /* the kernel's account of stolen time, at the last firing */
	__u64 until;  /* the host is one that steals */
	__u64 period; /* of that clock; another one is due at other times */
};

/* Tells how late a firing is at `now`, of a clock that is due each `period` ns; 0: in time, or not
 * known.
 */
static inline __u64 gn_firing_late(struct gn_punctual *p, __u64 now, __u64 period)
{
	__u64 since;

	if (!p->due || !p->agreed || p->period != period) {
		p->period = period;
		p->due = now;
		p->agreed = 1;
		return 0;
	}
	since = (now + GN_LATE_NS - p->due) % period;
	if (since < 2 * GN_LATE_NS) { /* their mean, in time */
		p->due = now - ((__s64)(since - GN_LATE_NS) * 7 >> 3);
		if (p->agreed < GN_AGREED_MAX)
			p->agreed += GN_AGREES_WORTH;
		return 0;
	}
	p->agreed--;
	return p->agreed < GN_AGREES_WORTH ? 0 : since - GN_LATE_NS;
}

/*
 * Is a firing at `now` of time that was stolen? `stolen` is the kernel's account of such time on
 * this CPU, which may not have the last of it yet.
 */
static inline int gn_firing_stolen(struct gn_punctual *p, __u64 now, __u64 period, __u64 stolen)
{
	__u64 late = gn_firing_late(p, now, period);

	if (stolen != p->stolen) {
		p->stolen = stolen;
		p->until = now + GN_STEALS_NS;
	}
	return late && now < p->until;
}

#endif
