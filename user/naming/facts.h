/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts beside the samples: host and settings, written at the start; the JVM and its container,
 * as soon as it is there; what the container was denied, written now and then.
 */
#ifndef GNOMON_NAMING_FACTS_H
#define GNOMON_NAMING_FACTS_H

#include <stdint.h>
#include <sys/types.h>

struct jfrw;
struct target_config;
struct symproc;
struct vm;

/*
 * The recording, the system and its CPUs. `path` and `time` (CLOCK_MONOTONIC) are where and when
 * the file begins.
 */
void facts_host(struct jfrw *out, const struct target_config *cfg, const char *path, uint64_t time);

/*
 * The JVM (`vm` NULL: its memory is not read) and its container. 0; -ENOEXEC: it is none, or not
 * yet; else a negative errno.
 */
int facts_jvm(struct jfrw *out, pid_t tgid, struct vm *vm, uint64_t time);

/* Files mapped executable, as jdk.NativeLibrary. */
void facts_libraries(struct jfrw *out, uint64_t time, const struct symproc *native);

/*
 * Those in which frames lie that were named, as gnomon.NativeFile: each once for a mark, which is
 * the chunk's number.
 */
void facts_files(struct jfrw *out, uint64_t time, struct symproc *native, uint32_t mark);

/* jdk.ContainerCPUThrottling, where the process's control group has a CPU quota. */
void facts_throttling(struct jfrw *out, uint64_t time, pid_t tgid);

#endif
