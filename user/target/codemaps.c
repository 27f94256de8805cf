/* SPDX-License-Identifier: Apache-2.0 */
#include "target/codemaps.h"

#include <errno.h>

#include "base/buffer.h"
#include "kern/unwind.h"
#include "target/mapquery.h"

static uint64_t mix_mapping(uint64_t h, const struct mapping *m)
{
	h = uw_mix(uw_mix(h, m->start), m->end);
	return uw_mix(uw_mix(uw_mix(h, m->offset), m->inode), (uint64_t)m->major << 32 | m->minor);
}

static uint64_t digest_of(const struct maps *maps)
{
	uint64_t h = 1;

	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);

		if (m->prot & MAPPING_EXEC && m->inode)
			h = mix_mapping(h, m);
	}
	return h;
}

int codemaps_digest_text(struct maps *maps, int proc_fd, uint64_t *digest)
{
	struct buffer text = BUFFER_INIT;
	struct maps *now = maps_new();
	int rc = now ? maps_text(maps, proc_fd, &text) : -ENOMEM;

	if (!rc)
		rc = maps_parse(now, (const char *)text.data, text.len);
	if (!rc)
		*digest = digest_of(now);
	buffer_free(&text);
	maps_free(now);
	return rc;
}

static int digest_query(struct maps *maps, int proc_fd, uint64_t *digest)
{
	int fd = maps_file(maps, proc_fd), rc = fd < 0 ? fd : 0;
	uint64_t addr = 0, h = 1;
	struct mapping m;

	while (!rc && !(rc = mapquery(fd, MAPQUERY_NEXT_CODE, addr, &m))) {
		h = mix_mapping(h, &m);
		addr = m.end;
	}
	if (rc == -ENOENT)
		*digest = h;
	return rc == -ENOENT ? 0 : rc;
}

int codemaps_digest(struct maps *maps, int proc_fd, uint64_t *digest)
{
	int rc = digest_query(maps, proc_fd, digest);

	if (rc == -ESRCH) { /* or it is another program by now */
		maps_file_drop(maps);
		rc = digest_query(maps, proc_fd, digest);
	}
	return rc == -ENOTTY || rc == -EINVAL ? codemaps_digest_text(maps, proc_fd, digest) : rc;
}
