/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages with descriptors over a Unix socket that keeps messages apart, and who sent them
 * (unix(7), SCM_RIGHTS and SCM_CREDENTIALS).
 */
#ifndef GNOMON_BASE_FDMSG_H
#define GNOMON_BASE_FDMSG_H

#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#define FDMSG_FDS 8

/* What came with a message. */
struct fdmsg {
	int fds[FDMSG_FDS]; /* close-on-exec; the receiver's to close */
	size_t n;
	pid_t sender; /* as the kernel says it, to who asked for it (SO_PASSCRED); else 0 */
};

/* At most FDMSG_FDS of them. `flags` as of sendmsg(). 0 or -errno. */
int fdmsg_send(int to, const struct iovec *v, size_t nv, const int *fds, size_t nfds, int flags);

/*
 * The length, or -errno; -EPIPE: nobody sends any more. An empty message, which anybody may send
 * who has the other end, is 0. `flags` as of recvmsg(). More descriptors than there is room for are
 * closed. Without a length there are none.
 */
ssize_t fdmsg_take(int from, const struct iovec *v, size_t nv, struct fdmsg *with, int flags);

/* Closes those from `first` on. */
void fdmsg_close(struct fdmsg *with, size_t first);

/* The only one; -1: it has not exactly one, and those it has are closed. */
int fdmsg_only(struct fdmsg *with);

#endif
