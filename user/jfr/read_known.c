/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, stacks and methods: classes whose names every producer shares. */
#include "jfr/read_int.h"

#include <string.h>

#include "base/frame.h"

#define FIELDS_MAX 24 /* of such a class; what stands behind them is not looked at */

static const struct jfr_class *class_either(const struct metadata *m, const char *a, const char *b)
{
	const struct jfr_class *c = metadata_find(m, a);

	return c ? c : metadata_find(m, b);
}

static int field_at(const struct jfr_class *c, const char *name)
{
	int i = jfr_class_field(c, name);

	return i < FIELDS_MAX ? i : -1;
}

void known_find(struct known_classes *k, const struct metadata *m)
{
	k->thread = metadata_find(m, "java.lang.Thread");
	k->t_osname = field_at(k->thread, "osName");
	k->t_osid = field_at(k->thread, "osThreadId");
	k->t_name = field_at(k->thread, "javaName");
	k->t_id = field_at(k->thread, "javaThreadId");
	k->t_virtual = field_at(k->thread, "virtual");
	k->stack = class_either(m, "jdk.types.StackTrace", "com.oracle.jfr.types.StackTrace");
	k->s_trunc = field_at(k->stack, "truncated");
	k->s_frames = field_at(k->stack, "frames");
	k->frame = class_either(m, "jdk.types.StackFrame", "com.oracle.jfr.types.StackFrame");
	k->f_method = field_at(k->frame, "method");
	k->f_line = field_at(k->frame, "lineNumber");
	k->f_bci = field_at(k->frame, "bytecodeIndex");
	k->f_type = field_at(k->frame, "type");
	k->method = class_either(m, "jdk.types.Method", "com.oracle.jfr.types.Method");
	k->m_class = field_at(k->method, "type");
	k->m_name = field_at(k->method, "name");
	k->m_hidden = field_at(k->method, "hidden");
	k->klass = metadata_find(m, "java.lang.Class");
	k->c_name = field_at(k->klass, "name");
}

static const struct jfr_value *at(const struct jfr_value *v, int n, int i)
{
	static const struct jfr_value none;

	return i >= 0 && i < n ? &v[i] : &none;
}

bool jfr_thread_get(struct jfr_reader *r, const struct jfr_value *ref, struct jfr_thread *t)
{
	struct jfr_value s = {0}, v[FIELDS_MAX] = {{0}};
	const struct known_classes *k = &r->known;
	int n;

	if (!k->thread || !jfr_pool_get(r, ref, &s) || s.field->type != k->thread)
		return false;
	n = jfr_value_fields(r, &s, v, FIELDS_MAX);
	if (n < 0)
		return false;
	t->os_name = *at(v, n, k->t_osname);
	t->java_name = *at(v, n, k->t_name);
	t->os_id = at(v, n, k->t_osid)->i;
	t->java_id = at(v, n, k->t_id)->i;
	t->is_virtual = at(v, n, k->t_virtual)->i != 0;
	return true;
}

void jfr_thread_name(struct jfr_reader *r, const struct jfr_thread *t, struct buffer *to)
{
	size_t before = to->len;

	jfr_value_string(r, &t->java_name, to);
	if (to->len == before && !t->is_virtual)
		jfr_value_string(r, &t->os_name, to);
}

bool jfr_stack_get(struct jfr_reader *r, const struct jfr_value *ref, struct jfr_value *frames,
		   bool *truncated)
{
	struct jfr_value s = {0}, v[FIELDS_MAX] = {{0}};
	const struct known_classes *k = &r->known;
	int n;

	if (!k->stack || !jfr_pool_get(r, ref, &s) || s.field->type != k->stack)
		return false;
	n = jfr_value_fields(r, &s, v, FIELDS_MAX);
	if (n < 0 || at(v, n, k->s_frames)->kind != JFR_VALUE_ARRAY)
		return false;
	*frames = v[k->s_frames];
	*truncated = at(v, n, k->s_trunc)->i != 0;
	return frames->field->type == k->frame;
}

bool jfr_stack_next(struct jfr_reader *r, struct jfr_value *frames, struct jfr_frame *f)
{
	struct cursor c = {.p = frames->p, .end = frames->end, .fixed = r->fixed};
	const struct known_classes *k = &r->known;
	struct jfr_value v[FIELDS_MAX];
	int n = 0;

	if (frames->kind != JFR_VALUE_ARRAY || !frames->n || frames->field->pooled ||
	    k->frame->nfields > FIELDS_MAX)
		return false;
	memset(v, 0, sizeof(v[0]) * k->frame->nfields);
	for (; (size_t)n < k->frame->nfields; n++)
		if (!value_read(&k->frame->fields[n], &c, &v[n]))
			return false;
	frames->p = c.p;
	frames->n--;
	f->method_ref = *at(v, n, k->f_method);
	f->method = f->method_ref.i;
	f->type_ref = *at(v, n, k->f_type);
	f->frame_type = f->type_ref.i;
	f->line = k->f_line < 0 ? -1 : (int32_t)v[k->f_line].i;
	f->bci = k->f_bci < 0 ? -1 : (int32_t)v[k->f_bci].i;
	return true;
}

/* The address of a hidden class stays behind its slash: "a/Foo/0x1" is "a.Foo/0x1". */
static void dotted(struct buffer *b, size_t from)
{
	for (size_t i = from; i < b->len; i++)
		if (b->data[i] == '/' && (b->len - i < 3 || memcmp(b->data + i, "/0x", 3)))
			b->data[i] = '.';
}

bool jfr_method_name(struct jfr_reader *r, const struct jfr_value *ref, struct buffer *to,
		     bool *hidden)
{
	struct jfr_value s = {0}, v[FIELDS_MAX] = {{0}}, c[FIELDS_MAX] = {{0}};
	const struct known_classes *k = &r->known;
	size_t start = to->len, name;
	int n;

	if (!k->method || !jfr_pool_get(r, ref, &s) || s.field->type != k->method)
		return false;
	n = jfr_value_fields(r, &s, v, FIELDS_MAX);
	if (n < 0)
		return false;
	if (hidden)
		*hidden = at(v, n, k->m_hidden)->i != 0;
	if (jfr_pool_get(r, at(v, n, k->m_class), &s) && s.field->type == k->klass) {
		int nc = jfr_value_fields(r, &s, c, FIELDS_MAX);

		if (jfr_value_string(r, at(c, nc, k->c_name), to) && to->len > start) {
			dotted(to, start);
			/* a class of code that has none, as it was written at first */
			if (to->data[to->len - 1] == ']')
				frame_klass_round((char *)to->data + start, to->len - start);
			buffer_byte(to, '.');
		}
	}
	name = to->len;
	if (!jfr_value_string(r, at(v, n, k->m_name), to)) {
		to->len = start;
		return false;
	}
	/* a function without a name, "+0x1230": it follows its library without a dot */
	if (name > start && to->len - name > 3 && !memcmp(to->data + name, "+0x", 3)) {
		memmove(to->data + name - 1, to->data + name, to->len - name);
		to->len--;
	}
	return true;
}
