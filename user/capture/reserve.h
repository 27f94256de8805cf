/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two descriptors that are kept for looks at the threads there are: where a recording may have just
 * as many open files as it needs, others of ours take the last, and threads that sleep would not be
 * accounted for.
 */
#ifndef GNOMON_CAPTURE_RESERVE_H
#define GNOMON_CAPTURE_RESERVE_H

/* From any thread, which waits for no other. Takes what is missing of them: 0, or -EMFILE and the
 * like. */
int reserve_fill(void);

/* Gives them up: the caller opens what it needs at once, and fills them again when it is closed. */
void reserve_spend(void);

#endif
