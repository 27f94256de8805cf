/* SPDX-License-Identifier: Apache-2.0 */
/* Who may ask. Pure but for access_token_read(). */
#ifndef GNOMON_HTTP_ACCESS_H
#define GNOMON_HTTP_ACCESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/error.h"

#define ACCESS_TOKEN_MIN 16
#define ACCESS_TOKEN_MAX 256

struct access_rule {
	char token[ACCESS_TOKEN_MAX + 1]; /* "": none */
};

/* What a request says of who asks; each may be NULL. */
struct access_claim {
	const struct sockaddr *from;
	const char *authorization, *host, *origin;
	bool changes; /* it asks for more than to be told something */
};

/*
 * 0, or the HTTP status that refuses it. With a token whoever has it may ask, and nobody else.
 * Without, who comes from this machine may, but not for a page of somewhere else that is open in a
 * browser here: neither under a name of its own for this machine, nor to change anything.
 */
int access_check(const struct access_rule *rule, const struct access_claim *claim);

bool access_is_loopback(const struct sockaddr *a);

/*
 * The first line of a file that nobody but its owner and perhaps its group may read, and the owner
 * alone write. EXIT_USAGE.
 */
int access_token_read(struct access_rule *rule, const char *path, struct error *e);

#endif
