/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code is found through the 4 KiB pages it touches: a page lists the pieces of code that lie or lay
 * in it, oldest first. Pieces that the JVM has freed stay listed until the page is full or memory
 * is short, since samples are named later than they are taken.
 */
#include "jvm/agentindex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static uint32_t hash_bytes(const void *key, size_t len);

/* Keys come from the target. It cannot foresee this hash, and so cannot make them collide. */
#define HASH_FUNCTION(key, len, hashv) ((hashv) = hash_bytes(key, len))
#include <uthash.h>
#include <utlist.h>

#include "agent/stream.h"
#include "base/descriptor.h"

#define PAGE_SHIFT  12
#define PAGE_CODES  256		 /* pieces remembered per page */
#define CODE_MAX    (8u << 20)	 /* bytes of one piece of code */
#define RECORD_MAX  GNA_RING_MAX /* bytes of one record */
#define DEPTH_MAX   512		 /* logical frames at one pc */
#define THREADS_MAX 200000
#define ENDED_MAX   20000 /* threads remembered after their end */
#define MAX_DEFAULT (256u << 20)
#define ALLOC_EXTRA 16 /* about what malloc adds */
#define FOREVER	    UINT64_MAX

struct line {
	uint16_t bci, line; /* the class file format has no more bits (JVMS 4.7.12) */
};

struct method {
	uint64_t id;
	char *klass;	 /* NULL: referred to, names not seen */
	size_t text_len; /* of klass, name and sig together */
	char *name, *sig;
	uint16_t modifiers;
	uint32_t nlines, refs; /* refs: by code */
	struct line *lines;
	struct method *next; /* links all methods, to free them */
	UT_hash_handle hh;
};

struct code {
	uint64_t addr, from, to; /* executable in [from, to) */
	uint32_t size, npcs, table_len;
	uint32_t pages; /* how many pages list it */
	uint16_t nmethods;
	uint8_t table;
	bool java;
	struct method **methods; /* [0] is unused for inline tables */
	struct method *method;
	uint8_t *enc; /* stub: the name */
};

struct page {
	uint64_t key;
	struct code **v;
	uint32_t n, cap;
	UT_hash_handle hh;
};

struct thread {
	uint64_t address;  /* JavaThread*, key of by_address */
	uint32_t tid;	   /* key of by_tid */
	bool ended;	   /* it is in the list of ended threads, */
	uint64_t ended_ns; /* and this was told of its end; 0: it has only lost its JavaThread */
	char *name;
	struct thread *prev, *next;
	UT_hash_handle ha, ht;
};

struct agentindex {
	struct method *by_id, *all_methods;
	struct page *pages;
	struct thread *by_address, *by_tid, *ended; /* ended: oldest first */
	uint32_t nended;
	uint32_t seq;
	bool seq_known;
	uint64_t max_bytes, marked;
	struct agentindex_stats stats;
};

static uint64_t hash_seed;

static uint32_t hash_bytes(const void *key, size_t len)
{
	uint64_t k = 0;

	memcpy(&k, key, len < sizeof(k) ? len : sizeof(k));
	k = (k ^ hash_seed) * 0x9e3779b97f4a7c15ULL;
	k = (k ^ k >> 29 ^ hash_seed) * 0xbf58476d1ce4e5b9ULL;
	return (uint32_t)(k >> 32);
}

/* ---- a bounded cursor over a record ---------------------------------------------------------- */

struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

static const uint8_t *cursor_take(struct cursor *c, size_t n)
{
	const uint8_t *p = c->p;

	if (c->bad || (size_t)(c->end - c->p) < n) {
		c->bad = true;
		return NULL;
	}
	c->p += n;
	return p;
}

static uint64_t cursor_varint(struct cursor *c)
{
	uint64_t v = 0;
	int shift;

	for (shift = 0; shift < 64; shift += 7) {
		const uint8_t *p = cursor_take(c, 1);

		if (!p)
			return 0;
		v |= (uint64_t)(*p & 0x7f) << shift;
		if (!(*p & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void *ix_alloc(struct agentindex *ix, size_t n)
{
	void *p;

	if (ix->stats.bytes + n > ix->max_bytes)
		return NULL;
	p = calloc(1, n);
	if (p)
		ix->stats.bytes += n + ALLOC_EXTRA;
	return p;
}

static void ix_release(struct agentindex *ix, void *p, size_t n)
{
	if (!p)
		return;
	ix->stats.bytes -= n + ALLOC_EXTRA;
	free(p);
}

/* ---- methods --------------------------------------------------------------------------------- */

/* "Ljava/lang/A$B.0x12;" (a hidden class) -> "java.lang.A$B/0x12", as Class.getName() has it. */
static void class_name(char *to, const uint8_t *sig, size_t n)
{
	size_t i;

	if (n >= 2 && sig[0] == 'L' && sig[n - 1] == ';') {
		sig++;
		n -= 2;
	}
	for (i = 0; i < n; i++)
		to[i] = sig[i] == '/' ? '.' : sig[i] == '.' ? '/' : (char)sig[i];
	to[n] = '\0';
}

static struct method *method_add(struct agentindex *ix, uint64_t id)
{
	struct method *m = ix_alloc(ix, sizeof(*m)), *old;

	if (!m)
		return NULL;
	m->id = id;
	HASH_FIND(hh, ix->by_id, &id, sizeof(id), old);
	if (old)
		HASH_DEL(ix->by_id, old);
	HASH_ADD(hh, ix->by_id, id, sizeof(id), m);
	m->next = ix->all_methods;
	ix->all_methods = m;
	ix->stats.methods++;
	return m;
}

/* The method with that id, which may have no names yet. */
static struct method *method_ref(struct agentindex *ix, uint64_t id)
{
	struct method *m;

	if (!id)
		return NULL;
	HASH_FIND(hh, ix->by_id, &id, sizeof(id), m);
	return m ? m : method_add(ix, id);
}

static bool method_same(const struct method *m, const char *klass, const char *name,
			const char *sig)
{
	return !strcmp(m->klass, klass) && !strcmp(m->name, name) && !strcmp(m->sig, sig);
}

static int lines_read(struct agentindex *ix, struct method *m, struct cursor *c, uint32_t n)
{
	uint64_t bci = 0, line = 0;
	uint32_t i;

	if (!n)
		return 0;
	if (n > 65535 || n > (size_t)(c->end - c->p) / 2)
		return -EBADMSG;
	m->lines = ix_alloc(ix, n * sizeof(m->lines[0]));
	if (!m->lines)
		return -ENOMEM;
	m->nlines = n;
	for (i = 0; i < n; i++) {
		uint64_t z;

		bci += cursor_varint(c);
		z = cursor_varint(c);
		line += (z >> 1) ^ -(z & 1);
		m->lines[i].bci = (uint16_t)bci;
		m->lines[i].line = (uint16_t)line;
	}
	return c->bad ? -EBADMSG : 0;
}

/* Makes the record's descriptor, n bytes at s, fit into what is kept of it. */
static int sig_fit(char out[static FRAME_NAME_MAX], const uint8_t *s, size_t n)
{
	char *whole = strndup((const char *)s, n);

	if (!whole)
		return -ENOMEM;
	descriptor_fit(out, whole);
	free(whole);
	return 0;
}

static int method_fill(struct agentindex *ix, struct method *m, const struct gna_method *r,
		       const uint8_t *names, struct cursor *c)
{
	size_t k = r->klass_len, n = r->name_len, s;
	char sig[FRAME_NAME_MAX], *text;

	if (sig_fit(sig, names + k + n, r->sig_len))
		return -ENOMEM;
	s = strlen(sig);
	text = ix_alloc(ix, k + n + s + 3);
	if (!text)
		return -ENOMEM;
	class_name(text, names, k);
	m->name = text + k + 1;
	memcpy(m->name, names + k, n);
	m->sig = m->name + n + 1;
	memcpy(m->sig, sig, s);
	m->klass = text;
	m->text_len = k + n + s + 3;
	m->modifiers = (uint16_t)r->modifiers;
	return lines_read(ix, m, c, r->nlines);
}

static bool method_known(struct agentindex *ix, const struct method *m, const struct gna_method *r,
			 const uint8_t *names)
{
	size_t k = r->klass_len, n = r->name_len;
	char *klass = malloc(k + 1), *name = strndup((const char *)names + k, n);
	char sig[FRAME_NAME_MAX];
	bool same = false;

	if (klass && name && !sig_fit(sig, names + k + n, r->sig_len)) {
		class_name(klass, names, k);
		same = method_same(m, klass, name, sig);
	}
	free(klass);
	free(name);
	return same;
}

static int feed_method(struct agentindex *ix, const uint8_t *p, struct cursor *c)
{
	struct gna_method r;
	const uint8_t *names;
	struct method *m;

	if (!cursor_take(c, sizeof(r) - sizeof(r.r)))
		return -EBADMSG;
	memcpy(&r, p, sizeof(r));
	names = cursor_take(c, (size_t)r.klass_len + r.name_len + r.sig_len);
	if (!names || !r.id)
		return -EBADMSG;
	m = method_ref(ix, r.id);
	if (!m)
		return -ENOMEM;
	if (m->klass) {
		if (method_known(ix, m, &r, names))
			return 0;
		/* the id was used again: what refers to the old method keeps it */
		m = method_add(ix, r.id);
		if (!m)
			return -ENOMEM;
	}
	return method_fill(ix, m, &r, names, c);
}

static int32_t method_line(const struct method *m, int32_t bci)
{
	int32_t line = -1, best = -1;
	uint32_t i;

	if (bci < 0)
		return -1;
	/* pairs need not be sorted (JVMS 4.7.12) */
	for (i = 0; i < m->nlines; i++)
		if (m->lines[i].bci <= bci && m->lines[i].bci >= best) {
			best = m->lines[i].bci;
			line = m->lines[i].line;
		}
	return line;
}

/* ---- code ------------------------------------------------------------------------------------ */

static size_t code_bytes(const struct code *c)
{
	return sizeof(*c) + c->nmethods * sizeof(c->methods[0]) + c->table_len + 1;
}

static struct code *code_new(struct agentindex *ix, uint16_t nmethods, size_t table_len)
{
	struct code *c =
		ix_alloc(ix, sizeof(*c) + nmethods * sizeof(c->methods[0]) + table_len + 1);

	if (!c)
		return NULL;
	c->nmethods = nmethods;
	c->table_len = (uint32_t)table_len;
	c->methods = (struct method **)(c + 1);
	c->enc = (uint8_t *)(c->methods + nmethods);
	c->to = FOREVER;
	ix->stats.codes++;
	return c;
}

static struct method *method_hold(struct method *m)
{
	if (m)
		m->refs++;
	return m;
}

static void code_drop(struct agentindex *ix, struct code *c)
{
	uint16_t i;

	for (i = 0; i < c->nmethods; i++)
		if (c->methods[i])
			c->methods[i]->refs--;
	if (c->method)
		c->method->refs--;
	ix->stats.codes--;
	ix_release(ix, c, code_bytes(c));
}

static void page_remove(struct agentindex *ix, struct page *pg, uint32_t i)
{
	struct code *c = pg->v[i];

	memmove(pg->v + i, pg->v + i + 1, (pg->n - i - 1) * sizeof(pg->v[0]));
	pg->n--;
	if (!--c->pages)
		code_drop(ix, c);
}

/* The piece to forget when a page is full: the oldest that is gone, else the oldest. */
static uint32_t page_victim(const struct page *pg)
{
	uint32_t i;

	for (i = 0; i < pg->n; i++)
		if (pg->v[i]->to != FOREVER)
			return i;
	return 0;
}

static struct page *page_find(struct agentindex *ix, uint64_t key)
{
	struct page *pg;

	HASH_FIND(hh, ix->pages, &key, sizeof(key), pg);
	return pg;
}

static struct page *page_get(struct agentindex *ix, uint64_t key)
{
	struct page *pg = page_find(ix, key);

	if (pg)
		return pg;
	pg = ix_alloc(ix, sizeof(*pg));
	if (!pg)
		return NULL;
	pg->key = key;
	HASH_ADD(hh, ix->pages, key, sizeof(key), pg);
	return pg;
}

static int page_add(struct agentindex *ix, uint64_t key, struct code *c)
{
	struct page *pg = page_get(ix, key);

	if (!pg)
		return -ENOMEM;
	if (pg->n == PAGE_CODES)
		page_remove(ix, pg, page_victim(pg));
	if (pg->n == pg->cap) {
		uint32_t cap = pg->cap ? pg->cap * 2 : 4;
		struct code **v = realloc(pg->v, cap * sizeof(v[0]));

		if (!v)
			return -ENOMEM;
		ix->stats.bytes += (cap - pg->cap) * sizeof(v[0]);
		pg->v = v;
		pg->cap = cap;
	}
	pg->v[pg->n++] = c;
	c->pages++;
	return 0;
}

static void method_free(struct agentindex *ix, struct method *m)
{
	struct method *named;

	HASH_FIND(hh, ix->by_id, &m->id, sizeof(m->id), named);
	if (named == m)
		HASH_DEL(ix->by_id, m);
	ix_release(ix, m->klass, m->text_len);
	ix_release(ix, m->lines, m->nlines * sizeof(m->lines[0]));
	ix_release(ix, m, sizeof(*m));
	ix->stats.methods--;
}

/* Those that no code is made of any more. */
static void methods_sweep(struct agentindex *ix)
{
	struct method **at = &ix->all_methods;

	while (*at) {
		struct method *m = *at;

		if (m->refs) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		method_free(ix, m);
	}
}

/* Forget the pieces that are gone, to make room. */
static void pages_sweep(struct agentindex *ix)
{
	struct page *pg, *tmp;
	uint32_t i;

	HASH_ITER(hh, ix->pages, pg, tmp)
		for (i = pg->n; i > 0; i--)
			if (pg->v[i - 1]->to != FOREVER)
				page_remove(ix, pg, i - 1);
}

static int code_insert(struct agentindex *ix, struct code *c)
{
	uint64_t first = c->addr >> PAGE_SHIFT, last = (c->addr + c->size - 1) >> PAGE_SHIFT, k;

	c->pages = 1; /* ours, so that no failure frees it under us */
	for (k = first; k <= last; k++)
		if (page_add(ix, k, c))
			break;
	if (!--c->pages) {
		code_drop(ix, c);
		return -ENOMEM;
	}
	return 0;
}

static bool code_overlaps(const struct code *a, const struct code *b)
{
	return a->addr < b->addr + b->size && b->addr < a->addr + a->size;
}

static bool code_same(const struct code *a, const struct code *b)
{
	if (a->addr != b->addr || a->size != b->size || a->java != b->java)
		return false;
	if (a->java)
		return a->method == b->method;
	return a->table_len == b->table_len && !memcmp(a->enc, b->enc, a->table_len);
}

/*
 * Code cannot lie where other code is alive: what overlaps ended unseen. Only stubs lie inside
 * other stubs (vtable stubs in their chunk). Returns false if c is known already.
 */
static bool code_displace(struct agentindex *ix, struct code *c, uint64_t time, bool existing)
{
	uint64_t first = c->addr >> PAGE_SHIFT, last = (c->addr + c->size - 1) >> PAGE_SHIFT, k;
	uint32_t i;

	for (k = first; k <= last; k++) {
		struct page *pg = page_find(ix, k);

		for (i = 0; pg && i < pg->n; i++) {
			struct code *o = pg->v[i];

			if (!code_overlaps(o, c))
				continue;
			if (o->to == FOREVER && code_same(o, c) && (existing || !c->java))
				return false;
			if (o->to == FOREVER && (o->java || c->java))
				o->to = time;
			if (existing && o->to != FOREVER && o->to > c->from)
				c->from = o->to;
		}
	}
	return true;
}

static int code_add(struct agentindex *ix, struct code *c, const struct gna_record *r)
{
	bool existing = r->flags & GNA_F_EXISTING;

	c->from = existing ? 0 : r->time;
	if (!code_displace(ix, c, r->time, existing)) {
		code_drop(ix, c);
		return 0;
	}
	return code_insert(ix, c);
}

static bool range_ok(uint64_t addr, uint32_t size)
{
	return addr && size && size <= CODE_MAX && addr <= UINT64_MAX - CODE_MAX;
}

/* The whole table must be readable, so that looking up needs no checks. */
static bool table_ok(const struct gna_load *r, struct cursor c)
{
	uint64_t pc = 0;
	uint32_t i;

	for (i = 0; i < r->npcs; i++) {
		uint64_t d = cursor_varint(&c), depth = cursor_varint(&c), k;

		if (c.bad || d > CODE_MAX || !depth || depth > DEPTH_MAX)
			return false;
		pc += d;
		for (k = 0; k < depth; k++) {
			if (cursor_varint(&c) >= r->nmethods || cursor_varint(&c) > 65536)
				return false;
		}
		if (c.bad)
			return false;
	}
	return pc <= UINT32_MAX;
}

static int feed_load(struct agentindex *ix, const uint8_t *p, struct cursor *c)
{
	const uint8_t *ids;
	struct gna_load r;
	struct code *code;
	uint64_t id;
	uint16_t i;

	if (!cursor_take(c, sizeof(r) - sizeof(r.r)))
		return -EBADMSG;
	memcpy(&r, p, sizeof(r));
	ids = cursor_take(c, r.nmethods * sizeof(id));
	if (!ids || !range_ok(r.addr, r.code_size) || !table_ok(&r, *c))
		return -EBADMSG;
	code = code_new(ix, r.nmethods, (size_t)(c->end - c->p));
	if (!code)
		return -ENOMEM;
	for (i = 0; i < r.nmethods; i++) {
		memcpy(&id, ids + i * sizeof(id), sizeof(id));
		code->methods[i] = method_hold(method_ref(ix, id));
	}
	memcpy(code->enc, c->p, (size_t)(c->end - c->p));
	code->java = true;
	code->addr = r.addr;
	code->size = r.code_size;
	code->npcs = r.npcs;
	code->table = r.table;
	code->method = method_hold(method_ref(ix, r.method));
	ix->stats.nameless += !code->method || !code->method->klass;
	return code_add(ix, code, &r.r);
}

static int feed_code(struct agentindex *ix, const uint8_t *p, struct cursor *c)
{
	struct gna_code r;
	const uint8_t *name;
	struct code *code;

	if (!cursor_take(c, sizeof(r) - sizeof(r.r)))
		return -EBADMSG;
	memcpy(&r, p, sizeof(r));
	name = r.name_len < FRAME_NAME_MAX ? cursor_take(c, r.name_len) : NULL;
	if (!name || !range_ok(r.addr, r.code_size))
		return -EBADMSG;
	code = code_new(ix, 0, r.name_len);
	if (!code)
		return -ENOMEM;
	memcpy(code->enc, name, r.name_len);
	code->addr = r.addr;
	code->size = r.code_size;
	return code_add(ix, code, &r.r);
}

static int feed_unload(struct agentindex *ix, const uint8_t *p, struct cursor *c)
{
	struct gna_unload r;
	struct page *pg;
	uint32_t i;

	if (!cursor_take(c, sizeof(r) - sizeof(r.r)))
		return -EBADMSG;
	memcpy(&r, p, sizeof(r));
	pg = page_find(ix, r.addr >> PAGE_SHIFT);
	for (i = 0; pg && i < pg->n; i++) {
		struct code *o = pg->v[i];

		/* the method tells a late unload from the code that lies there by now */
		if (o->java && o->addr == r.addr && o->to == FOREVER && o->method &&
		    o->method->id == r.method)
			o->to = r.r.time;
	}
	return 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void thread_unname(struct agentindex *ix, struct thread *t)
{
	if (t->name)
		ix_release(ix, t->name, strlen(t->name) + 1);
	t->name = NULL;
}

static struct thread *thread_by_address(struct agentindex *ix, uint64_t a)
{
	struct thread *t;

	HASH_FIND(ha, ix->by_address, &a, sizeof(a), t);
	return t;
}

static struct thread *thread_by_tid(struct agentindex *ix, uint32_t tid)
{
	struct thread *t;

	HASH_FIND(ht, ix->by_tid, &tid, sizeof(tid), t);
	return t;
}

static void thread_drop(struct agentindex *ix, struct thread *t)
{
	if (t->address)
		HASH_DELETE(ha, ix->by_address, t);
	if (t->tid)
		HASH_DELETE(ht, ix->by_tid, t);
	if (t->ended) {
		DL_DELETE(ix->ended, t);
		ix->nended--;
	}
	thread_unname(ix, t);
	ix_release(ix, t, sizeof(*t));
	ix->stats.threads--;
}

static struct thread *thread_new(struct agentindex *ix)
{
	struct thread *t;

	if (ix->stats.threads >= THREADS_MAX)
		return NULL;
	t = ix_alloc(ix, sizeof(*t));
	if (t)
		ix->stats.threads++;
	return t;
}

/* Give t the tid; whoever had it before is gone. */
static void thread_set_tid(struct agentindex *ix, struct thread *t, uint32_t tid)
{
	struct thread *old = thread_by_tid(ix, tid);

	if (old == t)
		return;
	if (old)
		thread_drop(ix, old);
	if (t->tid)
		HASH_DELETE(ht, ix->by_tid, t);
	t->tid = tid;
	HASH_ADD(ht, ix->by_tid, tid, sizeof(t->tid), t);
}

static void thread_end(struct agentindex *ix, struct thread *t)
{
	if (t->address)
		HASH_DELETE(ha, ix->by_address, t);
	t->address = 0;
	if (t->ended)
		return;
	t->ended = true;
	DL_APPEND(ix->ended, t);
	if (++ix->nended > ENDED_MAX)
		thread_drop(ix, ix->ended);
}

/* A thread that was told to have ended is told of anew: another one, of the same number. */
static void thread_revive(struct agentindex *ix, struct thread *t)
{
	if (!t->ended)
		return;
	DL_DELETE(ix->ended, t);
	ix->nended--;
	t->ended = false;
	t->ended_ns = 0;
}

static struct thread *thread_get(struct agentindex *ix, uint64_t address, uint32_t tid)
{
	struct thread *t = address ? thread_by_address(ix, address) : thread_by_tid(ix, tid);

	/* a JavaThread's memory is used again: another tid makes it another thread */
	if (t && address && tid && t->tid && t->tid != tid) {
		thread_end(ix, t);
		t = NULL;
	}
	if (t)
		return t;
	t = thread_new(ix);
	if (t && address) {
		t->address = address;
		HASH_ADD(ha, ix->by_address, address, sizeof(t->address), t);
	}
	return t;
}

static int feed_thread(struct agentindex *ix, const uint8_t *p, struct cursor *c)
{
	struct gna_thread r;
	const uint8_t *name;
	struct thread *t;

	if (!cursor_take(c, sizeof(r) - sizeof(r.r)))
		return -EBADMSG;
	memcpy(&r, p, sizeof(r));
	name = r.name_len <= FRAME_NAME_MAX ? cursor_take(c, r.name_len) : NULL;
	if (!name || (!r.tid && !r.javathread))
		return -EBADMSG;
	t = thread_get(ix, r.javathread, r.tid);
	if (!t)
		return -ENOMEM;
	thread_revive(ix, t);
	if (r.tid)
		thread_set_tid(ix, t, r.tid);
	thread_unname(ix, t);
	t->name = ix_alloc(ix, r.name_len + 1);
	if (!t->name)
		return -ENOMEM;
	memcpy(t->name, name, r.name_len);
	/* what is counted at release is the string's length */
	ix->stats.bytes -= r.name_len - strlen(t->name);
	return 0;
}

/* The name stays for samples still to be named; the address may be used again at once. */
static int feed_thread_end(struct agentindex *ix, const uint8_t *p, struct cursor *c)
{
	struct gna_thread_end r;
	struct thread *t;

	if (!cursor_take(c, sizeof(r) - sizeof(r.r)))
		return -EBADMSG;
	memcpy(&r, p, sizeof(r));
	t = thread_by_tid(ix, r.tid);
	if (!t)
		return 0;
	t->ended_ns = r.r.time;
	thread_end(ix, t);
	return 0;
}

static int feed_mark(struct agentindex *ix, const uint8_t *p, struct cursor *c)
{
	struct gna_mark r;

	if (!cursor_take(c, sizeof(r) - sizeof(r.r)))
		return -EBADMSG;
	memcpy(&r, p, sizeof(r));
	ix->marked = r.nonce;
	return 0;
}

/* ---- the stream ------------------------------------------------------------------------------ */

typedef int (*feed_fn)(struct agentindex *, const uint8_t *, struct cursor *);

static const feed_fn feeds[] = {
	[GNA_METHOD] = feed_method, [GNA_LOAD] = feed_load,	[GNA_UNLOAD] = feed_unload,
	[GNA_CODE] = feed_code,	    [GNA_THREAD] = feed_thread, [GNA_THREAD_END] = feed_thread_end,
	[GNA_MARK] = feed_mark,
};

static int feed_once(struct agentindex *ix, const uint8_t *p, const struct gna_record *r)
{
	struct cursor c = {.p = p + sizeof(*r), .end = p + r->size};

	if (r->type >= sizeof(feeds) / sizeof(feeds[0]) || !feeds[r->type])
		return -EBADMSG;
	return feeds[r->type](ix, p, &c);
}

static void feed_record(struct agentindex *ix, const uint8_t *p, const struct gna_record *r)
{
	int rc;

	if (ix->seq_known)
		ix->stats.lost += r->seq - ix->seq; /* unsigned difference */
	ix->seq = r->seq + 1;
	ix->seq_known = true;
	rc = feed_once(ix, p, r);
	if (rc == -ENOMEM) {
		pages_sweep(ix);
		methods_sweep(ix);
		rc = feed_once(ix, p, r);
	}
	if (rc == -ENOMEM)
		ix->stats.refused++;
	else if (rc)
		ix->stats.bad++;
	else
		ix->stats.records++;
}

int64_t agentindex_feed(struct agentindex *ix, const uint8_t *p, size_t len)
{
	size_t used = 0;

	while (len - used >= sizeof(struct gna_record)) {
		struct gna_record r;

		memcpy(&r, p + used, sizeof(r));
		if (r.size < sizeof(r) || r.size > RECORD_MAX || r.size % 8)
			return -EBADMSG;
		if (r.size > len - used)
			break;
		feed_record(ix, p + used, &r);
		used += r.size;
	}
	return (int64_t)used;
}

void agentindex_resume(struct agentindex *ix)
{
	ix->seq_known = false;
}

/* ---- looking up ------------------------------------------------------------------------------ */

static uint64_t code_distance(const struct code *c, uint64_t time)
{
	if (time < c->from)
		return c->from - time;
	return time >= c->to ? time - c->to + 1 : 0;
}

/*
 * The code around pc at that time. Events come a little after the fact, so where none fits the
 * nearest in time is taken; of stubs within stubs the smallest.
 */
static struct code *code_find(struct agentindex *ix, uint64_t pc, uint64_t time)
{
	struct page *pg = page_find(ix, pc >> PAGE_SHIFT);
	uint64_t best_distance = UINT64_MAX;
	struct code *best = NULL;
	uint32_t i;

	for (i = pg ? pg->n : 0; i > 0; i--) {
		struct code *c = pg->v[i - 1];
		uint64_t d;

		if (pc < c->addr || pc - c->addr >= c->size)
			continue;
		d = code_distance(c, time);
		if (d < best_distance || (d == best_distance && best && c->size < best->size)) {
			best_distance = d;
			best = c;
		}
	}
	return best;
}

static void frame_fill(struct frame_name *f, const struct method *m, int32_t bci, bool inlined)
{
	*f = (struct frame_name){
		.klass = m && m->klass ? m->klass : "",
		.method = m && m->klass ? m->name : "[unknown]",
		.sig = m && m->klass ? m->sig : "",
		.line = m ? method_line(m, bci) : -1,
		.bci = bci,
		.type = inlined ? FRAME_INLINED : FRAME_JIT,
		.modifiers = m ? m->modifiers : 0,
	};
}

static int frames_read(const struct code *c, struct cursor *cur, struct frame_name *out, int max)
{
	uint64_t depth = cursor_varint(cur), k;
	int n = 0;

	for (k = 0; k < depth; k++) {
		uint64_t index = cursor_varint(cur);
		int32_t bci = (int32_t)cursor_varint(cur) - 1;
		const struct method *m;

		m = c->table == GNA_TABLE_BCI ? c->method : c->methods[index];
		/* the outermost frame is the compiled method itself */
		if (!m && k == depth - 1)
			m = c->method;
		if (n < max)
			frame_fill(&out[n++], m, bci, k != depth - 1);
	}
	return n;
}

/* Position cur at the entry for offset: the first whose pc is not below, else the last. */
static bool entry_find(const struct code *c, uint64_t offset, struct cursor *cur)
{
	struct cursor last = *cur;
	uint64_t pc = 0;
	uint32_t i;

	for (i = 0; i < c->npcs; i++) {
		uint64_t depth, k;

		pc += cursor_varint(cur);
		last = *cur;
		if (pc >= offset)
			break;
		depth = cursor_varint(cur);
		for (k = 0; k < 2 * depth; k++)
			cursor_varint(cur);
	}
	*cur = last;
	return c->npcs;
}

static int stub_frame(const struct code *c, struct frame_name *out)
{
	*out = (struct frame_name){
		.klass = KLASS_STUB,
		.method = (const char *)c->enc,
		.sig = "",
		.line = -1,
		.bci = -1,
		.type = FRAME_NATIVE,
	};
	return 1;
}

int agentindex_lookup(struct agentindex *ix, uint64_t pc, uint64_t time, struct frame_name *out,
		      int max)
{
	struct code *c = code_find(ix, pc, time);
	struct cursor cur;

	if (!c || max <= 0)
		return 0;
	if (!c->java)
		return stub_frame(c, out);
	cur = (struct cursor){.p = c->enc, .end = c->enc + c->table_len};
	if (entry_find(c, pc - c->addr, &cur))
		return frames_read(c, &cur, out, max);
	frame_fill(out, c->method, -1, false);
	return 1;
}

bool agentindex_range(struct agentindex *ix, uint64_t pc, uint64_t time, uint64_t *start,
		      uint32_t *size)
{
	struct code *c = code_find(ix, pc, time);

	if (!c)
		return false;
	*start = c->addr;
	*size = c->size;
	return true;
}

const char *agentindex_thread_by_tid(struct agentindex *ix, uint32_t tid)
{
	struct thread *t = thread_by_tid(ix, tid);

	return t ? t->name : NULL;
}

uint64_t agentindex_thread_ended(struct agentindex *ix, uint32_t tid)
{
	struct thread *t = thread_by_tid(ix, tid);

	return t ? t->ended_ns : 0;
}

const char *agentindex_thread_by_address(struct agentindex *ix, uint64_t javathread)
{
	struct thread *t = thread_by_address(ix, javathread);

	return t ? t->name : NULL;
}

void agentindex_threads(struct agentindex *ix, agentindex_thread_fn fn, void *arg)
{
	struct thread *t, *tmp;

	HASH_ITER(ha, ix->by_address, t, tmp)
		fn(t->address, t->tid, t->name ? t->name : "", arg);
}

void agentindex_thread_bind(struct agentindex *ix, uint64_t javathread, uint32_t tid)
{
	struct thread *t = thread_by_address(ix, javathread);

	if (t && tid)
		thread_set_tid(ix, t, tid);
}

void agentindex_stats(const struct agentindex *ix, struct agentindex_stats *s)
{
	*s = ix->stats;
}

uint64_t agentindex_marked(const struct agentindex *ix)
{
	return ix->marked;
}

struct agentindex *agentindex_new(size_t max_bytes)
{
	struct agentindex *ix = calloc(1, sizeof(*ix));

	if (!hash_seed && getrandom(&hash_seed, sizeof(hash_seed), 0) != sizeof(hash_seed))
		hash_seed = (uintptr_t)ix | 1;
	if (ix)
		ix->max_bytes = max_bytes ? max_bytes : MAX_DEFAULT;
	return ix;
}

static void pages_free(struct agentindex *ix)
{
	struct page *pg, *tmp;

	HASH_ITER(hh, ix->pages, pg, tmp) {
		while (pg->n)
			page_remove(ix, pg, pg->n - 1);
		HASH_DEL(ix->pages, pg);
		free(pg->v);
		free(pg);
	}
}

static void methods_free(struct agentindex *ix)
{
	struct method *m;

	while ((m = ix->all_methods)) {
		ix->all_methods = m->next;
		method_free(ix, m);
	}
}

/* A thread may be in either table or in both. */
static void threads_free(struct agentindex *ix)
{
	struct thread *t, *tmp;

	HASH_ITER(ht, ix->by_tid, t, tmp)
		thread_drop(ix, t);
	HASH_ITER(ha, ix->by_address, t, tmp)
		thread_drop(ix, t);
}

void agentindex_free(struct agentindex *ix)
{
	if (!ix)
		return;
	pages_free(ix);
	methods_free(ix);
	threads_free(ix);
	free(ix);
}
