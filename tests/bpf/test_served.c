/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who serves a wait for a pipe, a Unix socket or a TCP connection of this machine: the thread at
 * the other end, and none that happens to send at the same time.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/features.h"
#include "waking.h"

#define NOISE_NS (MS / 2)
#define HIT_NS	 (7 * MS)
#define TOLD	 8192

/* ---- what is recorded ---- */

/*
 * Each has a thread that waits for it, and one in another process that serves it: that of NOISE
 * sends all the time, and who waits as HIT is woken by signals, too.
 */
enum way { READS, POLLS, UNIX, PIPE, NOISE, HIT, WAYS };
static const char *const names[WAYS] = {"reads", "polls", "unix", "pipe", "noise", "hit"};
static const int kinds[WAYS] = {GN_CAUSE_INET, GN_CAUSE_INET, GN_CAUSE_UNIX,
				GN_CAUSE_PIPE, GN_CAUSE_INET, GN_CAUSE_PIPE};

struct shared {
	_Atomic pid_t waiter[WAYS], server[WAYS];
};

static struct shared *shared;
static int ends[WAYS][2]; /* that of who waits, and that of who serves */

static void *waiter_run(void *arg)
{
	size_t way = (size_t)arg;
	struct pollfd p = {.fd = ends[way][0], .events = POLLIN};
	char byte;

	shared->waiter[way] = (pid_t)syscall(SYS_gettid);
	for (;;)
		if ((way == POLLS && poll(&p, 1, -1) != 1) || read(p.fd, &byte, 1) != 1)
			abort();
	return NULL;
}

static void *server_run(void *arg)
{
	size_t way = (size_t)arg;

	prctl(PR_SET_NAME, names[way]);
	shared->server[way] = (pid_t)syscall(SYS_gettid);
	for (;;) {
		nap(way == NOISE ? NOISE_NS : WAKING_LONG_NS);
		if (write(ends[way][1], "x", 1) != 1)
			abort();
	}
	return NULL;
}

static void hit(int sig)
{
}

static pid_t child_start(void *(*run)(void *), const char *name)
{
	pid_t pid = fork();
	pthread_t th;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	signal(SIGUSR1, hit); /* read() goes on */
	for (size_t way = 0; way < WAYS; way++)
		pthread_create(&th, NULL, run, (void *)way);
	while (run == server_run || !shared->waiter[HIT])
		nap(MS);
	for (;;) {
		nap(HIT_NS);
		syscall(SYS_tgkill, getpid(), shared->waiter[HIT], SIGUSR1);
	}
}

static void connection_make(int to[2])
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int listening = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(listening, (void *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (void *)&at, &len), 0);
	to[0] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(to[0], (void *)&at, sizeof(at)), 0);
	to[1] = accept(listening, NULL, NULL);
	assert_true(to[1] >= 0);
	close(listening);
}

static void ends_make(void)
{
	for (size_t way = 0; way < WAYS; way++)
		if (kinds[way] == GN_CAUSE_INET)
			connection_make(ends[way]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends[UNIX]), 0);
	assert_int_equal(pipe(ends[PIPE]), 0);
	assert_int_equal(pipe(ends[HIT]), 0);
}

/* ---- what is told of it ---- */

struct seen {
	pid_t target, server;
	struct waking waking;
	/* samples, whose cause's content may come later by another CPU's ring */
	struct told {
		size_t way;
		uint64_t cause;
		uint32_t ticks;
	} v[TOLD];
	size_t ntold;
	uint64_t ticks[WAYS], told[WAYS];
};

static size_t way_of(pid_t tid)
{
	size_t way = 0;

	while (way < WAYS && shared->waiter[way] != tid)
		way++;
	return way;
}

static void sample_take(struct seen *s, const struct gn_sample *x)
{
	size_t way = way_of((pid_t)x->h.tid);

	if (way == WAYS || x->clock != GN_CLOCK_WALL || x->state == GN_ST_QUEUED ||
	    x->h.time < s->waking.from_ns || !x->cause)
		return;
	assert_true(s->ntold < TOLD);
	s->v[s->ntold++] = (struct told){way, x->cause, x->n};
}

static void on_record(void *ctx, const struct gn_rec *rec)
{
	struct seen *s = ctx;

	if (rec->type == GN_REC_CAUSE)
		waking_keep(&s->waking, rec);
	if (rec->type == GN_REC_SAMPLE)
		sample_take(s, (const void *)rec);
}

/* It is of the kind that it waits for, and where it tells who serves it that is so. */
static void told_check(struct seen *s)
{
	for (size_t i = 0; i < s->ntold; i++) {
		const struct told *x = &s->v[i];
		const struct gn_cause_rec *c = waking_find(&s->waking, x->cause), *by = NULL;

		assert_non_null(c);
		s->ticks[x->way] += x->ticks;
		if (c->of.kind == GN_CAUSE_SERVED) {
			by = c;
			c = waking_find(&s->waking, by->of.ino);
			assert_non_null(c);
		}
		assert_int_equal(c->of.kind, kinds[x->way]);
		if (!by)
			continue;
		s->told[x->way] += x->ticks;
		assert_int_equal(by->of.dev, s->server);
		assert_int_equal(by->of.count, shared->server[x->way]);
		assert_string_equal(by->fs, names[x->way]);
		assert_int_equal(by->len, strlen("servers"));
		assert_memory_equal(by->path, "servers", by->len);
	}
}

static void children_start(struct seen *s)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_true(shared != MAP_FAILED);
	ends_make();
	s->target = child_start(waiter_run, "waiters");
	s->server = child_start(server_run, "servers");
	for (size_t way = 0; way < WAYS; way++)
		while (!shared->waiter[way] || !shared->server[way])
			nap(MS);
}

static void children_end(const struct seen *s)
{
	kill(s->target, SIGKILL);
	kill(s->server, SIGKILL);
	waitpid(s->target, NULL, 0);
	waitpid(s->server, NULL, 0);
	for (size_t way = 0; way < WAYS; way++) {
		close(ends[way][0]);
		close(ends[way][1]);
	}
}

/* `told`: the kernel is to have them told. */
static void run(struct seen *s, bool told)
{
	children_start(s);
	if (!waking_record(&s->waking, s->target, told, on_record, s)) {
		children_end(s);
		skip();
	}
	told_check(s);
	children_end(s);
	for (size_t way = 0; way < NOISE; way++)
		assert_true(s->ticks[way] >= WAKING_ROUNDS);
}

static void test_served(void **state)
{
	struct seen s = {0};

	run(&s, true);
	for (size_t way = 0; way < WAYS; way++)
		print_message("%s: %d of %d ticks\n", names[way], (int)s.told[way],
			      (int)s.ticks[way]);
	/* the last wait has not ended */
	for (size_t way = 0; way < NOISE; way++)
		assert_true(s.told[way] * 2 >= s.ticks[way]);
}

/* A kernel that does not show who wakes: what is waited for is told all the same. */
static void test_without(void **state)
{
	struct seen s = {0};

	setenv("GNOMON_WITHOUT", "tp_btf/sched_waking", 1);
	features_forget();
	run(&s, false);
	unsetenv("GNOMON_WITHOUT");
	features_forget();
	for (size_t way = 0; way < WAYS; way++)
		assert_int_equal(s.told[way], 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_served),
		cmocka_unit_test(test_without),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
