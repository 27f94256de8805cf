/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `gnomon status` and others take for a daemon's reply: any bytes; and replies of the right
 * make, of any content, for as many JVMs as it says or another number. What comes of them has an
 * end to each text, and no more JVMs than there are.
 */
// FUZZ-LINK: user/run/metrics.c user/run/metrics_vitals.c user/model/delivery.c user/base/buffer.c
// FUZZ-LINK: user/base/error.c user/base/log.c user/base/thread.c user/base/utf8.c
// FUZZ-LINK: user/model/totals.c
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* a reply's make is nobody else's business */
#include "run/control.c"
#include "run/metrics.h"

static void text_check(const char *s, size_t cap)
{
	if (!memchr(s, '\0', cap))
		abort();
}

#define TEXT(member) text_check(member, sizeof(member))

static void answer_check(const struct control_answer *a)
{
	static FILE *null;

	if (!null)
		null = fopen("/dev/null", "w");
	if (a->state.njvms > CONTROL_JVM_MAX)
		abort();
	TEXT(a->state.directory);
	TEXT(a->state.version);
	for (uint32_t i = 0; i < a->state.njvms; i++) {
		TEXT(a->jvms[i].name);
		TEXT(a->jvms[i].container);
		TEXT(a->jvms[i].user);
		TEXT(a->jvms[i].dir);
	}
	metrics_write(a, null);
}

static void parse(const void *data, size_t len)
{
	struct control_answer a;
	struct error e = {0};
	int rc = control_parse(data, len, &a, &e);

	if ((rc < 0) != (e.rc < 0) || rc > 0 || (rc && (!e.exit || !e.msg[0])))
		abort();
	if (!rc)
		answer_check(&a);
	else if (a.jvms)
		abort();
	control_answer_free(&a);
}

/* The input again and again, up to len bytes, behind a head of the right make. */
static void shaped(const uint8_t *data, size_t size, size_t len, uint32_t says, bool fails)
{
	struct reply head = {0};
	uint8_t *bytes = malloc(len + 1);

	if (!bytes || !size)
		abort();
	for (size_t i = 0; i < len; i++)
		bytes[i] = data[i % size];
	memcpy(&head, bytes, sizeof(head) < len ? sizeof(head) : len);
	head.magic = MAGIC;
	head.version = VERSION;
	if (!fails) {
		head.rc = 0;
		head.state.njvms = says;
	}
	memcpy(bytes, &head, sizeof(head) < len ? sizeof(head) : len);
	parse(bytes, len);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len;

	parse(data, size);
	if (size < 4)
		return 0;
	len = sizeof(struct reply) + data[1] % 8 * sizeof(struct control_jvm);
	if (data[0] & 1)
		len += data[2] - 128;
	shaped(data + 3, size - 3, len, data[0] & 2 ? data[1] % 8 : data[2], data[0] & 4);
	return 0;
}
