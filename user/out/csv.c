/* SPDX-License-Identifier: Apache-2.0 */
#include "out/csv.h"

#include <string.h>

#include "base/utf8.h"

void csv_text(const char *s, FILE *f)
{
	fputc('"', f);
	if (*s && strchr("=+-@", *s))
		fputc('\'', f);
	while (*s) {
		char one[8] = "";
		uint32_t code;
		size_t n = utf8_char(s, &code);

		n = n ? n : 1;
		memcpy(one, s, n);
		utf8_clean(one, n, false);
		fputs(*one == '"' ? "\"\"" : one, f);
		s += n;
	}
	fputc('"', f);
}
