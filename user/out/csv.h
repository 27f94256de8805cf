/* SPDX-License-Identifier: Apache-2.0 */
/* Text as a field of comma separated values (RFC 4180), which people open in spreadsheets. */
#ifndef GNOMON_OUT_CSV_H
#define GNOMON_OUT_CSV_H

#include <stdio.h>

/*
 * In quotes. What a spreadsheet would take for a formula, since it begins with one of =+-@, begins
 * with an apostrophe, which it takes for a mark of text. Control characters become '?'.
 */
void csv_text(const char *s, FILE *f);

#endif
