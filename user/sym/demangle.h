/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ (Itanium ABI) and Rust names for people, by libiberty. A mangled name comes from a file that
 * nobody vouches for and may unfold to gigabytes: its length, the depth of recursion and the length
 * of the result are bounded, and what is over a bound stays mangled.
 */
#ifndef GNOMON_SYM_DEMANGLE_H
#define GNOMON_SYM_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#define DEMANGLE_IN_MAX 1024 /* longer names stay mangled; libiberty's own limit is the same */

/*
 * Write the demangled name to out (cap bytes with the NUL, at least 2) and return true. The short
 * form, for frames, has no parameters and no return type: "os::javaTimeNanos"; with `params`:
 * "os::javaTimeNanos()". A suffix "@plt" survives. False, out untouched in meaning: not mangled, or
 * over a bound (a result that does not fit in cap is one). Some 2 us for a usual name: cache it.
 */
bool demangle(const char *name, bool params, char *out, size_t cap);

#endif
