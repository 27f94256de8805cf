/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled and generated code. Names are sent once per method (and again for every new reader);
 * what the ring had to drop is forgotten here, so it is sent again with the next use.
 */
#include "agent/agent.h"
#include "agent/ring.h"
#include "agent/str.h"
#include "agent/sys.h"

#define SENT_SLOTS 65536 /* direct mapped; a collision only means sending a name twice */
#define IDS_MAX	   512	 /* distinct methods inlined into one; more become "unknown" */
#define IDS_HASH   1024
#define DEPTH_MAX  512
#define PCS_MAX	   200000
#define NAME_MAX   4096
/* the longest that there can be: the collector cuts it so that overloads stay apart */
#define DESC_MAX 65535

static uint64_t sent[SENT_SLOTS];

void methods_forget(void)
{
	int i;

	for (i = 0; i < SENT_SLOTS; i++)
		__atomic_store_n(&sent[i], 0, __ATOMIC_RELAXED);
}

static uint32_t id_hash(uint64_t id)
{
	return (uint32_t)((id * 0x9e3779b97f4a7c15ULL) >> 40);
}

/* ---- a method's names and lines -------------------------------------------------------------- */

struct method_info {
	void *klass;
	char *klass_sig, *name, *desc;
	struct vm_line *lines;
	int32_t nlines, modifiers;
};

static bool method_get(vm_env jvmti, void *id, struct method_info *m)
{
	memset(m, 0, sizeof(*m));
	if (JVMTI_CALL(jvmti, GetMethodName, (vm_env, void *, char **, char **, char **), id,
		       &m->name, &m->desc, NULL))
		return false;
	if (JVMTI_CALL(jvmti, GetMethodDeclaringClass, (vm_env, void *, void **), id, &m->klass))
		return false;
	if (JVMTI_CALL(jvmti, GetClassSignature, (vm_env, void *, char **, char **), m->klass,
		       &m->klass_sig, NULL))
		return false;
	JVMTI_CALL(jvmti, GetMethodModifiers, (vm_env, void *, int32_t *), id, &m->modifiers);
	if (JVMTI_CALL(jvmti, GetLineNumberTable, (vm_env, void *, int32_t *, struct vm_line **),
		       id, &m->nlines, &m->lines))
		m->nlines = 0; /* native, or compiled without lines */
	return true;
}

static void method_put(vm_env jvmti, struct method_info *m)
{
	vm_env jni = agent_jni();

	agent_free(jvmti, m->name);
	agent_free(jvmti, m->desc);
	agent_free(jvmti, m->klass_sig);
	agent_free(jvmti, m->lines);
	if (m->klass && jni)
		JNI_FUNC(jni, DeleteLocalRef, void, (vm_env, void *))(jni, m->klass);
}

static void lines_put(struct ring_writer *w, const struct method_info *m)
{
	int64_t bci = 0, line = 0;
	int32_t i;

	for (i = 0; i < m->nlines; i++) {
		int64_t d = m->lines[i].line - line;

		ring_varint(w, (uint64_t)(m->lines[i].start_location - bci));
		ring_varint(w, (uint64_t)(d << 1) ^ (uint64_t)(d >> 63));
		bci = m->lines[i].start_location;
		line = m->lines[i].line;
	}
}

static bool method_write(uint64_t id, struct method_info *m)
{
	size_t k = str_len(m->klass_sig, NAME_MAX), n = str_len(m->name, NAME_MAX);
	size_t s = str_len(m->desc, DESC_MAX);
	struct ring_writer w;
	struct gna_method r = {
		.id = id,
		.modifiers = (uint32_t)m->modifiers,
		.klass_len = (uint16_t)k,
		.name_len = (uint16_t)n,
		.sig_len = (uint16_t)s,
		.nlines = (uint32_t)m->nlines,
	};

	record_init(&r.r, GNA_METHOD, 0);
	if (!ring_begin(&w, &r, sizeof(r)))
		return false;
	ring_put(&w, m->klass_sig, k);
	ring_put(&w, m->name, n);
	ring_put(&w, m->desc, s);
	lines_put(&w, m);
	return ring_commit(&w);
}

static void method_send(vm_env jvmti, void *method)
{
	uint64_t id = (uintptr_t)method;
	uint64_t *slot = &sent[id_hash(id) % SENT_SLOTS];
	struct method_info m;

	if (!id || __atomic_load_n(slot, __ATOMIC_RELAXED) == id)
		return;
	if (method_get(jvmti, method, &m)) {
		if (method_write(id, &m))
			__atomic_store_n(slot, id, __ATOMIC_RELAXED);
		else
			ring_drop();
	}
	method_put(jvmti, &m);
}

/* ---- the methods of one piece of code ---------------------------------------------------------
 */

struct id_set {
	uint64_t id[IDS_MAX];
	uint16_t hash[IDS_HASH]; /* index + 1 */
	uint32_t n;
};

/* Index of id, added if new; 0 (the unknown method) when full. */
static uint32_t ids_index(struct id_set *s, uint64_t id)
{
	uint32_t h = id_hash(id) % IDS_HASH;

	while (s->hash[h]) {
		if (s->id[s->hash[h] - 1] == id)
			return s->hash[h] - 1u;
		h = (h + 1) % IDS_HASH;
	}
	if (s->n >= IDS_MAX)
		return 0;
	s->id[s->n++] = id;
	s->hash[h] = (uint16_t)s->n;
	return s->n - 1;
}

static const struct vm_inline_record *inline_record(const void *info)
{
	const struct vm_cmlr *c = info;
	int i;

	for (i = 0; c && i < 16; i++, c = c->next)
		if (c->kind == CMLR_INLINE_INFO && c->major == 1)
			return (const struct vm_inline_record *)c;
	return NULL;
}

static bool stack_usable(const struct vm_pc_stack *p, uintptr_t prev)
{
	return p->depth > 0 && p->depth <= DEPTH_MAX && (uintptr_t)p->pc >= prev;
}

static void ids_collect(struct id_set *s, const struct vm_inline_record *in)
{
	int32_t i, k;

	for (i = 0; i < in->npcs; i++)
		for (k = 0; k < in->pcs[i].depth && k < DEPTH_MAX; k++)
			ids_index(s, (uintptr_t)in->pcs[i].methods[k]);
}

/* Returns how many entries were written. */
static uint32_t inline_put(struct ring_writer *w, struct id_set *s,
			   const struct vm_inline_record *in, const void *addr)
{
	uintptr_t prev = (uintptr_t)addr;
	uint32_t n = 0;
	int32_t i, k;

	for (i = 0; i < in->npcs && !w->full; i++) {
		const struct vm_pc_stack *p = &in->pcs[i];

		if (!stack_usable(p, prev))
			continue;
		ring_varint(w, (uintptr_t)p->pc - prev);
		ring_varint(w, (uint64_t)p->depth);
		for (k = 0; k < p->depth; k++) {
			ring_varint(w, ids_index(s, (uintptr_t)p->methods[k]));
			ring_varint(w, p->bcis[k] < 0 ? 0 : (uint64_t)p->bcis[k] + 1);
		}
		prev = (uintptr_t)p->pc;
		n++;
	}
	return n;
}

static uint32_t inline_count(const struct vm_inline_record *in, const void *addr)
{
	uintptr_t prev = (uintptr_t)addr;
	uint32_t n = 0;
	int32_t i;

	for (i = 0; i < in->npcs; i++)
		if (stack_usable(&in->pcs[i], prev)) {
			prev = (uintptr_t)in->pcs[i].pc;
			n++;
		}
	return n;
}

static void load_head(struct gna_load *r, uint16_t flags, void *method, int32_t size,
		      const void *addr)
{
	memset(r, 0, sizeof(*r));
	record_init(&r->r, GNA_LOAD, flags);
	r->addr = (uintptr_t)addr;
	r->method = (uintptr_t)method;
	r->code_size = (uint32_t)size;
}

static bool load_inline(vm_env jvmti, struct gna_load *r, const void *addr,
			const struct vm_inline_record *in)
{
	struct id_set ids;
	struct ring_writer w;
	uint32_t i;

	memset(&ids, 0, sizeof(ids));
	ids_index(&ids, 0); /* the unknown method is number 0 */
	ids_collect(&ids, in);
	for (i = 0; i < ids.n; i++)
		method_send(jvmti, (void *)(uintptr_t)ids.id[i]);
	r->table = GNA_TABLE_INLINE;
	r->nmethods = (uint16_t)ids.n;
	r->npcs = inline_count(in, addr);
	if (!ring_begin(&w, r, sizeof(*r)))
		return true; /* counted; a smaller record would fare no better */
	ring_put(&w, ids.id, ids.n * sizeof(ids.id[0]));
	inline_put(&w, &ids, in, addr);
	return ring_commit(&w);
}

static bool load_map(struct gna_load *r, const void *addr, const struct vm_addr_location *map,
		     int32_t len)
{
	uintptr_t prev = (uintptr_t)addr;
	struct ring_writer w;
	int32_t i;

	r->table = len ? GNA_TABLE_BCI : GNA_TABLE_NONE;
	r->nmethods = 1;
	r->npcs = 0;
	for (i = 0; i < len; i++) {
		if ((uintptr_t)map[i].start_address < prev)
			return false;
		prev = (uintptr_t)map[i].start_address;
		r->npcs++;
	}
	if (!ring_begin(&w, r, sizeof(*r)))
		return true;
	ring_put(&w, &r->method, sizeof(r->method));
	prev = (uintptr_t)addr;
	for (i = 0; i < len; i++) {
		ring_varint(&w, (uintptr_t)map[i].start_address - prev);
		ring_varint(&w, 1);
		ring_varint(&w, 0);
		ring_varint(&w, map[i].location < 0 ? 0 : (uint64_t)map[i].location + 1);
		prev = (uintptr_t)map[i].start_address;
	}
	return ring_commit(&w);
}

static void perfmap_method(vm_env jvmti, void *method, const void *addr, uint32_t size)
{
	struct method_info m;

	if (method_get(jvmti, method, &m))
		perfmap_add(addr, size, m.klass_sig, m.name);
	method_put(jvmti, &m);
}

void on_compiled_load(vm_env jvmti, void *method, int32_t size, const void *addr, int32_t map_len,
		      const struct vm_addr_location *map, const void *info)
{
	const struct vm_inline_record *in = inline_record(info);
	struct gna_load r;

	if (!agent_listening())
		return;
	if (perfmap_wanted())
		perfmap_method(jvmti, method, addr, (uint32_t)size);
	if (!ring_wanted())
		return;
	load_head(&r, agent_flags(), method, size, addr);
	method_send(jvmti, method);
	if (in && in->npcs > 0 && in->npcs <= PCS_MAX && load_inline(jvmti, &r, addr, in))
		return;
	if (load_map(&r, addr, map, map && map_len > 0 ? map_len : 0))
		return;
	if (!load_map(&r, addr, NULL, 0))
		ring_drop();
}

void on_compiled_unload(vm_env jvmti, void *method, const void *addr)
{
	struct gna_unload r = {.addr = (uintptr_t)addr, .method = (uintptr_t)method};

	if (!agent_listening())
		return;
	record_init(&r.r, GNA_UNLOAD, agent_flags());
	ring_record(&r, sizeof(r), NULL, 0);
}

void on_dynamic_code(vm_env jvmti, const char *name, const void *addr, int32_t len)
{
	size_t n = str_len(name, NAME_MAX);
	struct gna_code r = {
		.addr = (uintptr_t)addr, .code_size = (uint32_t)len, .name_len = (uint32_t)n};

	if (!agent_listening())
		return;
	if (perfmap_wanted())
		perfmap_add(addr, (uint32_t)len, NULL, name);
	record_init(&r.r, GNA_CODE, agent_flags());
	ring_record(&r, sizeof(r), name, n);
}
