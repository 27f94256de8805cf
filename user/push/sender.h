/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that sends, `gnomon-send` (user/send), which lies beside gnomon: started with a spool
 * and a destination, told to look, and listened to. It outlives nobody: when we end, it sends what
 * it may in the time it was given, and ends.
 */
#ifndef GNOMON_PUSH_SENDER_H
#define GNOMON_PUSH_SENDER_H

#include "base/bucket.h"
#include "base/buffer.h"
#include "base/error.h"
#include "spool/destination.h"
#include "spool/spool.h"

struct sender_counts {
	uint64_t sent, sent_bytes, sent_samples;
	uint64_t sent_ns; /* the requests' time, added up */
	uint64_t refused, refused_samples;
	uint64_t old, old_samples;
	uint64_t left, left_samples; /* known at its end */
	bool complete;		     /* it told its end: the above are all */
};

struct sender {
	pid_t pid;   /* 0: none, or ended */
	int in, out; /* -1 */
	struct buffer text;
	struct sender_counts counts;
	uint64_t tellings;
	struct bucket laters; /* how often it was said that something is not sent yet */
	char last[300];	      /* why the last one was refused, or is not sent yet */
	int status;	      /* the answer's, then; 0: there was none */
	bool quiet;	      /* nothing is said of it */
};

int sender_start(struct sender *s, const struct spool *spool, const struct destination *d,
		 struct error *e);

/* It asks for the URL of `d`, with d->get: `out` has what it answers (user/send/http.h). */
int sender_ask(struct sender *s, const struct destination *d, struct error *e);

/* There may be something new in the spool. Never waits. */
void sender_wake(struct sender *s);

/*
 * Takes what it tells, which changes the counts, and says on stderr what was refused. With `wait`
 * until there is something. False: it has ended.
 */
bool sender_listen(struct sender *s, bool wait);

/* Nothing more comes. It ends when it has sent all, or its time is over; sender_listen() tells. */
void sender_finish(struct sender *s);

/* At once, if it is still there. Then there is nothing left of it. Its exit code, or -1. */
int sender_end(struct sender *s);

#endif
