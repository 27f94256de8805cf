/* SPDX-License-Identifier: Apache-2.0 */
/* What the session and naming see of each other: losses, by thread as far as there is room. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "naming/board.h"

#define THREADS (2 * BOARD_LOSSES)

struct told {
	uint64_t by_thread[THREADS + 1][LOSS_MAX]; /* 0: of none */
	unsigned int calls;
};

static struct told told;

static void on_loss(void *ctx, pid_t tid, unsigned int reason, uint64_t count)
{
	assert_in_range(tid, 0, THREADS);
	assert_in_range(reason, 0, LOSS_MAX - 1);
	told.by_thread[tid][reason] += count;
	told.calls++;
}

static void take(struct board *b)
{
	memset(&told, 0, sizeof(told));
	board_losses(b, on_loss, NULL);
}

static void by_thread_and_reason(void **state)
{
	struct board *b = board_new();

	board_lose(b, 7, LOSS_QUEUE_CPU, 3);
	board_lose(b, 7, LOSS_QUEUE_WALL, 100);
	board_lose(b, 8, LOSS_QUEUE_CPU, 5);
	board_lose(b, 7, LOSS_QUEUE_CPU, 4);
	board_lose(b, 0, LOSS_QUEUE, 1);
	board_lose(b, 7, LOSS_MAX, 1); /* there is no such reason */
	take(b);
	assert_int_equal(told.calls, 4);
	assert_int_equal(told.by_thread[7][LOSS_QUEUE_CPU], 7);
	assert_int_equal(told.by_thread[7][LOSS_QUEUE_WALL], 100);
	assert_int_equal(told.by_thread[8][LOSS_QUEUE_CPU], 5);
	assert_int_equal(told.by_thread[0][LOSS_QUEUE], 1);
	take(b); /* each once */
	assert_int_equal(told.calls, 0);
	board_lose(b, 8, LOSS_QUEUE_CPU, 1);
	take(b);
	assert_int_equal(told.calls, 1);
	board_free(b);
}

/* More threads than places: nobody's loss is another's, and none is missing. */
static void many(void **state)
{
	struct board *b = board_new();
	uint64_t sum = 0, own = 0;

	for (pid_t tid = 1; tid <= THREADS; tid++)
		board_lose(b, tid, LOSS_QUEUE_CPU, (uint64_t)tid);
	take(b);
	for (pid_t tid = 1; tid <= THREADS; tid++) {
		uint64_t n = told.by_thread[tid][LOSS_QUEUE_CPU];

		assert_true(!n || n == (uint64_t)tid);
		own += n != 0;
		sum += n;
	}
	assert_in_range(own, BOARD_LOSSES / 2, BOARD_LOSSES);
	sum += told.by_thread[0][LOSS_QUEUE_CPU];
	assert_int_equal(sum, (uint64_t)THREADS * (THREADS + 1) / 2);
	board_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_thread_and_reason),
		cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
