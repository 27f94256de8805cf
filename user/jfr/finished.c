/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/finished.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert(FINISHED_MOST <= PIPE_BUF, "a message is written whole");

void finished_tell(const struct finished_to *to, const char *path, uint64_t from, uint64_t end)
{
	char text[FINISHED_MOST];
	ssize_t written = -1;
	int n;

	if (from >= end)
		return;
	if (to->tell) {
		to->tell(path, from, end);
		return;
	}
	if (!to->fd)
		return;
	n = snprintf(text, sizeof(text), "\n%" PRIu64 " %" PRIu64 " %s", from, end, path);
	if (n > 0 && n < FINISHED_MOST) {
		do
			written = write(to->fd, text, (size_t)n + 1);
		while (written < 0 && errno == EINTR);
	}
	if (written < 0 && to->untold)
		atomic_fetch_add(to->untold, 1);
}

size_t finished_take(const void *bytes, size_t n, struct finished *m)
{
	const char *text = bytes, *end = n ? memchr(text, 0, n) : NULL, *line;
	int at = 0;

	m->path[0] = '\0';
	if (!end)
		return n > FINISHED_MOST ? n - FINISHED_MOST : 0;
	line = memrchr(text, '\n', (size_t)(end - text));
	if (line && sscanf(line + 1, "%" SCNu64 " %" SCNu64 " %n", &m->from, &m->end, &at) == 2 &&
	    at && m->from < m->end && strlen(line + 1 + at) < sizeof(m->path))
		strcpy(m->path, line + 1 + at);
	return (size_t)(end - text) + 1;
}
