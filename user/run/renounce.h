/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the session's process gives up, for good, when it has made all others: it owns the kernel
 * side and the files, and nothing that it does from then on takes another program, a look into
 * other processes, a socket to others or another view of the machine. gnomon-overhead(7) has the
 * capabilities and calls. What it has to know of processes of others it asks the broker.
 */
#ifndef GNOMON_RUN_RENOUNCE_H
#define GNOMON_RUN_RENOUNCE_H

#include <stdbool.h>

#include "base/error.h"

/*
 * While there is one thread, and with a broker; `answers`: who asks on a socket that it listens on
 * already is still let in, and directories may be handed on to a group. 0 or -errno.
 */
int renounce(bool answers, struct error *e);

#endif
