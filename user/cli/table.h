/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table on a terminal: aligned columns under a header; where the terminal is too narrow, columns
 * that may shrink do, and show that something was cut by "~".
 */
#ifndef GNOMON_CLI_TABLE_H
#define GNOMON_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct table_column {
	const char *title;
	bool right;	/* numbers */
	size_t least;	/* may shrink to so many characters; 0 never */
	bool keep_tail; /* cut at the front: the end of a class name tells more */
};

struct table;

/* NULL without memory. `columns` must outlive the table. */
struct table *table_new(const struct table_column *columns, size_t n);
int table_row(struct table *t, const char *const *cells); /* copies; -ENOMEM */

/* width 0: no limit. */
void table_print(const struct table *t, FILE *to, size_t width);
void table_free(struct table *t);

/* Columns of the terminal behind `to` (or COLUMNS); 0 when it is none. */
size_t terminal_width(FILE *to);

#endif
