/* SPDX-License-Identifier: Apache-2.0 */
/* What a service tells whoever started it, as sd_notify(3) has it: a datagram to $NOTIFY_SOCKET. */
#ifndef GNOMON_RUN_NOTIFY_H
#define GNOMON_RUN_NOTIFY_H

/* What that takes is had from now on: for who later has no call for it (run/renounce.h). */
void notify_open(void);

/* Lines of NAME=VALUE, such as "READY=1". Nothing where nobody asked to be told. */
void notify(const char *lines);

#endif
