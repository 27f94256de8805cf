/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/reply.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fdmsg.h"
#include "base/utf8.h"

void reply_send(int fd, const struct reply *r)
{
	while (send(fd, r, sizeof(*r), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static void text_clean(char *s, size_t cap)
{
	s[cap - 1] = '\0';
	utf8_clean(s, strlen(s), false);
}

int reply_take(int fd, struct reply *r)
{
	ssize_t n;

	do
		n = recv(fd, r, sizeof(*r), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (!n)
		return -EPIPE;
	if (n != sizeof(*r) || !r->kind || r->kind >= REPLY_KINDS || r->rc > 0 || r->error.rc > 0 ||
	    (unsigned int)r->error.exit > EXIT_INPUT)
		return -EBADMSG;
	text_clean(r->error.msg, sizeof(r->error.msg));
	text_clean(r->error.hint, sizeof(r->error.hint));
	text_clean(r->names, sizeof(r->names));
	return 1;
}

/* ---- descriptors ---- */

int gift_send(int fd, uint32_t serial, int gift)
{
	return fdmsg_send(fd, &(struct iovec){&serial, sizeof(serial)}, 1, &gift, 1, MSG_DONTWAIT);
}

static int one_take(int fd, uint32_t *serial)
{
	struct fdmsg with;
	ssize_t n = fdmsg_take(fd, &(struct iovec){serial, sizeof(*serial)}, 1, &with, 0);
	int gift = fdmsg_only(&with);

	return n < 0 ? (int)n : gift < 0 ? -EPIPE : gift;
}

int gift_take(int fd, uint32_t serial)
{
	for (;;) {
		uint32_t got;
		int gift = one_take(fd, &got);

		if (gift < 0 || got == serial)
			return gift;
		close(gift);
	}
}
