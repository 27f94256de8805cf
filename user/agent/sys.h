/* SPDX-License-Identifier: Apache-2.0 */
/* Raw system calls and the few memory functions the compiler may ask for: there is no libc here. */
#ifndef GNOMON_AGENT_SYS_H
#define GNOMON_AGENT_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All return a result or a negative errno. */
int sys_memfd(const char *name);
int sys_truncate(int fd, uint64_t size);
int sys_punch(int fd, uint64_t from, uint64_t len);
void *sys_map_reserve(size_t len);			      /* NULL on failure */
int sys_map_file(void *at, size_t len, int fd, uint64_t off); /* shared, read and write */
void *sys_map_private(size_t len); /* anonymous memory; NULL on failure */
/* Memory of a memfd of that name, which a forked process does not have; anonymous where there is no
 * memfd. */
void *sys_map_named(const char *name, size_t len);
/* Names it for who reads /proc/PID/maps. A kernel that refuses has heard of it all the same. */
void sys_name_mapping(const char *name, const void *p, size_t len);
void sys_unmap(void *p, size_t len);
int sys_open_new(const char *path);
bool sys_is_own_file(int fd); /* a regular file of our effective uid */
int64_t sys_write(int fd, const void *p, size_t n);
void sys_close(int fd);
void sys_yield(void);
void sys_sleep_ms(uint32_t ms);
uint32_t sys_getpid(void);
uint32_t sys_gettid(void);
uint64_t sys_now(void);	     /* CLOCK_MONOTONIC, ns */
uint64_t sys_boot_now(void); /* CLOCK_BOOTTIME, ns */

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);

#endif
