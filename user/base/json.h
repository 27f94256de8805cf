/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing JSON (RFC 8259) to a stream, indented, or dense for what programs read. Commas and
 * newlines come by themselves; keys are given in objects and NULL in arrays. Text that is not UTF-8
 * gets U+FFFD for each bad byte.
 */
#ifndef GNOMON_BASE_JSON_H
#define GNOMON_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *to;
	int depth;
	bool more; /* the container we are in has a member already */
	bool dense;
};

void json_begin(struct json *j, FILE *to);
void json_begin_dense(struct json *j, FILE *to);
void json_end(struct json *j); /* the final newline */

void json_open(struct json *j, const char *key, char bracket);	      /* '{' or '[' */
void json_close(struct json *j, char bracket);			      /* '}' or ']' */
void json_string(struct json *j, const char *key, const char *value); /* NULL or "": null */
void json_text(struct json *j, const char *key, const char *value);   /* "" stays "" */
void json_null(struct json *j, const char *key);
void json_number(struct json *j, const char *key, uint64_t value);
void json_integer(struct json *j, const char *key, int64_t value);
void json_double(struct json *j, const char *key, double value); /* 3 places, not infinite */
void json_bool(struct json *j, const char *key, bool value);

#endif
