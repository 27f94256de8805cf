/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/write_meta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jfr/types.h"
#include "jfr/write_enc.h"

#define MAX_STRINGS 2048 /* the table of types has about 700 */
#define SLOTS	    (2 * MAX_STRINGS)

/*
 * Elements are written in one pass: their strings are numbered as they come. Counts of attributes
 * and children come before them and are known from the table.
 */
struct writer {
	struct buffer body;
	uint32_t salt;
	char *strings[MAX_STRINGS];
	uint32_t n_strings;
	uint16_t slots[SLOTS]; /* index into strings + 1, 0 free */
};

static uint32_t hash_add(uint32_t h, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len--)
		h = (h ^ *p++) * 16777619u; /* FNV-1a */
	return h;
}

static uint32_t string_index(struct writer *m, const char *s)
{
	uint32_t at = hash_add(2166136261u, s, strlen(s)) % SLOTS, n = m->n_strings;

	for (; m->slots[at]; at = (at + 1) % SLOTS)
		if (!strcmp(m->strings[m->slots[at] - 1], s))
			return m->slots[at] - 1u;
	if (n == MAX_STRINGS || !(m->strings[n] = strdup(s))) {
		m->body.failed = true;
		return 0;
	}
	m->slots[at] = (uint16_t)(++m->n_strings);
	return n;
}

static void text(struct writer *m, const char *s)
{
	put_leb(&m->body, string_index(m, s));
}

static void element(struct writer *m, const char *name, unsigned int n_attributes)
{
	text(m, name);
	put_leb(&m->body, n_attributes);
}

static void attribute(struct writer *m, const char *key, const char *value)
{
	text(m, key);
	text(m, value);
}

static void number(struct writer *m, const char *key, int64_t v)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%lld", (long long)v);
	attribute(m, key, digits);
}

static void children(struct writer *m, unsigned int n)
{
	put_leb(&m->body, n);
}

/* ---- annotations ----------------------------------------------------------------------------- */

static unsigned int annotation(struct writer *m, unsigned int type, const char *value)
{
	if (!value)
		return 0;
	element(m, "annotation", *value ? 2 : 1);
	number(m, "class", type);
	if (*value)
		attribute(m, "value", value);
	children(m, 0);
	return 1;
}

static void category(struct writer *m, const char *const value[2])
{
	element(m, "annotation", value[1] ? 3 : 2);
	number(m, "class", JFR_CATEGORY);
	attribute(m, "value-0", value[0]);
	if (value[1])
		attribute(m, "value-1", value[1]);
	children(m, 0);
}

static void field_annotations(struct writer *m, const struct jfr_field *f)
{
	const char *value = NULL;
	unsigned int content = jfr_content_annotation(f->content, &value);

	children(m, (f->label != NULL) + (content != JFR_NONE));
	annotation(m, JFR_LABEL, f->label);
	if (content != JFR_NONE)
		annotation(m, content, value);
}

/* ---- classes --------------------------------------------------------------------------------- */

static void field(struct writer *m, const struct jfr_field *f)
{
	bool pool = jfr_type_is_pool(f->type);

	element(m, "field", 2 + pool + f->array);
	attribute(m, "name", f->name);
	number(m, "class", jfr_type_number(f->type, m->salt));
	if (pool)
		attribute(m, "constantPool", "true");
	if (f->array)
		attribute(m, "dimension", "1");
	field_annotations(m, f);
}

static void class_element(struct writer *m, unsigned int t, const struct jfr_type_info *info)
{
	static const struct jfr_field start = {.name = "startTime",
					       .type = JFR_LONG,
					       .content = JFR_TS_TICKS,
					       .label = "Start Time"};
	bool event = jfr_type_is_event(t);

	element(m, "class", 2 + (info->super != NULL) + info->simple);
	attribute(m, "name", info->name);
	number(m, "id", jfr_type_number(t, m->salt));
	if (info->super)
		attribute(m, "superType", info->super);
	if (info->simple)
		attribute(m, "simpleType", "true");

	children(m, event + info->n_fields + (info->label != NULL) + (info->description != NULL) +
			    (info->category[0] != NULL) + info->content_type);
	if (event)
		field(m, &start);
	for (unsigned int i = 0; i < info->n_fields; i++)
		field(m, &info->fields[i]);
	annotation(m, JFR_LABEL, info->label);
	annotation(m, JFR_DESCRIPTION, info->description);
	if (info->category[0])
		category(m, info->category);
	if (info->content_type)
		annotation(m, JFR_CONTENT_TYPE, "");
}

static bool declared(unsigned int t, const struct jfrw_form *form)
{
	return jfr_type_info(t) && (form->vitals || !jfr_type_is_vital(t)) &&
	       (!form->plain || jfr_type_is_plain(t));
}

static void root(struct writer *m, int32_t gmt_offset_ms, const struct jfrw_form *form)
{
	unsigned int n = 0;

	for (unsigned int t = 0; t < JFR_ANNOTATION_END; t++)
		n += declared(t, form);
	element(m, "root", 0);
	children(m, 2);
	element(m, "metadata", 0);
	children(m, n);
	for (unsigned int t = 0; t < JFR_ANNOTATION_END; t++)
		if (declared(t, form))
			class_element(m, t, jfr_type_info(t));
	element(m, "region", 2);
	attribute(m, "locale", "en_US");
	number(m, "gmtOffset", gmt_offset_ms);
	children(m, 0);
}

/* Of the structure and of its strings, which hold the salted type numbers. */
static uint32_t content_hash(const struct writer *m)
{
	uint32_t h = hash_add(2166136261u, m->body.data, m->body.len);

	for (uint32_t i = 0; i < m->n_strings; i++)
		h = hash_add(h, m->strings[i], strlen(m->strings[i]) + 1);
	return (h >> 1) | 1;
}

void metadata_write(struct buffer *b, uint32_t salt, int32_t gmt_offset_ms,
		    const struct jfrw_form *form)
{
	struct writer *m = calloc(1, sizeof(*m));
	struct buffer head = BUFFER_INIT;

	if (!m) {
		b->failed = true;
		return;
	}
	m->salt = salt;
	root(m, gmt_offset_ms, form);

	put_leb(&head, 0); /* type */
	put_leb(&head, 0); /* start */
	put_leb(&head, 0); /* duration */
	put_leb(&head, content_hash(m));
	put_leb(&head, m->n_strings);
	for (uint32_t i = 0; i < m->n_strings; i++) {
		put_symbol(&head, m->strings[i], strlen(m->strings[i]));
		free(m->strings[i]);
	}
	put_sized(b, head.data, head.len, m->body.data, m->body.len);
	b->failed |= head.failed || m->body.failed;
	buffer_free(&head);
	buffer_free(&m->body);
	free(m);
}
