/* SPDX-License-Identifier: Apache-2.0 */
#include "target/codemaps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "kern/unwind.h"
#include "target/mapquery.h"
#include "target/procfs.h"

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

static int digest_query(int fd, uint64_t *digest)
{
	uint64_t addr = 0, h = 1;
	struct mapping m;
	int rc;

	while (!(rc = mapquery(fd, MAPQUERY_NEXT_CODE, addr, &m))) {
		h = mix_mapping(h, &m);
		addr = m.end;
	}
	if (rc == -ENOENT)
		*digest = h;
	return rc == -ENOENT ? 0 : rc;
}

int codemaps_digest(int proc_fd, uint64_t *digest)
{
	int fd = proc_at_open(proc_fd, "maps", O_RDONLY), rc;

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	rc = digest_query(fd, digest);
	close(fd);
	return rc == -ENOTTY || rc == -EINVAL ? codemaps_digest_text(proc_fd, digest) : rc;
}
