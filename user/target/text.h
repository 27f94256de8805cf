/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cursor over bounded text: what the parsers of /proc and cgroup files are made of. The text need
 * not end in NUL; nothing is read at or past `end`.
 */
#ifndef GNOMON_TARGET_TEXT_H
#define GNOMON_TARGET_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
	const char *p;
	const char *end;
};

static inline struct text text_of(const char *s, size_t len)
{
	return (struct text){s, s + len};
}

static inline size_t text_len(struct text t)
{
	return (size_t)(t.end - t.p);
}

/* Up to `sep` (not included), and move behind it; false at the end of the text. */
static inline bool text_cut(struct text *t, char sep, struct text *out)
{
	const char *at;

	if (t->p >= t->end)
		return false;
	at = memchr(t->p, sep, text_len(*t));
	*out = (struct text){t->p, at ? at : t->end};
	t->p = at ? at + 1 : t->end;
	return true;
}

static inline bool text_line(struct text *t, struct text *line)
{
	return text_cut(t, '\n', line);
}

static inline void text_skip_blanks(struct text *t)
{
	while (t->p < t->end && (*t->p == ' ' || *t->p == '\t'))
		t->p++;
}

/* The next run of characters that are neither blank nor tab. */
static inline bool text_word(struct text *t, struct text *word)
{
	text_skip_blanks(t);
	if (t->p >= t->end)
		return false;
	word->p = t->p;
	while (t->p < t->end && *t->p != ' ' && *t->p != '\t')
		t->p++;
	word->end = t->p;
	return true;
}

static inline bool text_is(struct text t, const char *s)
{
	return text_len(t) == strlen(s) && !memcmp(t.p, s, text_len(t));
}

static inline bool text_starts(struct text t, const char *s)
{
	return text_len(t) >= strlen(s) && !memcmp(t.p, s, strlen(s));
}

static inline bool text_ends(struct text t, const char *s)
{
	size_t n = strlen(s);

	return text_len(t) >= n && !memcmp(t.end - n, s, n);
}

/* Remove a prefix or a suffix where it is there; says whether it was. */
static inline bool text_eat(struct text *t, const char *prefix)
{
	if (!text_starts(*t, prefix))
		return false;
	t->p += strlen(prefix);
	return true;
}

static inline bool text_eat_end(struct text *t, const char *suffix)
{
	if (!text_ends(*t, suffix))
		return false;
	t->end -= strlen(suffix);
	return true;
}

/* Copy with a terminator, cut to fit. */
static inline void text_copy(struct text t, char *to, size_t cap)
{
	size_t n = text_len(t) < cap ? text_len(t) : cap - 1;

	memcpy(to, t.p, n);
	to[n] = '\0';
}

/* Digits of `base` (10 or 16) at the cursor; false when there are none or they overflow. */
static inline bool text_number(struct text *t, unsigned int base, uint64_t *v)
{
	const char *start = t->p;
	uint64_t n = 0;

	for (; t->p < t->end; t->p++) {
		unsigned char c = (unsigned char)*t->p;
		unsigned int d = c - '0';

		if (d > 9)
			d = (c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? (c | 0x20) - 'a' + 10u : 99;
		if (d >= base)
			break;
		if (__builtin_mul_overflow(n, base, &n) || __builtin_add_overflow(n, d, &n))
			return false;
	}
	*v = n;
	return t->p > start;
}

/* A word that is a decimal number and nothing else. */
static inline bool text_word_u64(struct text *t, uint64_t *v)
{
	struct text w;

	return text_word(t, &w) && text_number(&w, 10, v) && w.p == w.end;
}

#endif
