/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/unmounted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jvm/chunk.h"
#include "jvm/classes.h"
#include "jvm/codecache.h"
#include "jvm/heap.h"
#include "jvm/heapepoch.h"
#include "jvm/symbol.h"
#include "jvm/threads.h"
#include "jvm/vm.h"
#include "jvm/vmstructs.h"

#define MAPS_MAX      1024
#define REGISTRY_MAX  65536	 /* places of the registry that are looked at */
#define TABLE_MAX     (1u << 30) /* ConcurrentHashMap's own */
#define CHAIN_MAX     256	 /* entries at one place; more than eight become a tree */
#define FORWARDS_MAX  2
#define CHUNKS_MAX    8	    /* of one thread */
#define WORDS_MAX     32768 /* of their stacks together */
#define CHUNK_WORDS   (1 << 24)
#define HEADER_MAX    128 /* bytes of a StackChunk before its stack */
#define REGISTRY_WORK 200000
#define DRAW_WORK     20000 /* and PLACE_WORK for each place */
#define PLACE_WORK    300
#define FRAME_WORK    4
#define STATES	      256 /* above are flags */

#define MAP  "java/util/concurrent/ConcurrentHashMap"
#define ROOT "jdk/internal/vm/ThreadContainers$RootContainer$TrackingRootContainer"

/* The classes of all that is followed; 0: not loaded so far. */
struct known {
	uint64_t root, containers, executor, shared, flock, flock_container;
	uint64_t continuation, chunk, reference;
	uint64_t map, view, key_set, node, tree_node, tree_bin, forward;
};

/* Offsets of fields in their objects, FIELD_NONE: not known. */
struct fields {
	uint32_t root_threads, registry; /* static */
	uint32_t executor_threads, shared_threads, flock, flock_threads;
	uint32_t state, cont, tail;
	uint32_t parent, size, sp, bottom, stack;
	uint32_t view_map, table, key, next, first, next_table, referent;
};

struct map {
	uint64_t table;
	uint32_t length;
};

struct unmounted {
	uint64_t virtual, seen; /* the class; classes_find()'s */
	struct known k;
	struct fields f;
	bool fields_done, asked, deaf;
	struct heap_epoch epoch;
	uint8_t state_of[STATES]; /* enum unmounted_state */
	struct map maps[MAPS_MAX];
	uint32_t nmaps;
	uint64_t left_out;
	uint64_t places;
	struct chunk_codes codes;
	struct gn_frame frames[GN_MAX_FRAMES];
	uint64_t words[WORDS_MAX], again[WORDS_MAX];
};

/* One look at the maps: what is told of what hangs there. */
struct look {
	struct unmounted *u;
	struct vm *vm;
	struct unmounted_counts *counts;
	unmounted_fn fn;
	void *ctx;
	uint64_t work, most; /* what it may cost: see spend() */
};

struct unmounted *unmounted_new(void)
{
	return calloc(1, sizeof(struct unmounted));
}

void unmounted_free(struct unmounted *u)
{
	free(u);
}

uint64_t unmounted_places(const struct unmounted *u)
{
	return u->places;
}

uint64_t unmounted_left_out(const struct unmounted *u)
{
	return u->left_out;
}

/* ---- classes and their fields ------------------------------------------------------------------
 */

static bool classes_look(struct unmounted *u, struct vm *vm)
{
	struct known *k = &u->k;
	const struct class_query q[] = {
		{ROOT, &k->root},
		{"jdk/internal/vm/ThreadContainers", &k->containers},
		{"java/util/concurrent/ThreadPerTaskExecutor", &k->executor},
		{"jdk/internal/vm/SharedThreadContainer", &k->shared},
		{"jdk/internal/misc/ThreadFlock", &k->flock},
		{"jdk/internal/misc/ThreadFlock$ThreadContainerImpl", &k->flock_container},
		{"jdk/internal/vm/Continuation", &k->continuation},
		{"jdk/internal/vm/StackChunk", &k->chunk},
		{"java/lang/ref/Reference", &k->reference},
		{MAP, &k->map},
		{MAP "$CollectionView", &k->view},
		{MAP "$KeySetView", &k->key_set},
		{MAP "$Node", &k->node},
		{MAP "$TreeNode", &k->tree_node},
		{MAP "$TreeBin", &k->tree_bin},
		{MAP "$ForwardingNode", &k->forward},
	};

	return classes_find(vm, &u->seen, q, sizeof(q) / sizeof(*q));
}

static void containers_fields(struct unmounted *u, struct vm *vm)
{
	const struct known *k = &u->k;
	struct fields *f = &u->f;
	const struct {
		uint64_t klass;
		struct field_query q;
	} of[] = {
		{k->root, {"VTHREADS", "Ljava/util/Set;", &f->root_threads}},
		{k->containers, {"CONTAINER_REGISTRY", "Ljava/util/Set;", &f->registry}},
		{k->executor, {"threads", "Ljava/util/Set;", &f->executor_threads}},
		{k->shared, {"virtualThreads", "Ljava/util/Set;", &f->shared_threads}},
		{k->flock, {"threads", "Ljava/util/Set;", &f->flock_threads}},
		{k->flock_container, {"flock", "Ljdk/internal/misc/ThreadFlock;", &f->flock}},
		{k->reference, {"referent", "Ljava/lang/Object;", &f->referent}},
		{k->tree_bin, {"first", "L" MAP "$TreeNode;", &f->first}},
		{k->forward, {"nextTable", "[L" MAP "$Node;", &f->next_table}},
	};

	/* they are loaded when they are used, one after the other */
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (of[i].klass && *of[i].q.offset == FIELD_NONE)
			fields_find(vm, of[i].klass, &of[i].q, 1);
}

static bool states_read(struct unmounted *u, struct vm *vm, const uint32_t *at)
{
	static const uint8_t is[] = {
		UNMOUNTED_QUEUED,	 UNMOUNTED_QUEUED,  UNMOUNTED_QUEUED,
		UNMOUNTED_QUEUED,	 UNMOUNTED_QUEUED,  UNMOUNTED_PARKED,
		UNMOUNTED_PARKED_TIMED,	 UNMOUNTED_BLOCKED, UNMOUNTED_WAITING,
		UNMOUNTED_WAITING_TIMED,
	};
	uint64_t mirror = class_mirror(vm, u->virtual);
	int32_t v;

	memset(u->state_of, 0, sizeof(u->state_of));
	for (size_t i = 0; mirror && i < sizeof(is); i++)
		if (at[i] != FIELD_NONE && !mem_i32(vm->mem, mirror + at[i], &v) && v > 0 &&
		    v < STATES)
			u->state_of[v] = is[i];
	return mirror != 0;
}

/* The numbers of the states are static fields, which differ by release. */
static bool thread_fields(struct unmounted *u, struct vm *vm)
{
	static const char *const states[] = {"STARTED",	  "RUNNABLE",  "UNPARKED",     "YIELDED",
					     "UNBLOCKED", "PARKED",    "TIMED_PARKED", "BLOCKED",
					     "WAIT",	  "TIMED_WAIT"};
	enum { N = sizeof(states) / sizeof(*states) };
	struct field_query q[N + 2] = {
		{"state", "I", &u->f.state},
		{"cont", "Ljdk/internal/vm/Continuation;", &u->f.cont},
	};
	uint32_t at[N] = {0};

	for (int i = 0; i < N; i++)
		q[i + 2] = (struct field_query){states[i], "I", &at[i]};
	fields_find(vm, u->virtual, q, N + 2);
	return u->f.state != FIELD_NONE && u->f.cont != FIELD_NONE && states_read(u, vm, at);
}

static bool chunk_fields(struct unmounted *u, struct vm *vm)
{
	struct fields *f = &u->f;
	const struct field_query in_chunk[] = {
		{"parent", "Ljdk/internal/vm/StackChunk;", &f->parent},
		{"size", "I", &f->size},
		{"sp", "I", &f->sp},
		{"bottom", "I", &f->bottom},
	};
	const struct field_query in_cont[] = {{"tail", "Ljdk/internal/vm/StackChunk;", &f->tail}};
	int32_t layout;

	fields_find(vm, u->k.chunk, in_chunk, 4);
	fields_find(vm, u->k.continuation, in_cont, 1);
	if (vm->at.klass_layout == VM_NONE ||
	    mem_i32(vm->mem, u->k.chunk + vm->at.klass_layout, &layout) || layout <= 0 ||
	    layout > HEADER_MAX)
		return false;
	f->stack = (uint32_t)layout & ~7u; /* of an object without one */
	return f->parent && f->size && f->sp && f->bottom && f->tail && f->parent < f->stack &&
	       f->size < f->stack && f->sp < f->stack && f->bottom < f->stack;
}

static bool map_fields(struct unmounted *u, struct vm *vm)
{
	struct fields *f = &u->f;
	const struct field_query in_map[] = {{"table", "[L" MAP "$Node;", &f->table}};
	const struct field_query in_view[] = {{"map", "L" MAP ";", &f->view_map}};
	const struct field_query in_node[] = {
		{"key", "Ljava/lang/Object;", &f->key},
		{"next", "L" MAP "$Node;", &f->next},
	};

	fields_find(vm, u->k.map, in_map, 1);
	fields_find(vm, u->k.view, in_view, 1);
	fields_find(vm, u->k.node, in_node, 2);
	return f->table && f->view_map && f->key && f->next;
}

/* Whether there may be any: 0, -ENOENT, -ENOTSUP. */
static int jvm_look(struct unmounted *u, struct vm *vm)
{
	if (u->deaf || vm->release < 21 || !vm_has(vm, VM_THREAD_NAMES) ||
	    vm->at.class_thread == VM_NONE)
		return -ENOTSUP;
	if (!u->virtual)
		u->virtual = vm_virtual_klass(vm);
	if (!u->virtual || !class_is_ready(vm, u->virtual))
		return -ENOENT;
	if (!u->asked && (heap_epoch_find(vm, &u->epoch) || vm->oops->tid == FIELD_NONE)) {
		u->deaf = true;
		return -ENOTSUP;
	}
	u->asked = true;
	return 0;
}

/* 0, -ENOENT, -ENOTSUP. */
static int layout_look(struct unmounted *u, struct vm *vm)
{
	const struct known *k = &u->k;

	if (!classes_look(u, vm))
		return -ENOTSUP;
	if (!k->chunk || !k->continuation || !k->map || !k->view || !k->node || !k->key_set)
		return -ENOENT;
	containers_fields(u, vm);
	if (!u->fields_done)
		u->fields_done = thread_fields(u, vm) && chunk_fields(u, vm) && map_fields(u, vm);
	return u->fields_done ? 0 : -ENOTSUP;
}

/* ---- maps --------------------------------------------------------------------------------------
 */

static uint64_t place_addr(const struct vm *vm, uint64_t table, uint32_t i)
{
	uint32_t length, data, width = vm->oops->compressed ? 4 : 8;

	array_layout(vm, &length, &data);
	return table + ((data + width - 1) & ~(width - 1)) + (uint64_t)i * width;
}

static bool table_read(struct vm *vm, uint64_t table, struct map *m)
{
	uint32_t at, data;
	int32_t n;

	array_layout(vm, &at, &data);
	if (!table || mem_i32(vm->mem, table + at, &n) || n <= 0 || (uint32_t)n > TABLE_MAX ||
	    n & (n - 1))
		return false;
	*m = (struct map){.table = table, .length = (uint32_t)n};
	return true;
}

/*
 * Entries, frames and words may be any number, in a heap that is made so. False: it has cost as
 * much as it may.
 */
static bool spend(struct look *l, uint64_t work)
{
	l->work += work;
	return l->work <= l->most;
}

/* `at`: where the reference to the key is. */
typedef void (*key_fn)(struct look *l, uint64_t at, uint64_t key);

static void place_each(struct look *l, const struct map *m, uint32_t i, int forwards, key_fn fn);

/* A map that grows has such an entry at each place that has been moved to its next table. */
static void forward_each(struct look *l, const struct map *m, uint32_t i, uint64_t node,
			 int forwards, key_fn fn)
{
	struct map next;

	if (l->u->f.next_table == FIELD_NONE || forwards == FORWARDS_MAX ||
	    !table_read(l->vm, oop_load(l->vm, node + l->u->f.next_table, false), &next) ||
	    next.length != 2 * m->length) {
		l->counts->strange++;
		return;
	}
	place_each(l, &next, i, forwards + 1, fn);
	place_each(l, &next, i + m->length, forwards + 1, fn);
}

/* Tells each key at that place of the table. */
static void place_each(struct look *l, const struct map *m, uint32_t i, int forwards, key_fn fn)
{
	const struct unmounted *u = l->u;
	struct vm *vm = l->vm;
	uint64_t node = oop_load(vm, place_addr(vm, m->table, i), false), klass;

	for (int n = 0; node; n++) {
		klass = oop_klass(vm, node);
		if (klass && klass == u->k.forward) {
			forward_each(l, m, i, node, forwards, fn);
			return;
		}
		if (klass && klass == u->k.tree_bin && u->f.first != FIELD_NONE && !n) {
			node = oop_load(vm, node + u->f.first, false);
			continue;
		}
		if (!spend(l, 1))
			return;
		if (!klass || (klass != u->k.node && klass != u->k.tree_node) || n > CHAIN_MAX) {
			l->counts->strange++;
			return;
		}
		fn(l, node + u->f.key, oop_load(vm, node + u->f.key, false));
		node = oop_load(vm, node + u->f.next, false);
	}
}

/* The map behind ConcurrentHashMap.newKeySet(). */
static bool set_map(struct unmounted *u, struct vm *vm, uint64_t set, struct map *m)
{
	uint64_t map;

	if (!set || oop_klass(vm, set) != u->k.key_set)
		return false;
	map = oop_load(vm, set + u->f.view_map, false);
	return map && oop_klass(vm, map) == u->k.map &&
	       table_read(vm, oop_load(vm, map + u->f.table, false), m);
}

/* ---- containers --------------------------------------------------------------------------------
 */

static void set_add(struct unmounted *u, struct vm *vm, uint64_t set)
{
	struct map m;

	if (!set_map(u, vm, set, &m))
		return;
	if (u->nmaps == MAPS_MAX) {
		u->left_out++;
		return;
	}
	u->maps[u->nmaps++] = m;
	u->places += m.length;
}

static void container_add(struct look *l, uint64_t at, uint64_t reference)
{
	struct unmounted *u = l->u;
	struct vm *vm = l->vm;
	uint64_t c = reference ? oop_load(vm, reference + u->f.referent, false) : 0, klass, flock;

	(void)at;
	klass = c ? oop_klass(vm, c) : 0;
	if (!klass)
		return;
	if (klass == u->k.executor && u->f.executor_threads != FIELD_NONE)
		set_add(u, vm, oop_load(vm, c + u->f.executor_threads, false));
	else if (klass == u->k.shared && u->f.shared_threads != FIELD_NONE)
		set_add(u, vm, oop_load(vm, c + u->f.shared_threads, false));
	else if (klass == u->k.flock_container && u->f.flock != FIELD_NONE &&
		 u->f.flock_threads != FIELD_NONE &&
		 (flock = oop_load(vm, c + u->f.flock, false)) != 0)
		set_add(u, vm, oop_load(vm, flock + u->f.flock_threads, false));
}

static void registry_look(struct unmounted *u, struct vm *vm)
{
	struct unmounted_counts none = {0};
	struct look l = {.u = u, .vm = vm, .counts = &none, .most = REGISTRY_WORK};
	uint64_t mirror = u->k.containers ? class_mirror(vm, u->k.containers) : 0;
	struct map m;

	if (!mirror || u->f.registry == FIELD_NONE || u->f.referent == FIELD_NONE ||
	    !set_map(u, vm, oop_load(vm, mirror + u->f.registry, false), &m))
		return;
	for (uint32_t i = 0; i < m.length && i < REGISTRY_MAX && spend(&l, 0); i++)
		place_each(&l, &m, i, 0, container_add);
	u->left_out += none.strange + !spend(&l, 0) +
		       (m.length > REGISTRY_MAX ? m.length - REGISTRY_MAX : 0);
}

static int containers_look(struct unmounted *u, struct vm *vm)
{
	int rc = layout_look(u, vm);
	uint64_t mirror;

	if (rc)
		return rc;
	mirror = u->k.root ? class_mirror(vm, u->k.root) : 0;
	if (mirror && u->f.root_threads != FIELD_NONE)
		set_add(u, vm, oop_load(vm, mirror + u->f.root_threads, false));
	registry_look(u, vm);
	return u->places ? 0 : -ENOENT;
}

int unmounted_begin(struct unmounted *u, struct vm *vm)
{
	bool known = u->fields_done;
	int rc;

	u->nmaps = 0;
	u->places = u->left_out = 0;
	mem_flush(vm->mem);
	codecache_renew(vm);
	rc = jvm_look(u, vm);
	if (rc)
		return rc;
	if (!heap_epoch_begin(vm, &u->epoch))
		return -EAGAIN;
	rc = containers_look(u, vm);
	if (heap_epoch_end(vm, &u->epoch))
		return rc;
	u->fields_done = known; /* static fields lie in objects */
	return -EAGAIN;
}

/* ---- threads -----------------------------------------------------------------------------------
 */

/* A StackChunk as it was read: its fields, and where its stack's words are in the buffers. */
struct part {
	uint64_t addr, parent;
	uint8_t header[HEADER_MAX];
	int32_t sp, bottom;
	uint32_t at, have;
};

struct parts {
	struct part of[CHUNKS_MAX];
	uint32_t n, words;
	bool cut;
};

static int32_t header_i32(const struct part *p, uint32_t at)
{
	int32_t v;

	memcpy(&v, p->header + at, sizeof(v));
	return v;
}

static bool part_is_empty(const struct part *p)
{
	return p->sp >= p->bottom;
}

/* Where the words are of which a copy is made: two lie below sp. */
static uint64_t part_addr(const struct unmounted *u, const struct part *p)
{
	return p->addr + u->f.stack + ((uint64_t)(uint32_t)p->sp - CHUNK_BELOW) * 8;
}

/* 0, -EBADMSG: that is none; -EFAULT. */
static int part_read(struct look *l, uint64_t addr, struct parts *all)
{
	struct unmounted *u = l->u;
	struct part *p = &all->of[all->n];
	uint32_t want;
	int32_t size;

	*p = (struct part){.addr = addr, .at = all->words};
	if (oop_klass(l->vm, addr) != u->k.chunk)
		return -EBADMSG;
	if (mem_read(l->vm->mem, addr, p->header, u->f.stack))
		return -EFAULT;
	size = header_i32(p, u->f.size);
	p->sp = header_i32(p, u->f.sp);
	p->bottom = header_i32(p, u->f.bottom);
	if (size < 0 || size > CHUNK_WORDS || p->bottom < 0 || p->bottom > size || p->sp < 0 ||
	    p->sp > size + CHUNK_BELOW)
		return -EBADMSG;
	all->n++;
	if (part_is_empty(p))
		return 0;
	if (p->sp < CHUNK_BELOW)
		return -EBADMSG;
	want = (uint32_t)(p->bottom - p->sp) + CHUNK_BELOW;
	p->have = want < WORDS_MAX - all->words ? want : WORDS_MAX - all->words;
	all->words += p->have;
	all->cut |= p->have < want;
	return mem_read(l->vm->mem, part_addr(u, p), u->words + p->at, (size_t)p->have * 8)
		       ? -EFAULT
		       : 0;
}

/* All that the continuation has of a stack, innermost first. */
static int parts_read(struct look *l, uint64_t chunk, struct parts *all)
{
	uint32_t n;
	int rc;

	all->n = all->words = 0;
	all->cut = false;
	while (chunk) {
		if (all->n == CHUNKS_MAX) {
			all->cut = true;
			break;
		}
		n = all->n;
		rc = part_read(l, chunk, all);
		if (rc)
			return rc;
		chunk = oop_load(l->vm, all->of[n].addr + l->u->f.parent, false);
		all->of[n].parent = chunk;
	}
	return 0;
}

/* Whether the reference at `from` still is one to the object at `to`. */
static bool refers(struct look *l, uint64_t from, uint64_t to)
{
	struct unmounted *u = l->u;
	const struct oops *o = l->vm->oops;
	uint64_t v = 0, is;

	if (mem_read_now(l->vm->mem, from, &v, o->compressed ? 4 : 8))
		return false;
	u->epoch.zheap.now = true;
	is = !v		     ? 0
	     : o->compressed ? o->base + (v << o->shift)
	     : u->epoch.z    ? zheap_object(l->vm, &u->epoch.zheap, v)
			     : v;
	u->epoch.zheap.now = false;
	return is == to;
}

/* Whether they are now what they were. */
static bool parts_same(struct look *l, const struct parts *all)
{
	struct unmounted *u = l->u;
	uint8_t header[HEADER_MAX];

	for (uint32_t i = 0; i < all->n; i++) {
		const struct part *p = &all->of[i];

		if (mem_read_now(l->vm->mem, p->addr, header, u->f.stack) ||
		    memcmp(header + u->f.sp, p->header + u->f.sp, 4) ||
		    memcmp(header + u->f.bottom, p->header + u->f.bottom, 4) ||
		    memcmp(header + u->f.size, p->header + u->f.size, 4) ||
		    !refers(l, p->addr + u->f.parent, p->parent))
			return false;
		if (p->have &&
		    (mem_read_now(l->vm->mem, part_addr(u, p), u->again, (size_t)p->have * 8) ||
		     memcmp(u->again, u->words + p->at, (size_t)p->have * 8)))
			return false;
	}
	return true;
}

/* 0, 1: cut, or -EBADMSG. */
static int parts_frames(struct look *l, const struct parts *all, uint32_t *n)
{
	struct unmounted *u = l->u;
	int rc = 0;

	*n = 0;
	for (uint32_t i = 0; i < all->n && !rc; i++) {
		const struct part *p = &all->of[i];
		struct chunk c = {
			.words = u->words + p->at,
			.n = part_is_empty(p) ? 0 : (uint32_t)(p->bottom - p->sp) + CHUNK_BELOW,
			.have = p->have,
		};

		if (c.n)
			rc = chunk_frames(l->vm, &u->codes, &c, u->frames, GN_MAX_FRAMES, n);
	}
	return rc ? rc : all->cut;
}

static bool state_now(struct look *l, uint64_t thread, int32_t *state)
{
	return !mem_read_now(l->vm->mem, thread + l->u->f.state, state, sizeof(*state));
}

/*
 * Reads the stack of a thread that is in `state`. At the instant at which its state was read the
 * second time all words were what they were before and after that.
 */
static int stack_read(struct look *l, uint64_t thread, int32_t state, struct unmounted_thread *t)
{
	const struct fields *f = &l->u->f;
	uint64_t cont = oop_load(l->vm, thread + f->cont, false), tail;
	uint64_t klass = cont ? oop_klass(l->vm, cont) : 0, super = 0;
	struct parts all;
	int32_t now;
	int rc;

	if (!is_metadata(klass) || (klass != l->u->k.continuation &&
				    (mem_u64(l->vm->mem, klass + l->vm->at.klass_super, &super) ||
				     super != l->u->k.continuation)))
		return -EBADMSG;
	tail = oop_load(l->vm, cont + f->tail, false);
	rc = parts_read(l, tail, &all);
	spend(l, 8 + all.words / 128);
	if (!state_now(l, thread, &now) || now != state || !refers(l, thread + f->cont, cont) ||
	    !refers(l, cont + f->tail, tail) || (!rc && !parts_same(l, &all)))
		return -EAGAIN;
	if (rc)
		return rc;
	rc = parts_frames(l, &all, &t->nframes);
	spend(l, FRAME_WORK * (uint64_t)t->nframes);
	t->frames = l->u->frames;
	t->cut = rc == 1;
	return rc < 0 ? rc : 0;
}

static void thread_look(struct look *l, uint64_t at, uint64_t thread)
{
	struct unmounted *u = l->u;
	struct unmounted_thread t = {0};
	uint64_t id;
	int32_t state;
	int rc;

	/* executors may have platform threads, too */
	if (!thread || oop_klass(l->vm, thread) != u->virtual)
		return;
	l->counts->threads++;
	if (mem_i32(l->vm->mem, thread + u->f.state, &state) ||
	    mem_u64(l->vm->mem, thread + l->vm->oops->tid, &id)) {
		l->counts->unknown++;
		return;
	}
	t.id = (int64_t)id;
	t.state = (enum unmounted_state)u->state_of[(uint32_t)state % STATES];
	if (t.state == UNMOUNTED_NONE) {
		l->counts->mounted++;
		return;
	}
	rc = stack_read(l, thread, state, &t);
	if (!refers(l, at, thread))
		rc = -EAGAIN; /* it has moved */
	if (!rc && !t.nframes && t.state != UNMOUNTED_QUEUED)
		rc = -EBADMSG;
	if (rc) {
		*(rc == -EAGAIN ? &l->counts->unsettled : &l->counts->unknown) += 1;
		return;
	}
	l->counts->told++;
	t.name = thread + l->vm->oops->name;
	l->fn(l->ctx, &t);
}

void unmounted_name(struct vm *vm, uint64_t name, char buf[static UNMOUNTED_NAME])
{
	java_string_read(vm, oop_load(vm, name, false), buf, UNMOUNTED_NAME);
}

/* ---- drawing -----------------------------------------------------------------------------------
 */

int unmounted_draw(struct unmounted *u, struct vm *vm, uint32_t n, uint64_t random, unmounted_fn fn,
		   void *ctx, struct unmounted_counts *counts)
{
	struct unmounted_counts mine = {0};
	struct look l = {.u = u, .vm = vm, .counts = &mine, .fn = fn, .ctx = ctx};
	uint64_t behind = 0;
	uint32_t map = 0;

	if (!u->places || !n || !heap_epoch_begin(vm, &u->epoch))
		return -EAGAIN;
	memset(&u->codes, 0, sizeof(u->codes));
	if (n > u->places)
		n = (uint32_t)u->places;
	l.most = DRAW_WORK + PLACE_WORK * (uint64_t)n;
	for (uint32_t i = 0; i < n && spend(&l, 0); i++) {
		uint64_t at;

		/* Knuth's; its high bits are the better ones */
		random = random * 6364136223846793005u + 1442695040888963407u;
		at = (i * u->places + (random >> 20) % u->places) / n; /* of the i-th stretch */
		while (at - behind >= u->maps[map].length)
			behind += u->maps[map++].length;
		place_each(&l, &u->maps[map], (uint32_t)(at - behind), 0, thread_look);
	}
	if (!heap_epoch_end(vm, &u->epoch))
		return -EAGAIN;
	if (!spend(&l, 0))
		return -E2BIG;
	counts->threads += mine.threads;
	counts->told += mine.told;
	counts->mounted += mine.mounted;
	counts->unsettled += mine.unsettled;
	counts->unknown += mine.unknown;
	counts->strange += mine.strange;
	return 0;
}
