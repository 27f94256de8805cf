/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names native frames of one process.
 *
 *   where the address lies       klass          method
 *   in a function of a file      "libjvm.so"    "os::elapsed_counter", "malloc@plt"
 *   in one without a name        "libjvm.so"    "+0x1230", where the function begins
 *   elsewhere in a file          "libjvm.so"    "+0x1234", the address itself
 *   in the vDSO                  "(vdso)"       "clock_gettime" or "+0x123"
 *   in memory without a file     "(anon)"       "[anon]" (so also "(heap)", "(stack)" ...)
 *   nowhere                      "(unknown)"    "[unknown]"
 *
 * Together they read "libjvm.so+0x1230". The number is an address as linked, what addr2line(1) and
 * objdump(1) take; where the file is not ELF or cannot be read any more, it is the offset in the
 * file. Functions of stripped files are known by their call frame information (sym/image.h), so
 * that all of one is one frame. Type FRAME_CPP for names that were demangled, else FRAME_NATIVE.
 *
 * The process is held by a descriptor of its /proc directory, so a pid that is reused is never
 * taken for it. When it has ended, what was loaded keeps its names. Images are loaded at the first
 * address that falls into them, some ten milliseconds for libjvm.so: call from the naming thread.
 * Not thread safe, also because of the shared cache.
 */
#ifndef GNOMON_SYM_PROC_H
#define GNOMON_SYM_PROC_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/frame.h"
#include "sym/cache.h"
#include "target/maps.h"

struct symproc;

/* -ESRCH: no such process, or without memory. The cache must outlive it; several may share it. */
int symproc_open(struct symproc **out, pid_t pid, struct image_cache *cache, struct error *e);
void symproc_close(struct symproc *sp);

/*
 * Name addr; for a return address pass addr - 1, which lies in the call. *out is always filled in;
 * the strings live until the next call for this process (klass) or for any process of the cache
 * (method). Returns 0 for a function, -ENOENT for one of the fallbacks.
 *
 * An address outside of all known mappings makes the maps be read again, at most every 100 ms and
 * 2% of the time.
 */
int symproc_lookup(struct symproc *sp, uint64_t addr, struct frame_name *out);

/*
 * The mappings changed (exec, mmap of code): read them again before the next look-up, or a little
 * later where that would take more than a tenth of the time.
 */
void symproc_changed(struct symproc *sp);

/* Read the mappings now. 0 or a negative errno. */
int symproc_refresh(struct symproc *sp);

/*
 * Has other code been mapped or unmapped since the last time? Looks once a second, and at most a
 * 2,000th of the time; each ten seconds while no names are asked for, since then there are no new
 * stacks.
 */
bool symproc_moved(struct symproc *sp, uint64_t now_ns);

/*
 * A process chooses how many files it has mapped, and what reading them costs. So it has a budget
 * of CPU time: SYMPROC_READ_NS at once, and a SYMPROC_READ_SHARE-th of the time that passes. Beyond
 * it files are left unread: addresses in them have their offsets for names.
 */
#define SYMPROC_READ_NS	   2000000000ULL
#define SYMPROC_READ_SHARE 20

/* For others that read its files: whether they may, and what it took (CPU time). */
bool symproc_may_read(const struct symproc *sp);
void symproc_has_read(struct symproc *sp, uint64_t cpu_ns);

/* Files that were left unread by symproc_lookup(), ever. */
size_t symproc_unread(const struct symproc *sp);

/* A file in which addresses were named: one mapping of its code. */
struct symproc_file {
	const char *name; /* as klass; until the mappings are read again */
	uint64_t start, end, offset;
	const struct elf_build_id *id; /* its length is 0 where the file has none */
};

/*
 * The next one that was not asked for with this mark (not 0) yet; false: there is none. Of those
 * that are not mapped any more, too, while late samples may have their names.
 */
bool symproc_file_next(struct symproc *sp, uint32_t mark, struct symproc_file *out);

/* The mappings as last read, the open /proc/PID, and whether the process was seen to have ended. */
const struct maps *symproc_maps(const struct symproc *sp);
int symproc_proc_fd(const struct symproc *sp);
bool symproc_ended(const struct symproc *sp);

#endif
