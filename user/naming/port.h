/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Naming's end of what it asks of capture (wire/ask.h), where it is a process of its own. Each call
 * waits for capture's answer; when the other end is closed all of them fail with -EPIPE.
 */
#ifndef GNOMON_NAMING_PORT_H
#define GNOMON_NAMING_PORT_H

#include "naming/env.h"

struct unwinder;
struct port;

struct port *port_new(int fd); /* it stays the caller's; NULL: no memory */

const struct unwinder *port_unwinder(const struct port *p);

/* Has what naming says to the session go by the port. */
void port_config(struct port *p, struct target_config *cfg);

#endif
