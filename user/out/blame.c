/* SPDX-License-Identifier: Apache-2.0 */
#include "out/blame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX    4096 /* beyond which what is waited for rarely is not told */
#define CIRCLES_MAX 64

void blame_free(struct blame *b)
{
	free(b->rows);
	free(b->circles);
	idmap_free(&b->by_key);
}

static void *room(void *v, size_t n, size_t *cap, size_t size)
{
	void *more;

	if (n < *cap)
		return v;
	more = reallocarray(v, *cap ? *cap * 2 : 16, size);
	if (more)
		*cap = *cap ? *cap * 2 : 16;
	return more;
}

int blame_add(struct blame *b, uint32_t cause, uint32_t owner, uint32_t place, double ticks)
{
	uint64_t *at, key = idmap_mix(idmap_mix((uint64_t)cause << 32 | owner) ^ place);
	struct blame_row *rows;

	at = idmap_get(&b->by_key, key);
	if (at) {
		b->rows[*at].ticks += ticks;
		return 0;
	}
	if (b->nrows == ROWS_MAX)
		return 0;
	if (!idmap_put(&b->by_key, key, b->nrows, NULL))
		return -ENOMEM;
	rows = room(b->rows, b->nrows, &b->rows_cap, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	b->rows = rows;
	b->rows[b->nrows++] = (struct blame_row){cause, owner, place, ticks};
	return 0;
}

/* The same circle, wherever it is entered. */
static bool is_same(const struct blame_circle *c, const struct blame_link *v, uint32_t n)
{
	for (uint32_t from = 0; from < n && c->n == n; from++) {
		uint32_t i = 0;

		while (i < n && c->v[i].thread == v[(from + i) % n].thread &&
		       c->v[i].cause == v[(from + i) % n].cause)
			i++;
		if (i == n)
			return true;
	}
	return false;
}

int blame_circle_add(struct blame *b, const struct blame_link *v, uint32_t n, uint64_t ticks,
		     int64_t last_ns)
{
	struct blame_circle *c, *more;

	for (size_t i = 0; i < b->ncircles; i++) {
		c = &b->circles[i];
		if (!is_same(c, v, n))
			continue;
		c->ticks += ticks;
		c->last_ns = last_ns > c->last_ns ? last_ns : c->last_ns;
		return 0;
	}
	if (!n || n > BLAME_DEPTH || b->ncircles == CIRCLES_MAX)
		return 0;
	more = room(b->circles, b->ncircles, &b->circles_cap, sizeof(*more));
	if (!more)
		return -ENOMEM;
	b->circles = more;
	c = &b->circles[b->ncircles++];
	*c = (struct blame_circle){.n = n, .ticks = ticks, .last_ns = last_ns};
	memcpy(c->v, v, n * sizeof(*v));
	return 0;
}
