/* SPDX-License-Identifier: Apache-2.0 */
#include "push/labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "push/limits.h"

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* NULL: -EINVAL or -ENOMEM in *rc. */
static char *name_made(const char *name, int *rc)
{
	size_t n = strlen(name);
	char *s;

	*rc = -EINVAL;
	if (!n || n > PYROSCOPE_LABEL_NAME / 4 || is_digit(name[0]) || !strncmp(name, "__", 2))
		return NULL;
	s = strdup(name);
	*rc = s ? 0 : -ENOMEM;
	for (size_t i = 0; s && s[i]; i++)
		if (!is_letter(s[i]) && !is_digit(s[i]))
			s[i] = '_';
	return s;
}

static char *value_made(const char *value)
{
	char *s = malloc(PYROSCOPE_LABEL_VALUE);

	if (s)
		utf8_printable(value, s, PYROSCOPE_LABEL_VALUE);
	return s;
}

static size_t place_of(const struct labels *l, const char *name)
{
	size_t i = 0;

	while (i < l->n && strcmp(l->v[i].name, name) < 0)
		i++;
	return i;
}

static void label_drop(struct labels *l, size_t i)
{
	free(l->v[i].name);
	free(l->v[i].value);
	memmove(&l->v[i], &l->v[i + 1], (--l->n - i) * sizeof(l->v[0]));
}

static size_t count(const struct labels *l, bool run)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->v[i].run == run;
	return n;
}

size_t labels_room(const struct labels *l)
{
	return LABELS_MOST - count(l, false);
}

/* Is there no more room for one like this? */
static bool is_full(const struct labels *l, bool run)
{
	return count(l, run) == (run ? LABELS_RUN : LABELS_MOST);
}

/* Takes the strings over. */
static int label_put(struct labels *l, char *name, char *value, bool run)
{
	size_t i = place_of(l, name);

	if (i < l->n && !strcmp(l->v[i].name, name))
		label_drop(l, i);
	if (!*value || is_full(l, run)) {
		int rc = *value ? -E2BIG : 0;

		free(name);
		free(value);
		return rc;
	}
	memmove(&l->v[i + 1], &l->v[i], (l->n++ - i) * sizeof(l->v[0]));
	l->v[i] = (struct label){.name = name, .value = value, .run = run};
	return 0;
}

static int label_make(struct labels *l, const char *name, const char *value, bool run)
{
	int rc;
	char *n = name_made(name, &rc), *v = n ? value_made(value) : NULL;

	if (n && v)
		return label_put(l, n, v, run);
	free(n);
	free(v);
	return rc ? rc : -ENOMEM;
}

int labels_set(struct labels *l, const char *name, const char *value)
{
	return label_make(l, name, value, false);
}

int labels_set_run(struct labels *l, const char *name, const char *value)
{
	return label_make(l, name, value, true);
}

int labels_parse(struct labels *l, const char *text)
{
	const char *eq = strchr(text, '=');
	char *name;
	int rc;

	if (!eq || eq == text)
		return -EINVAL;
	name = strndup(text, (size_t)(eq - text));
	rc = name ? labels_set(l, name, eq + 1) : -ENOMEM;
	free(name);
	return rc;
}

const char *labels_get(const struct labels *l, const char *name)
{
	size_t i = place_of(l, name);

	return i < l->n && !strcmp(l->v[i].name, name) ? l->v[i].value : NULL;
}

void labels_free(struct labels *l)
{
	while (l->n)
		label_drop(l, l->n - 1);
}
