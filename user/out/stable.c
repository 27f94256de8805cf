/* SPDX-License-Identifier: Apache-2.0 */
#include "out/stable.h"

#include <ctype.h>
#include <string.h>

static void cut(struct buffer *b, size_t from, size_t to)
{
	memmove(b->data + from, b->data + to, b->len - to);
	b->len -= to - from;
}

/* Where `text` ends in b; 0 where it does not occur. */
static size_t end_of(const struct buffer *b, const char *text)
{
	size_t n = strlen(text);
	const uint8_t *at = b->len ? memmem(b->data, b->len, text, n) : NULL;

	return at ? (size_t)(at - b->data) + n : 0;
}

static size_t digits_end(const struct buffer *b, size_t at)
{
	while (at < b->len && isdigit(b->data[at]))
		at++;
	return at;
}

/* All between the mark and the method: the number and the address of a lambda's class. */
static void lambda_cut(struct buffer *b)
{
	size_t at = end_of(b, "$$Lambda");
	const uint8_t *dot = at ? memrchr(b->data + at, '.', b->len - at) : NULL;

	if (dot)
		cut(b, at, (size_t)(dot - b->data));
}

/* The address of another hidden class, with the mark before it: '/', '+', or '.' in JFR. */
static void address_cut(struct buffer *b)
{
	size_t from = end_of(b, "0x"), to = from;

	if (from < 4 || !strchr("/+.", b->data[from - 3]))
		return;
	while (to < b->len && isxdigit(b->data[to]))
		to++;
	if (to > from && to < b->len && b->data[to] == '.')
		cut(b, from - 3, to);
}

/* What stands for a number behind `mark`, if a dot follows it. */
static void number_cut(struct buffer *b, const char *mark)
{
	size_t from = end_of(b, mark), to = digits_end(b, from);

	if (from && to > from && to < b->len && b->data[to] == '.')
		cut(b, from, to);
}

void stable_name(struct buffer *b)
{
	lambda_cut(b);
	address_cut(b);
	number_cut(b, ".GeneratedMethodAccessor");
	number_cut(b, ".GeneratedConstructorAccessor");
	number_cut(b, ".GeneratedSerializationConstructorAccessor");
	number_cut(b, "$Proxy");
	number_cut(b, "jdk.proxy");
}
