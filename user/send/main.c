/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Started by gnomon, with settings on standard input and the spool's directory open as descriptor
 * 3: nobody is meant to start it by hand. Exit codes are gnomon's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/rights.h"
#include "base/sigpipe.h"
#include "send/courier.h"

#define END "end 0\n\n"

/* One byte at a time: what follows the settings says something else. */
static int settings_read(struct destination *d)
{
	struct buffer b = BUFFER_INIT;
	size_t used, end = strlen(END);
	int rc = 0;

	while (!rc) {
		uint8_t byte;
		ssize_t n = read(STDIN_FILENO, &byte, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			rc = -EPIPE;
			break;
		}
		buffer_byte(&b, byte);
		if (b.failed) {
			rc = -ENOMEM;
		} else if (b.len >= end && !memcmp(b.data + b.len - end, END, end)) {
			destination_free(d);
			rc = destination_read(d, b.data, b.len, &used);
		}
	}
	buffer_free(&b);
	return rc < 0 ? rc : 0;
}

static int fail(const char *what, int rc)
{
	fprintf(stderr, "gnomon-send: %s: %s\n", what, strerror(-rc));
	return EXIT_INTERNAL;
}

#define GET_MOST (64u << 20)

static int ask(const struct destination *d, struct http *h)
{
	http_get(h, d->timeout_ns, GET_MOST, stdout);
	return fflush(stdout) ? EXIT_INTERNAL : EXIT_OK;
}

static int send_all(const struct destination *d, struct http *h)
{
	struct spool *s = spool_of(SENDER_SPOOL);
	int rc;

	if (!s)
		return fail("no spool", -ENOMEM);
	rc = courier_run(s, d, h, STDIN_FILENO, stdout);
	spool_close(s);
	return rc ? fail("cannot read the spool", rc) : EXIT_OK;
}

int main(int argc, char **argv)
{
	struct destination d = {0};
	struct http *h;
	int rc;

	sigpipe_ignore();
	if (argc != 1 || fcntl(SENDER_SPOOL, F_SETFD, FD_CLOEXEC)) {
		fprintf(stderr, "gnomon-send: gnomon push starts it; see gnomon-push(1)\n");
		return EXIT_USAGE;
	}
	rc = rights_drop(SENDER_UID, SENDER_UID);
	if (rc)
		return fail("cannot give up rights", rc);
	rc = settings_read(&d);
	if (rc)
		return fail("no settings", rc);
	h = http_new(&d);
	if (!h)
		return fail("libcurl", -ENOMEM);
	rc = d.get ? ask(&d, h) : send_all(&d, h);
	http_free(h);
	destination_free(&d);
	return rc;
}
