/* SPDX-License-Identifier: Apache-2.0 */
#include "push/service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "jfr/read.h"
#include "out/fields.h"
#include "target/attributes.h"
#include "target/javacmd.h"

/* What was found, the most telling first. */
enum place {
	PROCESS_CONTEXT,
	ENV_NAME,
	ENV_ATTRIBUTES,
	OTEL_PROPERTY,
	SPRING_PROPERTY,
	MAIN,
	PLACES
};

struct search {
	char found[PLACES][SERVICE_LEN];
	struct labels *labels; /* what else it is called */
	int rc;
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

bool service_of_attributes(const char *attributes, char to[static SERVICE_LEN])
{
	struct attribute a;

	while (attribute_next(&attributes, &a))
		if (!strcmp(a.key, "service.name")) {
			strcpy(to, a.value);
			return true;
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

/* Of several that say the same the first one counts: the process context comes before the rest. */
static void resource_take(struct search *x, const struct fields *f)
{
	char source[32], key[ATTRIBUTE_KEY], value[ATTRIBUTE_VALUE], *at;

	field_text(f, "source", source, sizeof(source));
	field_text(f, "key", key, sizeof(key));
	field_text(f, "value", value, sizeof(value));
	if (!attribute_is_known(key))
		return;
	if (!strcmp(key, "service.name")) {
		text_take(x->found[!strcmp(source, "process context")	  ? PROCESS_CONTEXT
				   : !strcmp(source, "OTEL_SERVICE_NAME") ? ENV_NAME
									  : ENV_ATTRIBUTES],
			  value);
		return;
	}
	while ((at = strchr(key, '.')))
		*at = '_';
	/* which container it is in the kernel knows better than the program */
	if ((!labels_get(x->labels, key) || !strcmp(source, "control group")) &&
	    labels_set(x->labels, key, value) == -ENOMEM)
		x->rc = -ENOMEM;
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

static void run_set(struct search *x, const char *name, const char *value)
{
	if (labels_set_run(x->labels, name, value) == -ENOMEM)
		x->rc = -ENOMEM;
}

/* "17.0.15+6" of "OpenJDK 64-Bit Server VM (17.0.15+6) for linux-amd64 JRE (17.0.15+6), built ..."
 */
static void version_cut(char *text)
{
	char *jre = strstr(text, "JRE ("), *from = strchr(jre ? jre : text, '('), *end;

	if (!from || !(end = strchr(from, ')')))
		return;
	*end = '\0';
	memmove(text, from + 1, (size_t)(end - from));
}

/* Which process, and which JVM runs it. */
static void run_take(struct search *x, const struct fields *f)
{
	char text[512], pid[24];
	uint64_t number = field_number(f, "pid");

	snprintf(pid, sizeof(pid), "%llu", (unsigned long long)number);
	if (number)
		run_set(x, "process_pid", pid);
	field_text(f, "jvmName", text, sizeof(text));
	run_set(x, "process_runtime_name", text);
	field_text(f, "jvmVersion", text, sizeof(text));
	version_cut(text);
	run_set(x, "process_runtime_version", text);
}

static void jvm_take(struct search *x, const struct fields *f)
{
	size_t cap = 65536;
	char *text = malloc(cap);

	run_take(x, f);
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
	    strcmp(name, "jdk.JVMInformation") != 0 && strcmp(name, "gnomon.Resource") != 0)
		return;
	if (!fields_event(&f, r, ev))
		return;
	if (!strcmp(name, "jdk.JVMInformation"))
		jvm_take(x, &f);
	else if (!strcmp(name, "gnomon.Resource"))
		resource_take(x, &f);
	else
		pair_take(x, &f, environment);
}

#define FACTS_MOST 1000 /* events between a window's jdk.JVMInformation and its last fact */

/*
 * Its first chunk says it all: each of them does. What is cut into windows says it where these
 * begin (jfr/form.h).
 */
static int chunk_search(struct search *x, struct jfr_reader *r, bool window)
{
	struct jfr_event ev;
	uint64_t first = 0, since = 0;
	int rc;

	while ((rc = jfr_reader_next(r, &ev)) > 0) {
		if (first && ev.chunk != first && x->found[MAIN][0])
			return 0;
		if (window && x->found[MAIN][0] && ++since > FACTS_MOST)
			return 0;
		first = ev.chunk;
		event_take(x, r, &ev);
	}
	return rc;
}

int service_of_recording(const struct stretch *s, char to[static SERVICE_LEN], struct labels *more,
			 struct error *e)
{
	struct search *x = calloc(1, sizeof(*x));
	struct jfr_reader *r = NULL;
	int rc = x ? stretch_reader(s, &r, e)
		   : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");

	to[0] = '\0';
	if (!rc) {
		x->labels = more;
		rc = chunk_search(x, r, s->part);
		rc = rc ? rc : x->rc;
		if (rc)
			error_set(e, rc, EXIT_INPUT, "cannot read '%s': %s", s->path,
				  strerror(-rc));
	}
	for (int i = 0; i < PLACES && !rc && !to[0]; i++)
		utf8_printable(x->found[i], to, SERVICE_LEN);
	jfr_reader_close(r);
	free(x);
	return rc;
}
