/* SPDX-License-Identifier: Apache-2.0 */
/* The few VM flags that decide whether attaching works, as the command line gives them. */
#ifndef GNOMON_JVM_ATTACHFLAGS_H
#define GNOMON_JVM_ATTACHFLAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "jvm/attach.h"

struct attach_flags {
	bool disabled;
	enum attach_agents agents;
};

/*
 * Pure: cmdline and environ are the NUL-separated contents of /proc/PID/cmdline and environ. Order
 * as HotSpot's Arguments::parse(): JAVA_TOOL_OPTIONS, command line, _JAVA_OPTIONS; the last wins.
 * Options in @files and -XX:Flags= files are not seen.
 */
void attachflags_parse(struct attach_flags *f, const char *cmdline, size_t cmdline_len,
		       const char *environ, size_t environ_len);

/*
 * sun.rt.jvmCapabilities of a hsperfdata file: its first character is '1' when the JVM can be
 * attached to. 1 yes, 0 no, -1 not found or damaged. Pure; format: PerfMemory's prologue and
 * entries (perfMemory.hpp, perfData.hpp).
 */
int attachflags_perfdata(const unsigned char *p, size_t len);

#endif
