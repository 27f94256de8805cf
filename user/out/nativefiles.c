/* SPDX-License-Identifier: Apache-2.0 */
#include "out/nativefiles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "out/fields.h"

#define NAME_LEN 256
#define ID_LEN	 129 /* 64 bytes */

/* Hexadecimal digits in lower case, two for each byte. */
static bool is_id(const char *s)
{
	size_t n = strspn(s, "0123456789abcdef");

	return !s[n] && n % 2 == 0;
}

static struct native_file *file_find(const struct native_files *f, uint32_t name)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (f->v[i].name == name)
			return &f->v[i];
	return NULL;
}

static int file_add(struct native_files *f, const struct native_file *one)
{
	struct native_file *known = file_find(f, one->name), *v;

	if (known) {
		known->doubtful |= known->id != one->id;
		if (one->start < known->start) {
			known->start = one->start;
			known->end = one->end;
			known->offset = one->offset;
		}
		return 0;
	}
	if (f->n == FILES_MOST)
		return 0;
	if (f->n == f->cap) {
		uint32_t cap = f->cap ? f->cap * 2 : 16;

		v = reallocarray(f->v, cap, sizeof(*v));
		if (!v)
			return -ENOMEM;
		f->v = v;
		f->cap = cap;
	}
	f->v[f->n++] = *one;
	return 0;
}

int native_files_event(struct native_files *f, struct jfr_reader *r, const struct jfr_event *ev)
{
	char name[NAME_LEN], id[ID_LEN];
	struct native_file one = {0};
	struct fields x;

	if (!fields_event(&x, r, ev))
		return 0;
	field_text(&x, "name", name, sizeof(name));
	field_text(&x, "buildId", id, sizeof(id));
	if (!*name || !is_id(id))
		return 0;
	one.start = field_number(&x, "baseAddress");
	one.end = field_number(&x, "topAddress");
	one.offset = field_number(&x, "fileOffset");
	one.name = names_add(&f->names, name, strlen(name), NULL);
	one.id = names_add(&f->names, id, strlen(id), NULL);
	return one.name == NAME_NONE || one.id == NAME_NONE ? -ENOMEM : file_add(f, &one);
}

/* "libc.so" and "libc.so.6" may both be files: the longer one counts. */
const struct native_file *native_files_of(const struct native_files *f, const char *frame)
{
	const struct native_file *best = NULL;
	size_t most = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		const char *name = names_get(&f->names, f->v[i].name);
		size_t n = strlen(name);

		if (n <= most || strncmp(frame, name, n) != 0 ||
		    (frame[n] != '.' && frame[n] != '+'))
			continue;
		most = n;
		best = &f->v[i];
	}
	return best && !best->doubtful && *names_get(&f->names, best->id) ? best : NULL;
}

void native_files_free(struct native_files *f)
{
	names_free(&f->names);
	free(f->v);
	*f = (struct native_files){0};
}
