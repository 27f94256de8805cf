/* SPDX-License-Identifier: Apache-2.0 */
#include "push/service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "jfr/read.h"
#include "out/fields.h"
#include "target/javacmd.h"

/* What was found, the most telling first. */
enum place { ENV_NAME, ENV_ATTRIBUTES, OTEL_PROPERTY, SPRING_PROPERTY, MAIN, PLACES };

struct search {
	char found[PLACES][SERVICE_LEN];
};

bool service_of_words(const char *words, const char *key, char to[static SERVICE_LEN])
{
	size_t n = strlen(key);

	for (const char *p = words; (p = strstr(p, key)); p += n) {
		size_t len = strcspn(p + n, " ");

		if ((p != words && p[-1] != ' ') || !len || len >= SERVICE_LEN)
			continue;
		memcpy(to, p + n, len);
		to[len] = '\0';
		return true;
	}
	return false;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void percent_decode(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (*s == '%' && hex(s[1]) >= 0 && hex(s[2]) >= 0) {
			*to++ = (char)(hex(s[1]) << 4 | hex(s[2]));
			s += 2;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

bool service_of_attributes(const char *attributes, char to[static SERVICE_LEN])
{
	static const char key[] = "service.name=";

	for (const char *p = attributes; *p; p += strspn(p, ",")) {
		size_t len = strcspn(p, ","), blank = strspn(p, " ");

		if (!strncmp(p + blank, key, sizeof(key) - 1)) {
			size_t at = blank + sizeof(key) - 1;

			if (len <= at || len - at >= SERVICE_LEN)
				return false;
			memcpy(to, p + at, len - at);
			to[len - at] = '\0';
			percent_decode(to);
			return to[0];
		}
		p += len;
	}
	return false;
}

static void text_take(char to[static SERVICE_LEN], const char *text)
{
	if (strlen(text) < SERVICE_LEN)
		strcpy(to, text);
}

static void pair_take(struct search *x, const struct fields *f, bool environment)
{
	char key[64], value[4096];

	field_text(f, "key", key, sizeof(key));
	field_text(f, "value", value, sizeof(value));
	if (environment && !strcmp(key, "OTEL_SERVICE_NAME"))
		text_take(x->found[ENV_NAME], value);
	else if (environment && !strcmp(key, "OTEL_RESOURCE_ATTRIBUTES"))
		service_of_attributes(value, x->found[ENV_ATTRIBUTES]);
	else if (!environment && !strcmp(key, "otel.service.name"))
		text_take(x->found[OTEL_PROPERTY], value);
	else if (!environment && !strcmp(key, "spring.application.name"))
		text_take(x->found[SPRING_PROPERTY], value);
}

/* "org.example.Main", or "app" of "/opt/app.jar". */
static void main_take(char to[static SERVICE_LEN], const char *command)
{
	struct java_cmd c = {0};
	char *name = c.main, *end;

	java_command_parse(command, &c);
	if (c.kind == JAVA_MAIN_JAR) {
		if ((end = strrchr(name, '/')))
			name = end + 1;
		end = strrchr(name, '.');
		if (end && end != name && !strcmp(end, ".jar"))
			*end = '\0';
	}
	text_take(to, name);
}

static void jvm_take(struct search *x, const struct fields *f)
{
	size_t cap = 65536;
	char *text = malloc(cap);

	if (!text)
		return;
	field_text(f, "jvmArguments", text, cap);
	service_of_words(text, "-Dotel.service.name=", x->found[OTEL_PROPERTY]);
	service_of_words(text, "-Dspring.application.name=", x->found[SPRING_PROPERTY]);
	field_text(f, "javaArguments", text, cap);
	service_of_words(text, "--spring.application.name=", x->found[SPRING_PROPERTY]);
	main_take(x->found[MAIN], text);
	free(text);
}

static void event_take(struct search *x, struct jfr_reader *r, const struct jfr_event *ev)
{
	const char *name = ev->cls->name;
	bool environment = !strcmp(name, "jdk.InitialEnvironmentVariable");
	struct fields f;

	if (!environment && strcmp(name, "jdk.InitialSystemProperty") != 0 &&
	    strcmp(name, "jdk.JVMInformation") != 0)
		return;
	if (!fields_event(&f, r, ev))
		return;
	if (!strcmp(name, "jdk.JVMInformation"))
		jvm_take(x, &f);
	else
		pair_take(x, &f, environment);
}

/* Its first chunk says it all: each of them does. */
static int chunk_search(struct search *x, struct jfr_reader *r)
{
	struct jfr_event ev;
	uint64_t first = 0;
	int rc;

	while ((rc = jfr_reader_next(r, &ev)) > 0) {
		if (first && ev.chunk != first && x->found[MAIN][0])
			return 0;
		first = ev.chunk;
		event_take(x, r, &ev);
	}
	return rc;
}

int service_of_recording(const char *path, char to[static SERVICE_LEN], struct error *e)
{
	struct search *x = calloc(1, sizeof(*x));
	struct jfr_reader *r = NULL;
	int rc = x ? jfr_reader_open(&r, path, NULL, e)
		   : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");

	to[0] = '\0';
	if (!rc) {
		rc = chunk_search(x, r);
		if (rc)
			error_set(e, rc, EXIT_INPUT, "cannot read '%s': %s", path, strerror(-rc));
	}
	for (int i = 0; i < PLACES && !rc && !to[0]; i++)
		utf8_printable(x->found[i], to, SERVICE_LEN);
	jfr_reader_close(r);
	free(x);
	return rc;
}
