/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/causes.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <uthash.h>

#include "base/utf8.h"

#define CAUSES_MAX  16384
#define PENDING_MAX 4096

/* Ports that a system gives to who asks for none (net.ipv4.ip_local_port_range's usual first). */
#define PORT_EPHEMERAL 32768

/* ---- words ---- */

static const char *operation_word(unsigned int op)
{
	static const char *const words[GN_OP_MAX] = {
		[GN_OP_NONE] = "wait",	   [GN_OP_READ] = "read",	[GN_OP_WRITE] = "write",
		[GN_OP_ACCEPT] = "accept", [GN_OP_CONNECT] = "connect", [GN_OP_POLL] = "poll",
		[GN_OP_SYNC] = "sync",	   [GN_OP_LOCK] = "lock",
	};

	return op < GN_OP_MAX ? words[op] : words[GN_OP_NONE];
}

static const char *inet_kind(const struct gn_cause *c)
{
	if (c->protocol == IPPROTO_TCP)
		return "TCP";
	return c->protocol == IPPROTO_UDP ? "UDP" : "IP";
}

/* An IPv4 address in an IPv6 socket is one of IPv4: true. */
static bool address_text(const struct gn_cause *c, const uint8_t addr[16], char *to, size_t size)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	bool v4 = c->family == AF_INET || !memcmp(addr, mapped, sizeof(mapped));

	snprintf(to, size, "?");
	inet_ntop(v4 ? AF_INET : AF_INET6, c->family == AF_INET || !v4 ? addr : addr + 12, to,
		  (socklen_t)size);
	return v4;
}

/* "10.0.0.7:5432", "[fe80::1]:80" */
static void address_print(const struct gn_cause *c, const uint8_t addr[16], unsigned int port,
			  char *to, size_t size)
{
	char text[INET6_ADDRSTRLEN];
	bool v4 = address_text(c, addr, text, sizeof(text));

	snprintf(to, size, v4 ? "%s:%u" : "[%s]:%u", text, port);
}

/*
 * Who is waited for: the peer of a connection. Of connections that others made to a port of ours
 * there may be thousands, of as many ports; they are one cause, and the peer is a detail.
 */
static void inet_words(const struct gn_cause *c, struct cause_words *w)
{
	char peer[64], local[64];

	address_print(c, c->peer, c->peer_port, peer, sizeof(peer));
	address_print(c, c->local, c->local_port, local, sizeof(local));
	w->kind = inet_kind(c);
	if (c->listens || !c->peer_port) {
		snprintf(w->cause, sizeof(w->cause), c->listens ? "clients of :%u" : "any to :%u",
			 c->local_port);
		return;
	}
	if (c->peer_port >= PORT_EPHEMERAL && c->local_port < PORT_EPHEMERAL)
		snprintf(w->cause, sizeof(w->cause), "clients of :%u", c->local_port);
	else
		snprintf(w->cause, sizeof(w->cause), "%s", peer);
	snprintf(w->detail, sizeof(w->detail), "%s, peer %s", local, peer);
}

/* An abstract address begins with a null byte, which is written as ss(8) does. */
static void unix_words(const struct gn_cause_rec *r, struct cause_words *w)
{
	size_t len = r->len < 108 ? r->len : 108;

	w->kind = "Unix socket";
	if (!len)
		snprintf(w->cause, sizeof(w->cause), "unnamed, inode %llu",
			 (unsigned long long)r->of.ino);
	else if (r->path[0])
		snprintf(w->cause, sizeof(w->cause), "%.*s", (int)strnlen(r->path, len), r->path);
	else
		snprintf(w->cause, sizeof(w->cause), "@%.*s", (int)strnlen(r->path + 1, len - 1),
			 r->path + 1);
}

/* Names come from the last one on. */
static void path_print(const struct gn_cause_rec *r, char *to, size_t size)
{
	size_t end = r->len < GN_CAUSE_PATH ? r->len : GN_CAUSE_PATH, n = 0;

	if (!r->whole)
		n = (size_t)snprintf(to, size, "...");
	while (end) {
		size_t from = end - 1; /* at a name's terminator */

		while (from && r->path[from - 1])
			from--;
		n += (size_t)snprintf(to + n, size - n, "/%.*s", (int)(end - 1 - from),
				      r->path + from);
		if (n >= size)
			return;
		end = from;
	}
	if (!n)
		snprintf(to, size, "/");
}

static void file_words(const struct gn_cause_rec *r, struct cause_words *w)
{
	w->kind = "file";
	path_print(r, w->cause, sizeof(w->cause));
	snprintf(w->detail, sizeof(w->detail), "%.*s, device %u:%u", (int)sizeof(r->fs), r->fs,
		 r->of.dev >> 20, r->of.dev & 0xfffff);
}

/* What has no file system: the kernel's name for it is "[eventpoll]". */
static void anon_words(const struct gn_cause_rec *r, struct cause_words *w)
{
	size_t len = r->len < GN_CAUSE_NAME ? r->len : GN_CAUSE_NAME;

	w->kind = "kernel object";
	if (len == strlen("[eventpoll]") && !memcmp(r->path, "[eventpoll]", len))
		w->kind = "epoll";
	snprintf(w->cause, sizeof(w->cause), "%.*s", len ? (int)strnlen(r->path, len) : 3,
		 len ? r->path : "[?]");
}

void cause_words(const struct gn_cause_rec *rec, struct cause_words *w)
{
	unsigned long long ino = rec->of.ino;

	memset(w, 0, sizeof(*w));
	w->operation = operation_word(rec->of.op);
	switch (rec->of.kind) {
	case GN_CAUSE_INET:
		inet_words(&rec->of, w);
		break;
	case GN_CAUSE_UNIX:
		unix_words(rec, w);
		break;
	case GN_CAUSE_PIPE:
		w->kind = "pipe";
		snprintf(w->cause, sizeof(w->cause), "pipe:[%llu]", ino);
		break;
	case GN_CAUSE_FILE:
		file_words(rec, w);
		break;
	case GN_CAUSE_ANON:
		anon_words(rec, w);
		break;
	case GN_CAUSE_POLL:
		w->kind = "poll";
		snprintf(w->cause, sizeof(w->cause), "%llu descriptors",
			 (unsigned long long)rec->of.count);
		break;
	default:
		w->kind = "socket";
		snprintf(w->cause, sizeof(w->cause), "family %u", rec->of.family);
	}
	utf8_clean(w->cause, strlen(w->cause), false);
	utf8_clean(w->detail, strlen(w->detail), false);
}

/* ---- what was told, and what is to be written ---- */

struct content {
	uint64_t id;
	const char *kind, *operation;
	char *cause, *detail; /* one allocation; detail may be NULL */
	struct gn_cause of;
	char peer[INET6_ADDRSTRLEN];
	UT_hash_handle hh;
};

struct pending_key {
	uint64_t cause;
	uint32_t thread, stack, state;
	uint32_t zero; /* all bytes are part of the key */
};

struct pending {
	struct pending_key key;
	struct cause_wait w;
	UT_hash_handle hh;
};

struct causes {
	struct content *contents;
	struct pending *pending;
};

struct causes *causes_new(void)
{
	return calloc(1, sizeof(struct causes));
}

static void contents_drop(struct causes *c)
{
	struct content *x, *tmp;

	HASH_ITER(hh, c->contents, x, tmp) {
		HASH_DEL(c->contents, x);
		free(x->cause);
		free(x);
	}
}

static void pending_drop(struct causes *c)
{
	struct pending *x, *tmp;

	HASH_ITER(hh, c->pending, x, tmp) {
		HASH_DEL(c->pending, x);
		free(x);
	}
}

void causes_free(struct causes *c)
{
	if (!c)
		return;
	contents_drop(c);
	pending_drop(c);
	free(c);
}

static struct content *content_find(const struct causes *c, uint64_t id)
{
	struct content *x;

	HASH_FIND(hh, c->contents, &id, sizeof(id), x);
	return x;
}

static struct content *content_new(const struct gn_cause_rec *rec)
{
	struct content *x = calloc(1, sizeof(*x));
	struct cause_words w;
	size_t n;

	if (!x)
		return NULL;
	cause_words(rec, &w);
	n = strlen(w.cause) + 1;
	x->cause = malloc(n + strlen(w.detail) + 1);
	if (!x->cause) {
		free(x);
		return NULL;
	}
	strcpy(x->cause, w.cause);
	strcpy(x->cause + n, w.detail);
	x->detail = *w.detail ? x->cause + n : NULL;
	x->id = rec->id;
	x->kind = w.kind;
	x->operation = w.operation;
	x->of = rec->of;
	address_text(&rec->of, rec->of.peer, x->peer, sizeof(x->peer));
	return x;
}

bool causes_add(struct causes *c, const struct gn_cause_rec *rec)
{
	struct content *old = content_find(c, rec->id), *x = content_new(rec);
	bool full = !old && HASH_COUNT(c->contents) >= CAUSES_MAX;

	if (full)
		contents_drop(c);
	if (!x)
		return full;
	if (old) { /* told again: its path may be another by now */
		HASH_DEL(c->contents, old);
		free(old->cause);
		free(old);
	}
	HASH_ADD(hh, c->contents, id, sizeof(x->id), x);
	return full;
}

bool causes_place(const struct causes *c, uint64_t cause, struct cause_place *out)
{
	const struct content *x = cause ? content_find(c, cause) : NULL;
	bool socket = x && x->of.kind == GN_CAUSE_INET && x->of.protocol == IPPROTO_TCP;

	if (!x || (!socket && x->of.kind != GN_CAUSE_FILE) ||
	    (x->of.op != GN_OP_READ && x->of.op != GN_OP_WRITE))
		return false;
	*out = (struct cause_place){
		.socket = socket,
		.writes = x->of.op == GN_OP_WRITE,
		.name = socket ? x->peer : x->cause,
		.port = x->of.peer_port,
	};
	return true;
}

static void pending_write(const struct causes *c, const struct cause_wait *w, struct jfrw *out)
{
	const struct content *x = content_find(c, w->cause);
	struct jfr_wait_cause e = {
		.thread = w->thread,
		.stack = w->stack,
		.state = w->state,
		.kind = jfrw_name(out, JFR_WORD, x ? x->kind : "unknown"),
		.operation = jfrw_name(out, JFR_WORD, x ? x->operation : "wait"),
		.cause = jfrw_name(out, JFR_WORD, x ? x->cause : "what it is was lost"),
		.detail = jfrw_name(out, JFR_WORD, x ? x->detail : NULL),
		.samples = w->samples,
		.span_ns = w->span_ns,
		.period_ns = w->last_ns > w->first_ns ? w->last_ns - w->first_ns : 0,
	};

	jfrw_wait_cause(out, w->first_ns, &e);
}

void causes_write(struct causes *c, struct jfrw *out)
{
	struct pending *x, *tmp;

	HASH_ITER(hh, c->pending, x, tmp) {
		pending_write(c, &x->w, out);
	}
	pending_drop(c);
}

/* Both are of one thread: neither is within the other. */
static void wait_add(struct cause_wait *to, const struct cause_wait *w)
{
	to->samples += w->samples;
	to->span_ns += w->span_ns;
	if (w->first_ns < to->first_ns)
		to->first_ns = w->first_ns;
	if (w->last_ns > to->last_ns)
		to->last_ns = w->last_ns;
}

void causes_note(struct causes *c, const struct cause_wait *w, struct jfrw *out)
{
	struct pending_key key = {
		.cause = w->cause, .thread = w->thread, .stack = w->stack, .state = w->state};
	struct pending *x;

	HASH_FIND(hh, c->pending, &key, sizeof(key), x);
	if (x) {
		wait_add(&x->w, w);
		return;
	}
	if (HASH_COUNT(c->pending) >= PENDING_MAX)
		causes_write(c, out);
	x = calloc(1, sizeof(*x));
	if (!x) {
		pending_write(c, w, out);
		return;
	}
	x->key = key;
	x->w = *w;
	HASH_ADD(hh, c->pending, key, sizeof(x->key), x);
}
