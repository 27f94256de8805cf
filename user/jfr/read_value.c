/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding by metadata. Every step consumes a byte or is bounded by NEST_MAX and the class. */
#include "jfr/read_int.h"
#include "jfr/read_text.h"

#include <errno.h>
#include <string.h>

static bool prim_read(uint8_t prim, struct cursor *c, struct jfr_value *v)
{
	union {
		uint32_t u;
		float f;
	} f32;
	union {
		uint64_t u;
		double d;
	} f64;

	v->kind = JFR_VALUE_INT;
	switch (prim) {
	case PRIM_BYTE:
		v->i = (int8_t)cursor_be(c, 1);
		break;
	case PRIM_CHAR:
		v->i = (uint16_t)cursor_int(c, 2);
		break;
	case PRIM_SHORT:
		v->i = cursor_int(c, 2);
		break;
	case PRIM_INT:
		v->i = cursor_int(c, 4);
		break;
	case PRIM_LONG:
		v->i = cursor_int(c, 8);
		break;
	case PRIM_FLOAT:
		f32.u = (uint32_t)cursor_be(c, 4);
		v->kind = JFR_VALUE_FLOAT;
		v->d = (double)f32.f;
		break;
	case PRIM_DOUBLE:
		f64.u = cursor_be(c, 8);
		v->kind = JFR_VALUE_FLOAT;
		v->d = f64.d;
		break;
	default:
		return cursor_string(c, v);
	}
	return !c->bad;
}

static bool array_skip(const struct jfr_member *f, struct cursor *c, uint64_t n, int depth)
{
	if (n > cursor_left(c) && (f->pooled || !f->type->empty))
		return false;
	if (!f->pooled && f->type->empty)
		return true;
	while (n-- && !c->bad) {
		if (f->pooled)
			cursor_int(c, 8);
		else if (!value_skip_class(f->type, c, depth + 1))
			return false;
	}
	return !c->bad;
}

static bool field_skip(const struct jfr_member *f, struct cursor *c, int depth)
{
	if (f->array) {
		uint64_t n = (uint32_t)cursor_int(c, 4);

		return f->type && !c->bad && array_skip(f, c, n, depth);
	}
	if (f->pooled) {
		cursor_int(c, 8);
		return !c->bad;
	}
	return f->type && value_skip_class(f->type, c, depth + 1);
}

bool value_skip_class(const struct jfr_class *cls, struct cursor *c, int depth)
{
	struct jfr_value v;

	if (cls->empty)
		return true;
	if (cls->prim != PRIM_STRUCT)
		return prim_read(cls->prim, c, &v);
	if (depth > NEST_MAX)
		return false;
	for (size_t i = 0; i < cls->nfields; i++)
		if (!field_skip(&cls->fields[i], c, depth))
			return false;
	return !c->bad;
}

bool value_read(const struct jfr_member *f, struct cursor *c, struct jfr_value *v)
{
	bool ok;

	v->field = f;
	if (f->array) {
		v->kind = JFR_VALUE_ARRAY;
		v->n = (uint32_t)cursor_int(c, 4);
		v->p = c->p;
		ok = f->type && !c->bad && array_skip(f, c, v->n, 0);
		v->end = c->p;
		if (ok && !f->pooled && f->type->empty)
			/*
			 * an array of values without bytes counts as empty, so that walks stay
			 * bounded by bytes
			 */
			v->n = 0;
		return ok;
	}
	if (f->pooled) {
		v->kind = JFR_VALUE_REF;
		v->i = cursor_int(c, 8);
		return !c->bad;
	}
	if (!f->type)
		return false;
	if (f->type->prim != PRIM_STRUCT)
		return prim_read(f->type->prim, c, v);
	v->kind = JFR_VALUE_STRUCT;
	v->p = c->p;
	ok = value_skip_class(f->type, c, 1);
	v->end = c->p;
	return ok;
}

static int fields_read(struct jfr_reader *r, const struct jfr_class *cls, struct cursor *c,
		       struct jfr_value *v, int max)
{
	int n = 0;

	for (; n < max && (size_t)n < cls->nfields; n++)
		if (!value_read(&cls->fields[n], c, &v[n]))
			return -EBADMSG;
	return n;
}

int jfr_event_fields(struct jfr_reader *r, const struct jfr_event *ev, struct jfr_value *v, int max)
{
	struct cursor c = {.p = ev->payload, .end = ev->end, .fixed = r->fixed};

	return fields_read(r, ev->cls, &c, v, max);
}

int jfr_value_fields(struct jfr_reader *r, const struct jfr_value *s, struct jfr_value *v, int max)
{
	struct cursor c = {.p = s->p, .end = s->end, .fixed = r->fixed};

	if (s->kind != JFR_VALUE_STRUCT || !s->field || !s->field->type)
		return -EBADMSG;
	return fields_read(r, s->field->type, &c, v, max);
}

bool jfr_array_next(struct jfr_reader *r, struct jfr_value *a, struct jfr_value *out)
{
	struct cursor c = {.p = a->p, .end = a->end, .fixed = r->fixed};
	struct jfr_member element;

	if (a->kind != JFR_VALUE_ARRAY || !a->n)
		return false;
	a->n--;
	element = *a->field;
	element.array = false;
	if (!value_read(&element, &c, out)) {
		a->n = 0;
		return false;
	}
	out->field = a->field;
	a->p = c.p;
	return true;
}

bool jfr_pool_find(struct jfr_reader *r, const struct jfr_class *cls, int64_t key,
		   struct jfr_value *out)
{
	size_t i = cls ? (size_t)(cls - r->meta.classes) : SIZE_MAX;
	const uint64_t *off =
		i < r->pools.nmaps ? idmap_get(&r->pools.maps[i], (uint64_t)key) : NULL;

	if (!off)
		return false;
	out->p = r->pools.bytes.data + *off;
	out->end = r->pools.bytes.data + r->pools.bytes.len;
	return true;
}

bool jfr_pool_get(struct jfr_reader *r, const struct jfr_value *ref, struct jfr_value *out)
{
	if (ref->kind != JFR_VALUE_REF || !ref->field || !ref->field->type ||
	    !jfr_pool_find(r, ref->field->type, ref->i, out))
		return false;
	out->kind = JFR_VALUE_STRUCT;
	out->field = ref->field;
	return true;
}

/* UTF-16, with pairs put together. */
static void chars_add(struct jfr_reader *r, const struct jfr_value *v, struct buffer *to)
{
	struct cursor c = {.p = v->p, .end = v->end, .fixed = r && r->fixed};
	uint32_t high = 0;

	for (uint64_t i = 0; i < v->n && !c.bad; i++) {
		uint32_t u = (uint16_t)cursor_int(&c, 2);

		if (high && u >= 0xdc00 && u < 0xe000) {
			text_add_code(to, 0x10000 + ((high - 0xd800) << 10) + (u - 0xdc00));
			high = 0;
			continue;
		}
		if (high)
			text_add_code(to, 0xfffd);
		high = u >= 0xd800 && u < 0xdc00 ? u : 0;
		if (!high)
			text_add_code(to, u);
	}
	if (high)
		text_add_code(to, 0xfffd);
}

static bool string_add(struct jfr_reader *r, const struct jfr_value *v, struct buffer *to, int hops)
{
	struct jfr_value s = {0};
	struct cursor c = {0};

	switch (v->enc) {
	case 1:
		return true;
	case 2:
		if (!r || hops > 1 || !jfr_pool_find(r, r->meta.string_class, v->i, &s))
			return false;
		c = (struct cursor){.p = s.p, .end = s.end, .fixed = r->fixed};
		return cursor_string(&c, &s) && string_add(r, &s, to, hops + 1);
	case 3:
		text_add_utf8(to, v->p, v->n);
		return true;
	case 4:
		chars_add(r, v, to);
		return true;
	case 5:
		text_add_latin1(to, v->p, v->n);
		return true;
	default:
		return false;
	}
}

bool jfr_value_string(struct jfr_reader *r, const struct jfr_value *v, struct buffer *to)
{
	struct jfr_value s = *v, one[1] = {{0}};

	/* a constant of one string field, or a string constant, or a structure around either */
	for (int hop = 0; hop < 4; hop++) {
		if (s.kind == JFR_VALUE_STRING)
			return string_add(r, &s, to, 0);
		if (!r || (s.kind != JFR_VALUE_REF && s.kind != JFR_VALUE_STRUCT))
			return false;
		if (s.kind == JFR_VALUE_REF) {
			struct cursor c;

			if (!jfr_pool_get(r, &s, &one[0]))
				return false;
			c = (struct cursor){.p = one[0].p, .end = one[0].end, .fixed = r->fixed};
			s = one[0];
			if (s.field->type->prim == PRIM_STRING && !cursor_string(&c, &s))
				return false;
			continue;
		}
		if (jfr_value_fields(r, &s, one, 1) != 1)
			return false;
		s = one[0];
	}
	return false;
}
