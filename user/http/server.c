/* SPDX-License-Identifier: Apache-2.0 */
#include "http/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "http/child.h"
#include "http/clients.h"
#include "http/route.h"

#define HEAD_MAX_BYTES 16384 /* of a request: line and headers */
#define IDLE_S	       10    /* a connection on which nothing moves, before the answer */
#define SLOW_S	       60    /* and while it is being sent */
#define BLOCK_BYTES    65536
#define FIRST_S	       180 /* until a command prints something */
#define LIGHT_AT_ONCE  8
#define HEAVY_AT_ONCE  2

/* What a page of ours needs, so that nothing in a name can do more. */
#define POLICY                                                                                     \
	"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "              \
	"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

struct server {
	struct server_config cfg;
	struct MHD_Daemon *http;
	struct clients *clients;
	sem_t light, heavy; /* how many more runs may begin */
};

/* One run of gnomon, and what of it is on its way. */
struct run {
	struct server *server;
	const struct route *route;
	struct child child;
	int client;
	uint64_t until_ns;
	size_t len, at; /* of what was read before the answer began */
	char first[BLOCK_BYTES];
};

/* ---- answers --------------------------------------------------------------------------------- */

static enum MHD_Result answer(struct MHD_Connection *c, unsigned int status, struct MHD_Response *r,
			      const char *type)
{
	enum MHD_Result rc;

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "Content-Type", type);
	MHD_add_response_header(r, "Content-Security-Policy", POLICY);
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Cache-Control", "no-store");
	MHD_add_response_header(r, "Connection", "close");
	if (status == 401)
		MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
	if (status == 503)
		MHD_add_response_header(r, "Retry-After", "5");
	rc = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return rc;
}

static enum MHD_Result say(struct MHD_Connection *c, unsigned int status, const char *words)
{
	return answer(c, status,
		      MHD_create_response_from_buffer(strlen(words), (void *)words,
						      MHD_RESPMEM_MUST_COPY),
		      "text/plain; charset=utf-8");
}

static enum MHD_Result say_error(struct MHD_Connection *c, unsigned int status,
				 const struct error *e)
{
	char text[sizeof(e->msg) + sizeof(e->hint) + 32];

	snprintf(text, sizeof(text), "gnomon-http: %s\n%s%s%s", e->msg, e->hint[0] ? "  " : "",
		 e->hint, e->hint[0] ? "\n" : "");
	return say(c, status, text);
}

static enum MHD_Result say_refused(struct MHD_Connection *c, int status)
{
	switch (status) {
	case 401:
		return say(c, 401, "gnomon-http: the token is missing or another one\n");
	case 403:
		return say(c, 403,
			   "gnomon-http: not from there: without a token only this machine "
			   "may ask, by a name of its own\n");
	case 405:
		return say(c, 405,
			   "gnomon-http: /start, /stop and /set want POST, the others GET\n");
	default:
		return say(c, 404,
			   "gnomon-http: GET /status /jvms /metrics /dump /flame, POST "
			   "/start /stop /set\n");
	}
}

/* ---- a run ----------------------------------------------------------------------------------- */

static sem_t *room_of(struct run *r)
{
	return r->route->heavy ? &r->server->heavy : &r->server->light;
}

static void run_free(void *arg)
{
	struct run *r = arg;

	child_end(&r->child, true, NULL, 0);
	sem_post(room_of(r));
	free(r);
}

/* libmicrohttpd asks for more. An end that is none is one for the client, too. */
static ssize_t run_read(void *arg, uint64_t pos, char *to, size_t max)
{
	struct run *r = arg;
	size_t n = r->len - r->at;
	ssize_t got;

	if (n) {
		n = n < max ? n : max;
		memcpy(to, r->first + r->at, n);
		r->at += n;
		return (ssize_t)n;
	}
	got = child_read(&r->child, r->client, r->until_ns, to, max);
	if (got > 0)
		return got;
	if (!got && !child_end(&r->child, false, NULL, 0))
		return MHD_CONTENT_READER_END_OF_STREAM;
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

static enum MHD_Result run_tell(struct MHD_Connection *c, struct run *r)
{
	struct MHD_Response *response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, BLOCK_BYTES, run_read, r, run_free);
	char name[96];

	if (!response) {
		run_free(r);
		return MHD_NO;
	}
	if (r->route->file) {
		snprintf(name, sizeof(name), "attachment; filename=\"%s\"", r->route->file);
		MHD_add_response_header(response, "Content-Disposition", name);
	}
	return answer(c, 200, response, r->route->type);
}

/* It printed nothing: what it said instead, by its exit code. */
static enum MHD_Result run_explain(struct MHD_Connection *c, struct run *r, ssize_t why)
{
	char words[1024] = "";
	int code = child_end(&r->child, why < 0, words, sizeof(words));
	int status = code < 0 ? 504 : route_status(r->route, code);

	run_free(r);
	if (why == -EPIPE)
		return MHD_NO;
	if (status == 504)
		return say(c, 504,
			   "gnomon-http: that takes too long; ask for less time, or for "
			   "one JVM\n");
	return say(c, (unsigned int)status, words);
}

static int client_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);

	return i ? i->connect_fd : -1;
}

static struct client *guest_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return i ? i->socket_context : NULL;
}

static enum MHD_Result run(struct server *s, struct MHD_Connection *c, struct route_call *call)
{
	struct run *r = calloc(1, sizeof(*r));
	ssize_t n;

	if (!r)
		return MHD_NO;
	r->server = s;
	r->route = call->route;
	r->client = client_of(c);
	r->until_ns = now_ns() + FIRST_S * 1000000000ull;
	if (sem_trywait(room_of(r))) {
		free(r);
		return say(c, 503, "gnomon-http: too many are being answered; try again\n");
	}
	n = child_start(&r->child, s->cfg.program, call->argv);
	if (n) {
		run_free(r);
		return say(c, 500, "gnomon-http: cannot run gnomon\n");
	}
	/* the time that it takes is not the client's: its own begins behind it */
	MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
	n = child_read(&r->child, r->client, r->until_ns, r->first, sizeof(r->first));
	MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, (unsigned int)SLOW_S);
	if (n <= 0)
		return run_explain(c, r, n);
	r->len = (size_t)n;
	r->until_ns = now_ns() + CLIENTS_ANSWER_S * 1000000000ull;
	return run_tell(c, r);
}

/* ---- a request ------------------------------------------------------------------------------- */

static int refused(struct server *s, struct MHD_Connection *c, const char *method)
{
	const union MHD_ConnectionInfo *from =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct access_claim claim = {
		.from = from ? from->client_addr : NULL,
		.authorization = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization"),
		.host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host"),
		.origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin"),
		.changes = strcmp(method, "GET") && strcmp(method, "HEAD"),
	};

	return access_check(&s->cfg.access, &claim);
}

static bool has_body(struct MHD_Connection *c)
{
	const char *length = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length");

	return (length && strcmp(length, "0")) ||
	       MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Transfer-Encoding");
}

struct params {
	struct route_call *call;
	struct error e;
};

static enum MHD_Result on_param(void *ctx, enum MHD_ValueKind kind, const char *name,
				size_t name_len, const char *value, size_t value_len)
{
	struct params *p = ctx;

	return route_param(p->call, name, name_len, value ? value : "", value ? value_len : 0,
			   &p->e)
		       ? MHD_NO
		       : MHD_YES;
}

static enum MHD_Result request(struct server *s, struct MHD_Connection *c,
			       const struct route *route)
{
	struct route_call call;
	struct params p = {.call = &call};

	route_begin(&call, route, s->cfg.socket);
	MHD_get_connection_values_n(c, MHD_GET_ARGUMENT_KIND, on_param, &p);
	if (p.e.exit || route_end(&call, &p.e))
		return say_error(c, 400, &p.e);
	return run(s, c, &call);
}

/* Called with the head first, of which it says the most at once, and again when all is there. */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **state)
{
	struct server *s = ctx;
	struct client *guest = guest_of(c);
	const struct route *route = NULL;
	int status;

	if (!guest)
		return MHD_NO;
	status = refused(s, c, method);
	if (!status)
		status = route_find(method, url, &route);
	if (status)
		return say_refused(c, status);
	if (has_body(c))
		return say(c, 413,
			   "gnomon-http: parameters go behind the path: POST "
			   "/start?jvm=4711\n");
	if (!*state) {
		*state = s; /* the head was looked at */
		clients_asked(s->clients, guest);
		return MHD_YES;
	}
	return request(s, c, route);
}

static void on_connection(void *ctx, struct MHD_Connection *c, void **state,
			  enum MHD_ConnectionNotificationCode what)
{
	struct server *s = ctx;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*state = clients_add(s->clients, client_of(c));
	} else {
		clients_remove(s->clients, *state);
		*state = NULL;
	}
}

/* ---- the whole ------------------------------------------------------------------------------- */

static struct MHD_Daemon *http_start(struct server *s)
{
	unsigned int flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
			     MHD_USE_POLL | MHD_USE_ITC;

	if (s->cfg.listen.ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	return MHD_start_daemon(flags, 0, NULL, NULL, on_request, s, MHD_OPTION_SOCK_ADDR,
				&s->cfg.listen, MHD_OPTION_CONNECTION_LIMIT,
				(unsigned int)CLIENTS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
				(unsigned int)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				(size_t)HEAD_MAX_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1,
				MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_END);
}

static void server_free(struct server *s)
{
	clients_free(s->clients);
	sem_destroy(&s->light);
	sem_destroy(&s->heavy);
	free(s);
}

int server_start(struct server **out, const struct server_config *cfg, struct error *e)
{
	struct server *s = calloc(1, sizeof(*s));

	if (!s)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	s->cfg = *cfg;
	sem_init(&s->light, 0, LIGHT_AT_ONCE);
	sem_init(&s->heavy, 0, HEAVY_AT_ONCE);
	s->clients = clients_new();
	errno = 0;
	s->http = s->clients ? http_start(s) : NULL;
	if (!s->http) {
		int err = errno ? errno : ENOMEM;

		server_free(s);
		return error_set(e, -err, EXIT_OUTPUT, "cannot listen there: %s", strerror(err));
	}
	*out = s;
	return 0;
}

uint16_t server_port(const struct server *s)
{
	const union MHD_DaemonInfo *i = MHD_get_daemon_info(s->http, MHD_DAEMON_INFO_BIND_PORT);

	return i ? i->port : 0;
}

void server_stop(struct server *s)
{
	MHD_stop_daemon(s->http);
	server_free(s);
}
