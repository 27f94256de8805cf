/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/demangle.h"

#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct sink {
	char *out;
	size_t len, cap;
	jmp_buf full;
};

/*
 * The callback has no way to say stop, and a few hundred bytes of substitutions can double the
 * output with each level; so leave by longjmp. The *_callback functions keep all their state on the
 * stack (they are meant for signal handlers), so nothing leaks.
 */
static void sink_add(const char *p, size_t n, void *arg)
{
	struct sink *s = arg;

	if (!n) /* and p may be NULL */
		return;
	if (n >= s->cap - s->len)
		longjmp(s->full, 1);
	memcpy(s->out + s->len, p, n);
	s->len += n;
}

/* ---- in time ---- */

/*
 * libiberty looks for packs to expand in what substitutions share, once for each way to it: a
 * hundred bytes can mean 2^60 steps, of which none writes anything. There is no other way to stop
 * it than a signal that leaves by longjmp, which these functions bear as they bear ours from the
 * callback: they hold no memory and no lock.
 */
static __thread struct {
	timer_t timer;
	bool made;
	volatile sig_atomic_t armed;
	sigjmp_buf late;
	uint64_t wasted_ns;
} watch;

static void on_late(int signal)
{
	if (watch.armed)
		siglongjmp(watch.late, 1);
}

static void handler_set(void)
{
	/* it is left by longjmp: nothing would take the signal out of the mask */
	struct sigaction sa = {.sa_handler = on_late, .sa_flags = SA_NODEFER | SA_RESTART};

	sigaction(SIGPROF, &sa, NULL);
}

static bool watch_make(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};

	ev._sigev_un._tid = gettid();
	pthread_once(&once, handler_set);
	watch.made = !timer_create(CLOCK_THREAD_CPUTIME_ID, &ev, &watch.timer);
	return watch.made;
}

static void watch_for(long ns)
{
	struct itimerspec at = {.it_value.tv_nsec = ns};

	timer_settime(watch.timer, 0, &at, NULL);
}

uint64_t demangle_wasted_ns(void)
{
	return watch.wasted_ns;
}

/* Rust's are bounded by what is written: what is skipped is not gone into. */
static bool cpp_unfold(const char *name, int options, struct sink *s)
{
	volatile bool done = false;

	if (!watch.made && !watch_make())
		return false;
	if (!sigsetjmp(watch.late, 0)) {
		watch.armed = 1;
		watch_for(DEMANGLE_MAX_NS);
		done = cplus_demangle_v3_callback(name, options, sink_add, s);
	} else {
		watch.wasted_ns += DEMANGLE_MAX_NS;
		s->len = 0;
	}
	watch.armed = 0;
	watch_for(0);
	return done;
}

/* Both kinds; legacy Rust names are valid Itanium names with a hash at the end, so Rust is first.
 */
static bool unfold(const char *name, int options, struct sink *s)
{
	if (setjmp(s->full)) {
		bool was_armed = watch.armed;

		/* first of all: what a late signal jumps to is gone */
		watch.armed = 0;
		if (was_armed)
			watch_for(0);
		return false;
	}
	s->len = 0;
	if (rust_demangle_callback(name, options, sink_add, s) && s->len)
		return true;
	s->len = 0;
	return !strncmp(name, "_Z", 2) && cpp_unfold(name, options, s) && s->len;
}

bool demangle(const char *name, bool params, char *out, size_t cap)
{
	static const char plt[] = "@plt";
	char copy[DEMANGLE_IN_MAX + 1];
	size_t len = strnlen(name, sizeof(copy)), tail = sizeof(plt) - 1;
	struct sink s = {.out = out, .cap = cap};

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') || len > DEMANGLE_IN_MAX)
		return false;
	if (len > tail && !strcmp(name + len - tail, plt)) {
		memcpy(copy, name, len - tail);
		copy[len - tail] = 0;
		name = copy;
		s.cap = cap > tail + 1 ? cap - tail : 1;
	} else {
		tail = 0;
	}
	if (!unfold(name, params ? DMGL_PARAMS | DMGL_ANSI : DMGL_NO_OPTS, &s))
		return false;
	memcpy(out + s.len, plt, tail);
	out[s.len + tail] = 0;
	return true;
}
