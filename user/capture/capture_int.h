/* SPDX-License-Identifier: Apache-2.0 */
/* What the files capture*.c share. Not for others. */
#ifndef GNOMON_CAPTURE_CAPTURE_INT_H
#define GNOMON_CAPTURE_CAPTURE_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include <bpf/libbpf.h>

#include "base/buffer.h"
#include "capture/capture.h"
#include "capture/kerneltypes.h"
#include "capture/programs.h"
#include "gnomon.skel.h"

struct capture {
	struct gnomon *skel; /* has the maps and the small programs */
	struct programs *programs;
	int types_fd; /* the kernel's types in a file, at the path `types`; or -errno */
	char types[KERNELTYPES_PATH];
	struct rings *rings;
	int ncpu;
	uint64_t *per_cpu; /* room for a value of each CPU */
	bool can_switch;
	bool can_find;		  /* tasks by their pid, in a program that may sleep */
	bool can_visit;		  /* who rests is read by others of its process */
	bool can_pick;		  /* iterators over one process */
	bool can_lock;		  /* whose locks are is told */
	bool looks;		  /* at why threads are queued, at ticks */
	uint32_t spent;		  /* ticks to be visited since a group has used up its CPU time */
	bool locked;		  /* at the last one threads waited for locks */
	struct ring_buffer *bell; /* NULL: ticks are never left out */
	bool wakes;		  /* who wakes threads is told */
	struct peers *peers;	  /* NULL: whose connections' other ends are is not told */
	uint64_t peers_ns;	  /* before which they are not looked for again */
	bool rates;
	bool scanning;		    /* wall samples by scans (written by the tick thread) */
	pthread_mutex_t accounting; /* held while an accounting goes on */
	struct bpf_link *slices;    /* of an accounting in slices; NULL: none is on */
	int slices_fd;
	uint64_t slices_left; /* threads of it for whose records the rings were too full */
	pid_t *tgids;	      /* processes added; only the draining thread changes them */
	size_t ntgids;
	pthread_mutex_t lock; /* held while tgids or `found` change, and while they are copied */
	_Atomic uint64_t changes; /* counts the changes of tgids */
	struct buffer found;	  /* records of threads (GN_REC_FOUND) that are not told yet */
	_Atomic uint64_t scans;	  /* capture_scan()'s, begun so far */
	uint64_t scanned;	  /* the last one of them that is over */
	pid_t *ticks_tgids;	  /* the tick thread's copy */
	size_t nticks_tgids;
	uint64_t ticks_changes; /* the count of changes when it was copied */
	bool stopped;
	_Atomic int crowded; /* 1 + the CPU whose ring was too small for an accounting, or 0 */
	/* losses that are of no known thread, as they were told last */
	uint64_t unplaced[GN_LOSS_MAX];
	_Atomic bool remote_due; /* threads were found that have no stack yet */
	_Atomic bool reread_due; /* some thread's stack may be read better now */
	_Atomic bool relist_due; /* sleepers' lists of frames are to be sent again */
	_Atomic uint32_t late;	 /* CAPTURE_LATE_*: threads that were met late */
	uint64_t late_ns;	 /* when all were last read for such */
	bool resting;		 /* threads that rest are queued to be read, */
	uint32_t rereading;	 /* among them some that have a stack: gn_reread */
	bool unsent;		 /* lists of frames have been lost since losses were told last */
	bool unstored;		 /* threads got no storage since then */
	uint64_t stored_ns;	 /* when those were looked for last */
	uint64_t waiters;	 /* gn_lock_waiters at the last capture_tick_look() */
	uint64_t near_ns;	 /* for which others are waited for, as of near_since */
	uint64_t near_since, near_switches;
	uint32_t late_ticks;	   /* so many were visited late */
	_Atomic bool near_wanted;  /* the program by which others read who rests */
	_Atomic bool near_there;   /* and it is loaded */
	uint64_t near_next;	   /* before which it is not asked for again */
	uint64_t pending[2];	   /* gn_pending, as the last visit of each parity saw it */
	void (*sooner)(void *ctx); /* NULL: nobody wants to know */
	void *sooner_ctx;
};

/* Has the program loaded by which others read who rests, if that is wanted. From one thread. */
void capture_near_load(struct capture *c);

/* The skeleton that has that part's programs: the one they were loaded with. */
static inline struct gnomon *capture_part(const struct capture *c, enum programs_part part)
{
	return programs_of(c->programs, part);
}

/* Tells whether the recording begins with the programs of that part. */
bool capture_needs(const struct capture *c, enum programs_part part);

/*
 * Runs an iterator over the tasks of these processes. Its program leaves out those of others where
 * the kernel can only iterate over all. 0 or -errno.
 */
int capture_iterate(const struct capture *c, struct bpf_program *prog, const pid_t *tgids,
		    size_t n);

/*
 * Makes the tick thread's copy of tgids. It waits for nobody: while the draining thread changes
 * them, it keeps the copy of the tick before.
 */
void capture_ticks_follow(struct capture *c);

/* Reads some of the threads that rest since before the recording. 0 or -errno. */
int capture_resting_begin(struct capture *c);

/* Ends an accounting in slices, should one go on. */
void capture_slices_end(struct capture *c);

/* All is accounted for, while another thread drains; what does not fit in the end is lost, and
 * counted. */
int capture_account_all(struct capture *c);

#endif
