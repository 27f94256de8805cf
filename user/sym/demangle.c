/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

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

/* Both kinds; legacy Rust names are valid Itanium names with a hash at the end, so Rust is first.
 */
static bool unfold(const char *name, int options, struct sink *s)
{
	if (setjmp(s->full))
		return false;
	s->len = 0;
	if (rust_demangle_callback(name, options, sink_add, s) && s->len)
		return true;
	s->len = 0;
	return !strncmp(name, "_Z", 2) && cplus_demangle_v3_callback(name, options, sink_add, s) &&
	       s->len;
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
