// SPDX-License-Identifier: Apache-2.0
#include "context/record.h"

#include <errno.h>
#include <string.h>

/* The transaction's id stands for the attributes. */
static int elastic_read(const struct ctx_memory *m, uint64_t addr, struct ctx_record *r)
{
	struct ctx_elastic e;
	int rc = ctx_memory_read(m, addr, &e, sizeof(e));

	if (rc)
		return rc;
	if (e.valid != 1 || e.has_trace != 1)
		return -ENOENT;
	r->head.valid = 1;
	r->head.trace_flags = e.trace_flags;
	memcpy(r->head.trace_id, e.trace_id, sizeof(e.trace_id));
	memcpy(r->head.span_id, e.span_id, sizeof(e.span_id));
	memcpy(r->attrs, e.transaction_id, sizeof(e.transaction_id));
	r->head.attrs_size = r->attrs_len = sizeof(e.transaction_id);
	return 0;
}

int ctx_record_read(const struct ctx_place *p, const struct ctx_memory *m, uint64_t thread_pointer,
		    struct ctx_record *r)
{
	uint64_t slot, record;
	int rc = ctx_place_slot(p, m, thread_pointer, &slot);

	if (!rc)
		rc = ctx_memory_word(m, slot, &record);
	if (rc)
		return rc;
	if (!record)
		return -ENOENT;
	r->format = p->format;
	if (p->format == CTX_FORMAT_ELASTIC)
		return elastic_read(m, record, r);
	rc = ctx_memory_read(m, record, &r->head, sizeof(r->head));
	if (rc)
		return rc;
	if (r->head.valid != 1)
		return -ENOENT;
	r->attrs_len = r->head.attrs_size < CTX_ATTRS_MAX ? r->head.attrs_size : CTX_ATTRS_MAX;
	/* Attributes that cannot be read leave the ids what they are. */
	if (r->attrs_len && ctx_memory_read(m, record + sizeof(r->head), r->attrs, r->attrs_len))
		r->attrs_len = 0;
	return 0;
}

bool ctx_record_next(const struct ctx_record *r, uint32_t *at, struct ctx_entry *e)
{
	uint32_t left = r->attrs_len - *at;

	if (r->format != CTX_FORMAT_OTEP || *at > r->attrs_len || left < 2 ||
	    r->attrs[*at + 1] > left - 2)
		return false;
	e->key = r->attrs[*at];
	e->len = r->attrs[*at + 1];
	e->value = r->attrs + *at + 2;
	*at += 2 + e->len;
	return true;
}

bool ctx_record_attribute(const struct ctx_record *r, uint8_t key, struct ctx_entry *e)
{
	struct ctx_entry one;
	bool found = false;

	for (uint32_t at = 0; ctx_record_next(r, &at, &one);)
		if (one.key == key) {
			*e = one;
			found = true;
		}
	return found;
}
