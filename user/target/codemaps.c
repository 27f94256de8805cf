/* SPDX-License-Identifier: Apache-2.0 */
#include "target/codemaps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kern/unwind.h"
#include "target/maps.h"

/* include/uapi/linux/fs.h since 6.11 */
struct procmap_query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
#define PROCMAP_QUERY	       _IOWR('f', 17, struct procmap_query)
#define QUERY_EXECUTABLE       0x04
#define QUERY_COVERING_OR_NEXT 0x10
#define QUERY_FILE_BACKED      0x20

static uint64_t mix_mapping(uint64_t h, const struct mapping *m)
{
	h = uw_mix(uw_mix(h, m->start), m->end);
	return uw_mix(uw_mix(uw_mix(h, m->offset), m->inode), (uint64_t)m->major << 32 | m->minor);
}

int codemaps_digest_text(int proc_fd, uint64_t *digest)
{
	struct maps *maps = maps_new();
	uint64_t h = 1;
	int rc;

	if (!maps)
		return -ENOMEM;
	rc = maps_read(maps, proc_fd);
	for (size_t i = 0; !rc && i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);

		if (m->prot & MAPPING_EXEC && m->inode)
			h = mix_mapping(h, m);
	}
	maps_free(maps);
	if (!rc)
		*digest = h;
	return rc;
}

/* The next executable mapping of a file from addr on: 0, or -ENOENT when there is none. */
static int query(int fd, uint64_t addr, struct mapping *out)
{
	struct procmap_query q = {
		.size = sizeof(q),
		.query_flags = QUERY_EXECUTABLE | QUERY_FILE_BACKED | QUERY_COVERING_OR_NEXT,
		.query_addr = addr,
	};

	if (ioctl(fd, PROCMAP_QUERY, &q))
		return -errno;
	if (q.vma_end <= addr)
		return -EINVAL;
	*out = (struct mapping){
		.start = q.vma_start,
		.end = q.vma_end,
		.offset = q.vma_offset,
		.inode = q.inode,
		.major = q.dev_major,
		.minor = q.dev_minor,
	};
	return 0;
}

static int digest_query(int fd, uint64_t *digest)
{
	uint64_t addr = 0, h = 1;
	struct mapping m;
	int rc;

	while (!(rc = query(fd, addr, &m))) {
		h = mix_mapping(h, &m);
		addr = m.end;
	}
	if (rc == -ENOENT)
		*digest = h;
	return rc == -ENOENT ? 0 : rc;
}

int codemaps_digest(int proc_fd, uint64_t *digest)
{
	int fd = openat(proc_fd, "maps", O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	rc = digest_query(fd, digest);
	close(fd);
	return rc == -ENOTTY || rc == -EINVAL ? codemaps_digest_text(proc_fd, digest) : rc;
}
