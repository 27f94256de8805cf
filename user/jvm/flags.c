/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/flags.h"

#include <errno.h>
#include <string.h>

#include "jvm/vm.h"
#include "jvm/vmstructs.h"

#define OOP_HEAP_MAX (32ull << 30) /* what a narrow reference reaches, 8-byte aligned */
#define ORIGIN_MASK  15
#define KIND_MASK    0xfff0

/* JVMFlagOrigin; the words are those of the JDK's JFR events. */
static const char *const origins[] = {
	"Default",	    "Command line", "Environment variable",
	"Config file",	    "Management",   "Ergonomic",
	"Attach on demand", "Internal",	    "JImage resource",
};

static unsigned int type_bytes(enum flag_type t)
{
	if (t == FLAG_BOOL)
		return 1;
	return t == FLAG_INT || t == FLAG_UINT ? 4 : 8;
}

static int value_read(struct vm *vm, uint64_t addr, struct flag *f)
{
	uint64_t bits = 0;

	if (mem_read(vm->mem, addr, &bits, type_bytes(f->type)))
		return -EFAULT;
	f->text[0] = '\0';
	f->bits = f->type == FLAG_INT ? (uint64_t)(int64_t)(int32_t)bits : bits;
	memcpy(&f->real, &bits, sizeof(f->real));
	if (f->type < FLAG_STRING || !bits)
		return 0;
	if (mem_str(vm->mem, bits, f->text, sizeof(f->text)) < 0)
		f->text[0] = '\0';
	return 0;
}

/* -EAGAIN: not of a kind that is known here. */
static int flag_read(struct vm *vm, uint64_t at, struct flag *f)
{
	const struct vm_layout *l = &vm->at;
	uint64_t name, addr;
	uint32_t flags, type;

	if (mem_u64(vm->mem, at + l->flag_name, &name) ||
	    mem_u64(vm->mem, at + l->flag_addr, &addr) ||
	    mem_u32(vm->mem, at + l->flag_flags, &flags) ||
	    mem_u32(vm->mem, at + l->flag_type, &type))
		return -EFAULT;
	if (!name || !addr || type >= FLAG_TYPES ||
	    mem_str(vm->mem, name, f->name, sizeof(f->name)) <= 0)
		return -EAGAIN;
	f->type = (enum flag_type)type;
	flags &= ORIGIN_MASK;
	f->origin = flags < sizeof(origins) / sizeof(origins[0]) ? origins[flags] : "Internal";
	return value_read(vm, addr, f) ? -EAGAIN : 0;
}

/* What kind of flag that one is, with who set it left out; whether it is set. */
static uint32_t kind_of(struct vm *vm, uint64_t list, uint64_t count, const char *name, bool *set)
{
	const struct vm_layout *l = &vm->at;
	uint32_t flags = 0;
	struct flag f;

	*set = true;
	for (uint64_t i = 0; i < count && i < VM_FLAGS_MAX; i++, list += l->flag_size) {
		if (flag_read(vm, list, &f) || strcmp(f.name, name) ||
		    mem_u32(vm->mem, list + l->flag_flags, &flags))
			continue;
		*set = f.bits != 0;
		return flags & KIND_MASK;
	}
	return 0;
}

/*
 * Diagnostic and experimental flags are none until they are unlocked. The bits that tell have
 * changed between releases; the two flags that unlock the others have them themselves.
 */
static uint32_t locked_bits(struct vm *vm, uint64_t list, uint64_t count)
{
	bool diagnostic, experimental;
	uint32_t d = kind_of(vm, list, count, "UnlockDiagnosticVMOptions", &diagnostic);
	uint32_t e = kind_of(vm, list, count, "UnlockExperimentalVMOptions", &experimental);

	return (diagnostic ? 0 : d & ~e) | (experimental ? 0 : e & ~d);
}

int flags_each(struct vm *vm, flag_fn fn, void *ctx)
{
	const struct vm_layout *l = &vm->at;
	uint64_t list, count;
	uint32_t locked, flags;
	struct flag f;
	int rc;

	if (l->flag_list == VM_NONE || l->flag_count == VM_NONE || l->flag_name == VM_NONE ||
	    l->flag_addr == VM_NONE || l->flag_size == VM_NONE || l->flag_flags == VM_NONE ||
	    l->flag_type == VM_NONE || !l->flag_size || mem_u64(vm->mem, l->flag_list, &list) ||
	    mem_u64(vm->mem, l->flag_count, &count))
		return -ENOENT;
	locked = locked_bits(vm, list, count);
	for (uint64_t i = 0; i < count && i < VM_FLAGS_MAX; i++, list += l->flag_size) {
		rc = flag_read(vm, list, &f);
		if (rc == -EFAULT || mem_u32(vm->mem, list + l->flag_flags, &flags))
			return -EFAULT;
		if (!rc && !(flags & locked))
			fn(ctx, &f);
	}
	return 0;
}

const char *vm_oop_mode(struct vm *vm)
{
	const struct vm_layout *l = &vm->at;
	uint64_t base;
	uint32_t shift;

	if (vm_flag(vm, "UseCompressedOops") != 1 || l->oops_base == VM_NONE ||
	    l->oops_shift == VM_NONE || mem_u64(vm->mem, l->oops_base, &base) ||
	    mem_u32(vm->mem, l->oops_shift, &shift))
		return NULL;
	if (base)
		return base % OOP_HEAP_MAX ? "Non-zero based" : "Non-zero disjoint base";
	return shift ? "Zero based" : "32-bit";
}
