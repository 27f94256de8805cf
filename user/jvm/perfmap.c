/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "jvm/jproc.h"

#define FILE_MAX    (256u << 20)
#define ENTRIES_MAX 4000000u
#define NAMES_MAX   (256u << 20)
#define CODE_MAX    (1ULL << 30) /* bytes of one piece of code */
#define BACK_MAX    256		 /* overlapping entries looked at */
#define CHUNK	    (1u << 20)

struct entry {
	uint64_t start;
	uint32_t size, order;
	uint32_t name, len; /* in names */
};

struct perfmap {
	struct entry *v;
	size_t n, cap;
	bool sorted;
	struct buffer names, pending;
	struct perfmap_stats stats;
	dev_t dev;
	ino_t ino;
	uint64_t offset;
	char klass[FRAME_NAME_MAX], method[FRAME_NAME_MAX], sig[FRAME_NAME_MAX];
};

struct perfmap *perfmap_new(void)
{
	return calloc(1, sizeof(struct perfmap));
}

void perfmap_free(struct perfmap *m)
{
	if (!m)
		return;
	free(m->v);
	buffer_free(&m->names);
	buffer_free(&m->pending);
	free(m);
}

/* ---- parsing --------------------------------------------------------------------------------- */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns what follows the number and its blanks; NULL if it is none or too long. */
static const char *hex_take(const char *s, const char *end, uint64_t *v)
{
	int n = 0;

	if (end - s > 2 && s[0] == '0' && (s[1] | 0x20) == 'x')
		s += 2;
	for (*v = 0; s < end && digit(*s) >= 0; s++, n++)
		*v = *v << 4 | (uint64_t)digit(*s);
	if (!n || n > 16 || s >= end || *s != ' ')
		return NULL;
	while (s < end && *s == ' ')
		s++;
	return s;
}

static int entry_add(struct perfmap *m, uint64_t start, uint32_t size, const char *name, size_t len)
{
	if (m->n >= ENTRIES_MAX || m->names.len + len > NAMES_MAX) {
		m->stats.refused++;
		return 0;
	}
	if (m->n == m->cap) {
		size_t cap = m->cap ? m->cap * 2 : 1024;
		struct entry *v = realloc(m->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		m->v = v;
		m->cap = cap;
	}
	m->v[m->n] =
		(struct entry){start, size, (uint32_t)m->n, (uint32_t)m->names.len, (uint32_t)len};
	buffer_add(&m->names, name, len);
	if (m->names.failed)
		return -ENOMEM;
	m->n++;
	m->sorted = false;
	return 0;
}

static int line_parse(struct perfmap *m, const char *s, const char *end)
{
	uint64_t start, size;
	size_t len;

	if (end > s && end[-1] == '\r')
		end--;
	if (s == end)
		return 0;
	s = hex_take(s, end, &start);
	s = s ? hex_take(s, end, &size) : NULL;
	if (!s || s == end || !size || size > CODE_MAX || start > UINT64_MAX - size) {
		m->stats.bad++;
		return 0;
	}
	len = (size_t)(end - s);
	return entry_add(m, start, (uint32_t)size, s,
			 len < FRAME_NAME_MAX ? len : FRAME_NAME_MAX - 1);
}

int perfmap_parse(struct perfmap *m, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		const char *stop = nl ? nl : end;
		int rc = line_parse(m, text, stop);

		if (rc)
			return rc;
		text = nl ? nl + 1 : end;
	}
	return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void perfmap_reset(struct perfmap *m, const struct stat *st)
{
	m->n = 0;
	m->names.len = 0;
	m->pending.len = 0;
	m->offset = 0;
	m->dev = st->st_dev;
	m->ino = st->st_ino;
}

/* Parse up to the last newline; what follows may be half a line and waits. */
static int pending_parse(struct perfmap *m)
{
	char *text = (char *)m->pending.data;
	char *nl = m->pending.len ? memrchr(text, '\n', m->pending.len) : NULL;
	size_t used = nl ? (size_t)(nl + 1 - text) : 0;
	int rc = used ? perfmap_parse(m, text, used) : 0;

	if (!used && m->pending.len > CHUNK)
		used = m->pending.len; /* no line is that long */
	if (used)
		memmove(text, text + used, m->pending.len - used);
	m->pending.len -= used;
	return rc;
}

static int64_t file_follow(struct perfmap *m, int fd, uint64_t size)
{
	int64_t total = 0;

	while (m->offset < size && m->offset < FILE_MAX) {
		uint8_t *to = buffer_reserve(&m->pending, CHUNK);
		ssize_t n = to ? pread(fd, to, CHUNK, (off_t)m->offset) : -1;

		if (!to)
			return -ENOMEM;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		m->pending.len += (size_t)n;
		m->offset += (uint64_t)n;
		total += n;
		if (pending_parse(m))
			return -ENOMEM;
	}
	return total;
}

int64_t perfmap_read(struct perfmap *m, const struct jproc *p)
{
	char path[64];
	struct stat st;
	int64_t rc;
	int fd;

	snprintf(path, sizeof(path), "tmp/perf-%d.map", p->inner);
	fd = jproc_openat(p, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (st.st_uid != p->uid && st.st_uid)) {
		close(fd);
		return -EPERM;
	}
	if (st.st_dev != m->dev || st.st_ino != m->ino || (uint64_t)st.st_size < m->offset)
		perfmap_reset(m, &st);
	rc = file_follow(m, fd, (uint64_t)st.st_size);
	close(fd);
	return rc;
}

/* ---- looking up ------------------------------------------------------------------------------ */

static int entry_compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static const struct entry *entry_find(struct perfmap *m, uint64_t pc)
{
	const struct entry *best = NULL;
	size_t lo = 0, hi = m->n, back;

	if (!m->n)
		return NULL;
	if (!m->sorted)
		qsort(m->v, m->n, sizeof(m->v[0]), entry_compare);
	m->sorted = true;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->v[mid].start <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (back = 0; lo > 0 && back < BACK_MAX; lo--, back++) {
		const struct entry *e = &m->v[lo - 1];

		if (pc - e->start < e->size && (!best || e->order > best->order))
			best = e;
	}
	return best;
}

static void text_copy(char *to, const char *from, size_t n)
{
	memcpy(to, from, n);
	to[n] = '\0';
}

/*
 * "void java.lang.Thread.run()" as `jcmd Compiler.perfmap` writes it: type, a blank, class and
 * method with dots between, arguments in parentheses. False if it is something else.
 */
static bool name_split(struct perfmap *m, const char *s, size_t n)
{
	const char *paren = memchr(s, '(', n), *blank, *dot;

	if (!paren || s[n - 1] != ')')
		return false;
	blank = memchr(s, ' ', (size_t)(paren - s));
	if (!blank)
		return false;
	blank++;
	dot = memrchr(blank, '.', (size_t)(paren - blank));
	if (!dot || dot == blank || memchr(blank, ' ', (size_t)(paren - blank)))
		return false;
	text_copy(m->klass, blank, (size_t)(dot - blank));
	text_copy(m->method, dot + 1, (size_t)(paren - dot - 1));
	text_copy(m->sig, paren, (size_t)(s + n - paren));
	return true;
}

int perfmap_lookup(struct perfmap *m, uint64_t pc, struct frame_name *out)
{
	const struct entry *e = entry_find(m, pc);
	const char *name;
	bool java;

	if (!e)
		return 0;
	name = (const char *)m->names.data + e->name;
	java = name_split(m, name, e->len);
	if (!java) {
		text_copy(m->method, name, e->len);
		m->sig[0] = '\0';
	}
	*out = (struct frame_name){
		.klass = java ? m->klass : "[jit]",
		.method = m->method,
		.sig = m->sig,
		.line = -1,
		.bci = -1,
		.type = java ? FRAME_JIT : FRAME_NATIVE,
	};
	return 1;
}

void perfmap_stats(const struct perfmap *m, struct perfmap_stats *s)
{
	*s = m->stats;
	s->entries = m->n;
	s->bytes = m->names.cap + m->cap * sizeof(m->v[0]);
}
