/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/reply.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

union room {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

int gift_send(int fd, uint32_t serial, int gift)
{
	union room c = {0};
	struct iovec v = {&serial, sizeof(serial)};
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &gift, sizeof(gift));
	return sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int one_take(int fd, uint32_t *serial)
{
	union room c = {0};
	struct iovec v = {serial, sizeof(*serial)};
	struct msghdr m = {
		.msg_iov = &v, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)};
	struct cmsghdr *h;
	ssize_t n;
	int gift;

	do
		n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	h = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (!h || h->cmsg_type != SCM_RIGHTS)
		return n < 0 ? -errno : -EPIPE;
	memcpy(&gift, CMSG_DATA(h), sizeof(gift));
	return gift;
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
