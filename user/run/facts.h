/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts beside the samples: host, JVM, settings and container, written at the start; what the
 * container was denied, written now and then.
 */
#ifndef GNOMON_RUN_FACTS_H
#define GNOMON_RUN_FACTS_H

#include <stdint.h>
#include <sys/types.h>

struct jfrw;
struct target_config;
struct symproc;

/* `path` and `time` (CLOCK_MONOTONIC) are where and when the file begins. */
void facts_write(struct jfrw *out, pid_t tgid, const struct target_config *cfg, const char *path,
		 uint64_t time);

/* Files mapped executable, as jdk.NativeLibrary. */
void facts_libraries(struct jfrw *out, uint64_t time, const struct symproc *native);

/* jdk.ContainerCPUThrottling, where the process's control group has a CPU quota. */
void facts_throttling(struct jfrw *out, uint64_t time, pid_t tgid);

#endif
