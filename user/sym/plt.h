/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the stubs of the procedure linkage table, which have no symbols: "malloc@plt". */
#ifndef GNOMON_SYM_PLT_H
#define GNOMON_SYM_PLT_H

#include "sym/elf.h"
#include "sym/symtab.h"

/*
 * Add the stubs of f, from .plt and .plt.sec (x86-64 code built for IBT). A stub jumps through a
 * slot of the global offset table, and the relocation of that slot names the function; the order of
 * stubs and relocations differs where there are IFUNCs, as in libc. -ENOMEM is the only error: a
 * file without (sensible) stubs gets none.
 */
int plt_add(struct symtab *t, const struct elf_file *f);

#endif
