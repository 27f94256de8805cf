/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fdmsg.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union room {
	char bytes[CMSG_SPACE(FDMSG_FDS * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	struct cmsghdr align;
};

int fdmsg_send(int to, const struct iovec *v, size_t nv, const int *fds, size_t nfds, int flags)
{
	union room room = {0};
	struct msghdr m = {.msg_iov = (struct iovec *)v, .msg_iovlen = nv};
	struct cmsghdr *h;
	ssize_t n;

	if (nfds > FDMSG_FDS)
		return -EINVAL;
	if (nfds) {
		m.msg_control = &room;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(h), fds, nfds * sizeof(int));
	}
	do
		n = sendmsg(to, &m, flags | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static void part_take(struct fdmsg *with, const struct cmsghdr *h)
{
	size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	struct ucred who;

	if (h->cmsg_level != SOL_SOCKET)
		return;
	if (h->cmsg_type == SCM_CREDENTIALS) {
		memcpy(&who, CMSG_DATA(h), sizeof(who));
		with->sender = who.pid;
	}
	if (h->cmsg_type != SCM_RIGHTS)
		return;
	for (size_t i = 0; i < n; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
		if (with->n < FDMSG_FDS)
			with->fds[with->n++] = fd;
		else
			close(fd);
	}
}

ssize_t fdmsg_take(int from, const struct iovec *v, size_t nv, struct fdmsg *with, int flags)
{
	union room room = {0};
	struct msghdr m = {.msg_iov = (struct iovec *)v,
			   .msg_iovlen = nv,
			   .msg_control = &room,
			   .msg_controllen = sizeof(room)};
	ssize_t n;

	*with = (struct fdmsg){.n = 0};
	do
		n = recvmsg(from, &m, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h))
		part_take(with, h);
	if (n)
		return n;
	/* at the end nothing is received, so nobody has sent it; without SO_PASSCRED it looks alike
	 */
	fdmsg_close(with, 0);
	return with->sender ? 0 : -EPIPE;
}

void fdmsg_close(struct fdmsg *with, size_t first)
{
	for (size_t i = first; i < with->n; i++)
		close(with->fds[i]);
	if (with->n > first)
		with->n = first;
}

int fdmsg_only(struct fdmsg *with)
{
	if (with->n == 1)
		return with->fds[0];
	fdmsg_close(with, 0);
	return -1;
}
