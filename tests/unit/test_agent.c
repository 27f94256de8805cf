/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following an agent, in a child process that plays the JVM and its agent: when everything is sent
 * again, and what becomes of an attach that does not end.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>

#include "agent/stream.h"
#include "base/clock.h"
#include "jvm/agent.h"
#include "jvm/agenttids.h"
#include "jvm/attacher.h"

#include "attachfake.h"

#define RING   GNA_RING_MIN
#define SECOND 1000000000ull

/* What the test tells the child, and the child the test. */
static struct told {
	atomic_int loads;
	atomic_int jump;	/* so many records get lost */
	atomic_int off;		/* events are switched off */
	_Atomic uint64_t ended; /* its main thread is told to have ended then */
	atomic_bool refuses, is_deaf, stops_who_asks;
	atomic_int asked_by;
} * told;

/* ---- the agent ---- */

static struct gna_header *ring;

static void ring_make(void)
{
	int fd = memfd_create(GNA_MEMFD, MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, GNA_DATA + RING))
		_exit(1);
	ring = mmap(NULL, GNA_DATA + RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		_exit(1);
	*ring = (struct gna_header){
		.magic = GNA_MAGIC,
		.version = GNA_VERSION,
		.data_offset = GNA_DATA,
		.ring_size = RING,
		.path = "/tmp/agent.so",
	};
}

static void put(void *record, enum gna_type type, uint32_t size)
{
	struct gna_record *r = record;

	r->type = type;
	r->size = size;
	r->seq = ring->seq++;
	memcpy((char *)ring + GNA_DATA + ring->wpos % RING, r, size);
	ring->reserve = ring->wpos + size;
	ring->wpos += size;
}

static void mark_write(uint64_t nonce)
{
	struct gna_mark m = {.nonce = nonce};

	put(&m, GNA_MARK, sizeof(m));
}

/* A thread's life, of which only the end has a time that matters. */
static void life_write(uint64_t ended)
{
	struct {
		struct gna_thread t;
		char name[8];
	} begun = {.t = {.tid = (uint32_t)getpid(), .name_len = 6}, .name = "worker"};
	struct gna_thread_end end = {.r.time = ended, .tid = (uint32_t)getpid()};

	put(&begun, GNA_THREAD, sizeof(begun));
	put(&end, GNA_THREAD_END, sizeof(end));
}

static void join(uint64_t nonce)
{
	if (!ring)
		ring_make();
	ring->slot[0].rpos = ring->wpos;
	ring->slot[0].nonce = nonce;
	ring->state = GNA_ON;
	mark_write(nonce);
}

/* ---- the JVM ---- */

/* The option string is the last of the request's strings. */
static uint64_t nonce_of(const char *text, size_t len, const char *what)
{
	const char *options = text, *at;

	for (size_t i = 0; i + 1 < len; i++)
		if (!text[i])
			options = text + i + 1;
	at = strstr(options, what);
	return at ? strtoull(at + strlen(what), NULL, 16) : 0;
}

static void asker_note(int fd)
{
	struct ucred c;
	socklen_t n = sizeof(c);

	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n))
		told->asked_by = c.pid;
}

static void serve(int fd)
{
	char text[8192];
	size_t len = request_read(fd, text, sizeof(text) - 1);
	uint64_t nonce;

	text[len] = '\0';
	asker_note(fd);
	nonce = nonce_of(text, len, "session=");
	told->loads += nonce != 0;
	if (told->stops_who_asks)
		kill(told->asked_by, SIGSTOP);
	if (told->is_deaf)
		return; /* the connection stays open */
	if (nonce && !told->refuses)
		join(nonce);
	say(fd, told->refuses ? "0\nno\n" : "0\nreturn code: 0\n");
	close(fd);
}

static void ring_change(void)
{
	int n = told->jump;

	if (n) {
		ring->seq += (uint32_t)n;
		mark_write(1);
		told->jump = 0;
	}
	if (told->ended) {
		life_write(told->ended);
		told->ended = 0;
	}
	if (told->off) {
		ring->state = GNA_OFF;
		told->off = 0;
	}
}

static void jvm_main(void)
{
	struct pollfd at = {.events = POLLIN};
	char path[64];

	path_of(path, sizeof(path), "java", getpid());
	while (!quit_seen)
		usleep(500);
	at.fd = listen_at(path);
	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		if (poll(&at, 1, 1) > 0)
			serve(accept(at.fd, NULL, NULL));
		if (ring)
			ring_change();
	}
}

/* ---- the test's end ---- */

static pid_t jvm;

static struct agent *started(int timeout_ms)
{
	const struct agent_config cfg = {.ring_bytes = RING, .timeout_ms = timeout_ms};
	struct agent_stats s;
	struct error e = {0};
	struct agent *a;

	memset(told, 0, sizeof(*told));
	jvm = fake_fork(jvm_main, true);
	if (agent_start(&a, jvm, &cfg, &e))
		fail_msg("%s", e.msg);
	agent_stats(a, &s);
	assert_true(s.complete);
	assert_int_equal(told->loads, 1);
	return a;
}

static void ended(struct agent *a)
{
	agent_stop(a);
	kill(jvm, SIGKILL);
	assert_int_equal(fake_end(jvm), 128 + SIGKILL);
}

/* Has the child do it, and waits until it has. */
static void have(atomic_int *what, int n)
{
	*what = n;
	while (*what)
		usleep(500);
}

static void lose(struct agent *a, uint64_t now)
{
	have(&told->jump, 7);
	assert_true(agent_follow(a, now) > 0);
}

/* ---- losses ---- */

/* Code that came meanwhile may lie where there is other code by what is known. */
static void losses_are_made_up(void **state)
{
	struct agent *a = started(10000);
	uint64_t now = now_ns();
	struct agent_stats s;

	assert_int_equal(agent_follow(a, now), 0);
	assert_int_equal(told->loads, 1);
	lose(a, now);
	assert_int_equal(told->loads, 2);
	/* what comes again does not count as lost */
	agent_stats(a, &s);
	assert_int_equal(s.index.lost, 7);
	assert_true(s.complete);
	for (int i = 0; i < 100; i++)
		assert_true(agent_follow(a, now + 100 * SECOND) >= 0);
	assert_int_equal(told->loads, 2);
	ended(a);
}

/* It costs the JVM: less and less often, as long as that goes on. */
static void losses_that_go_on(void **state)
{
	struct agent *a = started(10000);
	uint64_t now = now_ns();

	lose(a, now);
	assert_int_equal(told->loads, 2);
	lose(a, now + 2 * SECOND);
	assert_int_equal(told->loads, 2);
	agent_follow(a, now + 15 * SECOND); /* 10 s and what attaching took */
	assert_int_equal(told->loads, 3);
	lose(a, now + 30 * SECOND);
	assert_int_equal(told->loads, 3);
	agent_follow(a, now + 40 * SECOND);
	assert_int_equal(told->loads, 4);
	lose(a, now + 400 * SECOND); /* after a long time without */
	assert_int_equal(told->loads, 5);
	lose(a, now + 415 * SECOND);
	assert_int_equal(told->loads, 6);
	ended(a);
}

/* ---- who does not answer ---- */

static void failures_are_not_repeated(void **state)
{
	struct agent *a = started(10000);
	uint64_t now = now_ns();
	int before;

	told->refuses = true;
	have(&told->off, 1);
	assert_int_equal(agent_follow(a, now), -ESTALE);
	before = told->loads;
	assert_true(before > 1);
	for (int i = 0; i < 100; i++)
		assert_int_equal(agent_follow(a, now + (uint64_t)i * SECOND / 20), -ESTALE);
	assert_int_equal(told->loads, before);
	/* and it is again, once it answers */
	told->refuses = false;
	agent_follow(a, now + 15 * SECOND);
	assert_int_equal(told->loads, before + 1);
	assert_int_equal(agent_follow(a, now + 15 * SECOND), 0);
	ended(a);
}

/* A JVM that has the request, and is slow, gets no second one. */
static void no_second_after_a_timeout(void **state)
{
	struct agent *a = started(300);
	struct error e = {0};

	told->is_deaf = true;
	assert_int_equal(agent_resync(a, &e), -ETIMEDOUT);
	assert_non_null(strstr(e.msg, "did not answer in time"));
	assert_int_equal(told->loads, 2);
	ended(a);
}

static void on_alarm(int sig)
{
	kill(told->asked_by, SIGKILL);
	_exit(1);
}

/*
 * Whoever attaches hangs where not even its alarm ends it: here since it is stopped. It is given
 * up.
 */
static void hanging(void **state)
{
	uint64_t start;
	struct agent *a;

	assert_int_equal(attacher_start(), 0);
	a = started(10000);
	told->stops_who_asks = true;
	start = now_ns();
	signal(SIGALRM, on_alarm);
	alarm(60);
	ended(a);
	alarm(0);
	assert_true(now_ns() - start > 5 * SECOND);
	assert_int_equal(kill(told->asked_by, SIGKILL), 0);
	attacher_stop();
}

/* ---- threads ---- */

static const char *name_of_ended(struct agent *a, uint64_t ended)
{
	told->ended = ended;
	while (told->ended)
		usleep(500);
	assert_true(agent_poll(a) > 0);
	return agent_thread_name(a, jvm);
}

/* A thread has its name after its end, for samples that come late, and no other thread has it. */
static void name_after_the_end(void **state)
{
	struct agent *a = started(10000);

	assert_string_equal(name_of_ended(a, now_ns()), "worker");
	assert_null(name_of_ended(a, 1));
	ended(a);
}

static void status_put(const char *in, int inner)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/task/7/status", in);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "Name:\tx\nState:\tS (sleeping)\nTgid:\t5\nPid:\t7\nNSpid:\t7\t%d\n", inner);
	fclose(f);
}

static void task_remove(const char *in, const char *what)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", in, what);
	assert_int_equal(remove(path), 0);
}

/* A number that another thread has by now, which has another one within its PID namespace. */
static void inner_number_used_again(void **state)
{
	char in[] = "/tmp/gnomon-agent-XXXXXX", path[64];
	struct jproc p = {.pid = 5, .inner = 1};
	struct agenttids *t = agenttids_new(&p);

	assert_non_null(mkdtemp(in));
	snprintf(path, sizeof(path), "%s/task", in);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/task/7", in);
	assert_int_equal(mkdir(path, 0700), 0);
	p.dir = open(in, O_RDONLY | O_DIRECTORY);
	assert_int_equal(agenttids_inner(t, 7), 0);
	status_put(in, 3);
	assert_int_equal(agenttids_inner(t, 7), 3);
	status_put(in, 4);
	assert_int_equal(agenttids_inner(t, 7), 4);
	task_remove(in, "task/7/status"); /* it has ended */
	assert_int_equal(agenttids_inner(t, 7), 4);
	task_remove(in, "task/7");
	task_remove(in, "task");
	task_remove(in, "");
	close(p.dir);
	agenttids_free(t);
}

static int all_setup(void **state)
{
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return told == MAP_FAILED ? -1 : setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses_are_made_up),
		cmocka_unit_test(losses_that_go_on),
		cmocka_unit_test(failures_are_not_repeated),
		cmocka_unit_test(no_second_after_a_timeout),
		cmocka_unit_test(name_after_the_end),
		cmocka_unit_test(inner_number_used_again),
		cmocka_unit_test(hanging),
	};

	return cmocka_run_group_tests(tests, all_setup, teardown);
}
