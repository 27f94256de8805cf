/* SPDX-License-Identifier: Apache-2.0 */
/* What threads wait for: words of what the kernel tells, and events that add up. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "jfr/read.h"
#include "kern/cause_calls.h"
#include "naming/causes.h"
#include "naming/holders.h"

#define KEEP_NS 1000000000ull

static struct gn_cause_rec inet(int family, const char *local, int lport, const char *peer,
				int pport)
{
	struct gn_cause_rec r = {.id = 1};

	r.of.kind = GN_CAUSE_INET;
	r.of.op = GN_OP_READ;
	r.of.family = (uint16_t)family;
	r.of.protocol = IPPROTO_TCP;
	r.of.local_port = (uint16_t)lport;
	r.of.peer_port = (uint16_t)pport;
	assert_int_equal(inet_pton(family, local, r.of.local), 1);
	assert_int_equal(inet_pton(family, peer, r.of.peer), 1);
	return r;
}

static void says(const struct gn_cause_rec *r, const char *kind, const char *op, const char *cause,
		 const char *detail)
{
	struct cause_words w;

	cause_words(r, &w);
	assert_string_equal(w.kind, kind);
	assert_string_equal(w.operation, op);
	assert_string_equal(w.cause, cause);
	assert_string_equal(w.detail, detail);
}

static void sockets(void **state)
{
	struct gn_cause_rec r = inet(AF_INET, "10.0.0.1", 40000, "10.0.0.7", 5432);

	says(&r, "TCP", "read", "10.0.0.7:5432", "10.0.0.1:40000, peer 10.0.0.7:5432");
	/* as Java has it: a socket of IPv6 that speaks IPv4 */
	r = inet(AF_INET6, "::ffff:10.0.0.1", 40000, "::ffff:10.0.0.7", 5432);
	r.of.op = GN_OP_POLL;
	says(&r, "TCP", "poll", "10.0.0.7:5432", "10.0.0.1:40000, peer 10.0.0.7:5432");
	r = inet(AF_INET6, "::1", 40000, "fe80::1", 443);
	says(&r, "TCP", "read", "[fe80::1]:443", "[::1]:40000, peer [fe80::1]:443");
	/* within the machine, once it is known whose the other end is */
	r = inet(AF_INET, "127.0.0.1", 40000, "127.0.0.1", 5432);
	r.of.ino = 4026531840;
	says(&r, "TCP", "read", "127.0.0.1:5432", "127.0.0.1:40000, peer 127.0.0.1:5432");
	r.of.dev = 77;
	memcpy(r.fs, "postgres-writer!", 16); /* no terminator */
	says(&r, "TCP", "read", "127.0.0.1:5432",
	     "127.0.0.1:40000, peer 127.0.0.1:5432 of postgres-writer!, process 77");
	/* connections that others made */
	r = inet(AF_INET, "10.0.0.1", 8080, "10.0.0.9", 51234);
	says(&r, "TCP", "read", "clients of :8080", "10.0.0.1:8080, peer 10.0.0.9:51234");
	r = inet(AF_INET, "0.0.0.0", 8080, "0.0.0.0", 0);
	r.of.listens = 1;
	r.of.op = GN_OP_ACCEPT;
	says(&r, "TCP", "accept", "clients of :8080", "");
	r = inet(AF_INET, "0.0.0.0", 53, "0.0.0.0", 0);
	r.of.protocol = IPPROTO_UDP;
	says(&r, "UDP", "read", "any to :53", "");
}

static struct gn_cause_rec with_path(int kind, const char *path, size_t len)
{
	struct gn_cause_rec r = {.id = 1, .len = (uint32_t)len, .whole = 1};

	r.of.kind = (uint8_t)kind;
	r.of.op = GN_OP_WRITE;
	r.of.ino = 77;
	r.of.dev = 8 << 20 | 1;
	strcpy(r.fs, "ext4");
	memcpy(r.path, path, len);
	return r;
}

static void others(void **state)
{
	struct gn_cause_rec r = with_path(GN_CAUSE_UNIX, "/run/x.sock", 12);

	strcpy(r.fs, "postgres");
	r.of.dev = 4711;
	says(&r, "Unix socket", "write", "/run/x.sock", "peer postgres, process 4711");
	memset(r.fs, 'x', sizeof(r.fs)); /* it has no end */
	says(&r, "Unix socket", "write", "/run/x.sock", "peer xxxxxxxxxxxxxxxx, process 4711");
	r.fs[0] = 0;
	says(&r, "Unix socket", "write", "/run/x.sock", "peer ended, process 4711");
	r.of.dev = 0;
	says(&r, "Unix socket", "write", "/run/x.sock", "");
	r = with_path(GN_CAUSE_UNIX, "\0abstract", 9);
	r.of.dev = 0;
	says(&r, "Unix socket", "write", "@abstract", "");
	r = with_path(GN_CAUSE_UNIX, "", 0);
	r.of.dev = 0;
	says(&r, "Unix socket", "write", "unnamed, inode 77", "");
	r = with_path(GN_CAUSE_PIPE, "", 0);
	says(&r, "pipe", "write", "pipe:[77]", "");
	r = with_path(GN_CAUSE_FILE, "x.log\0log\0var", 14);
	says(&r, "file", "write", "/var/log/x.log", "ext4, device 8:1");
	r.whole = 0;
	says(&r, "file", "write", ".../var/log/x.log", "ext4, device 8:1");
	r = with_path(GN_CAUSE_FILE, "", 0);
	says(&r, "file", "write", "/", "ext4, device 8:1");
	r = with_path(GN_CAUSE_ANON, "[eventpoll]", 11);
	r.of.count = 512;
	says(&r, "epoll", "write", "[eventpoll]", "512 descriptors");
	r.whole = 0;
	says(&r, "epoll", "write", "[eventpoll]", "512 or more descriptors");
	r = with_path(GN_CAUSE_ANON, "[timerfd]", 9);
	says(&r, "kernel object", "write", "[timerfd]", "");
	r = with_path(GN_CAUSE_POLL, "", 0);
	r.of.count = 3;
	says(&r, "poll", "write", "3 descriptors", "");
	r.of.kind = GN_CAUSE_SOCKET;
	r.of.family = 16;
	says(&r, "socket", "write", "family 16", "");
}

/* Names of files are whatever somebody called them. */
static void hostile(void **state)
{
	struct gn_cause_rec r = with_path(GN_CAUSE_FILE, "\033[2J\xff\0a", 8);
	struct cause_words w;

	says(&r, "file", "write", "/a/?[2J?", "ext4, device 8:1");
	for (unsigned int kind = 0; kind < 256; kind += 1) {
		memset(&r, 'x', sizeof(r));
		r.of.kind = (uint8_t)kind;
		cause_words(&r, &w);
		assert_true(strlen(w.cause) < sizeof(w.cause));
		memset(&r, 0, sizeof(r));
		r.of.kind = (uint8_t)kind;
		r.len = UINT32_MAX;
		cause_words(&r, &w);
		assert_true(strlen(w.cause) < sizeof(w.cause));
	}
}

static void calls(void **state)
{
	int several;

	assert_int_equal(gn_call_op(-1, &several), GN_OP_NONE);
#if defined(__x86_64__)
	assert_int_equal(gn_call_op(0, &several), GN_OP_READ);
	assert_false(several);
	assert_int_equal(gn_call_op(7, &several), GN_OP_POLL);
	assert_true(several);
	assert_int_equal(gn_call_op(232, &several), GN_OP_POLL);
	assert_false(several);
	assert_int_equal(gn_call_op(202, &several), GN_OP_NONE); /* futex */
#endif
}

/* ---- in the file ---- */

static char path[] = "/tmp/gnomon-causes-XXXXXX";

static struct jfrw *file_open(void)
{
	struct jfrw_config cfg = {.path = path, .overwrite = true};
	struct jfrw *w = NULL;
	struct error e = {0};
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(jfrw_open(&w, &cfg, &e), 0);
	return w;
}

/* `want` NULL: it has none. */
static void field_is(struct jfr_reader *r, const struct jfr_event *ev, const char *name,
		     const char *want)
{
	struct jfr_value v[16];
	struct buffer b = BUFFER_INIT;
	int i = jfr_class_field(ev->cls, name), n = jfr_event_fields(r, ev, v, 16);

	assert_true(i >= 0 && i < n);
	assert_int_equal(jfr_value_string(r, &v[i], &b), want != NULL);
	buffer_byte(&b, 0);
	if (want)
		assert_string_equal((char *)b.data, want);
	buffer_free(&b);
}

static int64_t number(struct jfr_reader *r, const struct jfr_event *ev, const char *name)
{
	struct jfr_value v[16];
	int i = jfr_class_field(ev->cls, name), n = jfr_event_fields(r, ev, v, 16);

	assert_true(i >= 0 && i < n);
	return v[i].i;
}

static bool next(struct jfr_reader *r, struct jfr_event *ev)
{
	while (jfr_reader_next(r, ev) > 0)
		if (!strcmp(ev->cls->name, "gnomon.WaitCause"))
			return true;
	return false;
}

/* What one thread waited for in one stack is one event; another cause is another, known or not. */
static void added_up(void **state)
{
	struct gn_cause_rec db = inet(AF_INET, "10.0.0.1", 40000, "10.0.0.7", 5432);
	struct cause_wait wait = {.cause = 1, .state = JFR_STATE_IO, .samples = 2, .span_ns = 30};
	struct causes *c = causes_new(KEEP_NS);
	struct jfrw *w = file_open();
	struct jfr_reader *r = NULL;
	struct error e = {0};
	struct jfr_event ev;

	wait.first_ns = 100;
	wait.last_ns = 120;
	causes_note(c, &wait, w);
	wait.first_ns = 500;
	wait.last_ns = 560;
	causes_note(c, &wait, w);
	assert_false(causes_add(c, &db, "")); /* told late, by another CPU's ring */
	wait.cause = 2;
	causes_note(c, &wait, w);
	causes_write(c, w, CAUSES_ALL);
	causes_write(c, w, CAUSES_ALL); /* nothing more */
	assert_int_equal(jfrw_close(w, &e), 0);

	assert_int_equal(jfr_reader_open(&r, path, NULL, &e), 0);
	assert_true(next(r, &ev));
	field_is(r, &ev, "kind", "TCP");
	field_is(r, &ev, "operation", "read");
	field_is(r, &ev, "cause", "10.0.0.7:5432");
	assert_int_equal(number(r, &ev, "samples"), 4);
	assert_int_equal(number(r, &ev, "timeSpan"), 60);
	assert_int_equal(number(r, &ev, "period"), 460);
	assert_true(next(r, &ev));
	field_is(r, &ev, "kind", "unknown");
	assert_int_equal(number(r, &ev, "samples"), 2);
	assert_false(next(r, &ev));
	jfr_reader_close(r);
	causes_free(c);
	unlink(path);
}

/* Objects by class, and hash or address; whatever the kernel side reads. */
static void locks(void **state)
{
	struct gn_cause_rec r = {.id = 1};
	struct gn_cause_lock *l = (struct gn_cause_lock *)&r.of;
	struct cause_words w;
	char name[4096];

	*l = (struct gn_cause_lock){
		.kind = GN_CAUSE_MONITOR, .op = GN_OP_ENTER, .hash = 0x1b2c, .monitor = 0x70};
	cause_words_lock(&r, "java.util.HashMap", &w);
	assert_string_equal(w.kind, "monitor");
	assert_string_equal(w.operation, "enter");
	assert_string_equal(w.cause, "java.util.HashMap@1b2c");
	l->hash = 0;
	cause_words_lock(&r, "", &w);
	assert_string_equal(w.cause, "?@0x70");
	*l = (struct gn_cause_lock){.kind = GN_CAUSE_BLOCKER, .op = GN_OP_PARK, .object = 0x10};
	cause_words_lock(&r, "java.util.concurrent.locks.ReentrantLock$NonfairSync", &w);
	assert_string_equal(w.kind, "synchronizer");
	assert_string_equal(w.cause, "java.util.concurrent.locks.ReentrantLock@0x10");
	memset(name, '\n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	cause_words_lock(&r, name, &w);
	assert_null(strchr(w.cause, '\n'));
	assert_true(strlen(w.cause) < sizeof(w.cause));
}

#define SECOND 1000000000ull

/* A long wait comes in pieces and is one event, be it that what there is is written between them.
 */
static void kept(void **state)
{
	static const struct {
		uint64_t from, seconds, write;			   /* in seconds; 10 ticks each */
	} told[] = {{100, 10, 111}, {110, 10, 121}, {120, 5, 126}, /* one */
		    {130, 10, 141},				   /* after a gap: another */
		    {200, 70, 271},				   /* too long to be kept */
		    {270, 2, 290},  {300, 1, 340}}; /* no more comes: 300 is written */
	const int64_t tick[] = {1000, 1300, 2000, 2700, 3000}, n[] = {250, 100, 700, 20, 10};
	struct gn_cause_rec r = {.id = 1};
	struct gn_cause_lock *l = (struct gn_cause_lock *)&r.of;
	struct causes *c = causes_new(KEEP_NS);
	struct jfrw *w = file_open();
	struct jfr_reader *rd = NULL;
	struct error e = {0};
	struct jfr_event ev;
	unsigned int seen = 0;

	l->kind = GN_CAUSE_MONITOR;
	l->op = GN_OP_ENTER;
	causes_add(c, &r, "A");
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		struct cause_wait wait = {.cause = 1,
					  .state = JFR_STATE_BLOCKED,
					  .whose = CAUSE_OWNER_NOBODY,
					  .tick = told[i].from * 10,
					  .samples = (uint32_t)told[i].seconds * 10,
					  .first_ns = told[i].from * SECOND,
					  .last_ns = (told[i].from + told[i].seconds) * SECOND};

		causes_note(c, &wait, w);
		causes_write(c, w, told[i].write * SECOND);
	}
	assert_int_equal(jfrw_close(w, &e), 0); /* nothing is left */
	assert_int_equal(jfr_reader_open(&rd, path, NULL, &e), 0);
	while (next(rd, &ev))
		for (unsigned int i = 0; i < sizeof(tick) / sizeof(tick[0]); i++)
			if (number(rd, &ev, "tick") == tick[i]) {
				assert_int_equal(number(rd, &ev, "samples"), n[i]);
				assert_int_equal(number(rd, &ev, "ticks"),
						 n[i] > 64 ? 0 : (1ll << n[i]) - 1);
				seen++;
			}
	assert_int_equal(seen, sizeof(tick) / sizeof(tick[0]));
	jfr_reader_close(rd);
	causes_free(c);
}

/* Ticks of one owner are the bits of one event, as far as they reach; others' are other events. */
static void owned(void **state)
{
	struct gn_cause_rec r = {.id = 1};
	struct gn_cause_lock *l = (struct gn_cause_lock *)&r.of;
	struct cause_wait wait = {.cause = 1, .state = JFR_STATE_BLOCKED, .owner = 0};
	struct causes *c = causes_new(KEEP_NS);
	struct jfrw *w = file_open();
	static const struct {
		uint64_t tick, n;
		enum cause_owner whose;
	} told[] = {{100, 2, CAUSE_OWNER_NOBODY},
		    {102, 1, CAUSE_OWNER_UNKNOWN},
		    {110, 1, CAUSE_OWNER_NOBODY},
		    {163, 1, CAUSE_OWNER_NOBODY},
		    {164, 1, CAUSE_OWNER_NOBODY}, /* beyond 64 bits from 100 on */
		    {200, 100, CAUSE_OWNER_NOBODY},
		    {300, 1, CAUSE_OWNER_NOBODY}, /* a long one's next piece */
		    {302, 40, CAUSE_OWNER_NOBODY},
		    {342, 40, CAUSE_OWNER_NOBODY},
		    {383, 1, CAUSE_OWNER_NOBODY}};
	const int64_t tick[] = {100, 164, 102, 200, 302, 383}, n[] = {4, 1, 1, 101, 80, 1};
	const uint64_t ticks[] = {1ull << 63 | 1 << 10 | 3, 1, 1, 0, 0, 1};
	unsigned int seen = 0;
	struct jfr_reader *rd = NULL;
	struct error e = {0};
	struct jfr_event ev;

	l->kind = GN_CAUSE_MONITOR;
	l->op = GN_OP_ENTER;
	causes_add(c, &r, "A");
	assert_true(causes_has_owner(c, 1));
	assert_true(causes_fits(c, 1, JFR_STATE_BLOCKED));
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		wait.tick = told[i].tick;
		wait.samples = (uint32_t)told[i].n;
		wait.whose = told[i].whose;
		wait.first_ns = wait.last_ns = told[i].tick;
		causes_note(c, &wait, w);
	}
	causes_write(c, w, CAUSES_ALL);
	assert_int_equal(jfrw_close(w, &e), 0);
	assert_int_equal(jfr_reader_open(&rd, path, NULL, &e), 0);
	while (next(rd, &ev))
		for (unsigned int i = 0; i < sizeof(tick) / sizeof(tick[0]); i++)
			if (number(rd, &ev, "tick") == tick[i]) {
				assert_int_equal(number(rd, &ev, "samples"), n[i]);
				assert_int_equal((uint64_t)number(rd, &ev, "ticks"), ticks[i]);
				field_is(rd, &ev, "detail",
					 tick[i] == 102 ? "owner not known" : "nobody's");
				seen++;
			}
	assert_int_equal(seen, sizeof(tick) / sizeof(tick[0]));
	jfr_reader_close(rd);
	l->kind = GN_CAUSE_BLOCKER;
	l->op = GN_OP_PARK;
	causes_add(c, &r, "A");
	assert_false(causes_has_owner(c, 1));
	assert_false(causes_fits(c, 1, JFR_STATE_IO));
	assert_true(causes_fits(c, 1, JFR_STATE_PARKED_TIMED));
	causes_free(c);
	unlink(path);
}

/* Each thread of a pool is a cause of the kernel's; they are one event. */
static void pooled(void **state)
{
	static const char *const names[] = {"pool-1", "pool-2", "timer"};
	struct gn_cause_rec rec = {.of.kind = GN_CAUSE_THREAD, .of.op = GN_OP_RUN};
	struct cause_wait wait = {.state = JFR_STATE_QUEUED, .samples = 1};
	struct causes *c = causes_new(KEEP_NS);
	struct jfrw *w = file_open();
	struct jfr_reader *r = NULL;
	struct error e = {0};
	struct jfr_event ev;

	for (int again = 0; again < 2; again++)
		for (uint64_t id = 1; id <= 3; id++) {
			holders_name(&rec, names[id - 1], true);
			rec.id = wait.cause = id;
			causes_add(c, &rec, "");
			causes_note(c, &wait, w);
		}
	causes_write(c, w, CAUSES_ALL);
	assert_int_equal(jfrw_close(w, &e), 0);
	assert_int_equal(jfr_reader_open(&r, path, NULL, &e), 0);
	for (int i = 0; i < 2; i++) {
		struct jfr_value v[16];
		struct buffer b = BUFFER_INIT;

		assert_true(next(r, &ev));
		jfr_event_fields(r, &ev, v, 16);
		assert_true(jfr_value_string(r, &v[jfr_class_field(ev.cls, "cause")], &b));
		buffer_byte(&b, 0);
		if (!strcmp((char *)b.data, "its own pool-#"))
			assert_int_equal(number(r, &ev, "samples"), 4);
		else
			field_is(r, &ev, "cause", "its own timer");
		buffer_free(&b);
	}
	assert_false(next(r, &ev));
	jfr_reader_close(r);
	causes_free(c);
	unlink(path);
}

/* The JDK's events are about reading and writing, of TCP connections and files. */
static void places(void **state)
{
	struct gn_cause_rec r = inet(AF_INET6, "::ffff:10.0.0.1", 8080, "::ffff:10.0.0.9", 51234);
	struct causes *c = causes_new(KEEP_NS);
	struct cause_place p;

	assert_false(causes_place(c, 1, &p));
	assert_false(causes_place(c, 0, &p));
	causes_add(c, &r, "");
	assert_true(causes_place(c, 1, &p));
	assert_true(p.socket && !p.writes);
	assert_string_equal(p.name, "10.0.0.9"); /* the peer, also where the cause is "clients" */
	assert_int_equal(p.port, 51234);
	r.of.op = GN_OP_ACCEPT;
	causes_add(c, &r, "");
	assert_false(causes_place(c, 1, &p));
	r = with_path(GN_CAUSE_FILE, "x.log\0log\0var", 14);
	causes_add(c, &r, "");
	assert_true(causes_place(c, 1, &p));
	assert_true(!p.socket && p.writes);
	assert_string_equal(p.name, "/var/log/x.log");
	r = with_path(GN_CAUSE_PIPE, "", 0);
	causes_add(c, &r, "");
	assert_false(causes_place(c, 1, &p));
	causes_free(c);
}

/* What is told of a wait for `of` that `by` is; `own`: who serves it, of its own process. */
static void served_is(const struct gn_cause_rec *of, const struct gn_cause_rec *by, pid_t own,
		      const char *kind, const char *detail)
{
	struct cause_wait wait = {.cause = by->id, .state = JFR_STATE_IO, .samples = 1};
	struct causes *c = causes_new(KEEP_NS);
	struct jfrw *w = file_open();
	struct jfr_reader *r = NULL;
	struct error e = {0};
	struct jfr_event ev;

	causes_add(c, by, "");
	if (of)
		causes_add(c, of, "");
	assert_int_equal(causes_server(c, by->id), own);
	causes_note(c, &wait, w);
	causes_write(c, w, CAUSES_ALL);
	assert_int_equal(jfrw_close(w, &e), 0);
	assert_int_equal(jfr_reader_open(&r, path, NULL, &e), 0);
	assert_true(next(r, &ev));
	field_is(r, &ev, "kind", kind);
	field_is(r, &ev, "detail", detail);
	jfr_reader_close(r);
	causes_free(c);
	unlink(path);
}

/* At the other end of what is waited for somebody was seen to serve it. */
static void served(void **state)
{
	struct gn_cause_rec of = inet(AF_INET, "10.0.0.1", 40000, "10.0.0.1", 5432),
			    by = {.id = 16, .h.tgid = 5, .fs = "walwriter", .path = "postgres"};

	by.of.kind = GN_CAUSE_SERVED;
	by.of.ino = of.id;
	by.of.dev = 77;
	by.of.count = 99;
	by.len = 8;
	served_is(&of, &by, 0, "TCP",
		  "10.0.0.1:40000, peer 10.0.0.1:5432, other end: postgres, process 77, "
		  "thread 99, walwriter");
	of.of.ino = 1;
	of.of.dev = 77;
	strcpy(of.fs, "postgres");
	served_is(&of, &by, 0, "TCP",
		  "10.0.0.1:40000, peer 10.0.0.1:5432 of postgres, process 77, "
		  "thread 99, walwriter");
	of.of.dev = 78; /* who had the connection made */
	served_is(&of, &by, 0, "TCP",
		  "10.0.0.1:40000, peer 10.0.0.1:5432 of postgres, process 78, other end: "
		  "postgres, process 77, thread 99, walwriter");
	of = with_path(GN_CAUSE_PIPE, "", 0);
	served_is(&of, &by, 0, "pipe", "other end: postgres, process 77, thread 99, walwriter");
	by.of.dev = 5;
	holders_name(&by, "Thread-17", true);
	served_is(&of, &by, 99, "pipe", "other end: this process, thread 99, Thread-17");
	served_is(NULL, &by, 99, "unknown", NULL);
	by.of.ino = by.id; /* no kernel says so */
	served_is(&of, &by, 99, "unknown", NULL);
}

#define LAST_NS 70

static void owner_of(void *ctx, const struct cause_waker *by, uint64_t last_ns, uint32_t *thread,
		     uint32_t *stack)
{
	const struct jfrw_thread t = {.os_name = "serves", .os_tid = (uint64_t)by->tid};

	assert_int_equal(last_ns, LAST_NS);
	*thread = jfrw_thread(ctx, &t);
	*stack = 0;
}

static int64_t owner_tid(struct jfr_reader *r, const struct jfr_event *ev)
{
	struct jfr_value v[16];
	struct jfr_thread t;

	jfr_event_fields(r, ev, v, 16);
	return jfr_thread_get(r, &v[jfr_class_field(ev->cls, "owner")], &t) ? t.os_id : 0;
}

/* Samples come from one CPU, and from another one, later, who serves them; or never. */
static void told_late(void **state)
{
	struct gn_cause_rec of = inet(AF_INET, "10.0.0.1", 40000, "10.0.0.1", 5432),
			    by = {.id = 16, .h.tgid = 5};
	struct cause_wait wait = {.cause = by.id,
				  .state = JFR_STATE_IO,
				  .samples = 2,
				  .whose = CAUSE_OWNER_LATER,
				  .tick = 4,
				  .first_ns = 40,
				  .last_ns = 50};

	by.of.kind = GN_CAUSE_SERVED;
	by.of.ino = of.id;
	by.of.dev = by.h.tgid;
	by.of.count = 99;
	for (int told = 0; told < 2; told++) {
		struct causes *c = causes_new(KEEP_NS);
		struct jfrw *w = file_open();
		struct jfr_reader *r = NULL;
		struct error e = {0};
		struct jfr_event ev;

		causes_on_waker(c, owner_of, w);
		causes_add(c, &of, "");
		assert_false(causes_is_known(c, by.id));
		causes_note(c, &wait, w);
		wait.tick = 7; /* after a gap */
		wait.last_ns = LAST_NS;
		causes_note(c, &wait, w);
		wait.tick = 4;
		wait.last_ns = 50;
		if (told)
			causes_add(c, &by, "");
		assert_int_equal(causes_is_known(c, by.id), told);
		causes_write(c, w, CAUSES_ALL);
		assert_int_equal(jfrw_close(w, &e), 0);
		assert_int_equal(jfr_reader_open(&r, path, NULL, &e), 0);
		assert_true(next(r, &ev));
		assert_int_equal(number(r, &ev, "samples"), 4);
		assert_int_equal(owner_tid(r, &ev), told ? 99 : 0);
		assert_int_equal(number(r, &ev, "tick"), told ? 4 : 0);
		assert_int_equal(number(r, &ev, "ticks"), told ? 0x1b : 0);
		assert_false(next(r, &ev));
		jfr_reader_close(r);
		causes_free(c);
		unlink(path);
	}
}

/* What was told while a wait lasted, and at its end. */
static void completed(void **state)
{
	struct gn_cause_rec of = inet(AF_INET, "10.0.0.1", 40000, "10.0.0.1", 5432),
			    by = {.id = 16}, woken = {.id = 24};
	struct causes *c = causes_new(KEEP_NS);
	struct cause_place p;

	by.of.kind = GN_CAUSE_SERVED;
	by.of.ino = of.id;
	woken.of.kind = GN_CAUSE_WAKER;
	causes_add(c, &by, "");
	causes_add(c, &woken, "");
	assert_false(causes_place(c, by.id, &p));
	causes_add(c, &of, "");
	assert_true(causes_place(c, by.id, &p));
	assert_int_equal(p.port, 5432);
	assert_true(causes_completes(c, of.id, by.id));
	assert_false(causes_completes(c, 0, by.id));
	assert_false(causes_completes(c, 32, by.id));
	assert_true(causes_completes(c, 0, woken.id));
	assert_false(causes_completes(c, of.id, woken.id));
	assert_false(causes_completes(c, 0, of.id));
	causes_free(c);
}

/* What nobody has had for long is forgotten; what a thread waits for all the time is not. */
static void forgotten(void **state)
{
	struct gn_cause_rec rec = inet(AF_INET, "10.0.0.1", 40000, "10.0.0.7", 5432),
			    by = {.id = 16};
	struct cause_wait wait = {
		.cause = by.id, .state = JFR_STATE_IO, .samples = 1, .first_ns = 1};
	struct causes *c = causes_new(KEEP_NS);
	struct jfrw *w = file_open();
	unsigned int known = 0, times = 0;
	struct error e = {0};

	by.of.kind = GN_CAUSE_SERVED;
	by.of.ino = 8;
	causes_add(c, &by, "");
	rec.id = 8;
	causes_add(c, &rec, "");
	for (uint64_t id = 1000; id < 21000; id++) {
		rec.id = id;
		rec.h.time = id * (KEEP_NS / 1000);
		times += causes_add(c, &rec, "");
		wait.last_ns = rec.h.time;
		causes_note(c, &wait, w);
	}
	for (uint64_t id = 1000; id < 21000; id++)
		known += causes_is_known(c, id);
	assert_in_range(known, 1000, 3000);
	assert_in_range(times, 5, 20);
	assert_true(causes_is_known(c, 20999));
	assert_true(causes_is_known(c, by.id));
	assert_true(causes_is_known(c, 8));
	causes_free(c);
	assert_int_equal(jfrw_close(w, &e), 0);
	unlink(path);
}

/* Connections come and go by the million, and threads: neither is kept for ever. */
static void bounded(void **state)
{
	struct gn_cause_rec rec = inet(AF_INET, "10.0.0.1", 40000, "10.0.0.7", 5432);
	struct cause_wait wait = {.state = JFR_STATE_IO, .samples = 1, .first_ns = 1, .last_ns = 1};
	struct causes *c = causes_new(KEEP_NS);
	struct jfrw *w = file_open();
	struct jfr_reader *r = NULL;
	struct error e = {0};
	struct jfr_event ev;
	uint64_t forgotten = 0, events = 0;

	for (uint64_t id = 1; id <= 100000; id++) {
		rec.id = wait.cause = id;
		forgotten += causes_add(c, &rec, "");
		causes_note(c, &wait, w);
	}
	causes_write(c, w, CAUSES_ALL);
	assert_in_range(forgotten, 1, 10);
	assert_int_equal(jfrw_close(w, &e), 0);
	assert_int_equal(jfr_reader_open(&r, path, NULL, &e), 0);
	while (next(r, &ev))
		events++;
	assert_int_equal(events, 100000);
	jfr_reader_close(r);
	causes_free(c);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets),   cmocka_unit_test(others),
		cmocka_unit_test(hostile),   cmocka_unit_test(locks),
		cmocka_unit_test(kept),	     cmocka_unit_test(owned),
		cmocka_unit_test(calls),     cmocka_unit_test(added_up),
		cmocka_unit_test(places),    cmocka_unit_test(served),
		cmocka_unit_test(completed), cmocka_unit_test(bounded),
		cmocka_unit_test(told_late), cmocka_unit_test(pooled),
		cmocka_unit_test(forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
