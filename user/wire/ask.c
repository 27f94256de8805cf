/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int ask_bytes_read(int fd, void *to, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = recv(fd, (char *)to + done, n - done, MSG_WAITALL);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EPIPE;
		done += (size_t)got;
	}
	return 0;
}

int ask_bytes_write(int fd, const void *from, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t put = send(fd, (const char *)from + done, n - done, MSG_NOSIGNAL);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		done += (size_t)put;
	}
	return 0;
}

/* `size` bytes each, at most `max` of them. */
static int array_read(int fd, size_t n, size_t max, size_t size, void *out)
{
	void *v;
	int rc;

	if (n > max)
		return -EBADMSG;
	v = calloc(n ? n : 1, size);
	if (!v)
		return -ENOMEM;
	rc = ask_bytes_read(fd, v, n * size);
	if (rc) {
		free(v);
		return rc;
	}
	memcpy(out, &v, sizeof(v));
	return 0;
}

static int table_read(int fd, const struct ask *ask, struct unwind_table *t)
{
	int rc =
		array_read(fd, ask->nrules, UW_MAX_RULES, sizeof(*t->rules.rules), &t->rules.rules);

	if (!rc)
		rc = array_read(fd, ask->nrows, UNWIND_MAX_ROWS, sizeof(*t->rows), &t->rows);
	t->rules.n = ask->nrules;
	t->n = ask->nrows;
	return rc;
}

static int name_read(int fd, const struct ask *ask, struct ask_body *body)
{
	if (ask->name_len >= sizeof(body->name))
		return -EBADMSG;
	return ask_bytes_read(fd, body->name, ask->name_len);
}

static int body_read(int fd, const struct ask *ask, struct ask_body *body)
{
	switch (ask->kind) {
	case ASK_FILE_ADD:
		return table_read(fd, ask, &body->table);
	case ASK_PROC_SET:
		return array_read(fd, ask->nmappings, ASK_MAPPINGS_MAX, sizeof(*body->mappings),
				  &body->mappings);
	case ASK_JVM_SET:
		return ask_bytes_read(fd, &body->jvm, sizeof(body->jvm));
	case ASK_THREAD:
		return name_read(fd, ask, body);
	default:
		return ask->kind && ask->kind < ASK_KINDS ? 0 : -EBADMSG;
	}
}

int ask_read(int fd, struct ask *ask, struct ask_body *body)
{
	int rc = ask_bytes_read(fd, ask, sizeof(*ask));

	memset(body, 0, sizeof(*body));
	if (!rc && ask->key_len > sizeof(ask->key))
		rc = -EBADMSG;
	if (!rc)
		rc = body_read(fd, ask, body);
	if (rc)
		ask_body_free(body);
	return rc;
}

void ask_body_free(struct ask_body *body)
{
	free(body->table.rules.rules);
	free(body->table.rows);
	free(body->mappings);
	memset(body, 0, sizeof(*body));
}
