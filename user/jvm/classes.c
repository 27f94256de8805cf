/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/classes.h"

#include <string.h>

#include "jvm/heap.h"
#include "jvm/symbol.h"
#include "jvm/vm.h"

#define CLASSES_MAX    65536 /* so many are looked at */
#define NAME_MAX_BYTES 96

static void class_take(struct vm *vm, uint64_t klass, const struct class_query *q, unsigned int n)
{
	char name[NAME_MAX_BYTES];

	if (klass_name(vm, klass, name, sizeof(name)) < 0)
		return;
	for (unsigned int i = 0; i < n; i++)
		if (!*q[i].klass && !strcmp(q[i].name, name))
			*q[i].klass = klass;
}

bool classes_find(struct vm *vm, uint64_t *seen, const struct class_query *q, unsigned int n)
{
	const struct vm_layout *at = &vm->at;
	uint64_t thread, loader, head, klass;

	if (at->class_thread == VM_NONE || at->klass_loader == VM_NONE ||
	    at->klass_next == VM_NONE || at->loader_klasses == VM_NONE ||
	    mem_u64(vm->mem, at->class_thread, &thread) || !is_metadata(thread) ||
	    mem_u64(vm->mem, thread + at->klass_loader, &loader) || !is_metadata(loader) ||
	    mem_u64(vm->mem, loader + at->loader_klasses, &head))
		return false;
	klass = head;
	for (int i = 0; i < CLASSES_MAX && is_metadata(klass) && klass != *seen; i++) {
		class_take(vm, klass, q, n);
		if (mem_u64(vm->mem, klass + at->klass_next, &klass))
			return false;
	}
	*seen = head;
	return true;
}

bool class_is_ready(struct vm *vm, uint64_t klass)
{
	uint8_t state;

	return vm->at.ik_state != VM_NONE && vm->at.ik_state_ready != VM_NONE &&
	       !mem_u8(vm->mem, klass + vm->at.ik_state, &state) && state == vm->at.ik_state_ready;
}

uint64_t class_mirror(struct vm *vm, uint64_t klass)
{
	uint64_t handle;

	if (vm->at.klass_mirror == VM_NONE || vm->at.oh_obj == VM_NONE ||
	    mem_u64(vm->mem, klass + vm->at.klass_mirror + vm->at.oh_obj, &handle) || !handle)
		return 0;
	return oop_load(vm, handle, true);
}
