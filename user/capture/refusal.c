/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/refusal.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "base/log.h"

static struct {
	pthread_mutex_t lock;
	char text[256];
} last = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The verifier ends with a line of statistics; the complaint stands before it. */
static const char *log_complaint(const char *log, size_t *len)
{
	const char *end = strstr(log, "\nprocessed "), *at;

	if (!end)
		end = log + strcspn(log, "\n");
	for (at = end; at > log && at[-1] != '\n'; at--)
		;
	*len = (size_t)(end - at);
	return at;
}

/*
 * libbpf's lines about a program begin "prog 'NAME': "; the verifier's log comes last, between two
 * marks. (bpf_object_load_prog(), src/libbpf.c)
 */
void refusal_note(const char *line)
{
	static const char prefix[] = "libbpf: prog '", begin[] = "-- BEGIN PROG LOAD LOG --\n";
	const char *name = line + sizeof(prefix) - 1, *colon, *why;
	size_t len;

	if (strncmp(line, prefix, sizeof(prefix) - 1))
		return;
	colon = strstr(name, "': ");
	/* said last, of the one that a complaint was told of before */
	if (!colon || !strncmp(colon, "': failed to load: ", 19))
		return;
	why = colon + 3;
	len = strcspn(why, "\n");
	if (!strncmp(why, begin, sizeof(begin) - 1))
		why = log_complaint(why + sizeof(begin) - 1, &len);
	pthread_mutex_lock(&last.lock);
	snprintf(last.text, sizeof(last.text), "'%.*s': %.*s", (int)(colon - name), name, (int)len,
		 why);
	pthread_mutex_unlock(&last.lock);
}

bool refusal_told(char *buf, size_t size)
{
	pthread_mutex_lock(&last.lock);
	snprintf(buf, size, "%s", last.text);
	pthread_mutex_unlock(&last.lock);
	return buf[0];
}

/* The verifier's log comes as one text of many lines. */
static void lines_log(char *text)
{
	char *rest;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		log_debug("%s", line);
}

static int on_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *text;

	if (level != LIBBPF_WARN && log_level < 2)
		return 0;
	if (vasprintf(&text, fmt, ap) < 0)
		return 0;
	if (level == LIBBPF_WARN)
		refusal_note(text);
	if (log_level >= 2)
		lines_log(text);
	free(text);
	return 0;
}

void refusal_listen(void)
{
	libbpf_set_print(on_libbpf);
}
