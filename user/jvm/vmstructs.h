/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A HotSpot JVM seen from outside: where its data structures lie, as its own tables say
 * (gHotSpotVMStructs, gHotSpotVMTypes, gHotSpotVM{Int,Long}Constants: JDK runtime/vmStructs.hpp,
 * kept for the serviceability agent). Nothing runs in the JVM and no file is read: the tables'
 * addresses come from the dynamic symbol table that the dynamic linker mapped.
 *
 * A field that this JVM does not have costs the feature that needs it, nothing else.
 */
#ifndef GNOMON_JVM_VMSTRUCTS_H
#define GNOMON_JVM_VMSTRUCTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "jvm/mem.h"

struct vm;

enum vm_feature {
	VM_NAMES = 0,	 /* class, method and signature of a Method */
	VM_LINES,	 /* line numbers */
	VM_CODE,	 /* the code cache: which blob a pc is in, and its frame size */
	VM_NMETHOD,	 /* the method of compiled code */
	VM_SCOPES,	 /* inlined frames, bytecode indices of compiled code */
	VM_INTERP,	 /* where the interpreter lies */
	VM_DEOPT,	 /* the real pc of deoptimised frames */
	VM_ANCHOR,	 /* the last Java frame of a thread in native code */
	VM_THREADS,	 /* which JavaThread an OS thread is */
	VM_THREAD_NAMES, /* java.lang.Thread's name and id */
	VM_UNLOADS,	 /* whether classes were unloaded since a sample */
	VM_FEATURES
};

/* "inlined frames", ...: for messages. */
const char *vm_feature_name(enum vm_feature f);

/*
 * The JVM in process `pid`. -ESRCH no such process, -EACCES, -ENOENT no libjvm.so in it, -ENOEXEC
 * libjvm.so without readable tables (not HotSpot, or still starting), -EAGAIN: they are not all
 * there yet.
 */
int vm_open(pid_t pid, struct vm **out, struct error *e);

/* The same over given memory, which the vm then owns (also when this fails); `base` is where
 * libjvm.so is mapped. */
int vm_open_mem(struct mem *mem, uint64_t base, struct vm **out, struct error *e);

void vm_close(struct vm *vm);

/* Feature release (17, 21, 25), 0 unknown. */
int vm_release(const struct vm *vm);

bool vm_has(const struct vm *vm, enum vm_feature f);

/* Calls cb for every field that was looked for and is not there ("nmethod._orig_pc_offset"). */
typedef void (*vm_missing_fn)(void *arg, const char *name, enum vm_feature f);
void vm_missing(const struct vm *vm, vm_missing_fn cb, void *arg);

/*
 * Tells what the JVM calls itself (VM_Version::internal_vm_info_string(), also the performance
 * counter sun.rt.internalVersion): "OpenJDK 64-Bit Server VM (17.0.15+6) for linux-amd64 JRE (...),
 * built on ...". 0, or -ENOENT: not there, or longer than the buffer.
 */
int vm_info(struct vm *vm, char *buf, size_t cap);

/* The value of a boolean -XX flag now: 0 or 1, -ENOENT when there is none such. */
int vm_flag(struct vm *vm, const char *name);

/*
 * Forget what is held of the JVM's memory; names and snapshots stay. True when classes were
 * unloaded, or a name was not certain: the same addresses are to be named again.
 */
bool vm_refresh(struct vm *vm);

#endif
