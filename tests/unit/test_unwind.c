/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native walk, in user space, over live children of this test (code without frame pointers):
 *  - threads at rest deep inside functions that noted their own return addresses;
 *  - a child stepped instruction by instruction through libc, the PLT, the dynamic linker and the
 *    vDSO, with a shadow stack kept from its calls and returns: the walk must agree at every pc.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <alloca.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "uwmem.h"

#define LEVELS 12
#define __plain                                                                                    \
	__attribute__((noinline, noclone, optimize("omit-frame-pointer,no-stack-protector")))

/* What a child tells: shared with it. */
struct notes {
	volatile uint64_t ra[64]; /* return addresses, outermost first */
	volatile uint32_t n;
	volatile uint32_t go; /* a futex */
	volatile pid_t tid;   /* of the thread to look at */
};

static struct notes *notes;

static __plain void note(void *ra)
{
	notes->ra[notes->n++] = (uintptr_t)ra;
}

/* ---- what the children do ---- */

enum rest { REST_FUTEX, REST_READ, REST_SLEEP, REST_SIGNAL, REST_ALTSTACK };

static void rest_in_handler(int sig)
{
	note(__builtin_return_address(0));
	notes->tid = syscall(SYS_gettid);
	syscall(SYS_futex, &notes->go, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static __plain void rest(enum rest how)
{
	struct sigaction sa = {.sa_handler = rest_in_handler};
	static char altstack[65536];
	stack_t ss = {.ss_sp = altstack, .ss_size = sizeof(altstack)};
	struct timespec hour = {3600, 0};
	int fd[2];
	char c;

	note(__builtin_return_address(0));
	if (how == REST_ALTSTACK) {
		sigaltstack(&ss, NULL);
		sa.sa_flags = SA_ONSTACK;
	}
	if (how >= REST_SIGNAL) {
		sigaction(SIGUSR1, &sa, NULL);
		raise(SIGUSR1);
		return;
	}
	notes->tid = syscall(SYS_gettid);
	if (how == REST_FUTEX)
		syscall(SYS_futex, &notes->go, FUTEX_WAIT, 0, NULL, NULL, 0);
	else if (how == REST_READ && !pipe(fd))
		c = read(fd[0], &c, 1);
	else
		nanosleep(&hour, NULL);
}

/* Frames of several shapes: small, large, with a variable part (then rbp is the frame's base). */
static __plain int descend(int level, enum rest how)
{
	volatile char small[24];
	int r;

	note(__builtin_return_address(0));
	if (level == LEVELS) {
		rest(how);
		return level;
	}
	small[level] = level;
	if (level % 3 == 1) {
		volatile char *v = alloca(level * 100);

		v[level] = 1;
		r = descend(level + 1, how) + v[level];
	} else if (level % 3 == 2) {
		volatile char large[20000];

		large[level] = 2;
		r = descend(level + 1, how) + large[level];
	} else {
		r = descend(level + 1, how);
	}
	return r + small[level];
}

static void *thread_main(void *how)
{
	descend(0, (enum rest)(uintptr_t)how);
	return NULL;
}

/* ---- a child at rest ---- */

static void regs_set(struct uw_state *s, const struct user_regs_struct *r)
{
	s->pc = r->rip;
	s->sp = r->rsp;
	s->fp = r->rbp;
	s->reg[UW_RAX] = r->rax;
	s->reg[UW_RBX] = r->rbx;
	s->reg[UW_RCX] = r->rcx;
	s->reg[UW_RDX] = r->rdx;
	s->reg[UW_RSI] = r->rsi;
	s->reg[UW_RDI] = r->rdi;
	s->reg[UW_RBP] = r->rbp;
	s->reg[UW_RSP] = r->rsp;
	s->reg[UW_R8] = r->r8;
	s->reg[UW_R9] = r->r9;
	s->reg[UW_R10] = r->r10;
	s->reg[UW_R11] = r->r11;
	s->reg[UW_R12] = r->r12;
	s->reg[UW_R13] = r->r13;
	s->reg[UW_R14] = r->r14;
	s->reg[UW_R15] = r->r15;
	s->leaf = 1;
}

static void wait_asleep(pid_t tid)
{
	char path[64], state = 0;

	for (int i = 0; i < 5000 && state != 'S'; i++) {
		FILE *f;

		usleep(1000);
		snprintf(path, sizeof(path), "/proc/%d/stat", tid);
		f = fopen(path, "r");
		if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		if (f)
			fclose(f);
	}
	assert_int_equal(state, 'S');
}

static pid_t child_at_rest(enum rest how, bool thread)
{
	pid_t pid;

	memset(notes, 0, sizeof(*notes));
	pid = fork();
	if (!pid) {
		pthread_t t;

		if (thread && !pthread_create(&t, NULL, thread_main, (void *)(uintptr_t)how))
			pthread_join(t, NULL);
		else
			descend(0, how);
		_exit(0);
	}
	while (!notes->tid)
		usleep(1000);
	wait_asleep(notes->tid);
	return pid;
}

static void child_end(pid_t pid)
{
	kill(pid, SIGKILL);
	/* a traced thread is its tracer's to reap, and before the leader */
	if (notes->tid != pid)
		waitpid(notes->tid, NULL, __WALL);
	waitpid(pid, NULL, __WALL);
}

static struct uw_state *walk_thread(struct uwmem *m, pid_t tid, uint32_t max)
{
	struct uw_state *s = calloc(1, sizeof(*s));
	struct user_regs_struct r;

	assert_int_equal(ptrace(PTRACE_ATTACH, tid, 0, 0), 0);
	assert_int_equal(waitpid(tid, NULL, __WALL), tid);
	assert_int_equal(ptrace(PTRACE_GETREGS, tid, 0, &r), 0);
	assert_int_equal(uwmem_load(m), 0);
	uw_begin(s, m->pid, max);
	regs_set(s, &r);
	s->flags = GN_FF_RETADDR;
	uw_walk(s, &m->env);
	return s;
}

/* The noted return addresses, innermost first, must be in the walk one after the other. */
static void expect_notes(const struct uw_state *s)
{
	uint32_t i = 0, k = notes->n;

	while (i < s->n && gn_frame_addr(&s->frames[i]) != notes->ra[k - 1])
		i++;
	for (; k; k--, i++) {
		assert_true(i < s->n);
		/* between a handler and the code it interrupted are raise()'s frames */
		while (i < s->n && gn_frame_addr(&s->frames[i]) != notes->ra[k - 1] && s->signals)
			i++;
		assert_int_equal(gn_frame_addr(&s->frames[i]), notes->ra[k - 1]);
		assert_int_equal(gn_frame_kind(&s->frames[i]), GN_FRAME_USER);
		/* a handler returns to where nobody has called it from */
		assert_int_equal(gn_frame_flags(&s->frames[i]),
				 s->signals && k == notes->n ? 0 : GN_FF_RETADDR);
	}
}

static void check_rest(enum rest how, bool thread)
{
	pid_t pid = child_at_rest(how, thread);
	struct uwmem *m = uwmem_new(pid);
	struct uw_state *s = walk_thread(m, notes->tid, GN_MAX_FRAMES);

	assert_int_equal(s->end, GN_END_COMPLETE);
	assert_int_equal(s->signals, how >= REST_SIGNAL);
	assert_int_equal(notes->n, LEVELS + 2 + (how >= REST_SIGNAL));
	expect_notes(s);
	child_end(pid);
	free(s);
	uwmem_free(m);
}

static void test_at_rest(void **state)
{
	for (int how = REST_FUTEX; how <= REST_SLEEP; how++) {
		check_rest(how, false);
		check_rest(how, true);
	}
}

static void test_signal_frame(void **state)
{
	check_rest(REST_SIGNAL, false);
	check_rest(REST_SIGNAL, true);
	check_rest(REST_ALTSTACK, false);
}

static void test_depth_cap(void **state)
{
	pid_t pid = child_at_rest(REST_FUTEX, false);
	struct uwmem *m = uwmem_new(pid);
	struct uw_state *s = walk_thread(m, notes->tid, 5);

	assert_int_equal(s->end, GN_END_DEPTH);
	assert_int_equal(s->n, 5);
	child_end(pid);
	free(s);
	uwmem_free(m);
}

/* ---- a child stepped ---- */

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static __plain void work(void)
{
	int v[] = {5, 3, 9, 1, 7, 2, 8};
	struct timespec ts;
	char text[64];

	qsort(v, 7, sizeof(v[0]), by_value); /* libc calls back */
	clock_gettime(CLOCK_MONOTONIC, &ts); /* vDSO */
	snprintf(text, sizeof(text), "%d %s %5.2f", v[0], "x", ts.tv_nsec * 1e-9);
	free(strdup(text)); /* memory and string functions with hand-written code */
	strtol(text, NULL, 10);
}

struct shadow {
	uint64_t ra[512], slot[512]; /* outermost first */
	uint32_t n;
};

/* From a walk that is known to be right (the tests at rest), frame by frame. */
static void shadow_init(struct shadow *sh, struct uwmem *m, const struct user_regs_struct *r)
{
	struct uw_state *s = calloc(1, sizeof(*s));
	struct uw_loop l = {.s = s, .m = &m->env, .p = &m->proc};
	uint32_t n = 0;

	uw_begin(s, m->pid, GN_MAX_FRAMES);
	regs_set(s, r);
	while (!uw_step(s, &m->env, &l)) {
		sh->ra[n] = s->pc;
		sh->slot[n++] = s->sp - 8;
	}
	assert_int_equal(s->end, GN_END_COMPLETE);
	sh->n = n;
	for (uint32_t i = 0; i < n / 2; i++) {
		uint64_t ra = sh->ra[i], slot = sh->slot[i];

		sh->ra[i] = sh->ra[n - 1 - i];
		sh->slot[i] = sh->slot[n - 1 - i];
		sh->ra[n - 1 - i] = ra;
		sh->slot[n - 1 - i] = slot;
	}
	free(s);
}

/* One instruction went from `a` to `b`. */
static void shadow_step(struct shadow *sh, struct uwmem *m, const struct user_regs_struct *a,
			const struct user_regs_struct *b)
{
	uint64_t top = 0;

	while (sh->n && sh->slot[sh->n - 1] < b->rsp)
		sh->n--;
	if (b->rsp != a->rsp - 8 || uwmem_read(m, b->rsp, &top, 8))
		return;
	/* a call: what it pushed is just behind it, and it went elsewhere (or it is a push) */
	if (top > a->rip && top <= a->rip + 8 && b->rip != top && b->rip - a->rip > 8) {
		assert_true(sh->n < 512);
		sh->ra[sh->n] = top;
		sh->slot[sh->n++] = b->rsp;
	}
}

static bool shadow_agrees(const struct shadow *sh, const struct uw_state *s)
{
	if (s->end != GN_END_COMPLETE || s->n != sh->n + 1)
		return false;
	for (uint32_t i = 1; i < s->n; i++)
		if (gn_frame_addr(&s->frames[i]) != sh->ra[sh->n - i])
			return false;
	return true;
}

static void report_step(const struct shadow *sh, const struct uw_state *s, uint64_t pc)
{
	print_error("pc %" PRIx64 ": end %d, %u frames, shadow %u", pc, s->end, s->n, sh->n + 1);
	for (uint32_t i = 0; i < s->n && i < 8; i++)
		print_error(" %" PRIx64, (uint64_t)gn_frame_addr(&s->frames[i]));
	print_error(" |");
	for (uint32_t i = 0; i < sh->n && i < 8; i++)
		print_error(" %" PRIx64, sh->ra[sh->n - 1 - i]);
	print_error("\n");
}

static void test_every_step(void **state)
{
	struct uw_state *s = calloc(1, sizeof(*s));
	struct user_regs_struct r, before;
	uint32_t steps = 0, wrong = 0;
	struct shadow sh = {.n = 0};
	struct uwmem *m;
	int status;
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		work();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	m = uwmem_new(pid);
	assert_int_equal(uwmem_load(m), 0);
	ptrace(PTRACE_GETREGS, pid, 0, &r);
	shadow_init(&sh, m, &r);
	for (;;) {
		before = r;
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, 0, 0), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFSTOPPED(status))
			break;
		ptrace(PTRACE_GETREGS, pid, 0, &r);
		shadow_step(&sh, m, &before, &r);
		uw_begin(s, pid, GN_MAX_FRAMES);
		regs_set(s, &r);
		uw_walk(s, &m->env);
		steps++;
		if (!shadow_agrees(&sh, s) && wrong++ < 10)
			report_step(&sh, s, r.rip);
	}
	print_message("%u steps, %u wrong\n", steps, wrong);
	assert_true(steps > 3000);
	assert_int_equal(wrong, 0);
	free(s);
	uwmem_free(m);
}

/* ---- mappings ---- */

/* A table of n mappings with gaps between most of them, from `base` on. */
static void mappings_make(struct uw_proc *p, uint32_t n, uint64_t base)
{
	uint64_t at = base;

	p->n = n;
	for (uint32_t i = 0; i < UW_MAX_MAPS; i++)
		p->start[i] = UW_NO_START;
	for (uint32_t i = 0; i < n; i++) {
		at += rand() % 3 * 0x1000;
		p->start[i] = at;
		at += 0x1000 + rand() % 0x400 * 0x1000;
		p->map[i] = (struct uw_mapping){.end = at, .arg = i + 1, .kind = UW_MAP_FILE};
	}
}

/* Where something was is only where to look first: tables change from walk to walk. */
static void test_mappings(void **state)
{
	static struct uw_proc p;
	static struct uw_state s;

	srand(1);
	for (uint32_t t = 0; t < 300; t++) {
		mappings_make(&p, rand() % (t % 3 ? 8 : UW_MAX_MAPS),
			      0x7f0000000000 + t % 4 * 0x2000);
		for (uint32_t k = 0; k < 200; k++) {
			uint32_t arg = 0;

			uw_begin(&s, 1, 1);
			s.pc = 0x7f0000000000 + rand() % 0x40000000U;
			uw_map_find(&s, &p);
			for (uint32_t i = 0; i < p.n; i++)
				if (s.pc >= p.start[i] && s.pc < p.map[i].end)
					arg = p.map[i].arg;
			assert_int_equal(s.map.kind, arg ? UW_MAP_FILE : UW_MAP_NONE);
			if (arg)
				assert_int_equal(s.map.arg, arg);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_rest),	  cmocka_unit_test(test_signal_frame),
		cmocka_unit_test(test_depth_cap), cmocka_unit_test(test_every_step),
		cmocka_unit_test(test_mappings),
	};

	notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
