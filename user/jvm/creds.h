/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Act as the target's user for a moment: files are then created as its own, and its attach
 * listener, which compares the peer's effective ids with its own, accepts us (os::Posix::
 * matches_effective_uid_and_gid_or_root, JDK 11+; JDK 8 takes no root). In a user namespace host
 * root is nobody, so the ids must be the target's anyway.
 *
 * Only the effective ids and groups of the calling thread change (raw system calls; the C library's
 * would change all threads). The real and saved ids stay, so the target's user can neither signal
 * nor trace us meanwhile.
 */
#ifndef GNOMON_JVM_CREDS_H
#define GNOMON_JVM_CREDS_H

#include <stdbool.h>
#include <sys/types.h>

#define CREDS_GROUPS 64

struct creds {
	uid_t uid;
	gid_t gid;
	gid_t groups[CREDS_GROUPS];
	int ngroups; /* -1: not touched */
	bool changed;
};

/* 0, or -EPERM without CAP_SETUID and CAP_SETGID (then nothing has changed). */
int creds_assume(struct creds *old, uid_t uid, gid_t gid);

/* Aborts where the old ids cannot be had back: going on as somebody else is worse. */
void creds_restore(const struct creds *old);

#endif
