/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/monitors.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "jvm/heap.h"
#include "jvm/heapepoch.h"
#include "jvm/symbol.h"
#include "jvm/vm.h"
#include "jvm/vmstructs.h"

#define LOCK_STACK_MAX	8   /* LockStack::CAPACITY */
#define CLASSES_BEFORE	64  /* of the classes that the JVM knows by heart, around Thread's */
#define CLASSES_LOOKED	320 /* so many are looked at */
#define OWNER_ANONYMOUS 1
#define OWNABLE		"java/util/concurrent/locks/AbstractOwnableSynchronizer"

/* ---- classes ----------------------------------------------------------------------------------
 */

/*
 * The JVM has an array of classes that it loads at its start (classfile/vmClasses.hpp); where
 * Thread's stands in it is told, and the others are around.
 */
static uint64_t class_known(struct vm *vm, const char *name)
{
	uint64_t at = vm->at.class_thread - CLASSES_BEFORE * sizeof(uint64_t), klass;
	char text[64];

	for (int i = 0; i < CLASSES_LOOKED; i++, at += sizeof(uint64_t))
		if (!mem_u64(vm->mem, at, &klass) && is_metadata(klass) &&
		    klass_name(vm, klass, text, sizeof(text)) >= 0 && !strcmp(text, name))
			return klass;
	return 0;
}

static const char *primitive_name(char c)
{
	static const struct {
		char c;
		const char *name;
	} names[] = {{'B', "byte"}, {'C', "char"}, {'D', "double"}, {'F', "float"},
		     {'I', "int"},  {'J', "long"}, {'S', "short"},  {'Z', "boolean"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].c == c)
			return names[i].name;
	return "?";
}

/* "[[Ljava/lang/String;" is java.lang.String[][]. */
static void array_name(char *buf, size_t cap)
{
	char name[512];
	size_t dims = strspn(buf, "["), n;
	const char *of = buf + dims;

	if (*of == 'L')
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(of + 1, ";"), of + 1);
	else
		snprintf(name, sizeof(name), "%s", primitive_name(*of));
	n = (size_t)snprintf(buf, cap, "%s", name);
	for (; dims && n + 3 <= cap; dims--, n += 2)
		memcpy(buf + n, "[]", 3);
}

int vm_class_name(struct vm *vm, uint64_t klass, char *buf, size_t cap)
{
	if (!is_metadata(klass) || klass_name(vm, klass, buf, cap) < 0)
		return -ENOENT;
	if (*buf == '[')
		array_name(buf, cap);
	for (char *p = buf; *p; p++)
		if (*p == '/')
			*p = '.';
	return (int)strlen(buf);
}

/* ---- for the kernel side ----------------------------------------------------------------------
 */

static uint16_t offset(uint64_t at)
{
	return at <= UINT16_MAX ? (uint16_t)at : 0;
}

static void objects_tell(struct vm *vm, struct gn_locks *l)
{
	const struct heap_epoch *e = heap_epoch_of(vm);
	const struct oops *o = vm->oops;

	if (e)
		heap_epoch_tell(vm, e, &l->heap);
	l->klass_base = o->klass_base;
	l->klass_shift = (uint16_t)o->klass_shift;
	l->klass_bytes = o->compressed_klass && !o->compact ? 4 : 8;
	l->klass_at = offset(o->compact		   ? 0
			     : o->compressed_klass ? vm->at.oop_narrow_klass
						   : vm->at.oop_klass);
	l->mark_shift = o->compact ? (uint16_t)(vm->at.mark_klass_shift & 63) : 0;
	if (vm->at.mark_hash_shift < 64 && vm->at.mark_hash_mask != VM_NONE) {
		l->hash_shift = (uint16_t)vm->at.mark_hash_shift;
		l->hash_mask = vm->at.mark_hash_mask;
	}
}

static void fields_tell(struct vm *vm, struct gn_locks *l, uint64_t thread, uint64_t ownable)
{
	uint32_t blocker = FIELD_NONE, id = FIELD_NONE, exclusive = FIELD_NONE;
	const struct field_query in_thread[] = {
		{"parkBlocker", "Ljava/lang/Object;", &blocker},
		{"tid", "J", &id},
	};
	const struct field_query in_ownable[] = {
		{"exclusiveOwnerThread", "Ljava/lang/Thread;", &exclusive},
	};

	fields_find(vm, thread, in_thread, 2);
	if (ownable)
		fields_find(vm, ownable, in_ownable, 1);
	l->blocker = offset(blocker);
	l->id = offset(id);
	l->exclusive = offset(exclusive);
	if (vm->at.klass_supers == VM_NONE)
		return;
	l->super = offset(vm->at.klass_supers + sizeof(uint64_t));
	l->ownable = ownable;
}

int vm_locks(struct vm *vm, struct gn_locks *out)
{
	const struct vm_layout *at = &vm->at;
	uint64_t thread, ownable, current;

	/* monitors refer to their objects by handles since 17 */
	if (vm->release < 17 || !vm_has(vm, VM_THREAD_NAMES) || at->class_thread == VM_NONE ||
	    at->jt_pending == VM_NONE || at->jt_waiting == VM_NONE || at->om_owner == VM_NONE ||
	    at->om_object == VM_NONE)
		return -ENOTSUP;
	if (mem_u64(vm->mem, at->class_thread, &thread) || !is_metadata(thread))
		return -ENOENT;
	if (!oops_of(vm))
		return -ENOTSUP;
	ownable = class_known(vm, OWNABLE);
	if (!ownable)
		return -ENOENT;
	current = at->jt_vthread != VM_NONE ? at->jt_vthread : at->jt_object;
	*out = (struct gn_locks){
		.pending = offset(at->jt_pending),
		.waiting = offset(at->jt_waiting),
		.current = offset(current + at->oh_obj),
		.object = offset(at->om_object),
		.owner = offset(at->om_owner),
		.stack_locker = offset(at->om_stack_locker),
	};
	/* monitors have ids as owners since there are threads with one (24) */
	if (at->jt_owner_id != VM_NONE)
		out->flags |= GN_LOCK_IDS;
	if (at->jt_lock_stack != VM_NONE && at->ls_base != VM_NONE && at->ls_top != VM_NONE)
		out->flags |= GN_LOCK_HELD;
	if (vm_flag(vm, "UseObjectMonitorTable") == 1)
		out->flags |= GN_LOCK_HASH;
	objects_tell(vm, out);
	fields_tell(vm, out, thread, ownable);
	return 0;
}

/* ---- whose a monitor is -----------------------------------------------------------------------
 */

bool vm_thread_stack(struct vm *vm, uint64_t thread, uint64_t *low, uint64_t *high)
{
	uint64_t size;

	if (vm->at.jt_stack_base == VM_NONE || vm->at.jt_stack_size == VM_NONE ||
	    mem_u64(vm->mem, thread + vm->at.jt_stack_base, high) ||
	    mem_u64(vm->mem, thread + vm->at.jt_stack_size, &size) || size > *high)
		return false;
	*low = *high - size;
	return true;
}

uint64_t vm_monitor_held(struct vm *vm, uint64_t monitor)
{
	uint64_t owner = 0, handle = 0, object;
	struct heap_epoch *e = heap_epoch_of(vm);

	if (mem_read_now(vm->mem, monitor + vm->at.om_owner, &owner, sizeof(owner)) ||
	    owner != OWNER_ANONYMOUS ||
	    mem_read_now(vm->mem, monitor + vm->at.om_object, &handle, sizeof(handle)) || !e ||
	    !heap_epoch_begin(vm, e))
		return 0;
	object = oop_load(vm, handle, true);
	return heap_epoch_end(vm, e) ? object : 0;
}

/* LockStack::_top is where the next one goes, from the thread's start. */
bool vm_thread_holds(struct vm *vm, uint64_t thread, uint64_t object)
{
	uint64_t base = vm->at.jt_lock_stack + vm->at.ls_base, v[LOCK_STACK_MAX];
	uint32_t top, n;

	if (vm->at.jt_lock_stack == VM_NONE || vm->at.ls_base == VM_NONE ||
	    mem_read_now(vm->mem, thread + vm->at.jt_lock_stack + vm->at.ls_top, &top,
			 sizeof(top)) ||
	    top <= base || mem_read_now(vm->mem, thread + base, v, sizeof(v)))
		return false;
	n = (top - (uint32_t)base) / sizeof(uint64_t);
	for (uint32_t i = 0; i < n && i < LOCK_STACK_MAX; i++)
		if (v[i] == object)
			return true;
	return false;
}
