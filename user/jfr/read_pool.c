/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/read_int.h"

#include <errno.h>
#include <stdlib.h>

int pools_reset(struct pools *p, size_t nclasses)
{
	for (size_t i = 0; i < p->nmaps; i++)
		idmap_free(&p->maps[i]);
	free(p->maps);
	p->nmaps = 0;
	p->maps = calloc(nclasses + 1, sizeof(*p->maps));
	if (!p->maps)
		return -ENOMEM;
	p->nmaps = nclasses;
	buffer_clear(&p->bytes);
	return 0;
}

void pools_free(struct pools *p)
{
	for (size_t i = 0; i < p->nmaps; i++)
		idmap_free(&p->maps[i]);
	free(p->maps);
	buffer_free(&p->bytes);
}

static void head_read(struct cursor *c, int64_t *delta)
{
	cursor_int(c, 4); /* size */
	if (cursor_int(c, 8) != 1)
		c->bad = true;
	cursor_int(c, 8); /* start, duration */
	cursor_int(c, 8);
	*delta = cursor_int(c, 8);
	cursor_be(c, 1); /* what it was written for */
}

int checkpoint_delta(const uint8_t *p, size_t len, bool fixed, int64_t *delta)
{
	struct cursor c = {.p = p, .end = p + len, .fixed = fixed};

	head_read(&c, delta);
	return c.bad ? -EBADMSG : 0;
}

static int pool_add(struct pools *p, const struct jfr_class *cls, struct idmap *map,
		    struct cursor *c, bool keep)
{
	uint64_t n = (uint32_t)cursor_int(c, 4);

	if (n > cursor_left(c))
		return -EBADMSG;
	while (n--) {
		uint64_t key = (uint64_t)cursor_int(c, 8);
		uint64_t off = (uint64_t)(c->p - p->bytes.data), *v;

		if (c->bad || !value_skip_class(cls, c, 0))
			return -EBADMSG;
		v = idmap_put(map, key, off, NULL);
		if (!v)
			return -ENOMEM;
		if (!keep)
			*v = off;
	}
	return 0;
}

int pools_add(struct pools *p, const struct metadata *m, size_t off, size_t len, bool fixed,
	      bool keep, int64_t *delta)
{
	struct cursor c = {.p = p->bytes.data + off, .fixed = fixed};
	uint64_t npools;
	int rc = 0;

	c.end = c.p + len;
	head_read(&c, delta);
	npools = (uint32_t)cursor_int(&c, 4);
	if (c.bad)
		return -EBADMSG;
	while (npools-- && !rc && !c.bad) {
		const struct jfr_class *cls = metadata_class(m, cursor_int(&c, 8));

		if (!cls) /* its entries cannot be stepped over */
			return -EBADMSG;
		rc = pool_add(p, cls, &p->maps[cls - m->classes], &c, keep);
	}
	return rc ? rc : c.bad ? -EBADMSG : 0;
}
