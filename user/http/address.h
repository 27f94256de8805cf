/* SPDX-License-Identifier: Apache-2.0 */
/* "127.0.0.1:9466", "[::1]:9466": an address of this machine, in numbers, and a port. */
#ifndef GNOMON_HTTP_ADDRESS_H
#define GNOMON_HTTP_ADDRESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"

#define ADDRESS_TEXT 64

/* EXIT_USAGE: it is none. Port 0: any that is free. */
int address_read(struct sockaddr_storage *to, const char *text, struct error *e);

/* The same with that port, which a browser takes behind "http://". */
void address_text(const struct sockaddr_storage *a, uint16_t port, char to[ADDRESS_TEXT]);

#endif
