/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading another process's memory: all or nothing, bounded, through a small page cache. What is
 * read may be old by as much as the last mem_flush(), and may be anything at all: the process is
 * not trusted and does not stand still. Not thread safe.
 */
#ifndef GNOMON_JVM_MEM_H
#define GNOMON_JVM_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MEM_READ_MAX (16U << 20) /* longest single read, bytes */

struct mem;

/*
 * Reads len bytes at addr: 0, or a negative errno when not all of them can be had; -ESRCH: the
 * memory is no more.
 */
typedef int (*mem_read_fn)(void *ctx, uint64_t addr, void *dst, size_t len);

/*
 * The memory of `pid` as it is now. It goes through /proc/PID/mem, which stays tied to this
 * program image: after exec or exit reads fail, whoever has the pid then. NULL with errno.
 */
struct mem *mem_open(pid_t pid);

/* Memory that `fn` supplies: tests and fuzzers. NULL when out of memory. */
struct mem *mem_new(mem_read_fn fn, void *ctx);

void mem_close(struct mem *m);

/* A read has found that the process, or the program it was, has ended: none will succeed. */
bool mem_is_gone(const struct mem *m);

/* Forget the pages held, so that the next reads see the present. */
void mem_flush(struct mem *m);

/* mem_is_since() tells whether all pages held were read after `time` (CLOCK_MONOTONIC, ns);
 * mem_since() forgets them unless they were.
 */
bool mem_is_since(const struct mem *m, uint64_t time);
void mem_since(struct mem *m, uint64_t time);

/* 0 or -EFAULT, -E2BIG (len above MEM_READ_MAX). */
int mem_read(struct mem *m, uint64_t addr, void *dst, size_t len);

/* The same, past the cache: for checks that memory has not changed meanwhile. */
int mem_read_now(struct mem *m, uint64_t addr, void *dst, size_t len);

int mem_u8(struct mem *m, uint64_t addr, uint8_t *v);
int mem_u16(struct mem *m, uint64_t addr, uint16_t *v);
int mem_u32(struct mem *m, uint64_t addr, uint32_t *v);
int mem_i32(struct mem *m, uint64_t addr, int32_t *v);
int mem_u64(struct mem *m, uint64_t addr, uint64_t *v);

/* A C string with its terminator into buf: its length, -EFAULT, or -ENAMETOOLONG. */
int mem_str(struct mem *m, uint64_t addr, char *buf, size_t cap);

struct mapping;
typedef bool (*mem_mapping_fn)(void *ctx, const struct mapping *m, const char *path);

/*
 * Hands the process's mappings of files, or where `addr` is not 0 the one mapping that holds it, to
 * `fn` until that says that it is the one. `path`: maps_path() (target/maps.h). 0, -ENOENT if it
 * says so of none, -ESRCH without such a process, or another negative errno.
 */
int mem_mapping_find(pid_t pid, uint64_t addr, mem_mapping_fn fn, void *ctx);

#endif
