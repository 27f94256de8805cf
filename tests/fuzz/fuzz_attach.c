/* SPDX-License-Identifier: Apache-2.0 */
// FUZZ-LINK: user/jvm/attachreply.c user/base/buffer.c user/base/error.c
// FUZZ-LINK: user/base/utf8.c
/*
 * What a JVM answers to an attach command, and to "load". Whatever it says, our message is one
 * line that can be printed.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jvm/attachreply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void error_check(const struct error *e, int rc)
{
	if (e->rc != rc || e->exit != EXIT_TARGET || !e->msg[0])
		abort();
	for (const char *c = e->msg; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer output = BUFFER_INIT;
	struct error e = {0};
	int rc = attachreply_split(7, (const char *)data, size, &output, &e);

	if (rc && rc != -EPROTO && rc != -EREMOTEIO)
		abort();
	if (rc)
		error_check(&e, rc);
	if (rc ? output.len : !memmem(data, size, "\n", 1) || output.len >= size)
		abort();
	e = (struct error){0};
	rc = attachreply_loaded(7, (const char *)output.data, output.len, &e);
	if (rc)
		error_check(&e, rc);
	if (attachreply_split(7, (const char *)data, size, NULL, NULL) > 0 ||
	    attachreply_loaded(7, (const char *)data, size, NULL) > 0)
		abort();
	buffer_free(&output);
	return 0;
}
