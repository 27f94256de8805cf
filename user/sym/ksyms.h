/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names kernel addresses from /proc/kallsyms: the kernel's own functions, those of modules, and BPF
 * programs ("bpf_prog_TAG_NAME", module "bpf"). 16 bytes a symbol plus its name.
 *
 * kallsyms has no sizes: a function reaches up to the next symbol, and an address more than
 * KSYMS_REACH behind the last symbol is taken as unknown. A snapshot: load again for what the
 * kernel loads later. That takes tens of milliseconds.
 */
#ifndef GNOMON_SYM_KSYMS_H
#define GNOMON_SYM_KSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/frame.h"

#define KSYMS_MAX   (4U << 20)
#define KSYMS_REACH (1U << 20)

struct ksyms;

/*
 * Read /proc/kallsyms. -EPERM when the kernel hides the addresses (all are zero:
 * kernel.kptr_restrict, or CAP_SYSLOG is missing).
 */
int ksyms_open(struct ksyms **out, struct error *e);

/*
 * For a process that may not see addresses: what is read there, opened with the rights of here. A
 * descriptor or -errno. Two processes do not share one, whose place in the file each would move.
 */
int ksyms_source(void);
void ksyms_from(int fd); /* there: from now on that is read; it is taken over */

/* The same from a text, for tests: "ffffffff81000000 T _stext" and "... t f	[module]" lines. */
int ksyms_parse(struct ksyms **out, const char *text, size_t len);

void ksyms_free(struct ksyms *k);

/*
 * BPF programs were loaded, or attached (which may make a trampoline), since it was read: what is
 * said of an address in "(bpf)" may be wrong. Their ids only ever grow (bpf_prog_alloc_id(),
 * kernel/bpf/syscall.c). True where that cannot be told.
 */
bool ksyms_bpf_changed(const struct ksyms *k);

/*
 * Whom to ask for the newest program and link, from those given on: 0 or -errno. NULL, as at first:
 * nobody.
 */
typedef int (*ksyms_programs_fn)(void *ctx, uint32_t *program, uint32_t *link);
void ksyms_programs_by(ksyms_programs_fn fn, void *ctx);

/*
 * Name addr (a return address minus 1): klass "(kernel)" or "(module)", method the symbol, or
 * "[unknown]" when there is none (-ENOENT). Type FRAME_KERNEL. The strings live as long as k.
 */
int ksyms_lookup(const struct ksyms *k, uint64_t addr, struct frame_name *out);

/* The symbol's start, for tools; -ENOENT when there is none of that name. Linear. */
int ksyms_find(const struct ksyms *k, const char *name, uint64_t *addr);

size_t ksyms_count(const struct ksyms *k);
size_t ksyms_bytes(const struct ksyms *k);

#endif
