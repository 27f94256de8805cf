/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP by libmicrohttpd, a thread for each connection: who may ask (http/access.h), what
 * (http/route.h), and the run of gnomon that answers (http/child.h). What clients can hold up is
 * bounded: so many connections, so long a head, so much time, so many runs at once.
 */
#ifndef GNOMON_HTTP_SERVER_H
#define GNOMON_HTTP_SERVER_H

#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"
#include "http/access.h"

struct server;

struct server_config {
	struct sockaddr_storage listen;
	struct access_rule access;
	const char *program; /* gnomon */
	const char *socket;  /* where the daemon listens */
};

/* EXIT_OUTPUT: it cannot listen there. cfg's strings outlive the server. */
int server_start(struct server **out, const struct server_config *cfg, struct error *e);
uint16_t server_port(const struct server *s);
void server_stop(struct server *s); /* cuts off who is being answered */

#endif
