/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata event: a table of strings, then a tree of elements whose names and attributes are
 * indices into it. Only classes, their fields and the annotations that give units are kept.
 */
#include "jfr/read_int.h"
#include "jfr/read_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TREE_MAX 8 /* root, metadata, class, field, annotation: no producer goes deeper */

struct tree {
	struct metadata *m;
	struct cursor c;
	uint32_t *text; /* offset of string i in m->text */
	size_t ntext;
	int rc;
};

static const char *tree_string(struct tree *t, uint64_t i)
{
	if (i >= t->ntext) {
		t->rc = -EBADMSG;
		return "";
	}
	return (const char *)t->m->text + t->text[i];
}

/* The table of strings: each takes a byte at least, which bounds the count. */
static int strings_read(struct tree *t)
{
	uint64_t n = (uint32_t)cursor_int(&t->c, 4);
	struct buffer text = BUFFER_INIT;

	if (t->c.bad || n > cursor_left(&t->c))
		return -EBADMSG;
	t->text = calloc(n + 1, sizeof(*t->text));
	if (!t->text)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++) {
		struct jfr_value v = {0};

		t->text[i] = (uint32_t)text.len;
		if (!cursor_string(&t->c, &v) || text.len > UINT32_MAX / 2) {
			buffer_free(&text);
			return -EBADMSG;
		}
		v.kind = JFR_VALUE_STRING;
		if (v.enc != 2)
			jfr_value_string(NULL, &v, &text);
		buffer_byte(&text, 0);
	}
	buffer_byte(&text, 0);
	t->ntext = n;
	t->m->text = text.data;
	return text.failed ? -ENOMEM : 0;
}

static void *array_grow(void *array, size_t n, size_t *cap, size_t size)
{
	void *p = array;

	if (n < *cap)
		return array;
	*cap = *cap ? *cap * 2 : 64;
	p = reallocarray(array, *cap, size);
	if (!p)
		*cap = n;
	return p;
}

static struct jfr_class *class_new(struct tree *t)
{
	struct metadata *m = t->m;
	struct jfr_class *v = array_grow(m->classes, m->nclasses, &m->classes_cap, sizeof(*v));

	if (!v) {
		t->rc = -ENOMEM;
		return NULL;
	}
	m->classes = v;
	v += m->nclasses++;
	/* an index until the array of fields no longer moves */
	*v = (struct jfr_class){.name = "", .super = ""};
	v->fields = (void *)(uintptr_t)m->nfields;
	return v;
}

static struct jfr_member *field_new(struct tree *t)
{
	struct metadata *m = t->m;
	struct jfr_member *v = array_grow(m->fields, m->nfields, &m->fields_cap, sizeof(*v));

	if (!v) {
		t->rc = -ENOMEM;
		return NULL;
	}
	m->fields = v;
	v += m->nfields++;
	*v = (struct jfr_member){.name = ""};
	return v;
}

enum element { EL_OTHER, EL_ROOT, EL_METADATA, EL_CLASS, EL_FIELD, EL_ANNOTATION };

static enum element element_kind(const char *name, enum element parent)
{
	if (parent == EL_OTHER && !strcmp(name, "root"))
		return EL_ROOT;
	if (parent == EL_ROOT && !strcmp(name, "metadata"))
		return EL_METADATA;
	if (parent == EL_METADATA && !strcmp(name, "class"))
		return EL_CLASS;
	if (parent == EL_CLASS && !strcmp(name, "field"))
		return EL_FIELD;
	if ((parent == EL_FIELD || parent == EL_CLASS) && !strcmp(name, "annotation"))
		return EL_ANNOTATION;
	return EL_OTHER;
}

static void class_attribute(struct jfr_class *c, const char *k, const char *v)
{
	if (!strcmp(k, "name"))
		c->name = v;
	else if (!strcmp(k, "id"))
		c->id = strtoll(v, NULL, 10);
	else if (!strcmp(k, "superType"))
		c->super = v;
}

static void field_attribute(struct jfr_member *f, const char *k, const char *v)
{
	if (!strcmp(k, "name"))
		f->name = v;
	else if (!strcmp(k, "class"))
		f->type_id = strtoll(v, NULL, 10);
	else if (!strcmp(k, "constantPool"))
		f->pooled = !strcmp(v, "true");
	else if (!strcmp(k, "dimension"))
		f->array = strcmp(v, "0") != 0;
}

/* A unit stands in "value" of an annotation whose class is known only once all is read. */
static void annotation_done(struct tree *t, enum element parent, int64_t cls, const char *value)
{
	struct metadata *m = t->m;

	if (parent == EL_FIELD && value && m->nfields) {
		m->fields[m->nfields - 1].annotation_id = cls;
		m->fields[m->nfields - 1].unit_name = value;
	} else if (parent == EL_CLASS && value && m->nclasses &&
		   !m->classes[m->nclasses - 1].label) {
		/* of which annotation shows in classes_resolve() */
		m->classes[m->nclasses - 1].label = value;
		m->classes[m->nclasses - 1].label_id = cls;
	}
}

static void attributes_read(struct tree *t, enum element kind, enum element parent)
{
	struct metadata *m = t->m;
	uint64_t n = (uint32_t)cursor_int(&t->c, 4);
	const char *value = NULL;
	int64_t cls = 0;

	if (n > cursor_left(&t->c))
		t->rc = -EBADMSG;
	for (uint64_t i = 0; i < n && !t->rc; i++) {
		const char *k = tree_string(t, (uint32_t)cursor_int(&t->c, 4));
		const char *v = tree_string(t, (uint32_t)cursor_int(&t->c, 4));

		if (kind == EL_CLASS)
			class_attribute(&m->classes[m->nclasses - 1], k, v);
		else if (kind == EL_FIELD)
			field_attribute(&m->fields[m->nfields - 1], k, v);
		else if (kind == EL_ANNOTATION && !strcmp(k, "class"))
			cls = strtoll(v, NULL, 10);
		else if (kind == EL_ANNOTATION && (!strcmp(k, "value") || !strcmp(k, "value-0")))
			value = v;
	}
	if (kind == EL_ANNOTATION && !t->rc)
		annotation_done(t, parent, cls, value);
}

static void element_read(struct tree *t, enum element parent, int depth)
{
	enum element kind;
	uint64_t n;

	kind = element_kind(tree_string(t, (uint32_t)cursor_int(&t->c, 4)), parent);
	if (depth > TREE_MAX || t->c.bad)
		t->rc = -EBADMSG;
	if (t->rc || (kind == EL_CLASS && !class_new(t)) || (kind == EL_FIELD && !field_new(t)))
		return;
	attributes_read(t, kind, parent);
	if (kind == EL_FIELD && !t->rc)
		t->m->classes[t->m->nclasses - 1].nfields++;
	n = (uint32_t)cursor_int(&t->c, 4);
	if (t->c.bad || n > cursor_left(&t->c))
		t->rc = t->rc ? t->rc : -EBADMSG;
	/* what hangs below an unknown element must not be taken for a root */
	for (uint64_t i = 0; i < n && !t->rc; i++)
		element_read(t, kind == EL_OTHER ? EL_ANNOTATION : kind, depth + 1);
	if (t->c.bad && !t->rc)
		t->rc = -EBADMSG;
}

static uint8_t class_prim(const char *name)
{
	static const struct {
		const char *name;
		uint8_t prim;
	} prims[] = {
		{"boolean", PRIM_BYTE}, {"byte", PRIM_BYTE},	 {"char", PRIM_CHAR},
		{"short", PRIM_SHORT},	{"int", PRIM_INT},	 {"long", PRIM_LONG},
		{"float", PRIM_FLOAT},	{"double", PRIM_DOUBLE}, {"java.lang.String", PRIM_STRING},
	};

	for (size_t i = 0; i < sizeof(prims) / sizeof(prims[0]); i++)
		if (!strcmp(prims[i].name, name))
			return prims[i].prim;
	return PRIM_STRUCT;
}

static void field_unit(struct jfr_member *f, const char *annotation)
{
	static const struct {
		const char *name;
		enum jfr_unit unit;
	} units[] = {
		{"TICKS", JFR_UNIT_TICKS},
		{"NANOSECONDS", JFR_UNIT_NS},
		{"MILLISECONDS", JFR_UNIT_MS},
		{"SECONDS", JFR_UNIT_S},
		{"MILLISECONDS_SINCE_EPOCH", JFR_UNIT_EPOCH_MS},
		{"BYTES", JFR_UNIT_BYTES},
	};

	f->point = !strcmp(annotation, "jdk.jfr.Timestamp");
	if (!strcmp(annotation, "jdk.jfr.Percentage"))
		f->unit = JFR_UNIT_PERCENT;
	if (!f->point && strcmp(annotation, "jdk.jfr.Timespan") &&
	    strcmp(annotation, "jdk.jfr.DataAmount"))
		return;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(units[i].name, f->unit_name))
			f->unit = units[i].unit;
}

/*
 * A class without bytes could make a decoder loop without advancing; mark those, so that decoding
 * steps over them at no cost.
 */
static bool class_empty(const struct jfr_class *c)
{
	if (c->prim != PRIM_STRUCT)
		return false;
	for (size_t i = 0; i < c->nfields; i++) {
		const struct jfr_member *f = &c->fields[i];

		if (f->pooled || f->array || !f->type || !f->type->empty)
			return false;
	}
	return true;
}

static void empty_mark(struct metadata *m)
{
	/* one level per round: a chain longer than NEST_MAX is refused by the decoder anyway */
	for (int round = 0; round <= NEST_MAX; round++)
		for (size_t i = 0; i < m->nclasses; i++)
			if (!m->classes[i].empty)
				m->classes[i].empty = class_empty(&m->classes[i]);
}

static int classes_resolve(struct metadata *m)
{
	for (size_t i = 0; i < m->nclasses; i++) {
		struct jfr_class *c = &m->classes[i];

		c->fields = m->nfields ? m->fields + (uintptr_t)c->fields : NULL;
		c->prim = class_prim(c->name);
		c->is_event = !strcmp(c->super, "jdk.jfr.Event") ||
			      !strcmp(c->super, "com.oracle.jfr.Event") ||
			      !strcmp(c->super, "jdk.internal.event.Event");
		if (!idmap_put(&m->by_id, (uint64_t)c->id, i, NULL))
			return -ENOMEM;
	}
	for (size_t i = 0; i < m->nclasses; i++) {
		struct jfr_class *c = &m->classes[i];
		const struct jfr_class *a = metadata_class(m, c->label_id);

		if (c->label && (!a || strcmp(a->name, "jdk.jfr.Label")))
			c->label = NULL;
	}
	for (size_t i = 0; i < m->nfields; i++) {
		struct jfr_member *f = &m->fields[i];
		const struct jfr_class *a = metadata_class(m, f->annotation_id);

		f->type = metadata_class(m, f->type_id);
		if (f->unit_name && a)
			field_unit(f, a->name);
	}
	empty_mark(m);
	m->string_class = metadata_find(m, "java.lang.String");
	return 0;
}

int metadata_parse(struct metadata *m, const uint8_t *p, size_t len, bool fixed)
{
	struct tree t = {.m = m, .c = {.p = p, .end = p + len, .fixed = fixed}};

	metadata_free(m);
	cursor_int(&t.c, 4); /* size */
	if (cursor_int(&t.c, 8) != 0)
		return -EBADMSG;
	cursor_int(&t.c, 8); /* start, duration, id of the metadata */
	cursor_int(&t.c, 8);
	cursor_int(&t.c, 8);
	t.rc = strings_read(&t);
	if (!t.rc)
		element_read(&t, EL_OTHER, 0);
	if (!t.rc && !m->nclasses)
		t.rc = -EBADMSG;
	if (!t.rc)
		t.rc = classes_resolve(m);
	free(t.text);
	if (t.rc)
		metadata_free(m);
	return t.rc;
}

void metadata_free(struct metadata *m)
{
	free(m->classes);
	free(m->fields);
	free(m->text);
	idmap_free(&m->by_id);
	*m = (struct metadata){0};
}

const struct jfr_class *metadata_class(const struct metadata *m, int64_t id)
{
	const uint64_t *i = idmap_get(&m->by_id, (uint64_t)id);

	return i ? &m->classes[*i] : NULL;
}

const struct jfr_class *metadata_find(const struct metadata *m, const char *name)
{
	for (size_t i = 0; i < m->nclasses; i++)
		if (!strcmp(m->classes[i].name, name))
			return &m->classes[i];
	return NULL;
}
