/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks capture for more CPU time than is his share waits for it, and has his answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/ask.h"
#include "wire/clerk.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within),
		cmocka_unit_test(beyond),
		cmocka_unit_test(ended_meanwhile),
	};

	return cmocka_run_group_tests_name("clerk", tests, NULL, NULL);
}
