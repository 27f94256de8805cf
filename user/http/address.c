/* SPDX-License-Identifier: Apache-2.0 */
#include "http/address.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* "[HOST]:PORT" or "HOST:PORT", taken apart. */
static int text_split(const char *text, char *host, size_t cap, const char **port)
{
	const char *colon = strrchr(text, ':'), *end = colon;

	if (!colon || !colon[1])
		return -EINVAL;
	*port = colon + 1;
	if (*text == '[') {
		text++;
		if (--end <= text || *end != ']')
			return -EINVAL;
	}
	if (end == text || (size_t)(end - text) >= cap)
		return -EINVAL;
	memcpy(host, text, (size_t)(end - text));
	host[end - text] = '\0';
	return 0;
}

int address_read(struct sockaddr_storage *to, const char *text, struct error *e)
{
	const struct addrinfo want = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				      .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	const char *port;
	char host[ADDRESS_TEXT];

	*to = (struct sockaddr_storage){0};
	if (text_split(text, host, sizeof(host), &port) || getaddrinfo(host, port, &want, &found)) {
		error_set(e, -EINVAL, EXIT_USAGE, "'%s' is no address to listen at", text);
		return error_hint(e,
				  "an address in numbers and a port: 127.0.0.1:9466, [::1]:9466");
	}
	memcpy(to, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}

void address_text(const struct sockaddr_storage *a, uint16_t port, char to[ADDRESS_TEXT])
{
	char host[ADDRESS_TEXT - 10] = "?";

	getnameinfo((const struct sockaddr *)a, sizeof(*a), host, sizeof(host), NULL, 0,
		    NI_NUMERICHOST);
	snprintf(to, ADDRESS_TEXT, a->ss_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host, port);
}
