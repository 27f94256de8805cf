/* SPDX-License-Identifier: Apache-2.0 */
/* Which constants a chunk needs, and the checkpoint events that hold them. */
#include "jfr/write_impl.h"

#include "jfr/write_enc.h"

struct cursor {
	const uint8_t *p, *end;
};

static uint64_t next_leb(struct cursor *c)
{
	uint64_t v;
	size_t n = leb_decode(c->p, (size_t)(c->end - c->p), &v);

	c->p = n ? c->p + n : c->end;
	return v;
}

static void touch_fields(struct jfrw *w, const struct jfr_type_info *info, struct cursor *c);

static void touch_field(struct jfrw *w, unsigned int type, struct cursor *c)
{
	uint64_t v;

	if (type == JFR_BOOLEAN) {
		c->p++;
	} else if (type == JFR_STRING) {
		if (*c->p++ == 3) {
			v = next_leb(c);
			c->p += v;
		}
	} else if (type == JFR_STACK_FRAME) {
		touch_fields(w, jfr_type_info(type), c);
	} else {
		v = next_leb(c);
		if (jfr_type_is_pool(type))
			constant_touch(w, type, (uint32_t)v);
	}
}

static void touch_fields(struct jfrw *w, const struct jfr_type_info *info, struct cursor *c)
{
	for (unsigned int i = 0; i < info->n_fields; i++) {
		uint64_t n = info->fields[i].array ? next_leb(c) : 1;

		while (n--)
			touch_field(w, info->fields[i].type, c);
	}
}

bool constant_touch(struct jfrw *w, unsigned int type, uint32_t id)
{
	struct pool *p = w->pools[type];
	const uint8_t *value;
	size_t len;

	if (!p || !id)
		return true;
	value = pool_value(p, id, &len);
	if (!value)
		return false;
	if (pool_touch(p, id, w->chunk)) {
		w->pending += len + 4;
		touch_fields(w, jfr_type_info(type), &(struct cursor){value, value + len});
	}
	return true;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* Is a constant with a fixed id in the file? What has another name there is not. */
static bool fixed_stays(const struct jfrw *w, unsigned int type, uint32_t id)
{
	uint32_t plain = type == JFR_FRAME_TYPE ? jfr_frame_type_plain(id)
						: jfr_state_plain((enum jfr_state)id);

	return !w->cfg.form.plain || plain == id;
}

static void put_fixed(struct jfrw *w, struct buffer *b, unsigned int type,
		      const struct jfr_named_id *list)
{
	unsigned int n = 0;

	for (const struct jfr_named_id *l = list; l->name; l++)
		n += fixed_stays(w, type, l->id);
	put_leb(b, jfr_type_number(type, w->salt));
	put_leb(b, n);
	for (; list->name; list++) {
		if (!fixed_stays(w, type, list->id))
			continue;
		put_leb(b, list->id);
		put_string(b, list->name);
	}
}

static void put_pool(struct jfrw *w, struct buffer *b, unsigned int type)
{
	size_t n, len;
	const uint32_t *ids = pool_pending(w->pools[type], &n);

	put_leb(b, jfr_type_number(type, w->salt));
	put_leb(b, n);
	for (size_t i = 0; i < n; i++) {
		const uint8_t *value = pool_value(w->pools[type], ids[i], &len);

		put_leb(b, ids[i]);
		buffer_add(b, value, len);
	}
	pool_written(w->pools[type]);
}

/* Readers reject a pool without entries, so only those that have some are counted and written. */
static unsigned int pools_to_write(struct jfrw *w, bool want[JFR_POOL_END])
{
	unsigned int n = 0;
	size_t entries;

	for (unsigned int t = JFR_POOL_FIRST; t < JFR_POOL_END; t++) {
		want[t] = false;
		if (!w->pools[t])
			continue;
		pool_pending(w->pools[t], &entries);
		want[t] = entries > 0;
		n += want[t];
	}
	return n;
}

bool checkpoint_write(struct jfrw *w)
{
	uint64_t at = w->chunk_len + w->segment.len;
	struct buffer head = BUFFER_INIT, body = BUFFER_INIT;
	bool want[JFR_POOL_END];
	unsigned int n = pools_to_write(w, want);

	if (!n && w->fixed_written)
		return false;
	put_leb(&head, 1); /* type */
	put_leb(&head, w->last_mono - w->cfg.start_mono_ns);
	put_leb(&head, 0); /* duration */
	put_leb(&head, w->checkpoint_at ? w->checkpoint_at - at : 0);
	buffer_byte(&head, 1); /* a flush */
	put_leb(&head, n + (w->fixed_written ? 0 : 2));
	if (!w->fixed_written) {
		put_fixed(w, &body, JFR_FRAME_TYPE, jfr_frame_types);
		put_fixed(w, &body, JFR_THREAD_STATE, jfr_states);
	}
	for (unsigned int t = JFR_POOL_FIRST; t < JFR_POOL_END; t++)
		if (want[t])
			put_pool(w, &body, t);
	put_sized(&w->segment, head.data, head.len, body.data, body.len);
	w->segment.failed |= head.failed || body.failed;
	buffer_free(&head);
	buffer_free(&body);
	w->checkpoint_at = at;
	w->fixed_written = true;
	w->pending = 0;
	return true;
}

size_t constants_memory(const struct jfrw *w)
{
	size_t sum = 0;

	for (unsigned int t = JFR_POOL_FIRST; t < JFR_POOL_END; t++)
		if (w->pools[t])
			sum += pool_memory(w->pools[t]);
	return sum;
}
