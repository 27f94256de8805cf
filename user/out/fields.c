/* SPDX-License-Identifier: Apache-2.0 */
#include "out/fields.h"

#include <string.h>

#include "base/utf8.h"
#include "base/buffer.h"

bool fields_event(struct fields *f, struct jfr_reader *r, const struct jfr_event *ev)
{
	f->r = r;
	f->cls = ev->cls;
	f->n = jfr_event_fields(r, ev, f->v, FIELDS_MAX);
	return f->n > 0;
}

static const struct jfr_value *field(const struct fields *f, const char *name)
{
	static const struct jfr_value none;
	int i = jfr_class_field(f->cls, name);

	return i >= 0 && i < f->n ? &f->v[i] : &none;
}

bool fields_within(struct fields *f, const struct fields *of, const char *name)
{
	const struct jfr_value *v = field(of, name);

	if (!v->field || !v->field->type)
		return false;
	f->r = of->r;
	f->cls = v->field->type;
	f->n = jfr_value_fields(of->r, v, f->v, FIELDS_MAX);
	return f->n > 0;
}

uint64_t field_number(const struct fields *f, const char *name)
{
	int64_t v = field(f, name)->i;

	return v > 0 ? (uint64_t)v : 0;
}

double field_real(const struct fields *f, const char *name)
{
	const struct jfr_value *v = field(f, name);

	return v->kind == JFR_VALUE_FLOAT ? v->d : (double)v->i;
}

uint64_t field_span(const struct fields *f, const char *name)
{
	const struct jfr_value *v = field(f, name);
	int64_t ns = v->i;

	if (v->field && v->field->unit == JFR_UNIT_TICKS)
		ns = jfr_ticks_span(f->r, ns);
	return ns > 0 ? (uint64_t)ns : 0;
}

uint64_t field_start(const struct fields *f)
{
	int64_t ns = jfr_ticks_time(f->r, field(f, "startTime")->i);

	return ns > 0 ? (uint64_t)ns : 0;
}

void field_text(const struct fields *f, const char *name, char *to, size_t size)
{
	struct buffer b = BUFFER_INIT;
	size_t n = 0;

	if (jfr_value_string(f->r, field(f, name), &b))
		n = b.len < size ? b.len : size - 1;
	while (n && n < b.len && (b.data[n] & 0xc0) == 0x80) /* not within a character */
		n--;
	if (n)
		memcpy(to, b.data, n);
	to[n] = '\0';
	utf8_clean(to, n, false);
	buffer_free(&b);
}
