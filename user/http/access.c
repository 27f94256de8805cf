/* SPDX-License-Identifier: Apache-2.0 */
#include "http/access.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

bool access_is_loopback(const struct sockaddr *a)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)a;

	if (!a)
		return false;
	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 &&
	       (IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ||
		(IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) && six->sin6_addr.s6_addr[12] == 127));
}

/* How long it takes says nothing of what they have in common but the length. */
static bool is_equal(const char *a, const char *b)
{
	size_t n = strlen(a);
	unsigned char differs = 0;

	if (strlen(b) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		differs |= (unsigned char)(a[i] ^ b[i]);
	return !differs;
}

static bool has_token(const char *token, const char *authorization)
{
	if (!authorization || strncasecmp(authorization, "Bearer ", 7))
		return false;
	return is_equal(authorization + 7 + strspn(authorization + 7, " "), token);
}

/* "localhost:9466", "127.0.0.1", "[::1]:9466": names that no other can give this machine. */
static bool is_local_name(const char *host)
{
	size_t n;

	if (!host)
		return false;
	if (!strncasecmp(host, "localhost", 9))
		n = 9;
	else if (!strncmp(host, "[::1]", 5))
		n = 5;
	else if (!strncmp(host, "127.", 4))
		n = strspn(host, "0123456789.");
	else
		return false;
	return !host[n] || (host[n] == ':' && !host[n + 1 + strspn(host + n + 1, "0123456789")]);
}

int access_check(const struct access_rule *rule, const struct access_claim *c)
{
	if (rule->token[0])
		return has_token(rule->token, c->authorization) ? 0 : 401;
	if (!access_is_loopback(c->from) || !is_local_name(c->host) || (c->changes && c->origin))
		return 403;
	return 0;
}

static int token_take(struct access_rule *rule, char *text, const char *path, struct error *e)
{
	size_t n = strcspn(text, "\r\n");

	for (size_t i = 0; i < n; i++)
		if (text[i] <= ' ' || text[i] >= 0x7f)
			return error_set(e, -EINVAL, EXIT_USAGE,
					 "the token in '%s' has something else than letters, "
					 "digits and signs in it",
					 path);
	if (n < ACCESS_TOKEN_MIN || n > ACCESS_TOKEN_MAX) {
		error_set(e, -EINVAL, EXIT_USAGE, "the token in '%s' has %s characters", path,
			  n < ACCESS_TOKEN_MIN ? "too few" : "too many");
		return error_hint(e, "make one: openssl rand -hex 32");
	}
	memcpy(rule->token, text, n);
	rule->token[n] = '\0';
	return 0;
}

int access_token_read(struct access_rule *rule, const char *path, struct error *e)
{
	char text[ACCESS_TOKEN_MAX + 8] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), rc = 0;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st))
		rc = error_set(e, -errno, EXIT_USAGE, "cannot read '%s': %s", path,
			       strerror(errno));
	else if (!S_ISREG(st.st_mode) || (st.st_mode & 027)) {
		error_set(e, -EPERM, EXIT_USAGE, "others may read the token in '%s'", path);
		rc = error_hint(e, "chmod 600 '%s'", path);
	}
	if (!rc) {
		n = read(fd, text, sizeof(text) - 1);
		rc = n < 0 ? error_set(e, -errno, EXIT_USAGE, "cannot read '%s': %s", path,
				       strerror(errno))
			   : token_take(rule, text, path, e);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}
