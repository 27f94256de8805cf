/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a recording of requests, and of threads that wait for locks of others, in known numbers:
 *
 *	build/tests/browser/served served.jfr
 *
 * 10 s; CPU samples every 10 ms, ticks of the wall clock every 20 ms. served.mjs holds the page
 * against this.
 *
 *	http-1 .. 4    GET /cart: nine requests each of 100 ms, 40 of them on a CPU in
 *app.Cart.render and 60 waiting for 10.0.0.7:5432; and one of 1 s, which has 900 ms more in which
 *it waits for the monitor of an app.Cart http-1 and 2 also POST /<script>, five each of 200 ms: 100
 *ms on a CPU, 100 ms queued behind another process; for 40 ms async-1 works for it, too keeper has
 *the app.Cart all the time, and waits for an app.Db boss           has that, and is on a CPU d-1 ..
 *3       each waits for what the next one has, all the time twin, twin     two of one name; for
 *what one of them has w-twin waits for 2 s
 */
#include <stdio.h>
#include <string.h>

#include "jfrmade.h"
#include "kern/abi.h"

#define TICK (20 * MS)
#define TAIL "J java.lang.Thread.run"

static struct jfrw *w;

static uint32_t thread(const char *name, uint64_t id)
{
	return jfrw_thread(
		w, &(struct jfrw_thread){
			   .os_name = name, .os_tid = id, .java_name = name, .java_tid = id});
}

/* Frames leaf first, one a line: "J app.Main.main", with K for the kernel's. */
static uint32_t stack(const char *text)
{
	struct frame_name f[16] = {0};
	char copy[512];
	size_t n = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *s = strtok(copy, "\n"); s && n < 16; s = strtok(NULL, "\n")) {
		char *dot = strrchr(s, '.');

		*dot = 0;
		f[n++] = (struct frame_name){.klass = s + 2,
					     .method = dot + 1,
					     .sig = "()V",
					     .line = -1,
					     .bci = -1,
					     .type = *s == 'K' ? FRAME_KERNEL : FRAME_JIT};
	}
	return jfrw_stack(w, f, n, false);
}

static uint64_t tick_at(uint64_t k)
{
	return START + gn_tick_time(k, TICK);
}

static void runs(uint32_t t, uint32_t s, uint64_t from, uint64_t ms)
{
	for (uint64_t at = 10; at <= ms; at += 10)
		jfrw_cpu_sample(w, START + from + at * MS - 1, t, s);
}

struct wait {
	uint32_t thread, stack;
	enum jfr_state state;
	uint64_t tick; /* the first of `n` */
	uint32_t n;
	const char *kind, *cause; /* NULL: not known */
	uint32_t owner;		  /* 0: it is no lock */
};

static void waits(struct wait x)
{
	jfrw_wall_sample(w, tick_at(x.tick), x.thread, x.stack, x.state, x.n, x.n * TICK);
	if (x.cause)
		jfrw_wait_cause(
			w, tick_at(x.tick),
			&(struct jfr_wait_cause){.thread = x.thread,
						 .stack = x.stack,
						 .state = x.state,
						 .kind = jfrw_name(w, JFR_WORD, x.kind),
						 .operation = jfrw_name(w, JFR_WORD, "wait"),
						 .cause = jfrw_name(w, JFR_WORD, x.cause),
						 .samples = x.n,
						 .span_ns = x.n * TICK,
						 .period_ns = (x.n - 1) * TICK,
						 .owner = x.owner,
						 .tick = x.owner ? x.tick : 0});
}

static void context(uint32_t t, uint64_t from, uint64_t ms, uint32_t id, const char *endpoint)
{
	char trace[33], root[17];

	snprintf(trace, sizeof(trace), "%032x", id);
	snprintf(root, sizeof(root), "%016x", id);
	jfrw_context(w, START + from,
		     &(struct jfr_context){.duration_ns = ms * MS - TICK,
					   .thread = t,
					   .trace = trace,
					   .span = root,
					   .root = root,
					   .endpoint = jfrw_name(w, JFR_WORD, endpoint),
					   .samples = 1});
}

/* One request from `from` on; returns when it ended. */
static uint64_t cart(uint32_t t, uint64_t from, uint32_t id, uint32_t keeper, bool slow)
{
	uint32_t render = stack("J app.Cart.render\nJ app.Shop.serve\n" TAIL);
	uint32_t reads =
		stack("K (kernel).tcp_recvmsg\nJ app.Database.read\nJ app.Shop.serve\n" TAIL);
	uint32_t enters = stack("K (kernel).futex_wait\nJ app.Cart.items\nJ app.Shop.serve\n" TAIL);
	uint64_t k = from / TICK, ms = slow ? 1000 : 100;

	runs(t, render, from, 40);
	waits((struct wait){t, reads, JFR_STATE_IO, k + 2, 3, "TCP", "10.0.0.7:5432", 0});
	if (slow)
		waits((struct wait){t, enters, JFR_STATE_BLOCKED, k + 5, 45, "monitor", "app.Cart",
				    keeper});
	context(t, from, ms, id, "GET /cart");
	return from + ms * MS;
}

static uint64_t order(uint32_t t, uint64_t from, uint32_t id, uint32_t async)
{
	uint32_t book = stack("J app.Order.book\nJ app.Shop.serve\n" TAIL);
	uint32_t mail = stack("J app.Mail.send\n" TAIL);
	uint64_t k = from / TICK;

	runs(t, book, from, 100);
	waits((struct wait){t, book, JFR_STATE_QUEUED, k + 5, 5, "CPU", "stress", 0});
	waits((struct wait){async, mail, JFR_STATE_PARKED, k + 1, 2, NULL, NULL, 0});
	context(t, from, 200, id, "POST /<script>document.title='owned'</script>");
	context(async, from + TICK, 60, id, "POST /<script>document.title='owned'</script>");
	return from + 200 * MS;
}

static void requests_write(uint32_t keeper)
{
	uint32_t async = thread("async-1", 20), id = 1;

	for (uint32_t i = 0; i < 4; i++) {
		uint64_t at = 200 * MS + i * TICK;
		char name[16];
		uint32_t t;

		snprintf(name, sizeof(name), "http-%u", i + 1);
		t = thread(name, 10 + i);
		for (uint32_t k = 0; k < 10; k++)
			at = cart(t, at, id++, keeper, k == 4) + 100 * MS;
		/* one after the other: async-1 does one thing at a time */
		for (uint32_t k = 0; k < 5 && i < 2; k++)
			at = order(t, 5000 * MS + (2 * k + i) * 400 * MS, id++, async);
	}
}

static void locks_write(uint32_t keeper)
{
	static const char *const what[] = {"app.A", "app.B", "app.C"};
	uint32_t boss = thread("boss", 31), d[3], twin = thread("twin", 50);
	uint32_t refresh = stack("K (kernel).futex_wait\nJ app.Cart.refresh\n" TAIL);
	uint32_t locks = stack("K (kernel).futex_wait\nJ app.Dead.lock\n" TAIL);
	uint32_t twins = stack("J app.Twin.sleep\n" TAIL);

	waits((struct wait){keeper, refresh, JFR_STATE_BLOCKED, 1, 498, "monitor", "app.Db", boss});
	runs(boss, stack("J app.Boss.work\n" TAIL), 0, 10000);
	d[0] = thread("d-1", 41);
	d[1] = thread("d-2", 42);
	d[2] = thread("d-3", 43);
	for (int i = 0; i < 3; i++)
		waits((struct wait){d[i], locks, JFR_STATE_BLOCKED, 1, 498, "monitor", what[i],
				    d[(i + 1) % 3]});
	waits((struct wait){twin, twins, JFR_STATE_SLEEPING, 1, 498, NULL, NULL, 0});
	waits((struct wait){thread("twin", 51), twins, JFR_STATE_SLEEPING, 1, 498, NULL, NULL, 0});
	waits((struct wait){thread("w-twin", 52), locks, JFR_STATE_BLOCKED, 100, 100, "monitor",
			    "app.T", twin});
}

int main(int argc, char **argv)
{
	uint32_t keeper;

	if (argc != 2 || !(w = jm_open(argv[1], (struct jfrw_form){0}))) {
		fprintf(stderr, "usage: served FILE.jfr\n");
		return 2;
	}
	keeper = thread("keeper", 30);
	requests_write(keeper);
	locks_write(keeper);
	jfrw_end(w, START + 10000 * MS);
	return jfrw_close(w, NULL) != 0;
}
