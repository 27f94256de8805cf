/* SPDX-License-Identifier: Apache-2.0 */
#include "run/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int fd = -1;

void notify_open(void)
{
	if (fd < 0 && getenv("NOTIFY_SOCKET"))
		fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

void notify(const char *lines)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	socklen_t len;

	notify_open();
	if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof(to.sun_path))
		return;
	strcpy(to.sun_path, path);
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	if (path[0] == '@')
		to.sun_path[0] = '\0'; /* its name lies in no directory */
	if (sendto(fd, lines, strlen(lines), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&to,
		   len) < 0) {
		/* the one who would hear of it is the one who does not listen */
	}
}
