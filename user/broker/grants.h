/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes of ours may ask about which of others: a table in memory that those who are asked
 * (broker/workers.h, jvm/attacher.h) share with the session, and that those who ask give up before
 * they read the first byte of a target. Who is not bound may ask about all. The session alone
 * writes; numbers of processes are as this process has them.
 */
#ifndef GNOMON_BROKER_GRANTS_H
#define GNOMON_BROKER_GRANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GRANTS_MAX 8192 /* of all askers together */
#define GRANTS_ANY UINT32_MAX

/* To be called before any process that shares it is made. 0 or -ENOMEM. */
int grants_open(void);
void grants_close(void); /* also of a copy, in a process that is not to have it */

/*
 * Limits the asker to itself and to what it is given from now on: processes, as long as all their
 * ids are that user's (GRANTS_ANY: whoever's they are), since who runs a program with another one's
 * rights does not come to read what that has in memory. 0; -ENOSPC; -EINVAL: no process's number.
 * Without a table they do nothing, and return 0.
 */
int grants_bind(pid_t asker);
int grants_give(pid_t asker, pid_t pid, uint32_t uid);
void grants_take(pid_t asker, pid_t pid);
void grants_unbind(pid_t asker); /* it has ended */

/*
 * For who is asked: whether the asker is limited, and whether it may ask about `pid`. Asker 0, of
 * whom the kernel does not say which process it is, may ask about nothing. Without a table nobody
 * is limited.
 */
bool grants_is_bound(pid_t asker);
bool grants_has(pid_t asker, pid_t pid);

/* For who is limited: whose the process has to be. */
uint32_t grants_uid(pid_t asker, pid_t pid);

/* Has the kernel say who sent each message that comes from the socket (base/fdmsg.h). 0 or -errno.
 */
int grants_listen(int socket);

#endif
