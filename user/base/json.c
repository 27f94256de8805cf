/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/utf8.h"

static void text_put(FILE *to, const char *s)
{
	putc('"', to);
	while (*s) {
		uint32_t c;
		size_t n = utf8_char(s, &c);

		if (!n)
			fputs("\\ufffd", to);
		else if (c < 0x20 || (c >= 0x7f && c < 0xa0))
			fprintf(to, "\\u%04x", c);
		else if (c == '"' || c == '\\')
			fprintf(to, "\\%c", (int)c);
		else
			fwrite(s, 1, n, to);
		s += n ? n : 1;
	}
	putc('"', to);
}

static void member(struct json *j, const char *key)
{
	if (j->more && j->depth)
		putc(',', j->to);
	if (j->depth && !j->dense)
		fprintf(j->to, "\n%*s", 2 * j->depth, "");
	if (key) {
		text_put(j->to, key);
		fputs(j->dense ? ":" : ": ", j->to);
	}
	j->more = true;
}

void json_begin(struct json *j, FILE *to)
{
	*j = (struct json){.to = to};
}

void json_begin_dense(struct json *j, FILE *to)
{
	*j = (struct json){.to = to, .dense = true};
}

void json_end(struct json *j)
{
	putc('\n', j->to);
}

void json_open(struct json *j, const char *key, char bracket)
{
	member(j, key);
	putc(bracket, j->to);
	j->depth++;
	j->more = false;
}

void json_close(struct json *j, char bracket)
{
	j->depth--;
	if (j->more && !j->dense)
		fprintf(j->to, "\n%*s", 2 * j->depth, "");
	putc(bracket, j->to);
	j->more = true;
}

void json_string(struct json *j, const char *key, const char *value)
{
	if (value && value[0])
		json_text(j, key, value);
	else
		json_null(j, key);
}

void json_text(struct json *j, const char *key, const char *value)
{
	member(j, key);
	text_put(j->to, value);
}

void json_null(struct json *j, const char *key)
{
	member(j, key);
	fputs("null", j->to);
}

void json_number(struct json *j, const char *key, uint64_t value)
{
	member(j, key);
	fprintf(j->to, "%llu", (unsigned long long)value);
}

void json_integer(struct json *j, const char *key, int64_t value)
{
	member(j, key);
	fprintf(j->to, "%lld", (long long)value);
}

void json_double(struct json *j, const char *key, double value)
{
	member(j, key);
	fprintf(j->to, "%.3f", value);
}

void json_bool(struct json *j, const char *key, bool value)
{
	member(j, key);
	fputs(value ? "true" : "false", j->to);
}
