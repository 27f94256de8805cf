/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture's end of what naming asks (wire/ask.h), where that is a process of its own: a thread that
 * reads one ask after another, believes none of it (wire/scrutiny.h), does what is asked of
 * processes that are recorded, and answers. What is no ask at all ends the conversation.
 *
 * Where several name, each has a clerk, and nothing that one says is of use or harm to another one:
 * it may speak of its own processes, and the table of a file is found again by who made it. What
 * makes work for all (an epoch, new tables, the end of a chunk) it may say so often.
 */
#ifndef GNOMON_WIRE_CLERK_H
#define GNOMON_WIRE_CLERK_H

#include "base/bucket.h"
#include "wire/unwinder.h"

struct clerk;
struct desk;

/* What is asked besides the unwinder; on the clerk's thread. */
struct clerk_duties {
	void (*on_epoch)(void *ctx);
	void (*on_tables)(void *ctx);
	void (*on_chunk_end)(void *ctx, pid_t tgid);
	bool (*wants_thread)(void *ctx, pid_t tgid, pid_t tid, const char *name); /* may be NULL */
	void *ctx;
	/*
	 * What naming asks costs this process CPU time: of that it has so many ns at once and a
	 * second; `second` 0: 2 s at once, and a twentieth of a core from then on. Whoever asks for
	 * more waits for his answer, 5 s at most each time.
	 */
	struct bucket_size budget;
	/* Tells whether tables may be made for the process; from the clerk's thread, too. */
	bool (*is_recorded)(void *whose, pid_t tgid);
	/* Tells whether the process is, or was until it ended, one that is named there. NULL: all
	 * are. */
	bool (*is_ours)(void *whose, pid_t tgid);
	void *whose;
	/* with several clerks: where they wait for each other, and by whose word a file's table is
	 */
	struct desk *desk;
	uint32_t domain;
};

/* `fd`, one end of a stream socket, stays the caller's. 0 or -errno. */
int clerk_start(struct clerk **out, int fd, const struct unwinder *u, const struct clerk_duties *d);

/* Ends the conversation, and the thread. NULL is fine. */
void clerk_stop(struct clerk *c);

/* Tells how often an answer was put off, since naming had asked for more than its share. */
uint64_t clerk_slowed(const struct clerk *c);

/* Asks that were refused, since naming would not ask so. From any thread. */
uint64_t clerk_refused(const struct clerk *c);

/* Takes asks from `fd` until it ends: the thread's work, for fuzzers. What clerk_refused() says. */
uint64_t clerk_serve(int fd, const struct unwinder *u, const struct clerk_duties *d);

#endif
