/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "broker/broker.h"
#include "jvm/memguard.h"
#include "target/mapquery.h"
#include "target/maps.h"
#include "target/procfs.h"

#define PAGE_BYTES 4096U
#define PAGES	   256U /* direct mapped */
#define AHEAD	   8U	/* pages read at once, at most */
#define NO_PAGE	   UINT64_MAX

struct mem {
	mem_read_fn read;
	void *ctx;
	pid_t pid;
	int fd; /* of /proc/PID/mem, or -1 */
	struct memguard *guard;
	bool gone;	/* the process has no memory any more */
	uint64_t since; /* when the oldest page was read, ns; 0 when there is none */
	uint64_t addr[PAGES];
	bool asked[PAGES]; /* and was not only read ahead */
	/* a mapping of their own: JVMs come and go, and leave no holes in the heap */
	uint8_t *pages;
};

/* The kernel's mem_rw() returns 0 for a memory that no process has any more. */
static bool mem_ended(const struct mem *m)
{
	char byte;

	return !pread(m->fd, &byte, 1, 0);
}

static int read_fd(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct mem *m = ctx;
	size_t done = 0;
	int rc;

	if (addr > INT64_MAX - len)
		return -EFAULT;
	rc = memguard_look(m->guard, addr, len);
	if (rc == -EREMOTE)
		return broker_memory(m->pid, m->fd, addr, dst, len);
	if (rc)
		return mem_ended(m) ? -ESRCH : rc;
	while (done < len) {
		ssize_t n = pread(m->fd, (char *)dst + done, len - done, (off_t)(addr + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (!n)
			return -ESRCH; /* as mem_ended() */
		if (n < 0)
			return -EFAULT;
		done += (size_t)n;
	}
	return 0;
}

struct mem *mem_new(mem_read_fn fn, void *ctx)
{
	struct mem *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->pages = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m->pages == MAP_FAILED) {
		free(m);
		return NULL;
	}
	m->read = fn;
	m->ctx = ctx;
	m->fd = -1;
	mem_flush(m);
	return m;
}

struct mem *mem_open(pid_t pid)
{
	struct mem *m;

	m = mem_new(read_fd, NULL);
	if (!m)
		return NULL;
	m->ctx = m;
	m->pid = pid;
	m->fd = proc_file_open(pid, "mem");
	if (m->fd < 0)
		errno = m->fd == -ESRCH ? ENOENT : -m->fd;
	m->guard = m->fd < 0 ? NULL : memguard_open(pid);
	if (!m->guard) {
		int rc = errno;

		mem_close(m);
		errno = rc;
		return NULL;
	}
	return m;
}

void mem_close(struct mem *m)
{
	if (!m)
		return;
	if (m->fd >= 0)
		close(m->fd);
	memguard_close(m->guard);
	munmap(m->pages, PAGES * PAGE_BYTES);
	free(m);
}

static int read_now(struct mem *m, uint64_t addr, void *dst, size_t len)
{
	int rc = m->read(m->ctx, addr, dst, len);

	m->gone |= rc == -ESRCH;
	return rc ? -EFAULT : 0;
}

bool mem_is_gone(const struct mem *m)
{
	return m->gone;
}

void mem_flush(struct mem *m)
{
	for (unsigned int i = 0; i < PAGES; i++)
		m->addr[i] = NO_PAGE;
	m->since = 0;
}

bool mem_is_since(const struct mem *m, uint64_t time)
{
	return !m->since || m->since > time;
}

void mem_since(struct mem *m, uint64_t time)
{
	if (!mem_is_since(m, time))
		mem_flush(m);
}

/* `n` pages from `addr` on, to the i-th place and those behind it. */
static int pages_read(struct mem *m, unsigned int i, uint64_t addr, unsigned int n)
{
	for (unsigned int k = 0; k < n; k++) {
		m->addr[i + k] = NO_PAGE;
		m->asked[i + k] = false;
	}
	if (read_now(m, addr, m->pages + i * PAGE_BYTES, n * PAGE_BYTES))
		return -EFAULT;
	for (unsigned int k = 0; k < n; k++)
		m->addr[i + k] = addr + k * PAGE_BYTES;
	return 0;
}

/*
 * How many pages from the one at the i-th place on: as many as were asked for right before it, so
 * that who goes through memory reads ever more at once, who looks at an object on two pages reads
 * those, and who looks at objects that lie some pages apart reads no pages between them.
 */
static unsigned int pages_ahead(const struct mem *m, unsigned int i, uint64_t addr)
{
	unsigned int most = PAGES - i < AHEAD ? PAGES - i : AHEAD, n = 0;

	for (; n < most; n++) {
		unsigned int before = (i + PAGES - 1 - n) % PAGES;

		if (m->addr[before] != addr - (n + 1) * PAGE_BYTES || !m->asked[before])
			break;
	}
	return n ? n : 1;
}

/* The page at `addr` (aligned), or NULL when it cannot be read. */
static const uint8_t *page_get(struct mem *m, uint64_t addr)
{
	unsigned int i = (addr / PAGE_BYTES) % PAGES, n;

	if (m->addr[i] != addr) {
		if (!m->since)
			m->since = now_ns();
		n = pages_ahead(m, i, addr);
		if ((n == 1 || pages_read(m, i, addr, n)) && pages_read(m, i, addr, 1))
			return NULL;
	}
	m->asked[i] = true;
	return m->pages + i * PAGE_BYTES;
}

int mem_read(struct mem *m, uint64_t addr, void *dst, size_t len)
{
	uint8_t *out = dst;

	if (len > MEM_READ_MAX)
		return -E2BIG;
	if (len > 8 * PAGE_BYTES)
		return mem_read_now(m, addr, dst, len);
	while (len) {
		size_t off = addr % PAGE_BYTES;
		size_t n = PAGE_BYTES - off < len ? PAGE_BYTES - off : len;
		const uint8_t *page = page_get(m, addr - off);

		if (!page)
			return -EFAULT;
		memcpy(out, page + off, n);
		out += n;
		addr += n;
		len -= n;
	}
	return 0;
}

int mem_read_now(struct mem *m, uint64_t addr, void *dst, size_t len)
{
	if (len > MEM_READ_MAX)
		return -E2BIG;
	return read_now(m, addr, dst, len);
}

int mem_u8(struct mem *m, uint64_t addr, uint8_t *v)
{
	return mem_read(m, addr, v, sizeof(*v));
}

int mem_u16(struct mem *m, uint64_t addr, uint16_t *v)
{
	return mem_read(m, addr, v, sizeof(*v));
}

int mem_u32(struct mem *m, uint64_t addr, uint32_t *v)
{
	return mem_read(m, addr, v, sizeof(*v));
}

int mem_i32(struct mem *m, uint64_t addr, int32_t *v)
{
	return mem_read(m, addr, v, sizeof(*v));
}

int mem_u64(struct mem *m, uint64_t addr, uint64_t *v)
{
	return mem_read(m, addr, v, sizeof(*v));
}

int mem_str(struct mem *m, uint64_t addr, char *buf, size_t cap)
{
	size_t len = 0;

	while (len < cap) {
		size_t off = addr % PAGE_BYTES;
		size_t n = PAGE_BYTES - off < cap - len ? PAGE_BYTES - off : cap - len;
		const uint8_t *page = page_get(m, addr - off), *end;

		if (!page)
			return -EFAULT;
		end = memchr(page + off, 0, n);
		if (end)
			n = (size_t)(end - (page + off)) + 1;
		memcpy(buf + len, page + off, n);
		len += n;
		if (end)
			return (int)(len - 1);
		addr += n;
	}
	return -ENAMETOOLONG;
}

static int mapping_by_query(int maps_fd, uint64_t addr, mem_mapping_fn fn, void *ctx)
{
	enum mapquery what = addr ? MAPQUERY_AT : MAPQUERY_NEXT_FILE;
	char path[PATH_MAX];
	struct mapping m;
	int rc;

	while (!(rc = mapquery_named(maps_fd, what, addr, &m, path, sizeof(path)))) {
		if (fn(ctx, &m, path))
			return 0;
		if (what == MAPQUERY_AT)
			return -ENOENT;
		addr = m.end;
	}
	return rc;
}

static int mapping_in(const struct maps *maps, uint64_t addr, mem_mapping_fn fn, void *ctx)
{
	const struct mapping *m = addr ? maps_find(maps, addr) : NULL;

	if (addr)
		return m && fn(ctx, m, maps_path(maps, m)) ? 0 : -ENOENT;
	for (size_t i = 0; i < maps_count(maps); i++) {
		m = maps_at(maps, i);
		if (mapping_is_file(m) && fn(ctx, m, maps_path(maps, m)))
			return 0;
	}
	return -ENOENT;
}

/* Of a kernel that does not know the question. */
static int mapping_by_text(pid_t pid, uint64_t addr, mem_mapping_fn fn, void *ctx)
{
	struct maps *maps = maps_new();
	int dir = maps ? proc_dir_open(pid) : -ENOMEM, rc = dir < 0 ? dir : maps_read(maps, dir);

	if (!rc)
		rc = mapping_in(maps, addr, fn, ctx);
	if (dir >= 0)
		close(dir);
	maps_free(maps);
	return rc;
}

int mem_mapping_find(pid_t pid, uint64_t addr, mem_mapping_fn fn, void *ctx)
{
	int fd = proc_file_open(pid, "maps"), rc;

	if (fd < 0)
		return fd;
	rc = mapping_by_query(fd, addr, fn, ctx);
	close(fd);
	return rc == -ENOTTY || rc == -EINVAL ? mapping_by_text(pid, addr, fn, ctx) : rc;
}
