/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/utf8.h"

#define TABLE_GAP 2

struct table {
	const struct table_column *columns;
	size_t n;
	char **cells; /* rows * n */
	size_t rows;
};

struct table *table_new(const struct table_column *columns, size_t n)
{
	struct table *t = calloc(1, sizeof(*t));

	if (t) {
		t->columns = columns;
		t->n = n;
	}
	return t;
}

int table_row(struct table *t, const char *const *cells)
{
	size_t at = t->rows * t->n;
	char **p = realloc(t->cells, (at + t->n) * sizeof(*p));

	if (!p)
		return -ENOMEM;
	t->cells = p;
	for (size_t i = 0; i < t->n; i++) {
		size_t cap = strlen(cells[i]) + 1;

		p[at + i] = malloc(cap);
		if (!p[at + i]) {
			while (i--)
				free(p[at + i]);
			return -ENOMEM;
		}
		utf8_printable(cells[i], p[at + i], cap);
	}
	t->rows++;
	return 0;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->rows * t->n; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t);
}

static size_t natural_width(const struct table *t, size_t col)
{
	size_t w = strlen(t->columns[col].title);

	for (size_t r = 0; r < t->rows; r++) {
		size_t n = utf8_count(t->cells[r * t->n + col]);

		w = n > w ? n : w;
	}
	return w;
}

/* Take what is too much from the widest column that may still shrink, one by one. */
static void widths_fit(const struct table *t, size_t *w, size_t width)
{
	size_t total = TABLE_GAP * (t->n - 1);

	for (size_t i = 0; i < t->n; i++)
		total += w[i];
	while (width && total > width) {
		size_t best = t->n;

		for (size_t i = 0; i < t->n; i++)
			if (t->columns[i].least && w[i] > t->columns[i].least &&
			    (best == t->n || w[i] > w[best]))
				best = i;
		if (best == t->n)
			return;
		w[best]--;
		total--;
	}
}

static const char *skip_chars(const char *s, size_t n)
{
	uint32_t c;

	while (n-- && *s)
		s += utf8_char(s, &c);
	return s;
}

static void cell_print(const struct table_column *c, const char *s, size_t width, bool last,
		       FILE *to)
{
	size_t n = utf8_count(s);
	const char *end;

	if (n > width) {
		if (c->keep_tail) {
			fprintf(to, "~%s", skip_chars(s, n - (width - 1)));
		} else {
			end = skip_chars(s, width - 1);
			fprintf(to, "%.*s~", (int)(end - s), s);
		}
		n = width;
	} else if (c->right) {
		fprintf(to, "%*s%s", (int)(width - n), "", s);
		n = width;
	} else {
		fputs(s, to);
	}
	if (!last)
		fprintf(to, "%*s", (int)(width - n + TABLE_GAP), "");
}

void table_print(const struct table *t, FILE *to, size_t width)
{
	size_t *w = calloc(t->n, sizeof(*w));

	if (!w)
		return;
	for (size_t i = 0; i < t->n; i++)
		w[i] = natural_width(t, i);
	widths_fit(t, w, width);
	for (size_t i = 0; i < t->n; i++)
		cell_print(&t->columns[i], t->columns[i].title, w[i], i + 1 == t->n, to);
	putc('\n', to);
	for (size_t r = 0; r < t->rows; r++) {
		for (size_t i = 0; i < t->n; i++)
			cell_print(&t->columns[i], t->cells[r * t->n + i], w[i], i + 1 == t->n, to);
		putc('\n', to);
	}
	free(w);
}

size_t terminal_width(FILE *to)
{
	const char *env = getenv("COLUMNS");
	struct winsize ws;

	if (!isatty(fileno(to)))
		return 0;
	if (!ioctl(fileno(to), TIOCGWINSZ, &ws) && ws.ws_col)
		return ws.ws_col;
	return env ? (size_t)strtoul(env, NULL, 10) : 0;
}
