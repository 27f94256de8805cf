/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/attachreply.h"

#include <errno.h>

#include "target/text.h"

/* Copies a message of the JVM's as one line without control characters. */
static void line_clean(char *to, size_t cap, struct text from)
{
	struct text line = {from.p, from.p};
	char *c;

	text_line(&from, &line);
	text_copy(line, to, cap);
	/* a NUL in the text does not end the message */
	for (c = to; c < to + cap - 1 && c < to + text_len(line); c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
}

/* A decimal number on a line of its own, as the JVM prints an int. */
static bool status_parse(struct text line, uint64_t *status)
{
	text_eat(&line, "-");
	return text_number(&line, 10, status) && line.p == line.end;
}

int attachreply_split(pid_t pid, const char *text, size_t len, struct buffer *output,
		      struct error *e)
{
	struct text t = text_of(text, len), line;
	uint64_t status;
	char said[200];

	if (!len || !memchr(text, '\n', len))
		return error_set(e, -EPROTO, EXIT_TARGET,
				 "process %d broke off the attach conversation", pid);
	text_line(&t, &line);
	if (!status_parse(line, &status)) {
		line_clean(said, sizeof(said), line);
		return error_set(e, -EPROTO, EXIT_TARGET,
				 "process %d does not speak the attach protocol: '%s'", pid, said);
	}
	if (status) {
		line_clean(said, sizeof(said), t);
		return error_set(e, -EREMOTEIO, EXIT_TARGET, "the JVM of process %d refused: %s",
				 pid, said);
	}
	if (output)
		buffer_add(output, t.p, text_len(t));
	return 0;
}

/* "return code: 0" since JDK 9, "0" before; else a sentence. */
int attachreply_loaded(pid_t pid, const char *text, size_t len, struct error *e)
{
	struct text t = text_of(len ? text : "", len), line = t, rest = t;
	char said[200];

	text_line(&rest, &line);
	if (!len || text_is(line, "0") || text_is(line, "return code: 0"))
		return 0;
	line_clean(said, sizeof(said), t);
	error_set(e, -EREMOTEIO, EXIT_TARGET, "the JVM of process %d did not load the agent: %s",
		  pid, said);
	return error_hint(e, "use --jvm vmstructs");
}
