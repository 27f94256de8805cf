/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who asks capture for more CPU time than is his share waits for it, and has his answers. Of
 * several who ask each has to do with his own processes and tables alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/ask.h"
#include "wire/clerk.h"
#include "wire/desk.h"

#define COST_NS 4000000ull
#define ASKS	4

static int costly(void *ctx, uint32_t *program, uint32_t *link)
{
	uint64_t begun = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun < COST_NS)
		;
	*program += 1;
	return 0;
}

static const struct unwinder unwinder = {.programs = costly};

static void asked(int fd, uint32_t program)
{
	struct ask ask = {.kind = ASK_PROGRAMS, .program = program};
	struct answer a;

	assert_int_equal(ask_bytes_write(fd, &ask, sizeof(ask)), 0);
	assert_int_equal(ask_bytes_read(fd, &a, sizeof(a)), 0);
	assert_int_equal(a.rc, 0);
	assert_int_equal(a.program, program + 1);
}

/* All of them; how often an answer was put off. */
static uint64_t slowed(struct bucket_size budget)
{
	const struct clerk_duties d = {.budget = budget};
	struct clerk *c;
	uint64_t n;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(clerk_start(&c, ends[0], &unwinder, &d), 0);
	for (uint32_t i = 0; i < ASKS; i++)
		asked(ends[1], i);
	n = clerk_slowed(c);
	assert_int_equal(clerk_refused(c), 0);
	clerk_stop(c);
	close(ends[0]);
	close(ends[1]);
	return n;
}

static void within(void **state)
{
	assert_int_equal(slowed((struct bucket_size){0}), 0);
	assert_int_equal(slowed((struct bucket_size){100 * ASKS * COST_NS, 1}), 0);
}

static void beyond(void **state)
{
	uint64_t n = slowed((struct bucket_size){COST_NS, 4 * COST_NS});

	assert_true(n > 0 && n <= ASKS);
}

/* Who ends the conversation does not wait for an answer that was put off. */
static void ended_meanwhile(void **state)
{
	const struct clerk_duties d = {.budget = {1, 1}};
	struct clerk *c;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(clerk_start(&c, ends[0], &unwinder, &d), 0);
	asked(ends[1], 0);
	while (!clerk_slowed(c))
		usleep(1000);
	clerk_stop(c);
	close(ends[0]);
	close(ends[1]);
}

/* ---- several ---- */

/* The unwinder as they have it: files by their keys, and what was dropped. */
struct tables {
	uint8_t key[8][UNWIND_KEY_MAX];
	size_t len[8], n;
	pid_t dropped, of;
	bool freed;
	int within; /* of its functions, at this moment */
	unsigned int epochs;
};

static uint32_t file_find(void *ctx, const void *key, size_t len)
{
	struct tables *t = ctx;

	for (uint32_t i = 0; i < t->n; i++)
		if (t->len[i] == len && !memcmp(t->key[i], key, len))
			return i;
	return UNWIND_NO_FILE;
}

static int file_add(void *ctx, pid_t tgid, const void *key, size_t len,
		    const struct unwind_table *table, uint32_t *file, uint32_t *refused)
{
	struct tables *t = ctx;

	assert_true(t->n < 8 && len <= UNWIND_KEY_MAX);
	memcpy(t->key[t->n], key, len);
	t->len[t->n] = len;
	*file = (uint32_t)t->n++;
	*refused = 0;
	return 0;
}

static void proc_drop(void *ctx, pid_t tgid, uint64_t now)
{
	((struct tables *)ctx)->dropped = tgid;
}

static int coders_met(void *ctx, pid_t tgid)
{
	((struct tables *)ctx)->of = tgid;
	return 0;
}

static bool freed(void *ctx, uint64_t now)
{
	struct tables *t = ctx;
	bool was = t->freed;

	t->freed = false;
	return was;
}

/* Takes a while, in which nobody else may be here. */
static int slow(void *ctx, uint32_t *program, uint32_t *link)
{
	struct tables *t = ctx;

	assert_int_equal(__atomic_fetch_add(&t->within, 1, __ATOMIC_SEQ_CST), 0);
	usleep(500);
	__atomic_fetch_sub(&t->within, 1, __ATOMIC_SEQ_CST);
	*program += 1;
	return 0;
}

static void on_epoch(void *ctx)
{
	((struct tables *)ctx)->epochs++;
}

/* Process N is number N's, as is N + 10. */
static bool is_his(void *whose, pid_t tgid)
{
	return tgid % 10 == (pid_t)(uintptr_t)whose;
}

struct party {
	struct clerk *clerk;
	int ends[2];
};

static void party_begin(struct party *p, uint32_t number, const struct unwinder *u,
			struct desk *desk)
{
	const struct clerk_duties d = {
		.on_epoch = on_epoch,
		.ctx = u->ctx,
		.is_recorded = is_his,
		.is_ours = is_his,
		.whose = (void *)(uintptr_t)number,
		.desk = desk,
		.domain = number,
		.budget = {UINT32_MAX, UINT32_MAX},
	};

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->ends), 0);
	assert_int_equal(clerk_start(&p->clerk, p->ends[0], u, &d), 0);
}

static void party_end(struct party *p)
{
	clerk_stop(p->clerk);
	close(p->ends[0]);
	close(p->ends[1]);
}

static struct answer told(const struct party *p, const struct ask *ask)
{
	struct answer a;

	assert_int_equal(ask_bytes_write(p->ends[1], ask, sizeof(*ask)), 0);
	assert_int_equal(ask_bytes_read(p->ends[1], &a, sizeof(a)), 0);
	return a;
}

/* Two rules, which any table has, and no rows. */
static struct answer table_told(const struct party *p, pid_t tgid, const char *key)
{
	const struct uw_rule rules[] = {{.cfa = UW_CFA_NONE}, {.cfa = UW_CFA_STOP}};
	struct ask ask = {.kind = ASK_FILE_ADD,
			  .tgid = tgid,
			  .key_len = UNWIND_KEY_MAX - sizeof(uint32_t),
			  .nrules = 2};
	struct answer a;

	strcpy((char *)ask.key, key);
	assert_int_equal(ask_bytes_write(p->ends[1], &ask, sizeof(ask)), 0);
	assert_int_equal(ask_bytes_write(p->ends[1], rules, sizeof(rules)), 0);
	assert_int_equal(ask_bytes_read(p->ends[1], &a, sizeof(a)), 0);
	return a;
}

static uint32_t table_found(const struct party *p, const char *key)
{
	struct ask ask = {.kind = ASK_FILE_FIND, .key_len = UNWIND_KEY_MAX - sizeof(uint32_t)};

	strcpy((char *)ask.key, key);
	return told(p, &ask).file;
}

static struct unwinder unwinder_of(struct tables *t)
{
	return (struct unwinder){
		.ctx = t,
		.file_find = file_find,
		.file_add = file_add,
		.proc_drop = proc_drop,
		.coders_met = coders_met,
		.freed = freed,
		.programs = slow,
	};
}

static void each_his_own(void **state)
{
	struct tables t = {.freed = true};
	struct unwinder u = unwinder_of(&t);
	struct desk *desk = desk_new();
	struct ask drop = {.kind = ASK_PROC_DROP, .tgid = 12},
		   coders = {.kind = ASK_CODERS_MET, .tgid = 12}, news = {.kind = ASK_FREED};
	struct party one, two;

	party_begin(&one, 1, &u, desk);
	party_begin(&two, 2, &u, desk);
	/* a process of another one */
	assert_int_equal(told(&one, &drop).rc, -ESRCH);
	assert_int_equal(told(&one, &coders).rc, -ESRCH);
	assert_int_equal(t.dropped, 0);
	assert_int_equal(t.of, 0);
	assert_int_equal(table_told(&one, 2, "libc").rc, -ESRCH);
	assert_int_equal(told(&two, &drop).rc, 0);
	assert_int_equal(told(&two, &coders).rc, 0);
	assert_int_equal(t.dropped, 12);
	assert_int_equal(t.of, 12);
	/* the same file, by the word of each */
	assert_int_equal(table_told(&one, 1, "libc").rc, 0);
	assert_int_equal(table_found(&two, "libc"), UNWIND_NO_FILE);
	assert_int_equal(table_told(&two, 2, "libc").file, 1);
	assert_int_equal(table_found(&one, "libc"), 0);
	assert_int_equal(table_found(&two, "libc"), 1);
	/* both hear that there is room again, once */
	assert_int_equal(told(&one, &news).flag, 1);
	assert_int_equal(told(&one, &news).flag, 0);
	assert_int_equal(told(&two, &news).flag, 1);
	assert_int_equal(told(&two, &news).flag, 0);
	party_end(&one);
	party_end(&two);
	desk_free(desk);
}

/* A key so long that there is no room for whose it is. */
static void too_long_a_key(void **state)
{
	struct tables t = {0};
	struct unwinder u = unwinder_of(&t);
	struct desk *desk = desk_new();
	struct ask find = {.kind = ASK_FILE_FIND, .key_len = UNWIND_KEY_MAX - 3};
	struct party one;

	party_begin(&one, 1, &u, desk);
	assert_int_equal(told(&one, &find).file, UNWIND_NO_FILE);
	assert_int_equal(told(&one, &find).rc, 0);
	party_end(&one);
	desk_free(desk);
}

/* What makes work for all is done so often, and then now and then. */
static void no_storm(void **state)
{
	struct tables t = {0};
	struct unwinder u = unwinder_of(&t);
	struct desk *desk = desk_new();
	struct ask epoch = {.kind = ASK_EPOCH};
	unsigned int done = 0, n = 0;
	struct party one;

	party_begin(&one, 1, &u, desk);
	for (; n < 100000 && (n < 1500 || done == n); n++)
		done += told(&one, &epoch).rc == 0;
	assert_int_equal(t.epochs, done);
	assert_true(done >= 1000);
	assert_true(done < n);
	party_end(&one);
	desk_free(desk);
}

static void *ask_on(void *arg)
{
	const struct party *p = arg;

	for (uint32_t i = 0; i < 100000; i++) {
		struct ask ask = {.kind = ASK_PROGRAMS};
		struct answer a;

		if (ask_bytes_write(p->ends[1], &ask, sizeof(ask)) ||
		    ask_bytes_read(p->ends[1], &a, sizeof(a)))
			break;
	}
	return NULL;
}

/* Two ask without an end: never both at once, and a third has his turn all the same. */
static void by_turns(void **state)
{
	struct tables t = {0};
	struct unwinder u = unwinder_of(&t);
	struct desk *desk = desk_new();
	struct ask ask = {.kind = ASK_PROGRAMS};
	struct party p[3];
	pthread_t threads[2];

	for (uint32_t i = 0; i < 3; i++)
		party_begin(&p[i], i + 1, &u, desk);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_on, &p[i]), 0);
	for (int i = 0; i < 50; i++)
		assert_int_equal(told(&p[2], &ask).program, 1);
	for (int i = 0; i < 2; i++)
		shutdown(p[i].ends[1], SHUT_RDWR);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 3; i++)
		party_end(&p[i]);
	desk_free(desk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within),	   cmocka_unit_test(beyond),
		cmocka_unit_test(ended_meanwhile), cmocka_unit_test(each_his_own),
		cmocka_unit_test(too_long_a_key),  cmocka_unit_test(no_storm),
		cmocka_unit_test(by_turns),
	};

	return cmocka_run_group_tests_name("clerk", tests, NULL, NULL);
}
