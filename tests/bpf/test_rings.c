/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring buffers in the running kernel: a collector that is held up makes them grow, a quiet time
 * makes them shrink, and every record taken is either read or counted as lost, whatever happens
 * meanwhile.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "capture/capture.h"
#include "capture/clocks.h"
#include "pin.h"

#define MS 1000000ull

static void sleep_ms(uint64_t ms)
{
	struct timespec ts = {(time_t)(ms / 1000), (long)(ms % 1000 * MS)};

	nanosleep(&ts, NULL);
}

static uint64_t cpu_used(clockid_t clk)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(clk, &ts), 0);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / MS;
}

/* Until a busy process has used so much more CPU time, which takes as long as it takes. */
static void cpu_wait(pid_t pid, uint64_t ms)
{
	uint64_t until;
	clockid_t clk;

	assert_int_equal(clock_getcpuclockid(pid, &clk), 0);
	until = cpu_used(clk) + ms;
	while (cpu_used(clk) < until)
		sleep_ms(ms < 5 ? 1 : 5);
}

struct tally {
	uint64_t cpu;
	uint64_t last[64]; /* time of the last record of each CPU */
	uint64_t disorder;
};

static void tally_record(void *ctx, const struct gn_rec *rec)
{
	struct tally *t = ctx;
	uint64_t *last = &t->last[rec->cpu % 64];

	if (rec->type != GN_REC_SAMPLE)
		return;
	t->cpu += ((const struct gn_sample *)rec)->n;
	/* a clock may fire while another record is being written: that one's time is earlier */
	t->disorder += rec->time + MS < *last;
	*last = rec->time;
}

static void add_loss(void *ctx, pid_t tid, enum gn_loss reason, uint64_t n)
{
	if (reason == GN_LOSS_RING)
		*(uint64_t *)ctx += n;
}

/* How much CPU time a burner may use before it waits for more, in ms; shared with it. */
static _Atomic uint64_t *allowance;

static pid_t burner(void)
{
	pid_t pid;

	if (!allowance)
		allowance = mmap(NULL, sizeof(*allowance), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(allowance, MAP_FAILED);
	*allowance = UINT64_MAX;
	pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* after a failure, too */
	/* one ring takes it all */
	pin_to(0);
	for (;;) {
		while (cpu_used(CLOCK_PROCESS_CPUTIME_ID) >= *allowance)
			sleep_ms(1);
		for (int i = 0; i < 1000; i++)
			getppid();
	}
}

/*
 * Until the burner has used so much more CPU time. It goes on for at most as much again,
 * however late this process is.
 */
static void cpu_wait_paced(pid_t pid, uint64_t ms)
{
	clockid_t clk;

	assert_int_equal(clock_getcpuclockid(pid, &clk), 0);
	*allowance = cpu_used(clk) + 2 * ms;
	cpu_wait(pid, ms);
}

static void record_open_quiet(struct capture **c, struct clocks **clk, pid_t pid, size_t bytes,
			      uint64_t quiet_ns)
{
	struct capture_config cfg = {
		.cpu_ns = MS / 10,
		.ring_bytes = bytes,
		.ring_quiet_ns = quiet_ns,
	};
	struct error e = {0};

	if (capture_open(c, &cfg, &e))
		fail_msg("%s", e.msg);
	assert_int_equal(capture_add(*c, pid, &e), 0);
	assert_int_equal(capture_attach(*c, &e), 0);
	assert_int_equal(clocks_open(clk, cfg.cpu_ns, capture_clock_fd(*c, CAPTURE_THREAD_CLOCK),
				     capture_clock_fd(*c, CAPTURE_CPU_CLOCK), &e),
			 0);
	assert_int_equal(clocks_add(*clk, pid, &e), 0);
}

static void record_open(struct capture **c, struct clocks **clk, pid_t pid, size_t bytes)
{
	record_open_quiet(c, clk, pid, bytes, 0);
}

/* With all that was taken until then. */
static void record_end(struct capture *c, struct clocks *clk, pid_t pid, struct tally *t)
{
	clocks_close(clk);
	capture_stop(c);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_true(capture_drain(c, tally_record, t) >= 0);
}

static void test_growth(void **state)
{
	uint64_t counters[GN_CNT_MAX], lost = 0, lost_late;
	struct tally t = {0};
	struct capture *c;
	struct clocks *clk;
	pid_t pid = burner();
	size_t at_first, grown;

	record_open(&c, &clk, pid, 16 << 10);
	at_first = capture_ring_bytes(c);
	for (int i = 0; i < 4; i++) {
		cpu_wait(pid, 700); /* held up: 7,000 samples, of which 16 kB hold 290 */
		assert_true(capture_drain(c, tally_record, &t) >= 0);
	}
	grown = capture_ring_bytes(c);
	assert_true(grown >= 4 * at_first);
	capture_losses(c, add_loss, &lost);
	assert_true(lost > 0);
	/* large enough now, on whichever CPU it runs: nothing more is lost while drained as usual
	 */
	for (int i = 0; i < 14; i++) {
		sleep_ms(100);
		assert_true(capture_drain(c, tally_record, &t) >= 0);
	}
	lost_late = 0;
	capture_losses(c, add_loss, &lost_late);
	record_end(c, clk, pid, &t);
	/* replaced rings are gone after a while, the ones in use are as large as before */
	assert_true(capture_ring_bytes(c) < grown + at_first * 64);
	capture_losses(c, add_loss, &lost_late);
	capture_counters(c, counters);
	assert_int_equal(t.cpu, counters[GN_CNT_CPU]);
	assert_true(lost_late * 100 <= t.cpu);
	assert_int_equal(t.disorder, 0);
	capture_close(c);
}

/*
 * A ring that has grown shrinks again while records are taken all the time, few at each drain: all
 * of them are read. Then it is held up again, and grows.
 */
static void test_shrinking(void **state)
{
	uint64_t counters[GN_CNT_MAX], lost = 0, lost_before;
	size_t at_first, grown, least;
	struct tally t = {0};
	struct capture *c;
	struct clocks *clk;
	pid_t pid = burner();

	record_open_quiet(&c, &clk, pid, 32 << 10, 200 * MS);
	at_first = capture_ring_bytes(c);
	for (int i = 0; i < 2; i++) {
		cpu_wait(pid, 700); /* 7,000 samples, of which 32 kB hold 580 */
		assert_true(capture_drain(c, tally_record, &t) >= 0);
	}
	*allowance = 0; /* what it was too late for is counted before the rest */
	assert_true(capture_drain(c, tally_record, &t) >= 0);
	grown = capture_ring_bytes(c);
	assert_true(grown >= 2 * at_first);
	capture_losses(c, add_loss, &lost);
	assert_true(lost > 0);
	/* some 20 samples each and at most 50, whatever else the machine does; the replaced ones
	 * go in a second */
	least = grown;
	for (int i = 0; i < 4000 && (i < 800 || least > at_first); i++) {
		cpu_wait_paced(pid, 2);
		assert_true(capture_drain(c, tally_record, &t) >= 0);
		if (capture_ring_bytes(c) < least)
			least = capture_ring_bytes(c);
	}
	assert_int_equal(least, at_first);
	lost_before = lost;
	capture_losses(c, add_loss, &lost);
	assert_int_equal(lost, lost_before);
	*allowance = UINT64_MAX;
	for (int i = 0; i < 2; i++) {
		cpu_wait(pid, 700);
		assert_true(capture_drain(c, tally_record, &t) >= 0);
	}
	assert_true(capture_ring_bytes(c) > at_first);
	capture_losses(c, add_loss, &lost);
	assert_true(lost > lost_before);
	record_end(c, clk, pid, &t);
	capture_losses(c, add_loss, &lost);
	capture_counters(c, counters);
	assert_int_equal(t.cpu, counters[GN_CNT_CPU]);
	assert_int_equal(t.disorder, 0);
	capture_close(c);
}

static void test_cap(void **state)
{
	struct tally t = {0};
	struct capture_config cfg = {
		.cpu_ns = MS / 10,
		.cpu_clocks = true,
		.ring_bytes = 8192,
		.ring_max = 16384,
	};
	struct error e = {0};
	struct capture *c;
	struct clocks *clk;
	pid_t pid = burner();
	size_t at_first;

	assert_int_equal(capture_open(&c, &cfg, &e), 0);
	assert_int_equal(capture_add(c, pid, &e), 0);
	assert_int_equal(capture_attach(c, &e), 0);
	assert_int_equal(
		clocks_open(&clk, cfg.cpu_ns, -1, capture_clock_fd(c, CAPTURE_CPU_CLOCK), &e), 0);
	at_first = capture_ring_bytes(c);
	for (int i = 0; i < 5; i++) {
		cpu_wait(pid, 400);
		assert_true(capture_drain(c, tally_record, &t) >= 0);
	}
	sleep_ms(1100); /* the replaced ones go */
	assert_true(capture_drain(c, tally_record, &t) >= 0);
	assert_true(capture_drain(c, tally_record, &t) >= 0);
	assert_true(capture_ring_bytes(c) > at_first);
	assert_true(capture_ring_bytes(c) <= 2 * at_first);
	clocks_close(clk);
	capture_close(c);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The loss map of the capture that is open here; others may record at the same time. */
static int losses_fd(void)
{
	struct bpf_map_info info;
	__u32 len;

	for (int fd = 3; fd < 1024; fd++) {
		len = sizeof(info);
		memset(&info, 0, sizeof(info));
		if (!bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, "losses"))
			return dup(fd);
	}
	fail_msg("no map of losses");
	return -1;
}

struct told {
	uint64_t of_thread, of_none, filler;
};

static void tell_loss(void *ctx, pid_t tid, enum gn_loss reason, uint64_t n)
{
	struct told *t = ctx;

	if (tid > 1 << 24) /* beyond all thread ids */
		t->filler += n;
	else if (reason == GN_LOSS_RING)
		*(tid ? &t->of_thread : &t->of_none) += n;
}

/* More threads with losses than there is room to tell apart: the losses are told all the same. */
static void test_crowded(void **state)
{
	uint64_t counters[GN_CNT_MAX], one = 1;
	struct told told = {0}, again = {0};
	struct tally t = {0};
	struct capture *c;
	struct clocks *clk;
	pid_t pid = burner();
	uint32_t n = 0;
	int fd;

	kill(pid, SIGSTOP); /* it loses nothing before there is no room */
	record_open(&c, &clk, pid, 16 << 10);
	fd = losses_fd();
	for (;; n++) {
		struct gn_loss_key key = {.tid = (1 << 25) + n};

		if (bpf_map_update_elem(fd, &key, &one, BPF_ANY))
			break;
	}
	kill(pid, SIGCONT);
	cpu_wait(pid, 700);
	record_end(c, clk, pid, &t);
	capture_losses(c, tell_loss, &told);
	capture_counters(c, counters);
	assert_true(n > 1000);
	assert_int_equal(told.filler, n);
	assert_int_equal(told.of_thread, 0);
	assert_true(told.of_none > 1000);
	assert_int_equal(told.of_none, counters[GN_CNT_LOSSES + GN_LOSS_RING]);
	capture_losses(c, tell_loss, &again); /* and told once */
	assert_int_equal(again.of_none, 0);
	close(fd);
	capture_close(c);
}

/* An argument names the tests to run, with * and ? for what is not said. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_shrinking),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_crowded),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
