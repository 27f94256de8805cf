/* SPDX-License-Identifier: Apache-2.0 */
#include "target/mapquery.h"

#include <errno.h>
#include <sys/ioctl.h>

/* include/uapi/linux/fs.h since 6.11 */
struct procmap_query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
#define PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)
_Static_assert(PROCMAP_QUERY == MAPQUERY_IOCTL, "the same question");
#define QUERY_EXECUTABLE       0x04
#define QUERY_COVERING_OR_NEXT 0x10
#define QUERY_FILE_BACKED      0x20

int mapquery(int maps_fd, enum mapquery what, uint64_t addr, struct mapping *out)
{
	struct procmap_query q = {.size = sizeof(q), .query_addr = addr};

	if (what == MAPQUERY_NEXT_CODE)
		q.query_flags = QUERY_EXECUTABLE | QUERY_FILE_BACKED | QUERY_COVERING_OR_NEXT;
	if (ioctl(maps_fd, PROCMAP_QUERY, &q))
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
