/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/utf8.h"

int log_level;

static void log_line(const char *tag, const char *fmt, va_list ap)
{
	char line[1024];
	int n, m;

	n = snprintf(line, sizeof(line), "gnomon: %s", tag);
	m = vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	if (m < 0)
		return;
	n += m;
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	utf8_clean(line, (size_t)n, true); /* names in it are the targets' choice */
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		return; /* there is nowhere left to complain */
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line("warning: ", fmt, ap);
	va_end(ap);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	if (log_level < 1)
		return;
	va_start(ap, fmt);
	log_line("", fmt, ap);
	va_end(ap);
}

void log_debug(const char *fmt, ...)
{
	va_list ap;

	if (log_level < 2)
		return;
	va_start(ap, fmt);
	log_line("debug: ", fmt, ap);
	va_end(ap);
}
