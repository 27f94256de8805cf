/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sys.h"

#include <asm/stat.h>
#include <asm/unistd.h>
#include <linux/falloc.h>
#include <linux/fcntl.h>
#include <linux/memfd.h>
#include <linux/mman.h>
#include <linux/prctl.h>
#include <linux/time.h>
#include <linux/time_types.h>

#define AT_EMPTY 0x1000 /* AT_EMPTY_PATH */

static long sys_call(long nr, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "system calls of this architecture are missing"
#endif
}

int sys_memfd(const char *name)
{
	return (int)sys_call(__NR_memfd_create, (long)name, MFD_CLOEXEC, 0, 0, 0, 0);
}

int sys_truncate(int fd, uint64_t size)
{
	return (int)sys_call(__NR_ftruncate, fd, (long)size, 0, 0, 0, 0);
}

int sys_punch(int fd, uint64_t from, uint64_t len)
{
	return (int)sys_call(__NR_fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			     (long)from, (long)len, 0, 0);
}

static bool is_error(long v)
{
	return (unsigned long)v > (unsigned long)-4096;
}

void *sys_map_reserve(size_t len)
{
	long v = sys_call(__NR_mmap, 0, (long)len, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return is_error(v) ? NULL : (void *)v;
}

int sys_map_file(void *at, size_t len, int fd, uint64_t off)
{
	long v = sys_call(__NR_mmap, (long)at, (long)len, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_FIXED, fd, (long)off);

	return is_error(v) ? (int)v : 0;
}

void *sys_map_private(size_t len)
{
	long v = sys_call(__NR_mmap, 0, (long)len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return is_error(v) ? NULL : (void *)v;
}

void *sys_map_named(const char *name, size_t len)
{
	int fd = sys_memfd(name);
	long v = -1;

	if (fd >= 0 && !sys_truncate(fd, len))
		v = sys_call(__NR_mmap, 0, (long)len, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		sys_close(fd);
	if (is_error(v))
		v = (long)sys_map_private(len);
	if (v)
		sys_call(__NR_madvise, v, (long)len, MADV_DONTFORK, 0, 0, 0);
	return (void *)v;
}

void sys_name_mapping(const char *name, const void *p, size_t len)
{
	sys_call(__NR_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, (long)p, (long)len, (long)name, 0);
}

void sys_unmap(void *p, size_t len)
{
	sys_call(__NR_munmap, (long)p, (long)len, 0, 0, 0, 0);
}

int sys_open_new(const char *path)
{
	return (int)sys_call(__NR_openat, AT_FDCWD, (long)path,
			     O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600, 0, 0);
}

bool sys_is_own_file(int fd)
{
	long uid = sys_call(__NR_geteuid, 0, 0, 0, 0, 0, 0);
	struct stat st;

	memset(&st, 0, sizeof(st));
	if (sys_call(__NR_fstat, fd, (long)&st, 0, 0, 0, 0))
		return false;
	return (st.st_mode & 0170000) == 0100000 && st.st_uid == (unsigned long)uid;
}

int64_t sys_write(int fd, const void *p, size_t n)
{
	return sys_call(__NR_write, fd, (long)p, (long)n, 0, 0, 0);
}

void sys_close(int fd)
{
	sys_call(__NR_close, fd, 0, 0, 0, 0, 0);
}

void sys_yield(void)
{
	sys_call(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
}

void sys_sleep_ms(uint32_t ms)
{
	struct __kernel_timespec t = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000LL};

	sys_call(__NR_nanosleep, (long)&t, 0, 0, 0, 0, 0);
}

uint32_t sys_getpid(void)
{
	return (uint32_t)sys_call(__NR_getpid, 0, 0, 0, 0, 0, 0);
}

uint32_t sys_gettid(void)
{
	return (uint32_t)sys_call(__NR_gettid, 0, 0, 0, 0, 0, 0);
}

static uint64_t clock_read(int clock)
{
	struct __kernel_timespec t = {0};

	sys_call(__NR_clock_gettime, clock, (long)&t, 0, 0, 0, 0);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

uint64_t sys_now(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

uint64_t sys_boot_now(void)
{
	return clock_read(CLOCK_BOOTTIME);
}

void *memcpy(void *to, const void *from, size_t n)
{
	char *d = to;
	const char *s = from;

	while (n--)
		*d++ = *s++;
	return to;
}

void *memset(void *to, int c, size_t n)
{
	char *d = to;

	while (n--)
		*d++ = (char)c;
	return to;
}
