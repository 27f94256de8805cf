/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

void *shared_map(int fd, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* A limit of files' sizes holds for it, too, and who goes beyond is sent a signal. */
static int size_seal(int fd, size_t bytes, int also)
{
	struct rlimit rl;

	if (!getrlimit(RLIMIT_FSIZE, &rl) && rl.rlim_cur < bytes)
		return -EFBIG;
	if (ftruncate(fd, (off_t)bytes) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | also))
		return -errno;
	return 0;
}

static int memory_new(const char *name, size_t bytes, int seals, void **at)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), rc;

	if (fd < 0)
		return -errno;
	rc = size_seal(fd, bytes, seals);
	if (!rc) {
		*at = shared_map(fd, bytes);
		rc = *at ? 0 : -errno;
	}
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

int shared_new(const char *name, size_t bytes, void **at)
{
	return memory_new(name, bytes, F_SEAL_SEAL, at);
}

int shared_begin(const char *name, size_t bytes, void **at)
{
	return memory_new(name, bytes, 0, at);
}

/* The seal is for mappings made from now on (mm/memfd.c): they cannot be made writable either. */
int shared_end(int fd, size_t bytes, void **at)
{
	int rc = fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) ? -errno : 0;
	void *p = rc ? MAP_FAILED : mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	if (!rc && p == MAP_FAILED)
		rc = -errno;
	close(fd);
	munmap(*at, bytes);
	*at = rc ? NULL : p;
	return rc;
}
