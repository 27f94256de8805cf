/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a process keeps the pointer to a thread's record (OpenTelemetry OTEP 4947, or Elastic's
 * own): a thread-local variable of that name in .dynsym of a program or library. It is looked up in
 * the target's memory, as the dynamic linker has it: a library that was deleted, replaced or lies
 * in another container makes no difference, and one without the variable costs some ten reads.
 *
 * Facts: System V gABI, chapter 5 (dynamic section, DT_HASH); the GNU hash table as glibc's
 * elf/dl-lookup.c and binutils write it; Drepper, "ELF Handling For Thread-Local Storage" (models,
 * dtv); TLSDESC: Oliva, "Thread-Local Storage Descriptors", and what glibc
 * (sysdeps/x86_64/dl-tlsdesc.h: module, offset, generation) and musl (ldso/dynlink.c: module,
 * offset) put into a descriptor that is resolved at run time. glibc's dtv:
 * sysdeps/generic/dl-dtv.h, entries of two words, the word before the first one is the capacity;
 * musl's: one word each, the first is the count.
 */
#ifndef GNOMON_CONTEXT_PLACE_H
#define GNOMON_CONTEXT_PLACE_H

#include <linux/types.h>

#include "context/memory.h"
#include "kern/abi_context.h"

#define CTX_PLACE_SYMBOL      "otel_thread_ctx_v1"
#define CTX_PLACE_ELASTIC     "elastic_apm_profiling_correlation_tls_v1"
#define CTX_PLACE_LIBRARY_MAX 4096 /* programs and libraries of one process that are looked at */
#define CTX_PLACE_RELOC_MAX   (1 << 20) /* relocations of one library that are looked at */

enum ctx_libc { CTX_GLIBC, CTX_MUSL };

struct maps;

/* Which C library a process has, by the name of its dynamic linker. */
enum ctx_libc ctx_place_libc(const struct maps *maps);

/*
 * The variable, of either name, in the program or library whose ELF header lies at `base`;
 * `machine` is EM_X86_64 or EM_AARCH64. -ENOENT: it has none; -EAGAIN: the dynamic linker has not
 * resolved it yet; -ENOTSUP: another machine; -EBADMSG: what is there makes no sense; or the
 * memory's error.
 */
int ctx_place_of(const struct ctx_memory *m, uint64_t base, enum ctx_libc libc, uint16_t machine,
		 struct ctx_place *place);

/* Finds those of all mapped files, at most CTX_PLACE_MAX, and returns their number. *omitted: the
 * number of others, and of files that were not looked at. */
unsigned int ctx_places_find(const struct maps *maps, const struct ctx_memory *m, uint16_t machine,
			     struct ctx_place *places, unsigned int *omitted);

/*
 * The variable's address in the thread whose thread pointer this is (x86_64: its fs base; aarch64:
 * TPIDR_EL0). -ENOENT: that thread has no such block yet, or the memory's error.
 */
int ctx_place_slot(const struct ctx_place *p, const struct ctx_memory *m, uint64_t thread_pointer,
		   uint64_t *addr);

#endif
