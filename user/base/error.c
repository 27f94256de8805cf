/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *e, int rc, enum exit_code exit, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return rc;
	e->rc = rc;
	e->exit = exit;
	e->hint[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	va_end(ap);
	return rc;
}

int error_hint(struct error *e, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return 0;
	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
	return e->rc;
}

void error_print(const struct error *e)
{
	fprintf(stderr, "gnomon: %s\n", e->msg[0] ? e->msg : strerror(-e->rc));
	if (e->hint[0])
		fprintf(stderr, "  %s\n", e->hint);
}
