/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

int log_level;

/* Replaces control characters, so that names which targets choose are no commands to a terminal. */
static void controls_replace(char *line, int n)
{
	const unsigned char *u = (unsigned char *)line;

	for (int i = 0; i < n; i++)
		if ((u[i] < 0x20 && line[i] != '\n' && line[i] != '\t') || u[i] == 0x7f)
			line[i] = '?';
		else if (u[i] == 0xc2 && i + 1 < n && u[i + 1] >= 0x80 && u[i + 1] < 0xa0)
			line[i] = line[i + 1] = '?'; /* U+0080 to U+009F, some of which are, too */
}

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
	controls_replace(line, n);
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
