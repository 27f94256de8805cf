/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ (Itanium ABI) and Rust names for people, by libiberty. A mangled name comes from a file that
 * nobody vouches for and may unfold to gigabytes, or keep the demangler busy for ever without a
 * word: its length, the depth of recursion, the length of the result and the CPU time are bounded,
 * and what is over a bound stays mangled.
 *
 * The time is bounded by a timer of the calling thread's CPU time, whose signal (SIGPROF) is ours
 * from the first call on.
 */
#ifndef GNOMON_SYM_DEMANGLE_H
#define GNOMON_SYM_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEMANGLE_MAX_NS 10000000 /* of CPU time; usual names take some us */
#define DEMANGLE_IN_MAX 1024	 /* longer names stay mangled; libiberty's own limit is the same */

/*
 * Write the demangled name to out (cap bytes with the NUL, at least 2) and return true. The short
 * form, for frames, has no parameters and no return type: "os::javaTimeNanos"; with `params`:
 * "os::javaTimeNanos()". A suffix "@plt" survives. False, out untouched in meaning: not mangled, or
 * over a bound (a result that does not fit in cap is one). Some 3 us for a usual name: cache it.
 */
bool demangle(const char *name, bool params, char *out, size_t cap);

/* CPU time that the calling thread has spent on names that took too long, ever. */
uint64_t demangle_wasted_ns(void);

#endif
