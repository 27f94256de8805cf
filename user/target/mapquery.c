/* SPDX-License-Identifier: Apache-2.0 */
#include "target/mapquery.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>

#include "target/text.h"

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

static const uint32_t flags[] = {
	[MAPQUERY_NEXT_FILE] = QUERY_FILE_BACKED | QUERY_COVERING_OR_NEXT,
	[MAPQUERY_NEXT_CODE] = QUERY_FILE_BACKED | QUERY_COVERING_OR_NEXT | QUERY_EXECUTABLE,
};

/* Cuts off what the kernel writes behind the path of a file that was removed (d_path()). */
static bool deleted_cut(char *path)
{
	struct text t = text_of(path, strlen(path));
	bool cut = text_eat_end(&t, " (deleted)");

	path[text_len(t)] = '\0';
	return cut;
}

int mapquery_named(int maps_fd, enum mapquery what, uint64_t addr, struct mapping *out, char *path,
		   uint32_t cap)
{
	struct procmap_query q = {
		.size = sizeof(q), .query_flags = flags[what], .query_addr = addr};
	int rc;

	q.vma_name_addr = (uintptr_t)path;
	q.vma_name_size = cap;
	rc = ioctl(maps_fd, PROCMAP_QUERY, &q) ? -errno : 0;
	if (rc == -ENAMETOOLONG && cap) {
		*path = '\0';
		return mapquery(maps_fd, what, addr, out);
	}
	if (rc)
		return rc;
	if (q.vma_end <= addr)
		return -EINVAL;
	if (cap && !q.vma_name_size)
		*path = '\0';
	*out = (struct mapping){
		.start = q.vma_start,
		.end = q.vma_end,
		.offset = q.vma_offset,
		.inode = q.inode,
		.major = q.dev_major,
		.minor = q.dev_minor,
		.deleted = cap && deleted_cut(path),
	};
	return 0;
}

int mapquery(int maps_fd, enum mapquery what, uint64_t addr, struct mapping *out)
{
	return mapquery_named(maps_fd, what, addr, out, NULL, 0);
}
