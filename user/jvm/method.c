/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/method.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/clock.h"
#include "jvm/codecache.h"
#include "jvm/stream.h"
#include "jvm/symbol.h"
#include "jvm/unloads.h"
#include "jvm/vm.h"
#include "jvm/vmstructs.h"

#define KEPT_MAX     (24U << 20)     /* bytes of everything that is kept */
#define AGE_NS	     120000000000ULL /* what was not used for so long (at most twice that) is dropped */
#define SNAPSHOT_MAX (4U << 20)	     /* bytes of names that one nmethod may add */
#define DECODES_MAX  (1U << 20) /* scopes decoded to find which of them may unlock: some 10 ms */
#define ROOT_ONLY    UINT32_MAX /* in place of a scope: there were too many to look at */
#define PART_MAX     (8U << 20) /* bytes of one part of an nmethod: scopes, pcs */
#define META_MAX     65536	/* metadata entries of an nmethod */
#define LINES_MAX    (256U << 10)
#define HEADER_MAX   1024 /* bytes of a ConstMethod or nmethod header */
#define UNLOADED     "[unloaded"
#define ENDED	     "[unnamed when its process ended]"
#define STATE_DEAD   3 /* nmethod states from here on are dead ones: zombie, unloaded */

/*
 * Tells which method an address holds: if another method takes the place something of it is
 * different.
 */
struct identity {
	uint64_t const_method, constants, holder, klass_symbol, name_symbol, sig_symbol;
	uint32_t code_size, flags;
};

struct method {
	uint64_t addr;
	uint64_t key; /* frame_name.method_key */
	struct identity id;
	uint64_t since; /* it has been there since then at least, ns */
	/*
	 * how many classes had been unloaded and loaded when it, or what is left of it, was last
	 * seen there
	 */
	uint64_t unloads, loads;
	uint64_t used;		  /* the age in which a frame used it last */
	char *klass, *name, *sig; /* one allocation, owned by klass */
	uint8_t *lines;
	size_t lines_len;
	size_t bytes; /* all of it */
	uint16_t modifiers;
	uint8_t hidden;
	struct method *next_kept;
	UT_hash_handle hh;
};

struct pc_scope {
	int32_t pc; /* from the start of the code */
	uint32_t scope;
};

struct snapshot_key {
	uint64_t blob;
	uint32_t compile_id;
	uint32_t pad;
};

struct snapshot {
	struct snapshot_key key;
	uint32_t code_off; /* of the code, from blob */
	int level;
	struct method *root; /* NULL when it could not be named */
	struct pc_scope *pcs;
	size_t npcs;
	uint8_t *scopes;
	size_t scopes_len;
	struct method **meta; /* by method index - 1 */
	size_t nmeta;
	size_t bytes;
	uint64_t used;	   /* by a frame, in this age */
	uint32_t unlocker; /* snapshot_unlocker(), once it is known */
	bool unlocker_known;
	UT_hash_handle hh;
};

struct names {
	struct method *by_addr; /* the newest at each address */
	struct method *kept;	/* links all methods */
	struct snapshot *snapshots;
	uint64_t bytes;
	uint64_t age, age_ns; /* counts from 1; when this age began */
	unsigned int methods, drops;
	uint32_t decodes; /* how many scopes a search through all of a code's may still decode */
	char text[FRAME_NAME_MAX]; /* the text of the last frame named in brackets */
};

static struct names *names_of(struct vm *vm)
{
	if (!vm->names)
		vm->names = calloc(1, sizeof(*vm->names));
	return vm->names;
}

static void snapshot_free(struct snapshot *s)
{
	free(s->pcs);
	free(s->scopes);
	free(s->meta);
	free(s);
}

static void method_free(struct method *m)
{
	free(m->klass);
	free(m->lines);
	free(m);
}

static void names_drop(struct names *n)
{
	struct snapshot *s, *ts;
	struct method *m, *next;

	HASH_ITER(hh, n->snapshots, s, ts) {
		HASH_DEL(n->snapshots, s);
		snapshot_free(s);
	}
	HASH_CLEAR(hh, n->by_addr);
	for (m = n->kept; m; m = next) {
		next = m->next_kept;
		method_free(m);
	}
	n->kept = NULL;
	n->bytes = 0;
	n->methods = 0;
}

void vm_names_free(struct vm *vm)
{
	if (vm->names)
		names_drop(vm->names);
	free(vm->names);
	vm->names = NULL;
}

/* Keeps the methods that are inlined into code which is kept. */
static void snapshots_age(struct names *n)
{
	struct snapshot *s, *tmp;

	HASH_ITER(hh, n->snapshots, s, tmp) {
		if (s->used + 1 < n->age) {
			n->bytes -= s->bytes;
			HASH_DEL(n->snapshots, s);
			snapshot_free(s);
			continue;
		}
		for (size_t i = 0; i < s->nmeta; i++)
			if (s->meta[i] && s->meta[i]->used < s->used)
				s->meta[i]->used = s->used;
		if (s->root && s->root->used < s->used)
			s->root->used = s->used;
	}
}

static void methods_age(struct names *n)
{
	struct method **at = &n->kept, *m, *newest;

	while ((m = *at)) {
		if (m->used + 1 >= n->age) {
			at = &m->next_kept;
			continue;
		}
		*at = m->next_kept;
		HASH_FIND(hh, n->by_addr, &m->addr, sizeof(m->addr), newest);
		if (newest == m)
			HASH_DEL(n->by_addr, m);
		n->bytes -= m->bytes;
		n->methods--;
		method_free(m);
	}
}

void vm_names_age(struct vm *vm, uint64_t now_ns)
{
	struct names *n = vm->names;

	if (!n || now_ns - n->age_ns < AGE_NS)
		return;
	n->age_ns = now_ns;
	n->age++;
	snapshots_age(n);
	methods_age(n);
}

/* Every function for others begins so: no string that was returned before is used any more. */
static struct names *names_begin(struct vm *vm)
{
	struct names *n = names_of(vm);

	if (n && n->bytes > KEPT_MAX) {
		names_drop(n);
		n->drops++;
	}
	return n;
}

void vm_at(struct vm *vm, uint64_t time)
{
	vm->then = time;
	vm->in_doubt = false;
	mem_since(vm->mem, time);
	unloads_follow(vm, time);
}

bool vm_in_doubt(const struct vm *vm)
{
	return vm->in_doubt;
}

unsigned int vm_names_drops(const struct vm *vm)
{
	return vm->names ? vm->names->drops : 0;
}

void vm_cache_use(const struct vm *vm, struct vm_cache_use *out)
{
	*out = (struct vm_cache_use){0};
	if (!vm->names)
		return;
	out->bytes = vm->names->bytes;
	out->methods = vm->names->methods;
	out->nmethods = HASH_COUNT(vm->names->snapshots);
	out->drops = vm->names->drops;
}

/* ---- methods ----------------------------------------------------------------------------------
 */

/* com/x/Y$$Lambda+0x7f01 (a hidden class) is shown as com.x.Y$$Lambda/0x7f01. */
static void klass_external(char *name)
{
	char *plus = strrchr(name, '+');

	for (char *p = name; *p; p++)
		if (*p == '/')
			*p = '.';
	if (plus && plus[1] == '0' && plus[2] == 'x')
		*plus = '/';
}

static int method_identify(struct vm *vm, uint64_t addr, struct identity *id)
{
	const struct vm_layout *at = &vm->at;
	uint16_t name, sig, code = 0, flags = 0;

	memset(id, 0, sizeof(*id));
	if (!vm_has(vm, VM_NAMES) || !is_metadata(addr) ||
	    mem_u64(vm->mem, addr + at->method_const, &id->const_method) ||
	    !is_metadata(id->const_method) ||
	    mem_u64(vm->mem, id->const_method + at->cm_constants, &id->constants) ||
	    !is_metadata(id->constants) ||
	    mem_u16(vm->mem, id->const_method + at->cm_name, &name) ||
	    mem_u16(vm->mem, id->const_method + at->cm_sig, &sig) ||
	    mem_u64(vm->mem, id->constants + at->cp_holder, &id->holder) ||
	    !is_metadata(id->holder) ||
	    mem_u64(vm->mem, id->holder + at->klass_name, &id->klass_symbol) ||
	    !is_metadata(id->klass_symbol) ||
	    pool_symbol(vm, id->constants, name, &id->name_symbol) ||
	    pool_symbol(vm, id->constants, sig, &id->sig_symbol))
		return -ENOENT;
	if (vm_has(vm, VM_LINES)) {
		mem_u16(vm->mem, id->const_method + at->cm_code_size, &code);
		mem_u16(vm->mem, id->const_method + at->cm_flags, &flags);
	}
	id->code_size = code;
	id->flags = flags;
	return 0;
}

struct texts {
	char klass[FRAME_NAME_MAX], name[FRAME_NAME_MAX], sig[FRAME_NAME_MAX];
};

static int texts_read(struct vm *vm, const struct identity *id, struct texts *t)
{
	if (symbol_read(vm, id->klass_symbol, t->klass, sizeof(t->klass)) < 0 ||
	    symbol_read(vm, id->name_symbol, t->name, sizeof(t->name)) < 0 ||
	    symbol_read_descriptor(vm, id->sig_symbol, t->sig) < 0)
		return -ENOENT;
	klass_external(t->klass);
	return 0;
}

static int method_keep_texts(struct vm *vm, struct method *m, const struct texts *t)
{
	size_t k = strlen(t->klass) + 1, n = strlen(t->name) + 1, s = strlen(t->sig) + 1;

	m->klass = malloc(k + n + s);
	if (!m->klass)
		return -ENOMEM;
	m->name = m->klass + k;
	m->sig = m->name + n;
	memcpy(m->klass, t->klass, k);
	memcpy(m->name, t->name, n);
	memcpy(m->sig, t->sig, s);
	m->bytes += k + n + s;
	return 0;
}

/*
 * Whether it is the same method. Equal addresses alone do not tell, since Symbols are freed and
 * made anew, too.
 */
static bool method_is(const struct method *m, const struct identity *id, const struct texts *t)
{
	return !memcmp(&m->id, id, sizeof(*id)) && !strcmp(m->klass, t->klass) &&
	       !strcmp(m->name, t->name) && !strcmp(m->sig, t->sig);
}

/*
 * The compressed line table lies behind the bytecodes (JDK oops/constMethod.hpp); only its own end
 * mark says how long it is, so it is read in growing pieces.
 */
static void method_read_lines(struct vm *vm, struct method *m)
{
	uint64_t addr = m->id.const_method + vm->at.cm_size + m->id.code_size;

	if (!(m->id.flags & 1) || !vm_has(vm, VM_LINES))
		return;
	for (size_t cap = 256; cap <= LINES_MAX; cap *= 4) {
		uint8_t *buf = malloc(cap);
		size_t len, got = cap;

		/* the table may end just before memory that cannot be read */
		while (buf && got > 16 && mem_read(vm->mem, addr, buf, got))
			got /= 2;
		if (!buf || got <= 16) {
			free(buf);
			return;
		}
		len = line_table_len(buf, got, vm->release);
		if (len < got || got < cap) {
			m->lines = buf;
			m->lines_len = len;
			m->bytes += cap;
			return;
		}
		free(buf);
	}
}

static void method_read_flags(struct vm *vm, struct method *m)
{
	const struct vm_layout *at = &vm->at;
	uint16_t flags = 0, access = 0;

	if (at->method_access != VM_NONE)
		mem_u16(vm->mem, m->addr + at->method_access, &access);
	m->modifiers = access & 0x7fff;
	if (at->method_hidden != VM_NONE && at->method_flags != VM_NONE &&
	    !mem_u16(vm->mem, m->addr + at->method_flags, &flags))
		m->hidden = !!(flags & at->method_hidden);
	else if (vm->release >= 21)
		/* JDK oops/constMethodFlags.hpp: is_hidden, not among the exported constants */
		m->hidden = m->id.flags >> 12 & 1;
}

/* A number that no other method of any JVM has, or had. */
static uint64_t key_new(void)
{
	static _Atomic uint64_t last;

	return ++last;
}

static struct method *method_new(struct vm *vm, uint64_t addr, const struct identity *id,
				 const struct texts *t)
{
	struct method *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->addr = addr;
	m->key = key_new();
	m->id = *id;
	if (method_keep_texts(vm, m, t)) {
		free(m);
		return NULL;
	}
	method_read_flags(vm, m);
	method_read_lines(vm, m);
	return m;
}

static void method_keep(struct names *n, struct method *m, struct method *old)
{
	if (old)
		HASH_DEL(n->by_addr, old);
	HASH_ADD(hh, n->by_addr, addr, sizeof(m->addr), m);
	m->next_kept = n->kept;
	n->kept = m;
	n->methods++;
	m->bytes += sizeof(*m) + 64;
	n->bytes += m->bytes;
}

/* Whether what lies at its address still refers to its code and its class's constants. */
static bool method_refers(struct vm *vm, const struct method *m)
{
	uint64_t cm, constants;

	return !mem_u64(vm->mem, m->addr + vm->at.method_const, &cm) && cm == m->id.const_method &&
	       !mem_u64(vm->mem, cm + vm->at.cm_constants, &constants) &&
	       constants == m->id.constants;
}

/*
 * Whether no other method has come to its address. While no class is loaded none has: memory that
 * was freed keeps what was in it. (A method is freed when its class is unloaded, or was redefined,
 * which the JVM counts nowhere.) Only a redefined class puts another of its own methods there, and
 * that has another ConstMethod. `cm`: the ConstMethod that the frame had; 0: the frame is of code
 * that is alive, so what is there now is right.
 */
static bool method_stays(struct vm *vm, const struct method *m, uint64_t cm)
{
	return unloads_known(vm) && m->unloads == unloads_count(vm) &&
	       m->loads == unloads_loads(vm) &&
	       (cm ? cm == m->id.const_method : method_refers(vm, m));
}

/* The method at `addr`, as it is now; NULL: there is none. */
static struct method *method_get(struct vm *vm, uint64_t addr, uint64_t cm)
{
	struct names *n = names_of(vm);
	uint64_t begin = now_ns();
	struct method *m, *old;
	struct identity id;
	struct texts t;

	if (!n)
		return NULL;
	HASH_FIND(hh, n->by_addr, &addr, sizeof(addr), old);
	if (old && method_stays(vm, old, cm)) {
		old->used = n->age;
		return old;
	}
	/* once the process has ended nothing comes to its place any more */
	if (method_identify(vm, addr, &id) || texts_read(vm, &id, &t))
		return old && mem_is_gone(vm->mem) && cm == old->id.const_method ? old : NULL;
	m = old;
	if (!old || !method_is(old, &id, &t)) {
		m = method_new(vm, addr, &id, &t);
		if (!m)
			return NULL;
		m->since = begin;
		method_keep(n, m, old);
	}
	m->unloads = unloads_count(vm);
	m->loads = unloads_loads(vm);
	m->used = n->age;
	return m;
}

static void method_frame(struct vm *vm, const struct method *m, int32_t bci, uint8_t type,
			 struct frame_name *out)
{
	*out = (struct frame_name){
		.klass = m->klass,
		.method = m->name,
		.sig = m->sig,
		.line = -1,
		.bci = bci,
		.type = type,
		.hidden = m->hidden,
		.modifiers = m->modifiers,
		.method_key = m->key,
	};
	if (m->lines)
		out->line = line_find(m->lines, m->lines_len, vm->release, bci);
}

/*
 * Whether the method, with all that names it, lies in the archive of classes that the JVM has
 * mapped. Nothing there is ever freed (JDK memory/metadataFactory.hpp), so nothing else comes to
 * its place. The old methods of a redefined class may be named by what lies elsewhere, and that is
 * freed.
 */
static bool method_is_archived(struct vm *vm, const struct method *m)
{
	const struct identity *id = &m->id;
	const uint64_t parts[] = {m->addr,	    id->const_method, id->constants, id->holder,
				  id->klass_symbol, id->name_symbol,  id->sig_symbol};
	uint64_t base, top;

	if (vm->at.archive_base == VM_NONE || vm->at.archive_top == VM_NONE ||
	    mem_u64(vm->mem, vm->at.archive_base, &base) ||
	    mem_u64(vm->mem, vm->at.archive_top, &top))
		return false;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (parts[i] < base || parts[i] >= top)
			return false;
	return true;
}

/* Whether it was there already when the sample was taken. */
static bool method_was(struct vm *vm, const struct method *m)
{
	if (m->since <= vm->then || method_is_archived(vm, m))
		return true;
	unloads_follow(vm, now_ns());
	if (unloads_none_since(vm, vm->then))
		return true;
	vm->unloads.unsure = true;
	vm->in_doubt = true;
	return false;
}

/*
 * The method at `method` (a Method*) with the ConstMethod* `cm` (0 unknown) at bci. -ENOENT: no
 * such Method there, or it is not certain that it is the sample's.
 */
static int method_name(struct vm *vm, uint64_t method, uint64_t cm, int bci, struct frame_name *out)
{
	const struct method *m;

	m = method_get(vm, method, cm);
	if (!m || (cm && cm != m->id.const_method) || !method_was(vm, m))
		return -ENOENT;
	method_frame(vm, m, bci, FRAME_INTERPRETED, out);
	return 0;
}

/* ---- compiled code ----------------------------------------------------------------------------
 */

/* Addresses of an nmethod's parts. */
struct parts {
	uint64_t method, code;
	uint64_t pcs, pcs_end, scopes, scopes_end, meta, meta_end;
	int level;
	uint32_t compile_id;
};

struct header {
	uint8_t bytes[HEADER_MAX];
	uint64_t len;
};

static uint64_t field(const struct header *h, uint64_t off, size_t width)
{
	uint64_t v = 0;

	if (width <= sizeof(v) && off < h->len && width <= h->len - off)
		memcpy(&v, h->bytes + off, width);
	return v;
}

static uint64_t field_int(const struct header *h, uint64_t off)
{
	return (uint64_t)(int64_t)(int32_t)field(h, off, 4);
}

/* The layout until JDK 22; until JDK 8 the scopes, too, were at an offset. */
static void find_parts_old(const struct vm_layout *at, const struct header *h, uint64_t blob,
			   struct parts *p)
{
	p->scopes = at->nm_scopes != VM_NONE ? field(h, at->nm_scopes, 8)
					     : blob + field_int(h, at->nm_scopes_off);
	p->pcs = blob + field_int(h, at->nm_pcs);
	p->pcs_end = blob + field_int(h, at->nm_deps);
	p->scopes_end = p->pcs;
	p->meta = blob + field_int(h, at->nm_metadata);
	p->meta_end = p->scopes;
}

/* JDK 23 moved what never changes out of the code cache, 25 the metadata (code/nmethod.hpp). */
static void find_parts_new(const struct vm_layout *at, const struct header *h, uint64_t blob,
			   struct parts *p)
{
	uint64_t fixed = field(h, at->nm_immutable, 8), mutable;

	p->pcs = fixed + field_int(h, at->nm_pcs);
	p->pcs_end = fixed + field_int(h, at->nm_scopes_off);
	p->scopes = p->pcs_end;
	p->scopes_end = fixed + field_int(h, at->nm_immutable_size);
	if (at->cb_mutable != VM_NONE) {
		mutable = field(h, at->cb_mutable, 8);
		p->meta = mutable + field_int(h, at->cb_reloc_size);
		p->meta_end = mutable + field_int(h, at->cb_mutable_size);
	} else if (at->cb_data_offset != VM_NONE) {
		mutable = blob + field_int(h, at->cb_data_offset);
		p->meta = mutable + field(h, at->nm_metadata, at->nm_metadata_bytes);
		p->meta_end = blob + field_int(h, at->cb_size);
	}
}

/* Reads the header of the nmethod at blob, if there is one. */
static int header_read(struct vm *vm, uint64_t blob, struct header *h)
{
	const struct vm_layout *at = &vm->at;
	uint8_t block[HEADER_MAX];
	uint64_t before = at->hb_size;

	h->len = at->nm_sizeof;
	if (!vm_has(vm, VM_NMETHOD) || !h->len || before >= sizeof(block) ||
	    at->hb_used >= before || h->len > sizeof(block) - before || blob & 7 || blob < before ||
	    mem_read_now(vm->mem, blob - before, block, before + h->len))
		return -ENOENT;
	if (!block[at->hb_used])
		return -ENOENT;
	memcpy(h->bytes, block + before, h->len);
	if (at->cb_kind != VM_NONE)
		return field(h, at->cb_kind, 1) == at->kind_nmethod ? 0 : -ENOENT;
	return field(h, at->cb_header_size, at->cb_header_bytes) == at->nm_sizeof ? 0 : -ENOENT;
}

/*
 * Until JDK 20 an nmethod whose class was unloaded lies there for a while, with pointers into
 * memory that may be another class's by now; later it is freed before that memory.
 */
static bool is_dead(const struct vm *vm, const struct header *h)
{
	return vm->release < 20 && vm->at.nm_state != VM_NONE &&
	       (int8_t)field(h, vm->at.nm_state, 1) >= STATE_DEAD;
}

static int find_parts(struct vm *vm, uint64_t blob, struct parts *p)
{
	const struct vm_layout *at = &vm->at;
	struct header h;

	memset(p, 0, sizeof(*p));
	if (header_read(vm, blob, &h) || is_dead(vm, &h))
		return -ENOENT;
	p->method = field(&h, at->nm_method, 8);
	if (!p->method)
		return -ENOENT;
	p->compile_id = (uint32_t)field(&h, at->nm_id, 4);
	p->level = (int8_t)field(&h, at->nm_level, 1);
	p->code = at->cb_code_begin != VM_NONE ? field(&h, at->cb_code_begin, 8)
					       : blob + field_int(&h, at->cb_code_offset);
	if (!vm_has(vm, VM_SCOPES))
		return 0;
	if (at->nm_immutable != VM_NONE)
		find_parts_new(at, &h, blob, p);
	else
		find_parts_old(at, &h, blob, p);
	return 0;
}

/* A copy of [start, end), NULL when it is empty, too long or not readable. */
static void *part_copy(struct vm *vm, uint64_t start, uint64_t end, size_t *len)
{
	void *p;

	*len = 0;
	if (start >= end || end - start > PART_MAX)
		return NULL;
	p = malloc(end - start);
	if (!p || mem_read_now(vm->mem, start, p, end - start)) {
		free(p);
		return NULL;
	}
	*len = end - start;
	return p;
}

static void snapshot_read_pcs(struct vm *vm, struct snapshot *s, const struct parts *p)
{
	uint64_t step = vm->at.pd_size, pc = vm->at.pd_pc, scope = vm->at.pd_scope;
	uint8_t *raw;
	size_t len;

	if (step < 8 || step > 64 || pc + 4 > step || scope + 4 > step)
		return;
	raw = part_copy(vm, p->pcs, p->pcs_end, &len);
	s->pcs = raw ? calloc(len / step + 1, sizeof(*s->pcs)) : NULL;
	for (size_t i = 0; s->pcs && i < len / step; i++) {
		memcpy(&s->pcs[i].pc, raw + i * step + pc, 4);
		memcpy(&s->pcs[i].scope, raw + i * step + scope, 4);
		s->npcs = i + 1;
	}
	free(raw);
}

/* Name the method of every scope that a pc leads to, and of the scopes it was inlined into. */
static void snapshot_name_scopes(struct vm *vm, struct snapshot *s, const uint64_t *meta)
{
	uint8_t *seen = calloc(1, s->scopes_len / 8 + 1);
	uint64_t limit = vm->names->bytes + SNAPSHOT_MAX;
	struct scope sc;

	for (size_t i = 0; seen && i < s->npcs; i++) {
		for (uint32_t off = s->pcs[i].scope; off < s->scopes_len; off = sc.sender) {
			if (!off || seen[off / 8] >> (off % 8) & 1)
				break;
			seen[off / 8] |= (uint8_t)(1 << (off % 8));
			if (scope_decode(s->scopes, s->scopes_len, vm->release, off, &sc))
				break;
			if (sc.method && sc.method <= s->nmeta && !s->meta[sc.method - 1] &&
			    vm->names->bytes < limit)
				s->meta[sc.method - 1] = method_get(vm, meta[sc.method - 1], 0);
		}
	}
	free(seen);
}

static void snapshot_read(struct vm *vm, struct snapshot *s, const struct parts *p)
{
	uint64_t *meta;
	size_t len;

	s->level = p->level;
	s->code_off = (uint32_t)(p->code - s->key.blob);
	s->root = method_get(vm, p->method, 0);
	snapshot_read_pcs(vm, s, p);
	s->scopes = part_copy(vm, p->scopes, p->scopes_end, &s->scopes_len);
	meta = part_copy(vm, p->meta, p->meta_end, &len);
	s->nmeta = len / 8 < META_MAX ? len / 8 : META_MAX;
	s->meta = meta ? calloc(s->nmeta + 1, sizeof(*s->meta)) : NULL;
	if (s->meta && s->scopes)
		snapshot_name_scopes(vm, s, meta);
	else
		s->nmeta = 0;
	free(meta);
	s->bytes = sizeof(*s) + s->npcs * sizeof(*s->pcs) + s->scopes_len +
		   s->nmeta * sizeof(*s->meta) + 64;
}

/*
 * Remembers the code where virtual threads' stacks end: codecache_fill() needs its address, which
 * JDK 21 exports nowhere.
 */
static void note_enter_special(struct vm *vm, const struct snapshot *s)
{
	if (s->root && !s->level && !strcmp(s->root->name, "enterSpecial") &&
	    !strcmp(s->root->klass, "jdk.internal.vm.Continuation"))
		vm->enter_special = s->key.blob;
}

static struct snapshot *snapshot_get(struct vm *vm, uint64_t blob, uint32_t compile_id)
{
	struct snapshot_key key = {.blob = blob, .compile_id = compile_id};
	struct names *n = names_of(vm);
	struct parts before, after;
	struct snapshot *s;

	if (!n)
		return NULL;
	HASH_FIND(hh, n->snapshots, &key, sizeof(key), s);
	if (s) {
		s->used = n->age;
		return s;
	}
	unloads_follow(vm, now_ns()); /* what the code refers to is of now */
	if (find_parts(vm, blob, &before) || before.compile_id != compile_id)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->key = key;
	snapshot_read(vm, s, &before);
	/* if it still is the same code, and alive, its methods were alive while they were read */
	if (find_parts(vm, blob, &after) || memcmp(&before, &after, sizeof(before))) {
		snapshot_free(s);
		return NULL;
	}
	s->used = n->age;
	n->bytes += s->bytes;
	HASH_ADD(hh, n->snapshots, key, sizeof(s->key), s);
	note_enter_special(vm, s);
	return s;
}

/* The first PcDesc at or behind pc, npcs if there is none. The table is sorted by pc. */
static size_t snapshot_pc(const struct snapshot *s, int64_t pc)
{
	size_t lo = 0, hi = s->npcs;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->pcs[mid].pc < pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static uint32_t snapshot_scope(const struct snapshot *s, int64_t pc)
{
	size_t at = snapshot_pc(s, pc);

	return at < s->npcs ? s->pcs[at].scope : 0;
}

/* The name of a method that cannot be read: no frame is left out. */
static struct frame_name no_method(uint8_t type)
{
	return (struct frame_name){.klass = KLASS_JVM,
				   .method = UNLOADED " method]",
				   .sig = "",
				   .line = -1,
				   .bci = -1,
				   .type = type};
}

/* The frames of a scope and of those that it was inlined into; `line`: its own line is known. */
static int scope_frames(struct vm *vm, const struct snapshot *s, uint32_t off, bool line,
			struct frame_name *out, int max)
{
	uint8_t type = s->level >= 1 && s->level <= 3 ? FRAME_C1 : FRAME_JIT;
	struct scope sc;
	int n = 0;

	for (int depth = 0; off && depth < VM_INLINE_MAX && n < max; depth++, off = sc.sender) {
		const struct method *m;

		if (scope_decode(s->scopes, s->scopes_len, vm->release, off, &sc))
			break;
		m = sc.method && sc.method <= s->nmeta ? s->meta[sc.method - 1] : NULL;
		if (m)
			method_frame(vm, m, sc.bci, sc.sender ? FRAME_INLINED : type, &out[n++]);
		else
			out[n++] = no_method(sc.sender ? FRAME_INLINED : type);
	}
	if (!n && s->root) {
		method_frame(vm, s->root, -1, type, &out[n++]);
		line = false;
	}
	if (n && !line)
		out[0].line = out[0].bci = -1;
	return n ? n : -ENOENT;
}

static int snapshot_frames(struct vm *vm, const struct snapshot *s, uint32_t pc_off,
			   struct frame_name *out, int max)
{
	return scope_frames(vm, s, snapshot_scope(s, (int64_t)pc_off - s->code_off), true, out,
			    max);
}

static bool scope_at(const struct vm *vm, const struct snapshot *s, uint32_t off, struct scope *out)
{
	if (!off || !vm->names->decodes)
		return false;
	vm->names->decodes--;
	return !scope_decode(s->scopes, s->scopes_len, vm->release, off, out);
}

static int scope_depth(const struct vm *vm, const struct snapshot *s, uint32_t off)
{
	struct scope sc;
	int n = 0;

	for (; n < VM_INLINE_MAX && scope_at(vm, s, off, &sc); off = sc.sender)
		n++;
	return n;
}

/* Whether both scopes tell the same inlined methods, at the same places of their callers. */
static bool scopes_agree(const struct vm *vm, const struct snapshot *s, uint32_t a, uint32_t b)
{
	struct scope sa, sb;

	for (int depth = 0; a != b; depth++, a = sa.sender, b = sb.sender)
		if (depth == VM_INLINE_MAX || !scope_at(vm, s, a, &sa) ||
		    !scope_at(vm, s, b, &sb) || sa.method != sb.method ||
		    (depth && sa.bci != sb.bci))
			return false;
	return true;
}

/* The innermost scope on which both agree; 0 none. */
static uint32_t scopes_common(const struct vm *vm, const struct snapshot *s, uint32_t a, uint32_t b)
{
	int da = scope_depth(vm, s, a), db = scope_depth(vm, s, b);
	struct scope sc;

	for (; da > db && scope_at(vm, s, a, &sc); da--)
		a = sc.sender;
	for (; db > da && scope_at(vm, s, b, &sc); db--)
		b = sc.sender;
	while (a && b && !scopes_agree(vm, s, a, b)) {
		a = scope_at(vm, s, a, &sc) ? sc.sender : 0;
		b = scope_at(vm, s, b, &sc) ? sc.sender : 0;
	}
	return b ? a : 0;
}

/* Of a scope and those that it was inlined into, the innermost that holds a monitor; 0: none. */
static uint32_t scope_locked(const struct vm *vm, const struct snapshot *s, uint32_t off)
{
	struct scope sc;

	for (int i = 0; i < VM_INLINE_MAX && scope_at(vm, s, off, &sc); i++, off = sc.sender)
		if (sc.locked)
			return off;
	return 0;
}

/*
 * The scope of the code that may be unlocking a monitor: one that holds a monitor, as each does at
 * its slow path of locking (GraphKit::shared_lock), or what several such scopes have in common. 0:
 * none.
 */
static uint32_t unlocker_find(struct vm *vm, const struct snapshot *s)
{
	uint32_t common = 0;
	bool any = false;

	vm->names->decodes = DECODES_MAX;
	for (size_t i = 0; i < s->npcs && vm->names->decodes; i++) {
		uint32_t off = scope_locked(vm, s, s->pcs[i].scope);

		if (off)
			common = any ? scopes_common(vm, s, common, off) : off;
		any |= off;
	}
	return vm->names->decodes ? common : ROOT_ONLY;
}

static uint32_t snapshot_unlocker(struct vm *vm, struct snapshot *s)
{
	if (!s->unlocker_known)
		s->unlocker = unlocker_find(vm, s);
	s->unlocker_known = true;
	return s->unlocker;
}

static bool snapshot_noted(const struct snapshot *s, uint32_t pc_off)
{
	int64_t pc = (int64_t)pc_off - s->code_off;
	size_t at = snapshot_pc(s, pc);

	return at < s->npcs && s->pcs[at].pc == pc;
}

/*
 * The frames of the compiled code at `blob` for the pc `pc_off` bytes from it, innermost first:
 * their number; -ENOENT when that nmethod was never seen and is gone. Native wrappers have one
 * frame. A pc between two call sites takes the next one's scopes, as HotSpot does.
 */
static int nmethod_frames(struct vm *vm, uint64_t blob, uint32_t pc_off, uint32_t compile_id,
			  struct frame_name *out, int max)
{
	const struct snapshot *s = snapshot_get(vm, blob, compile_id);

	return s ? snapshot_frames(vm, s, pc_off, out, max) : -ENOENT;
}

bool vm_is_unloaded(const struct frame_name *f)
{
	return !strcmp(f->klass, KLASS_JVM) &&
	       (!strcmp(f->method, ENDED) || !strncmp(f->method, UNLOADED, sizeof(UNLOADED) - 1));
}

/* ---- any frame --------------------------------------------------------------------------------
 */

/* A frame of the JVM itself, or one that cannot be named. */
static int bracket_frame(struct vm *vm, uint8_t type, const char *text, struct frame_name *out)
{
	*out = (struct frame_name){
		.klass = KLASS_JVM, .method = text, .sig = "", .line = -1, .bci = -1, .type = type};
	if (vm->names && text != vm->names->text) {
		snprintf(vm->names->text, sizeof(vm->names->text), "%s", text);
		out->method = vm->names->text;
	}
	return 1;
}

static int name_stub(struct vm *vm, uint64_t pc, struct frame_name *out)
{
	char name[128];

	if (codecache_blob_name(vm, pc, name, sizeof(name)))
		snprintf(name, sizeof(name), "[stub]");
	return bracket_frame(vm, FRAME_NATIVE, name, out);
}

int vm_name_unlocker(struct vm *vm, const struct gn_frame *f, struct frame_name *out, int max)
{
	uint32_t pc_off = (uint32_t)f->data, off = 0;
	struct snapshot *s = NULL;
	int n;

	if (names_begin(vm))
		s = snapshot_get(vm, gn_frame_addr(f) - pc_off, (uint32_t)(f->data >> 32));
	if (s && !snapshot_noted(s, pc_off))
		off = snapshot_unlocker(vm, s);
	n = off ? scope_frames(vm, s, off == ROOT_ONLY ? 0 : off, false, out, max) : -ENOENT;
	return n > 0 ? n : vm_name(vm, f, out, max);
}

/* What is written in place of a name that could not be given. */
static const char *nameless(const struct vm *vm, const char *unloaded)
{
	return mem_is_gone(vm->mem) ? ENDED : unloaded;
}

void vm_notice(struct vm *vm, const struct gn_frame *f)
{
	if (gn_frame_kind(f) == GN_FRAME_INTERP && names_begin(vm))
		method_get(vm, gn_frame_addr(f), f->data >> 16);
}

int vm_name(struct vm *vm, const struct gn_frame *f, struct frame_name *out, int max)
{
	uint64_t addr = gn_frame_addr(f);
	int n;

	if (!names_begin(vm))
		return bracket_frame(vm, FRAME_NATIVE, "[out of memory]", out);
	switch (gn_frame_kind(f)) {
	case GN_FRAME_INTERP:
		if (!method_name(vm, addr, f->data >> 16, (int)(f->data & 0xffff), out))
			return 1;
		return bracket_frame(vm, FRAME_INTERPRETED, nameless(vm, UNLOADED " method]"), out);
	case GN_FRAME_NMETHOD:
		n = nmethod_frames(vm, addr - (uint32_t)f->data, (uint32_t)f->data,
				   (uint32_t)(f->data >> 32), out, max);
		if (n > 0)
			return n;
		return bracket_frame(vm, FRAME_JIT,
				     vm_has(vm, VM_NMETHOD)
					     ? nameless(vm, UNLOADED " compiled code]")
					     : "[compiled code]",
				     out);
	case GN_FRAME_STUB:
		return name_stub(vm, addr, out);
	default:
		return bracket_frame(vm, FRAME_NATIVE, "[unknown]", out);
	}
}
