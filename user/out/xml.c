/* SPDX-License-Identifier: Apache-2.0 */
#include "out/xml.h"

#include "base/utf8.h"

void xml_text(const char *s, size_t n, FILE *f)
{
	const char *end = s + n;

	while (s < end) {
		uint32_t code;
		size_t k = utf8_char(s, &code);

		if (!k || s + k > end || code < ' ' || code == 0xfffe || code == 0xffff)
			fputc('?', f);
		else if (code == '<' || code == '>' || code == '&' || code == '"')
			fprintf(f, "&#%u;", code);
		else
			fwrite(s, 1, k, f);
		s += k ? k : 1;
	}
}
