/* SPDX-License-Identifier: Apache-2.0 */
/* "KEY LENGTH\nVALUE\n" for each member that is set, and "end 0\n\n". */
#include "spool/destination.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MOST (1u << 20)

struct key {
	const char *name;
	size_t at;
};

#define AT(member) offsetof(struct destination, member)

static const struct key texts[] = {
	{"url", AT(url)},     {"tenant", AT(tenant)}, {"basic", AT(basic)}, {"bearer", AT(bearer)},
	{"proxy", AT(proxy)}, {"ca", AT(ca)},	      {"cert", AT(cert)},   {"key", AT(key)},
};

static const struct key numbers[] = {
	{"timeout", AT(timeout_ns)},
	{"max-age", AT(max_age_ns)},
	{"finish", AT(finish_ns)},
	{"bytes-second", AT(bytes_second)},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

void destination_free(struct destination *d)
{
	for (size_t i = 0; i < COUNT(texts); i++)
		free(*(char **)((char *)d + texts[i].at));
	for (size_t i = 0; i < d->nheaders; i++)
		free(d->headers[i]);
	*d = (struct destination){0};
}

static void member_write(struct buffer *b, const char *key, const char *value)
{
	buffer_printf(b, "%s %zu\n", key, strlen(value));
	buffer_add(b, value, strlen(value));
	buffer_byte(b, '\n');
}

void destination_write(const struct destination *d, struct buffer *b)
{
	char number[32];

	for (size_t i = 0; i < COUNT(texts); i++) {
		const char *value = *(char *const *)((const char *)d + texts[i].at);

		if (value)
			member_write(b, texts[i].name, value);
	}
	for (size_t i = 0; i < d->nheaders; i++)
		member_write(b, "header", d->headers[i]);
	for (size_t i = 0; i < COUNT(numbers); i++) {
		snprintf(number, sizeof(number), "%llu",
			 *(const unsigned long long *)((const char *)d + numbers[i].at));
		member_write(b, numbers[i].name, number);
	}
	if (d->get)
		member_write(b, "get", "");
	if (d->insecure)
		member_write(b, "insecure", "");
	member_write(b, "end", "");
}

static int member_set(struct destination *d, const char *key, const char *value, size_t len)
{
	char *copy = strndup(value, len);
	char **to = NULL;

	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < COUNT(texts); i++)
		if (!strcmp(key, texts[i].name))
			to = (char **)((char *)d + texts[i].at);
	for (size_t i = 0; i < COUNT(numbers); i++)
		if (!strcmp(key, numbers[i].name))
			*(uint64_t *)((char *)d + numbers[i].at) = strtoull(copy, NULL, 10);
	if (!strcmp(key, "get"))
		d->get = true;
	if (!strcmp(key, "insecure"))
		d->insecure = true;
	if (!strcmp(key, "header") && d->nheaders < DESTINATION_HEADERS)
		to = &d->headers[d->nheaders++];
	if (!to) {
		free(copy);
		return 0;
	}
	free(*to);
	*to = copy;
	return 0;
}

int destination_read(struct destination *d, const void *bytes, size_t len, size_t *used)
{
	const char *p = bytes, *end = p + len, *value;
	char key[32];
	size_t n;
	int rc, at;

	while (p < end) {
		char head[64];
		const char *line = memchr(p, '\n', (size_t)(end - p));

		if (!line)
			return end - p < (ptrdiff_t)sizeof(head) ? 0 : -EBADMSG;
		if (line - p >= (ptrdiff_t)sizeof(head))
			return -EBADMSG;
		memcpy(head, p, (size_t)(line - p));
		head[line - p] = '\0';
		if (sscanf(head, "%31[a-z-] %zu%n", key, &n, &at) != 2 || head[at] ||
		    n > VALUE_MOST)
			return -EBADMSG;
		value = line + 1;
		if ((size_t)(end - value) < n + 1)
			return 0;
		p = value + n + 1;
		*used = (size_t)(p - (const char *)bytes);
		if (!strcmp(key, "end"))
			return d->url ? 1 : -EBADMSG;
		rc = member_set(d, key, value, n);
		if (rc)
			return rc;
	}
	return 0;
}
