/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which system calls wait for a descriptor, which is their first argument, or (poll) for several.
 * Numbers: arch/x86/entry/syscalls/syscall_64.tbl; include/uapi/asm-generic/unistd.h (arm64).
 */
#ifndef GNOMON_CAUSE_CALLS_H
#define GNOMON_CAUSE_CALLS_H

#include "abi.h"

#if defined(__TARGET_ARCH_x86) || defined(__x86_64__)
#define GN_CALLS_READ                                                                              \
	case 0:	  /* read */                                                                       \
	case 17:  /* pread64 */                                                                    \
	case 19:  /* readv */                                                                      \
	case 45:  /* recvfrom */                                                                   \
	case 47:  /* recvmsg */                                                                    \
	case 295: /* preadv */                                                                     \
	case 299: /* recvmmsg */                                                                   \
	case 327  /* preadv2 */
#define GN_CALLS_WRITE                                                                             \
	case 1:	  /* write */                                                                      \
	case 18:  /* pwrite64 */                                                                   \
	case 20:  /* writev */                                                                     \
	case 40:  /* sendfile: where it goes */                                                    \
	case 44:  /* sendto */                                                                     \
	case 46:  /* sendmsg */                                                                    \
	case 296: /* pwritev */                                                                    \
	case 307: /* sendmmsg */                                                                   \
	case 328  /* pwritev2 */
#define GN_CALLS_ACCEPT                                                                            \
	case 43: /* accept */                                                                      \
	case 288 /* accept4 */
#define GN_CALLS_CONNECT case 42
#define GN_CALLS_EPOLL                                                                             \
	case 232: /* epoll_wait */                                                                 \
	case 281: /* epoll_pwait */                                                                \
	case 441  /* epoll_pwait2 */
#define GN_CALLS_POLL                                                                              \
	case 7:	 /* poll */                                                                        \
	case 271 /* ppoll */
#define GN_CALLS_SYNC                                                                              \
	case 74:	      /* fsync */                                                          \
	case 75:	      /* fdatasync */                                                      \
	case 77:	      /* ftruncate */                                                      \
	case 285	      /* fallocate */
#define GN_CALLS_LOCK case 73 /* flock */
#define GN_CALLS_FUTEX                                                                             \
	case 202: /* futex */                                                                      \
	case 219  /* restart_syscall: of a timed one after a signal */
#else
#define GN_CALLS_READ                                                                              \
	case 63:  /* read */                                                                       \
	case 65:  /* readv */                                                                      \
	case 67:  /* pread64 */                                                                    \
	case 69:  /* preadv */                                                                     \
	case 207: /* recvfrom */                                                                   \
	case 212: /* recvmsg */                                                                    \
	case 243: /* recvmmsg */                                                                   \
	case 286  /* preadv2 */
#define GN_CALLS_WRITE                                                                             \
	case 64:  /* write */                                                                      \
	case 66:  /* writev */                                                                     \
	case 68:  /* pwrite64 */                                                                   \
	case 70:  /* pwritev */                                                                    \
	case 71:  /* sendfile: where it goes */                                                    \
	case 206: /* sendto */                                                                     \
	case 211: /* sendmsg */                                                                    \
	case 269: /* sendmmsg */                                                                   \
	case 287  /* pwritev2 */
#define GN_CALLS_ACCEPT                                                                            \
	case 202: /* accept */                                                                     \
	case 242  /* accept4 */
#define GN_CALLS_CONNECT case 203
#define GN_CALLS_EPOLL                                                                             \
	case 22:	      /* epoll_pwait */                                                    \
	case 441	      /* epoll_pwait2 */
#define GN_CALLS_POLL case 73 /* ppoll */
#define GN_CALLS_SYNC                                                                              \
	case 46:	      /* ftruncate */                                                      \
	case 47:	      /* fallocate */                                                      \
	case 82:	      /* fsync */                                                          \
	case 83		      /* fdatasync */
#define GN_CALLS_LOCK case 32 /* flock */
#define GN_CALLS_FUTEX                                                                             \
	case 98: /* futex */                                                                       \
	case 128 /* restart_syscall */
#endif

/*
 * Tells what the call `nr` does with its descriptor; GN_OP_NONE: it waits for none. *several: it is
 * given a list of descriptors and their number (poll).
 */
static inline enum gn_cause_op gn_call_op(long nr, int *several)
{
	*several = 0;
	switch (nr) {
	GN_CALLS_READ:
		return GN_OP_READ;
	GN_CALLS_WRITE:
		return GN_OP_WRITE;
	GN_CALLS_ACCEPT:
		return GN_OP_ACCEPT;
	GN_CALLS_CONNECT:
		return GN_OP_CONNECT;
	GN_CALLS_POLL:
		*several = 1;
		return GN_OP_POLL;
	GN_CALLS_EPOLL:
		return GN_OP_POLL;
	GN_CALLS_SYNC:
		return GN_OP_SYNC;
	GN_CALLS_LOCK:
		return GN_OP_LOCK;
	default:
		return GN_OP_NONE;
	}
}

/* Tells whether the call `nr` waits for another thread of the process, as a JVM's threads do. */
static inline int gn_call_is_futex(long nr)
{
	switch (nr) {
	GN_CALLS_FUTEX:
		return 1;
	default:
		return 0;
	}
}

#endif
