// SPDX-License-Identifier: Apache-2.0
#include "context/process.h"

#include "target/maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 2

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published, payload;
};

bool ctx_text_is(struct ctx_text t, const char *s)
{
	return t.len == strlen(s) && !memcmp(t.p, s, t.len);
}

uint64_t ctx_process_find(const struct maps *maps)
{
	static const char *const names[] = {"[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]",
					    "/memfd:OTEL_CTX"};

	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *mp = maps_at(maps, i);
		const char *path = maps_path(maps, mp);

		for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++)
			if (!strncmp(path, names[j], strlen(names[j])))
				return mp->start;
	}
	return 0;
}

/* ---- protobuf ------------------------------------------------------------------------------- */

struct message {
	const uint8_t *p, *end;
};

struct field {
	uint64_t number;
	struct message bytes; /* of a field of wire type 2 */
	bool is_bytes;
};

static bool varint(struct message *m, uint64_t *v)
{
	*v = 0;
	for (unsigned int shift = 0; shift < 64 && m->p < m->end; shift += 7) {
		uint8_t b = *m->p++;

		*v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return true;
	}
	return false;
}

static bool skip(struct message *m, uint64_t n)
{
	if (n > (uint64_t)(m->end - m->p))
		return false;
	m->p += n;
	return true;
}

/* The next field: 1, 0 at the end, -EBADMSG. */
static int field_next(struct message *m, struct field *f)
{
	uint64_t tag, v;
	bool whole;

	if (m->p == m->end)
		return 0;
	if (!varint(m, &tag))
		return -EBADMSG;
	*f = (struct field){.number = tag >> 3, .is_bytes = (tag & 7) == 2};
	switch (tag & 7) {
	case 0:
		whole = varint(m, &v);
		break;
	case 1:
		whole = skip(m, 8);
		break;
	case 2:
		if (!varint(m, &v))
			return -EBADMSG;
		f->bytes.p = m->p;
		whole = skip(m, v);
		f->bytes.end = m->p;
		break;
	case 5:
		whole = skip(m, 4);
		break;
	default:
		return -EBADMSG;
	}
	return whole ? 1 : -EBADMSG;
}

static struct ctx_text text_of_message(struct message m)
{
	return (struct ctx_text){(const char *)m.p, (uint32_t)(m.end - m.p)};
}

/* KeyValue {1: key, 2: AnyValue}. */
static int key_value(struct message m, struct ctx_text *key, struct message *value)
{
	struct field f;
	int rc;

	*key = (struct ctx_text){0};
	*value = (struct message){0};
	while ((rc = field_next(&m, &f)) > 0) {
		if (f.number == 1 && f.is_bytes)
			*key = text_of_message(f.bytes);
		else if (f.number == 2 && f.is_bytes)
			*value = f.bytes;
	}
	return rc;
}

/* AnyValue {1: string ...}; another kind of value is an empty text. */
static int any_string(struct message m, struct ctx_text *text)
{
	struct field f;
	int rc;

	*text = (struct ctx_text){0};
	while ((rc = field_next(&m, &f)) > 0)
		if (f.number == 1 && f.is_bytes)
			*text = text_of_message(f.bytes);
	return rc;
}

/* AnyValue {5: ArrayValue {1: repeated AnyValue}}, of strings. */
static int key_names(struct ctx_process *p, struct message value)
{
	struct field array, element;
	int rc;

	p->nkeys = 0;
	while ((rc = field_next(&value, &array)) > 0) {
		if (array.number != 5 || !array.is_bytes)
			continue;
		while ((rc = field_next(&array.bytes, &element)) > 0) {
			if (element.number != 1 || !element.is_bytes)
				continue;
			if (p->nkeys == CTX_KEYS_MAX)
				p->omitted++;
			else if ((rc = any_string(element.bytes, &p->keys[p->nkeys++])))
				return rc;
		}
		if (rc)
			return rc;
	}
	return rc;
}

static int resource(struct ctx_process *p, struct message m)
{
	struct message value;
	struct ctx_attribute a;
	struct field f;
	int rc;

	while ((rc = field_next(&m, &f)) > 0) {
		if (f.number != 1 || !f.is_bytes)
			continue;
		if ((rc = key_value(f.bytes, &a.key, &value)) || (rc = any_string(value, &a.value)))
			return rc;
		if (p->nresource == CTX_RESOURCE_MAX)
			p->omitted++;
		else
			p->resource[p->nresource++] = a;
	}
	return rc;
}

static int attribute(struct ctx_process *p, struct message m)
{
	struct message value;
	struct ctx_text key;
	int rc = key_value(m, &key, &value);

	if (rc)
		return rc;
	if (ctx_text_is(key, "threadlocal.schema_version"))
		return any_string(value, &p->schema);
	if (ctx_text_is(key, "threadlocal.attribute_key_map"))
		return key_names(p, value);
	return 0;
}

static void forget(struct ctx_process *p)
{
	p->schema = (struct ctx_text){0};
	p->nkeys = p->nresource = p->omitted = 0;
}

int ctx_process_parse(struct ctx_process *p)
{
	struct message m = {p->payload, p->payload + p->len};
	struct field f;
	int rc;

	forget(p);
	while ((rc = field_next(&m, &f)) > 0) {
		rc = 0;
		if (f.is_bytes && f.number == 1)
			rc = resource(p, f.bytes);
		else if (f.is_bytes && f.number == 2)
			rc = attribute(p, f.bytes);
		if (rc)
			break;
	}
	if (rc)
		forget(p);
	return rc;
}

/* ---- reading -------------------------------------------------------------------------------- */

static int header_read(const struct ctx_memory *m, uint64_t addr, struct header *h,
		       uint32_t *version)
{
	int rc = ctx_memory_read(m, addr, h, sizeof(*h));

	if (rc)
		return rc;
	if (memcmp(h->signature, "OTEL_CTX", sizeof(h->signature)))
		return -ENOENT;
	*version = h->version;
	if (h->version != VERSION)
		return -EPROTO;
	if (!h->published)
		return -EAGAIN;
	return h->size > CTX_PROCESS_MAX ? -E2BIG : 0;
}

/* Nothing of *p changes before a payload is known to be whole. */
static int payload_read(struct ctx_process *p, const struct ctx_memory *m, uint64_t addr,
			const struct header *h, uint8_t *bytes)
{
	uint64_t published = 0;
	int rc = ctx_memory_read(m, h->payload, bytes, h->size);

	if (!rc)
		rc = ctx_memory_word(m, addr + offsetof(struct header, published), &published);
	if (rc)
		return rc;
	if (published != h->published)
		return -EAGAIN;
	memcpy(p->payload, bytes, h->size);
	p->len = h->size;
	p->published = h->published;
	return ctx_process_parse(p);
}

int ctx_process_read(struct ctx_process *p, const struct ctx_memory *m, uint64_t addr,
		     uint32_t *version)
{
	uint8_t *bytes = malloc(CTX_PROCESS_MAX);
	struct header h;
	int rc = -EAGAIN;

	if (!bytes)
		return -ENOMEM;
	for (int i = 0; i < CTX_PROCESS_TRY && rc == -EAGAIN; i++) {
		rc = header_read(m, addr, &h, version);
		if (!rc && h.published == p->published)
			rc = 1;
		else if (!rc)
			rc = payload_read(p, m, addr, &h, bytes);
	}
	free(bytes);
	return rc;
}
