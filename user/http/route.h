/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be asked, and the command of gnomon that answers: one row each. Pure. What a client
 * sends becomes the value of one option, or the JVM behind "--", and nothing else; whether it makes
 * sense the command says.
 *
 *	struct route_call call;
 *	int status = route_find("GET", "/dump", &call.route);	404 or 405: there is none
 *	... route_begin(), route_param() for each parameter, route_end() ...
 *	execv(gnomon, call.argv)
 */
#ifndef GNOMON_HTTP_ROUTE_H
#define GNOMON_HTTP_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define ROUTE_PARAMS	8   /* of one row, at most */
#define ROUTE_VALUE_MAX 255 /* bytes of a value */

struct route_param {
	const char *name;
	const char *option; /* "--last"; NULL: the JVM, an operand */
	bool needed;
	bool flag; /* the option has no value: the parameter's is yes, or no for without it */
};

struct route {
	const char *method; /* GET also serves HEAD */
	const char *path;
	const char *type; /* of what the command prints */
	const char *file; /* what a client may call it when it keeps it; NULL: nothing */
	/* what the command is about may be missing: 404; else it is the daemon: 503 */
	bool of_jvm;
	bool heavy; /* it reads recordings: few at a time */
	const char *command[6];
	struct route_param params[ROUTE_PARAMS];
};

struct route_call {
	const struct route *route;
	char text[ROUTE_PARAMS][ROUTE_VALUE_MAX + 32];
	const char *operand;
	/* command, socket, options, "--", operand */
	char *argv[6 + 2 + ROUTE_PARAMS + 2 + 1];
	int argc;
	unsigned int seen; /* which parameters came: bits */
};

/* 0, or the HTTP status that says why there is none. */
int route_find(const char *method, const char *path, const struct route **out);

/* `socket` where the daemon listens; it outlives the call. call->route is set. */
void route_begin(struct route_call *call, const struct route *route, const char *socket);

/*
 * One parameter, decoded; neither has to end with a 0. EXIT_USAGE: there is no such one, it came
 * before, or its value is none.
 */
int route_param(struct route_call *call, const char *name, size_t name_len, const char *value,
		size_t value_len, struct error *e);

/* No more. EXIT_USAGE: one is missing. argv ends with NULL then. */
int route_end(struct route_call *call, struct error *e);

/* The HTTP status of a command that printed nothing and ended so. */
int route_status(const struct route *route, int exit_code);

#endif
