/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/heapepoch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jvm/heap.h"
#include "jvm/vm.h"
#include "jvm/vmstructs.h"
#include "kern/abi_jvm.h"

#define PAUSE_SPAN 256

/* How far apart the two are that tell of pauses; both lie in the CollectedHeap. */
static uint64_t span_of(const struct vm *vm)
{
	uint64_t active = vm->at.heap_active, number = vm->at.heap_collections;

	return active < number ? number - active : active - number;
}

int heap_epoch_find(struct vm *vm, struct heap_epoch *e)
{
	*e = (struct heap_epoch){0};
	if (vm->at.heap == VM_NONE)
		return -ENOTSUP;
	if (vm_flag(vm, "UseZGC") == 1) {
		e->z = !zheap_find(vm, vm->oops->zgc, &e->zheap);
		return e->z ? 0 : -ENOTSUP;
	}
	e->pauses = vm->at.heap_active != VM_NONE && vm->at.heap_collections != VM_NONE &&
		    span_of(vm) <= PAUSE_SPAN;
	e->still = e->pauses && vm_flag(vm, "UseShenandoahGC") != 1;
	return e->still ? 0 : -ENOTSUP;
}

struct heap_epoch *heap_epoch_of(struct vm *vm)
{
	struct oops *o = oops_of(vm);

	if (!o || o->epoch)
		return o ? o->epoch : NULL;
	o->epoch = malloc(sizeof(*o->epoch));
	if (o->epoch)
		heap_epoch_find(vm, o->epoch);
	return o->epoch;
}

/* Both in one read, since that is done for each thread's name. */
static bool pause_read(struct vm *vm, struct heap_epoch *e)
{
	uint64_t active = vm->at.heap_active, number = vm->at.heap_collections, heap;
	uint64_t first = active < number ? active : number;
	uint8_t both[PAUSE_SPAN + sizeof(e->number)];

	if (mem_u64(vm->mem, vm->at.heap, &heap) || !heap ||
	    mem_read_now(vm->mem, heap + first, both, span_of(vm) + sizeof(e->number)))
		return false;
	memcpy(&e->active, both + (active - first), sizeof(e->active));
	memcpy(&e->number, both + (number - first), sizeof(e->number));
	return true;
}

bool heap_epoch_begin(struct vm *vm, struct heap_epoch *e)
{
	mem_flush(vm->mem);
	e->lasts = false;
	if (e->z) {
		if (!zheap_begin(vm, &e->zheap))
			return false;
		vm->oops->z = &e->zheap;
		return true;
	}
	return !e->pauses || (pause_read(vm, e) && !e->active);
}

bool heap_epoch_go_on(struct vm *vm, struct heap_epoch *e, uint64_t since)
{
	return (e->lasts && mem_is_since(vm->mem, since)) || heap_epoch_begin(vm, e);
}

bool heap_epoch_end(struct vm *vm, struct heap_epoch *e)
{
	struct heap_epoch now = {0};
	bool same;

	if (e->z) {
		vm->oops->z = NULL;
		return zheap_same(vm, &e->zheap);
	}
	same = !e->pauses || (pause_read(vm, &now) && !now.active && now.number == e->number);
	e->lasts = same && e->still;
	return same;
}

void heap_epoch_tell(struct vm *vm, const struct heap_epoch *e, struct gn_heap *out)
{
	const struct oops *o = vm->oops;
	uint64_t heap;

	*out = (struct gn_heap){
		.oop_base = o->base,
		.oop_shift = (uint16_t)o->shift,
		.flags = o->compressed ? GN_OOP_NARROW : 0,
	};
	if (vm_flag(vm, "UseShenandoahGC") == 1)
		out->flags |= GN_OOP_FORWARDED;
	if (vm->at.heap_active != VM_NONE && vm->at.heap_collections != VM_NONE &&
	    !mem_u64(vm->mem, vm->at.heap, &heap) && heap) {
		out->active = heap + vm->at.heap_active;
		out->collections = heap + vm->at.heap_collections;
	}
	if (e->z)
		zheap_tell(vm, &e->zheap, out);
	else if (vm_flag(vm, "UseZGC") == 1)
		out->active = out->collections = 0; /* they say nothing of it */
}
