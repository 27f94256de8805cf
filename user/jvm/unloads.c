/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/unloads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "jvm/perfdata.h"
#include "jvm/statics.h"
#include "jvm/symbol.h"
#include "jvm/vm.h"

#define PERF_EVENTS 4 /* units */

#define POINTERS   65536U /* so many are followed in one search */
#define LEAST	   4096U  /* nothing lies below */
#define NAME_BYTES 32	  /* the longest name and its end */

#define COUNTERS_SPAN 1024 /* bytes in which all counters lie */

#define FINDS_MAX 8
/* the pause before the second search; each pause is twice as long as the last */
#define FIND_NS 100000000ULL

#define COUNTERS (UNLOADS_COUNTERS + 1)

static const char *const names[COUNTERS] = {
	"java.cls.unloadedClasses",
	"java.cls.sharedUnloadedClasses",
	"java.cls.loadedClasses",
	"java.cls.sharedLoadedClasses",
	[UNLOADS_THREADS] = "java.threads.started",
};

static bool on_entry(void *ctx, const struct perfdata_entry *e)
{
	struct vm *vm = ctx;

	for (int i = 0; i < COUNTERS; i++)
		if (e->type == PERFDATA_LONG && e->bytes == 8 && !strcmp(e->name, names[i]))
			vm->unloads.at[i] = vm->unloads.start + e->at;
	return true;
}

static void shared_find(struct vm *vm)
{
	struct unloads *u = &vm->unloads;
	uint8_t prologue[PERFDATA_PROLOGUE], *copy;
	struct perfdata_head head;

	if (mem_read_now(vm->mem, vm->at.perf_start, &u->start, sizeof(u->start)) || !u->start ||
	    mem_read_now(vm->mem, u->start, prologue, sizeof(prologue)) ||
	    perfdata_head(prologue, sizeof(prologue), &head))
		return;
	copy = malloc(head.used);
	if (copy && !mem_read_now(vm->mem, u->start, copy, head.used))
		perfdata_each(copy, head.used, on_entry, vm);
	free(copy);
}

/*
 * A counter as an object (JDK runtime/perfData.hpp, class PerfData; unchanged from JDK 9 to 25 on
 * 64-bit machines), which it is whether or not its value is shared.
 */
struct perf_object {
	uint64_t vtable, name;
	int32_t variability, units;
	uint8_t on_c_heap, pad[3];
	int32_t flags;
	uint64_t entry, value;
};

static void object_take(struct vm *vm, uint64_t addr)
{
	struct perf_object o;
	char name[NAME_BYTES];

	if (mem_read_now(vm->mem, addr, &o, sizeof(o)) || o.on_c_heap != 1 ||
	    o.units != PERF_EVENTS || !is_metadata(o.value) || !o.name ||
	    mem_read_now(vm->mem, o.name, name, sizeof(name)))
		return;
	for (int i = 0; i < COUNTERS; i++)
		if (!strncmp(name, names[i], sizeof(name)))
			vm->unloads.at[i] = o.value;
}

struct unshared {
	struct vm *vm;
	unsigned int left; /* pointers that may be followed */
};

static bool on_statics(void *ctx, const struct statics_piece *p)
{
	struct unshared *u = ctx;

	for (size_t i = 0; i < p->n && u->left; i++) {
		if (p->words[i] < LEAST || !is_metadata(p->words[i]))
			continue;
		u->left--;
		object_take(u->vm, p->words[i]);
	}
	return u->left > 0;
}

/*
 * With -XX:-UsePerfData these counters are there all the same, since the management API has them,
 * but in no list that can be reached (JDK services/classLoadingService.cpp). The pointers to them
 * are static variables of the JVM, as the pointer to the shared counters is.
 */
static void unshared_find(struct vm *vm)
{
	struct unshared u = {vm, POINTERS};

	statics_each(vm->mem, vm->at.perf_start, on_statics, &u);
}

/*
 * Looks for the counters again, since a JVM that has just been started makes them a little later.
 */
static void counters_find(struct vm *vm)
{
	struct unloads *u = &vm->unloads;
	uint64_t now = now_ns();

	if (u->finds == FINDS_MAX || now < u->find_ns || vm->at.perf_start == VM_NONE)
		return;
	shared_find(vm);
	if (!u->start)
		unshared_find(vm);
	u->find_ns = now + (FIND_NS << u->finds);
	u->finds++;
}

/* The sum of the two counters from `first` on. */
static int count_read(struct vm *vm, int first, uint64_t *sum)
{
	uint64_t v;

	*sum = 0;
	for (int i = first; i < first + 2; i++) {
		if (!vm->unloads.at[i] || mem_read_now(vm->mem, vm->unloads.at[i], &v, sizeof(v)))
			return -ENOENT;
		*sum += v;
	}
	return 0;
}

/*
 * All of them by one read, which is all that a look takes: where they are shared they lie beside
 * each other. False: it has to be done one by one.
 */
static bool counts_read(struct vm *vm, uint64_t *count, uint64_t *loads)
{
	const uint64_t *at = vm->unloads.at;
	uint64_t v[UNLOADS_COUNTERS], low = at[0], high = at[0];
	uint8_t bytes[COUNTERS_SPAN];

	for (int i = 0; i < UNLOADS_COUNTERS; i++) {
		if (!at[i])
			return false;
		low = at[i] < low ? at[i] : low;
		high = at[i] > high ? at[i] : high;
	}
	if (high - low > sizeof(bytes) - sizeof(*v) ||
	    mem_read_now(vm->mem, low, bytes, high - low + sizeof(*v)))
		return false;
	for (int i = 0; i < UNLOADS_COUNTERS; i++)
		memcpy(&v[i], bytes + (at[i] - low), sizeof(*v));
	*count = v[0] + v[1];
	*loads = v[2] + v[3];
	return true;
}

bool unloads_look(struct vm *vm)
{
	struct unloads *u = &vm->unloads;
	uint64_t count, loads;
	bool first = !u->looked, loaded;

	if (!u->at[0] || !u->at[1] || !u->at[2] || !u->at[3]) /* a JVM makes them one by one */
		counters_find(vm);
	u->looked = true;
	u->looked_ns = now_ns();
	u->known = counts_read(vm, &count, &loads);
	if (!u->known) {
		u->known = !count_read(vm, 0, &count);
		if (count_read(vm, 2, &loads)) /* classes may have been loaded */
			loads = u->loads + 1;
	}
	loaded = u->known && loads != u->loads;
	u->loads = loads;
	if (!u->known || count == u->count)
		return loaded && !first;
	u->count = count;
	/* nobody has asked about what was unloaded before the first look */
	u->changed_ns = first ? 0 : now_ns();
	return !first;
}

void unloads_follow(struct vm *vm, uint64_t time)
{
	if (time >= vm->unloads.looked_ns && unloads_look(vm))
		mem_flush(vm->mem);
}

bool unloads_known(const struct vm *vm)
{
	return vm->unloads.known;
}

uint64_t unloads_count(const struct vm *vm)
{
	return vm->unloads.count;
}

uint64_t unloads_loads(const struct vm *vm)
{
	return vm->unloads.loads;
}

struct unloads_span unloads_span(const struct vm *vm)
{
	return (struct unloads_span){vm->unloads.count, vm->unloads.changed_ns};
}

bool unloads_spans(struct vm *vm, const struct unloads_span *span, uint64_t time)
{
	if (time < span->since_ns)
		return false;
	unloads_follow(vm, time);
	return !vm->unloads.known || span->count == vm->unloads.count;
}

bool unloads_none_since(const struct vm *vm, uint64_t time)
{
	return !vm->unloads.known || time >= vm->unloads.changed_ns;
}
