/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/causes.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <uthash.h>

#include "base/utf8.h"
#include "model/jvmwait.h"
#include "naming/holders.h"

#define CAUSES_MAX  16384
#define GROWTH	    512 /* old ones are dropped when there are so many more than twice those left */
#define PENDING_MAX 16384 /* some 200 bytes each: 10,000 threads that wait are one event each */

/* Ports that a system gives to who asks for none (net.ipv4.ip_local_port_range's usual first). */
#define PORT_EPHEMERAL 32768

/* ---- words ---- */

static const char *operation_word(unsigned int op)
{
	static const char *const words[GN_OP_MAX] = {
		[GN_OP_NONE] = "wait",	   [GN_OP_READ] = "read",	[GN_OP_WRITE] = "write",
		[GN_OP_ACCEPT] = "accept", [GN_OP_CONNECT] = "connect", [GN_OP_POLL] = "poll",
		[GN_OP_SYNC] = "sync",	   [GN_OP_LOCK] = "lock",	[GN_OP_ENTER] = "enter",
		[GN_OP_WAIT] = "wait",	   [GN_OP_PARK] = "park",	[GN_OP_RUN] = "run",
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
static void inet_words(const struct gn_cause_rec *r, struct cause_words *w)
{
	const struct gn_cause *c = &r->of;
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
	if (c->ino && c->dev)
		snprintf(w->detail, sizeof(w->detail), "%s, peer %s of %.*s, process %u", local,
			 peer, (int)strnlen(r->fs, sizeof(r->fs)), r->fs, c->dev);
	else
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
	if (r->of.dev)
		snprintf(w->detail, sizeof(w->detail), "peer %.*s, process %u",
			 r->fs[0] ? (int)strnlen(r->fs, sizeof(r->fs)) : 5,
			 r->fs[0] ? r->fs : "ended", r->of.dev);
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
	if (len == strlen("[eventpoll]") && !memcmp(r->path, "[eventpoll]", len)) {
		w->kind = "epoll";
		snprintf(w->detail, sizeof(w->detail), "%llu%s descriptor%s",
			 (unsigned long long)r->of.count, r->whole ? "" : " or more",
			 r->of.count == 1 && r->whole ? "" : "s");
	}
	snprintf(w->cause, sizeof(w->cause), "%.*s", len ? (int)strnlen(r->path, len) : 3,
		 len ? r->path : "[?]");
}

/* "java.util.concurrent.locks.ReentrantLock" of its "$NonfairSync": it is made for that alone. */
static int klass_length(const char *klass)
{
	static const char *const inner[] = {"$NonfairSync", "$FairSync", "$Sync"};
	size_t n = strlen(klass);

	for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
		size_t len = strlen(inner[i]);

		if (n > len && !strcmp(klass + n - len, inner[i]))
			return (int)(n - len);
	}
	return (int)n;
}

/* As Object.toString() has it, if the object has a hash. */
void cause_words_lock(const struct gn_cause_rec *rec, const char *klass, struct cause_words *w)
{
	const struct gn_cause_lock *l = gn_cause_lock(&rec->of);

	memset(w, 0, sizeof(*w));
	w->operation = operation_word(rec->of.op);
	w->kind = rec->of.kind == GN_CAUSE_MONITOR ? "monitor" : "synchronizer";
	if (!*klass)
		klass = "?";
	if (l->hash)
		snprintf(w->cause, sizeof(w->cause), "%.*s@%x", klass_length(klass), klass,
			 l->hash);
	else
		snprintf(w->cause, sizeof(w->cause), "%.*s@0x%llx", klass_length(klass), klass,
			 (unsigned long long)(l->object ? l->object : l->monitor));
	utf8_clean(w->cause, strlen(w->cause), false);
}

static void jvm_words(const struct gn_cause *c, struct cause_words *w)
{
	const char *of, *how = jvmwait_words((uint8_t)c->ino, &of);
	uint8_t op = (uint8_t)(c->ino >> 8);

	if (op)
		of = vmop_words(op);

	w->kind = "JVM";
	snprintf(w->cause, sizeof(w->cause), "%s%s%s%s", how, of ? " (" : "", of ? of : "",
		 of ? ")" : "");
}

static void descriptor_words(const struct gn_cause_rec *rec, struct cause_words *w)
{
	unsigned long long ino = rec->of.ino;

	switch (rec->of.kind) {
	case GN_CAUSE_MONITOR:
	case GN_CAUSE_BLOCKER:
		cause_words_lock(rec, "", w);
		break;
	case GN_CAUSE_INET:
		inet_words(rec, w);
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
	case GN_CAUSE_JVM:
		jvm_words(&rec->of, w);
		break;
	case GN_CAUSE_WAKER:
		wakers_words(rec, w);
		break;
	case GN_CAUSE_SERVED:
		servers_words(rec, w);
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
}

void cause_words(const struct gn_cause_rec *rec, struct cause_words *w)
{
	char path[sizeof(w->cause)];

	memset(w, 0, sizeof(*w));
	w->operation = operation_word(rec->of.op);
	if (holders_are(rec)) {
		path_print(rec, path, sizeof(path));
		holders_words(rec, path, w);
	} else {
		descriptor_words(rec, w);
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
	pid_t tgid;	  /* of whose threads */
	uint64_t time_ns; /* when it was told */
	uint64_t seen_ns; /* that, or the last sample that had it */
	char peer[INET6_ADDRSTRLEN];
	UT_hash_handle hh, by_words;
};

struct pending_key {
	uint64_t cause;
	uint32_t thread, stack, state;
	uint32_t owner, whose;
	uint32_t zero; /* all bytes are part of the key */
};

struct pending {
	struct pending_key key;
	struct cause_wait w;
	uint64_t ticks; /* as in the event */
	UT_hash_handle hh;
};

struct causes {
	struct content *contents; /* by id */
	struct content *found;	  /* the last one: a sample asks for its cause some eight times */
	struct content *worded;	  /* by cause: of its own threads, one for all that are called so */
	struct pending *pending;  /* what is written next */
	struct pending *kept;	  /* long waits, of which more may come */
	uint64_t kept_ns;	  /* when these were looked through last */
	uint64_t keep_ns;	  /* of contents */
	unsigned int left;	  /* how many were left when some were forgotten last */
	causes_waker_fn waker;
	void *waker_ctx;
};

struct causes *causes_new(uint64_t keep_ns)
{
	struct causes *c = calloc(1, sizeof(*c));

	if (c)
		c->keep_ns = keep_ns;
	return c;
}

void causes_on_waker(struct causes *c, causes_waker_fn fn, void *ctx)
{
	c->waker = fn;
	c->waker_ctx = ctx;
}

static void contents_drop(struct causes *c)
{
	struct content *x, *tmp;

	HASH_CLEAR(by_words, c->worded);
	c->found = NULL;
	HASH_ITER(hh, c->contents, x, tmp) {
		HASH_DEL(c->contents, x);
		free(x->cause);
		free(x);
	}
}

static void pending_free(struct pending **of, struct pending *x)
{
	HASH_DEL(*of, x);
	free(x);
}

void causes_free(struct causes *c)
{
	struct pending *x, *tmp;

	if (!c)
		return;
	contents_drop(c);
	HASH_ITER(hh, c->pending, x, tmp) {
		pending_free(&c->pending, x);
	}
	HASH_ITER(hh, c->kept, x, tmp) {
		pending_free(&c->kept, x);
	}
	free(c);
}

static struct content *content_find(struct causes *c, uint64_t id)
{
	struct content *x = c->found;

	if (x && x->id == id)
		return x;
	HASH_FIND(hh, c->contents, &id, sizeof(id), x);
	if (x)
		c->found = x;
	return x;
}

/* What is waited for, whoever serves it. NULL: not known. */
static struct content *content_waited(struct causes *c, uint64_t id)
{
	struct content *x = content_find(c, id);

	if (!x || x->of.kind != GN_CAUSE_SERVED)
		return x;
	x = content_find(c, x->of.ino);
	return x && x->of.kind != GN_CAUSE_SERVED ? x : NULL;
}

/* The threads of a pool may be thousands, each with an id of its own. */
static struct content *content_worded(struct causes *c, const struct content *of)
{
	struct content *x;

	HASH_FIND(by_words, c->worded, of->cause, strlen(of->cause), x);
	return x;
}

static void content_add(struct causes *c, struct content *x)
{
	HASH_ADD(hh, c->contents, id, sizeof(x->id), x);
	if (x->of.kind == GN_CAUSE_THREAD && !content_worded(c, x))
		HASH_ADD_KEYPTR(by_words, c->worded, x->cause, strlen(x->cause), x);
}

static void content_drop(struct causes *c, struct content *x)
{
	if (c->found == x)
		c->found = NULL;
	HASH_DELETE(hh, c->contents, x);
	if (content_worded(c, x) == x)
		HASH_DELETE(by_words, c->worded, x);
	free(x->cause);
	free(x);
}

static struct content *content_new(const struct gn_cause_rec *rec, const char *klass)
{
	struct content *x = calloc(1, sizeof(*x));
	struct cause_words w;
	size_t n;

	if (!x)
		return NULL;
	if (gn_cause_is_lock(rec->of.kind))
		cause_words_lock(rec, klass, &w);
	else
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
	x->tgid = (pid_t)rec->h.tgid;
	x->time_ns = x->seen_ns = rec->h.time;
	address_text(&rec->of, rec->of.peer, x->peer, sizeof(x->peer));
	return x;
}

static void content_see(struct content *x, uint64_t now)
{
	if (x && x->seen_ns < now)
		x->seen_ns = now;
}

/* And what it is about, where it is who serves a wait. */
static void cause_see(struct causes *c, uint64_t id, uint64_t now)
{
	struct content *x = content_find(c, id);

	content_see(x, now);
	if (x && x->of.kind == GN_CAUSE_SERVED)
		content_see(content_find(c, x->of.ino), now);
}

/* Whether there were any that nobody has had for long. */
static bool contents_forget(struct causes *c, uint64_t now)
{
	unsigned int before = HASH_COUNT(c->contents);
	struct content *x, *tmp;

	HASH_ITER(hh, c->contents, x, tmp) {
		if (x->seen_ns + c->keep_ns < now)
			content_drop(c, x);
	}
	c->left = HASH_COUNT(c->contents);
	return c->left < before;
}

/* Where there are many; whether any had to go. */
static bool room_make(struct causes *c, uint64_t now)
{
	unsigned int n = HASH_COUNT(c->contents);

	if (n > 2 * c->left + GROWTH && contents_forget(c, now))
		return true;
	if (n < CAUSES_MAX)
		return false;
	contents_drop(c);
	c->left = 0;
	return true;
}

bool causes_add(struct causes *c, const struct gn_cause_rec *rec, const char *klass)
{
	bool forgot = !content_find(c, rec->id) && room_make(c, rec->h.time);
	struct content *old = content_find(c, rec->id), *x = content_new(rec, klass);

	if (!x)
		return forgot;
	if (old) /* told again: its path may be another by now */
		content_drop(c, old);
	content_add(c, x);
	return forgot;
}

/* The kernel's ids are hashes of 64 bits: it has none so small. Odd ones are locks'. */
uint64_t causes_jvm(struct causes *c, uint8_t wait, uint8_t op, uint64_t time_ns)
{
	uint64_t ino = wait | (uint64_t)op << 8;
	struct gn_cause_rec rec = {
		.h.time = time_ns, .id = ino << 1, .of.kind = GN_CAUSE_JVM, .of.ino = ino};

	if (wait && !content_find(c, rec.id))
		causes_add(c, &rec, "");
	content_see(content_find(c, rec.id), time_ns);
	return rec.id;
}

bool causes_place(struct causes *c, uint64_t cause, struct cause_place *out)
{
	const struct content *x = cause ? content_waited(c, cause) : NULL;
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

bool causes_has_owner(struct causes *c, uint64_t cause)
{
	const struct content *x = content_find(c, cause);

	if (!x || !gn_cause_is_lock(x->of.kind))
		return false;
	return x->of.op == GN_OP_ENTER || gn_cause_lock(&x->of)->owned;
}

bool causes_fits(struct causes *c, uint64_t cause, uint32_t state)
{
	const struct content *x = content_find(c, cause);

	return !x || x->of.kind != GN_CAUSE_BLOCKER || state == JFR_STATE_PARKED ||
	       state == JFR_STATE_PARKED_TIMED;
}

bool causes_is_known(struct causes *c, uint64_t cause)
{
	return content_find(c, cause);
}

pid_t causes_server(struct causes *c, uint64_t cause)
{
	const struct content *x = content_find(c, cause);

	if (!x || x->of.kind != GN_CAUSE_SERVED || (pid_t)x->of.dev != x->tgid)
		return 0;
	return (pid_t)x->of.count;
}

bool causes_completes(struct causes *c, uint64_t cause, uint64_t last)
{
	const struct content *x = content_find(c, last);

	if (x && x->of.kind == GN_CAUSE_SERVED)
		return cause == x->of.ino;
	return !cause && x && x->of.kind == GN_CAUSE_WAKER;
}

#define DETAIL_MAX (3 * sizeof(((struct cause_words *)0)->detail))

/* `x`: what it waited for; `by`: who served it, or the same. NULL: nothing. */
static const char *detail_of(const struct content *x, const struct content *by,
			     const struct cause_wait *w, char text[DETAIL_MAX])
{
	const char *of = x && x->detail ? x->detail : "";

	if (w->whose == CAUSE_OWNER_NOBODY)
		return "nobody's";
	if (w->whose == CAUSE_OWNER_UNKNOWN)
		return "owner not known";
	if (!x || x == by)
		return x ? x->detail : NULL;
	if (x->of.dev == by->of.dev && x->of.kind != GN_CAUSE_PIPE) /* its process is told */
		snprintf(text, DETAIL_MAX, "%s, %s", of, by->detail);
	else
		snprintf(text, DETAIL_MAX, "%s%sother end: %s, %s", of, *of ? ", " : "", by->cause,
			 by->detail);
	return text;
}

static void waker_fill(struct causes *c, const struct content *x, uint64_t last_ns,
		       struct jfr_wait_cause *e)
{
	struct cause_waker by;

	if (!c->waker || !x || x->of.kind != GN_CAUSE_WAKER || x->of.family != GN_WAKER_THREAD)
		return;
	by = (struct cause_waker){
		.tid = (pid_t)x->of.ino, .stack = x->of.count, .time_ns = x->time_ns};
	c->waker(c->waker_ctx, &by, last_ns, &e->waker, &e->waker_stack);
}

/* Who serves it was not known when the samples came. */
static void server_fill(struct causes *c, const struct cause_wait *w, uint64_t ticks,
			struct jfr_wait_cause *e)
{
	const struct cause_waker by = {.tid = causes_server(c, w->cause)};
	uint32_t stack;

	e->tick = 0;
	if (!by.tid || !c->waker)
		return;
	c->waker(c->waker_ctx, &by, w->last_ns, &e->owner, &stack);
	if (!e->owner)
		return;
	e->tick = w->tick;
	e->ticks = ticks;
}

static void pending_write(struct causes *c, const struct cause_wait *w, uint64_t ticks,
			  struct jfrw *out)
{
	const struct content *by = content_find(c, w->cause), *x = content_waited(c, w->cause);
	char detail[DETAIL_MAX];
	struct jfr_wait_cause e = {
		.thread = w->thread,
		.stack = w->stack,
		.state = w->state,
		.kind = jfrw_name(out, JFR_WORD, x ? x->kind : "unknown"),
		.operation = jfrw_name(out, JFR_WORD, x ? x->operation : "wait"),
		.cause = jfrw_name(out, JFR_WORD, x ? x->cause : "what it is was lost"),
		.detail = jfrw_name(out, JFR_WORD, detail_of(x, by, w, detail)),
		.samples = w->samples,
		.span_ns = w->span_ns,
		.period_ns = w->last_ns > w->first_ns ? w->last_ns - w->first_ns : 0,
		.owner = w->owner,
		.tick = w->whose ? w->tick : 0,
		.ticks = w->whose == CAUSE_OWNER_LATER ? 0 : ticks,
	};

	if (w->whose == CAUSE_OWNER_LATER)
		server_fill(c, w, ticks, &e);
	waker_fill(c, x, w->last_ns, &e);
	jfrw_wait_cause(out, w->first_ns, &e);
}

#define LONG_NS 1000000000ull  /* a piece of a wait of which more may come */
#define KEEP_NS 60000000000ull /* for so long it is not written */
#define OVERDUE_NS                                                                                 \
	30000000000ull	       /* pieces come every 1,000 ticks; a later one is another event      \
				*/
#define LOOK_NS 10000000000ull /* they are looked through so often */

static bool is_long(const struct cause_wait *w)
{
	return w->last_ns - w->first_ns >= LONG_NS;
}

static bool is_kept(const struct pending *x, uint64_t now)
{
	return now - x->w.first_ns < KEEP_NS && now - x->w.last_ns < OVERDUE_NS;
}

void causes_write(struct causes *c, struct jfrw *out, uint64_t now)
{
	struct pending *x, *tmp;

	HASH_ITER(hh, c->pending, x, tmp) {
		pending_write(c, &x->w, x->ticks, out);
		pending_free(&c->pending, x);
	}
	if (now - c->kept_ns < LOOK_NS)
		return;
	c->kept_ns = now == CAUSES_ALL ? 0 : now;
	HASH_ITER(hh, c->kept, x, tmp) {
		if (is_kept(x, now))
			continue;
		pending_write(c, &x->w, x->ticks, out);
		pending_free(&c->kept, x);
	}
}

#define TICKS_TOLD 64 /* bits of jfr_wait_cause.ticks */

static uint64_t tick_bits(uint64_t from, uint32_t n)
{
	return (n >= TICKS_TOLD ? ~0ull : (1ull << n) - 1) << from;
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

/* It has all ticks from its first one on, and these follow. */
static bool is_row_with(const struct pending *x, const struct cause_wait *w)
{
	const struct cause_wait *a = &x->w;

	return a->level == w->level &&
	       w->tick >> w->level == (a->tick >> a->level) + (a->samples >> a->level) &&
	       (!x->ticks || x->ticks == tick_bits(0, a->samples));
}

/* Adds the ticks of a lock to those of the event before. False: they do not fit. */
static bool ticks_add(struct pending *x, const struct cause_wait *w)
{
	if (is_row_with(x, w) && x->w.samples + w->samples > TICKS_TOLD) {
		x->ticks = 0;
		return true;
	}
	if (w->tick < x->w.tick || w->tick - x->w.tick + w->samples > TICKS_TOLD || !x->ticks)
		return false;
	x->ticks |= tick_bits(w->tick - x->w.tick, w->samples);
	return true;
}

static void pending_begin(struct pending *x, const struct cause_wait *w)
{
	x->w = *w;
	x->ticks = w->whose && w->samples <= TICKS_TOLD ? tick_bits(0, w->samples) : 0;
}

/* That of the one that stands for all with its words. */
static uint64_t cause_shared(struct causes *c, uint64_t cause)
{
	const struct content *x = content_find(c, cause), *same;

	same = x && x->of.kind == GN_CAUSE_THREAD ? content_worded(c, x) : NULL;
	return same ? same->id : cause;
}

/* A new one. */
static void pending_note(struct causes *c, struct pending **of, const struct pending_key *key,
			 const struct cause_wait *w, struct jfrw *out)
{
	struct pending *x;

	if (HASH_COUNT(*of) >= PENDING_MAX)
		causes_write(c, out, CAUSES_ALL);
	x = calloc(1, sizeof(*x));
	if (!x) {
		pending_write(c, w, 0, out);
		return;
	}
	x->key = *key;
	pending_begin(x, w);
	HASH_ADD(hh, *of, key, sizeof(x->key), x);
}

/* Of a long wait, which comes in pieces, the next one is the same event, and no other. */
static bool kept_note(struct causes *c, const struct pending_key *key, unsigned int hash,
		      const struct cause_wait *w, struct jfrw *out)
{
	struct pending *x;

	HASH_FIND_BYHASHVALUE(hh, c->kept, key, sizeof(*key), hash, x);
	if (x && is_row_with(x, w) && (!w->whose || ticks_add(x, w))) {
		wait_add(&x->w, w);
		return true;
	}
	if (x) {
		pending_write(c, &x->w, x->ticks, out);
		pending_free(&c->kept, x);
	}
	if (!is_long(w))
		return false;
	pending_note(c, &c->kept, key, w, out);
	return true;
}

void causes_note(struct causes *c, const struct cause_wait *w, struct jfrw *out)
{
	struct pending_key key = {.cause = cause_shared(c, w->cause),
				  .thread = w->thread,
				  .stack = w->stack,
				  .state = w->state,
				  .owner = w->owner,
				  .whose = w->whose};
	struct pending *x;
	unsigned int hash;

	cause_see(c, w->cause, w->last_ns);
	if (key.cause != w->cause)
		cause_see(c, key.cause, w->last_ns);
	HASH_VALUE(&key, sizeof(key), hash);
	if (kept_note(c, &key, hash, w, out))
		return;
	HASH_FIND_BYHASHVALUE(hh, c->pending, &key, sizeof(key), hash, x);
	if (x && (!w->whose || ticks_add(x, w))) {
		wait_add(&x->w, w);
		return;
	}
	if (x) {
		pending_write(c, &x->w, x->ticks, out);
		pending_begin(x, w);
		return;
	}
	pending_note(c, &c->pending, &key, w, out);
}
