/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hsperfdata file, as far as it tells whether its JVM can be attached to: options that come from
 * files are visible only here. Format: PerfMemory's prologue and entries (perfMemory.hpp,
 * perfData.hpp).
 */
#ifndef GNOMON_JVM_PERFDATA_H
#define GNOMON_JVM_PERFDATA_H

#include <stddef.h>

/*
 * sun.rt.jvmCapabilities: its first character is '1' when the JVM can be attached to. 1 yes, 0 no,
 * -1 not found or damaged. Pure.
 */
int perfdata_can_attach(const unsigned char *p, size_t len);

#endif
