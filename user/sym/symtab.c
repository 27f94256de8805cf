/* SPDX-License-Identifier: Apache-2.0 */
#include "sym/symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/frame.h"
#include "sym/demangle.h"

#define NONE	   UINT32_MAX
#define NEST_MAX   64	       /* enclosing symbols tried by a look-up */
#define LATE_MAX   4	       /* names that take too long: after so many none is demangled */
#define SHOWN_CPP  0x80000000u /* in shown[]: demangled */
#define SHOWN_SAME 0x7fffffffu /* in shown[]: as it is in the file */

struct entry {
	uint32_t addr; /* from base */
	uint32_t size;
	uint32_t name; /* offset in names */
	union {
		uint32_t rank;	 /* while filling: smaller is better */
		uint32_t parent; /* afterwards: the innermost earlier symbol still open here */
	};
};

#define RANK_UNSIZED 0x10000u
#define RANK_MAX_UND 0xffu

struct symtab {
	uint64_t base;
	struct entry *v;
	uint32_t n, cap;
	struct buffer names;
	uint32_t *shown; /* per symbol: 0 not asked yet, else offset in shown_names + 1, or SAME */
	struct buffer shown_names;
	unsigned int late; /* names that took too long to demangle */
};

struct symtab *symtab_new(uint64_t base)
{
	struct symtab *t = calloc(1, sizeof(*t));

	if (t)
		t->base = base;
	return t;
}

void symtab_free(struct symtab *t)
{
	if (!t)
		return;
	free(t->v);
	free(t->shown);
	buffer_free(&t->names);
	buffer_free(&t->shown_names);
	free(t);
}

/* ---- filling --------------------------------------------------------------------------------- */

static uint32_t rank_of(bool sized, enum symtab_bind bind, const char *name, size_t len)
{
	uint32_t und = 0;

	while (und < len && und < RANK_MAX_UND && name[und] == '_')
		und++;
	/* "_Z" and "_R" are not a mark of internal names but of mangled ones */
	if (und == 1 && len > 1 && (name[1] == 'Z' || name[1] == 'R'))
		und = 0;
	return (sized ? 0 : RANK_UNSIZED) | und << 8 | bind;
}

static size_t without_version(const char *name, size_t len)
{
	const char *at = memchr(name, '@', len);

	if (!at || at == name || (name + len - at == 4 && !memcmp(at, "@plt", 4)))
		return len;
	return at - name;
}

static int entry_reserve(struct symtab *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : 1024;
	struct entry *v;

	if (t->n < t->cap)
		return 0;
	if (t->n >= SYMTAB_MAX)
		return -E2BIG;
	v = realloc(t->v, cap * sizeof(*v));
	if (!v)
		return -ENOMEM;
	t->v = v;
	t->cap = cap;
	return 0;
}

int symtab_add(struct symtab *t, uint64_t vaddr, uint64_t size, bool sized, enum symtab_bind bind,
	       const char *name, size_t len)
{
	uint64_t addr = vaddr - t->base;
	uint8_t *to;
	int rc;

	if (vaddr < t->base || addr >= UINT32_MAX)
		return -ERANGE;
	len = without_version(name, len);
	if (t->names.len + len + 1 > SYMTAB_NAMES_MAX)
		return -E2BIG;
	rc = entry_reserve(t);
	to = rc ? NULL : buffer_reserve(&t->names, len + 1);
	if (!to)
		return rc ? rc : -ENOMEM;
	t->v[t->n++] = (struct entry){
		.addr = addr,
		.size = size > UINT32_MAX - addr ? UINT32_MAX - addr : size,
		.name = t->names.len,
		.rank = rank_of(sized, bind, name, len),
	};
	for (size_t i = 0; i < len; i++)
		to[i] = (uint8_t)name[i] < 0x20 || name[i] == 0x7f ? '?' : name[i];
	to[len] = 0;
	t->names.len += len + 1;
	return 0;
}

/* ---- sorting --------------------------------------------------------------------------------- */

static const char *file_name(const struct symtab *t, const struct entry *e)
{
	return (const char *)t->names.data + e->name;
}

static int entry_order(const void *a, const void *b, void *arg)
{
	const struct entry *x = a, *y = b;
	size_t lx, ly;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	lx = strlen(file_name(arg, x));
	ly = strlen(file_name(arg, y));
	if (lx != ly)
		return lx < ly ? -1 : 1;
	return strcmp(file_name(arg, x), file_name(arg, y));
}

static uint32_t entry_end(const struct entry *e)
{
	return e->addr + e->size;
}

/*
 * Keep one symbol per address and link each to the innermost one that is still open where it
 * starts. `open` is the stack of sized symbols that are; each is pushed and popped once.
 */
static void link_entries(struct symtab *t, uint32_t *open)
{
	uint32_t kept = 0, depth = 0;
	bool last_sized = true;

	for (uint32_t i = 0; i < t->n; i++) {
		struct entry e = t->v[i], *last = kept ? &t->v[kept - 1] : NULL;
		bool sized = !(e.rank & RANK_UNSIZED);

		if (last && last->addr == e.addr) {
			if (sized && e.size > last->size)
				last->size = e.size;
			continue;
		}
		while (depth && entry_end(&t->v[open[depth - 1]]) <= e.addr)
			depth--;
		if (!sized && depth)
			continue;
		if (!last_sized && entry_end(last) > e.addr)
			last->size = e.addr - last->addr;
		e.parent = depth ? open[depth - 1] : NONE;
		if (sized)
			open[depth++] = kept;
		last_sized = sized;
		t->v[kept++] = e;
	}
	t->n = kept;
}

static void shrink(struct symtab *t)
{
	void *v = t->n ? realloc(t->v, t->n * sizeof(*t->v)) : NULL;
	void *names = t->names.len ? realloc(t->names.data, t->names.len) : NULL;

	if (v) {
		t->v = v;
		t->cap = t->n;
	}
	if (names) {
		t->names.data = names;
		t->names.cap = t->names.len;
	}
}

int symtab_finish(struct symtab *t)
{
	uint32_t *open;

	if (!t->n)
		return 0;
	open = malloc(t->n * sizeof(*open));
	if (!open)
		return -ENOMEM;
	qsort_r(t->v, t->n, sizeof(*t->v), entry_order, t);
	link_entries(t, open);
	free(open);
	shrink(t);
	return 0;
}

/* ---- looking up ------------------------------------------------------------------------------ */

static bool name_demangle(struct symtab *t, const struct entry *e, char *buf, size_t cap)
{
	uint64_t wasted = demangle_wasted_ns();
	bool done = demangle(file_name(t, e), false, buf, cap);

	t->late += demangle_wasted_ns() != wasted;
	return done;
}

/* The index of the demangled name; made at the first call. */
static uint32_t shown_index(struct symtab *t, uint32_t i)
{
	char buf[FRAME_NAME_MAX];
	uint32_t at = t->shown_names.len;

	if (!t->shown)
		t->shown = calloc(t->n, sizeof(*t->shown));
	if (!t->shown)
		return SHOWN_SAME;
	if (t->shown[i])
		return t->shown[i];
	t->shown[i] = SHOWN_SAME;
	if (t->shown_names.len < SYMTAB_NAMES_MAX && t->late < LATE_MAX &&
	    name_demangle(t, &t->v[i], buf, sizeof(buf)) &&
	    buffer_reserve(&t->shown_names, strlen(buf) + 1)) {
		buffer_add(&t->shown_names, buf, strlen(buf) + 1);
		t->shown[i] = (at + 1) | SHOWN_CPP;
	}
	return t->shown[i];
}

/* The innermost symbol that covers vaddr, or NONE. */
static uint32_t entry_find(const struct symtab *t, uint64_t vaddr)
{
	uint64_t addr = vaddr - t->base;
	uint32_t lo = 0, hi = t->n, i;

	if (vaddr < t->base || addr >= UINT32_MAX)
		return NONE;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	i = lo ? lo - 1 : NONE;
	for (int depth = 0; i != NONE && addr >= entry_end(&t->v[i]); i = t->v[i].parent)
		if (++depth == NEST_MAX)
			return NONE;
	return i;
}

bool symtab_find(struct symtab *t, uint64_t vaddr, struct symtab_hit *hit)
{
	uint32_t i = entry_find(t, vaddr), shown;

	if (i == NONE)
		return false;
	shown = shown_index(t, i);
	hit->cpp = shown & SHOWN_CPP;
	hit->name = hit->cpp ? (const char *)t->shown_names.data + (shown & ~SHOWN_CPP) - 1
			     : file_name(t, &t->v[i]);
	hit->start = t->base + t->v[i].addr;
	hit->size = t->v[i].size;
	return true;
}

bool symtab_covers(const struct symtab *t, uint64_t start, uint64_t end)
{
	while (start < end) {
		uint32_t i = entry_find(t, start);

		if (i == NONE)
			return false;
		start = t->base + entry_end(&t->v[i]);
	}
	return true;
}

size_t symtab_count(const struct symtab *t)
{
	return t->n;
}

size_t symtab_bytes(const struct symtab *t)
{
	return sizeof(*t) + t->cap * sizeof(*t->v) + t->names.cap + t->shown_names.cap +
	       (t->shown ? t->n * sizeof(*t->shown) : 0);
}

bool symtab_equal(const struct symtab *a, const struct symtab *b)
{
	return a->base == b->base && a->n == b->n && a->names.len == b->names.len &&
	       (!a->n || !memcmp(a->v, b->v, a->n * sizeof(*a->v))) &&
	       (!a->names.len || !memcmp(a->names.data, b->names.data, a->names.len));
}
