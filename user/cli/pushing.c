/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/pushing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "push/limits.h"
#include "push/otlp.h"
#include "push/pyroscope.h"

#define FILE_MOST (1u << 20)

static int no_memory(struct error *e)
{
	return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
}

/* ---- texts and files ---- */

/* Control characters would end the header, or begin another one. */
static bool is_plain(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 127)
			return false;
	return true;
}

static int text_take(char **to, const char *s, const char *what, struct error *e)
{
	if (!s)
		return 0;
	if (!*s || !is_plain(s))
		return error_set(e, -EINVAL, EXIT_USAGE, "%s is empty or has control characters",
				 what);
	*to = strdup(s);
	return *to ? 0 : no_memory(e);
}

static int bytes_read(int fd, struct buffer *b)
{
	ssize_t n;

	do {
		void *to = buffer_reserve(b, 4096);

		n = to ? read(fd, to, 4096) : -1;
		if (n > 0)
			b->len += (size_t)n;
	} while (n > 0 && b->len <= FILE_MOST);
	buffer_byte(b, 0);
	return b->failed ? -ENOMEM : n < 0 ? -errno : b->len > FILE_MOST ? -EFBIG : 0;
}

static int content_take(char **to, const char *path, struct error *e)
{
	struct buffer b = BUFFER_INIT;
	int fd, rc;

	if (!path)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	rc = fd < 0 ? -errno : bytes_read(fd, &b);
	if (fd >= 0)
		close(fd);
	if (!rc && strlen((char *)b.data) + 1 != b.len)
		rc = -EBADMSG;
	if (!rc && !(*to = strdup((char *)b.data)))
		rc = -ENOMEM;
	buffer_free(&b);
	return rc ? error_set(e, rc, EXIT_INPUT, "cannot read '%s': %s", path,
			      rc == -EBADMSG ? "it is no text" : strerror(-rc))
		  : 0;
}

/* The first line of a file. */
static int secret_take(char **to, const char *path, struct error *e)
{
	int rc = content_take(to, path, e);

	if (rc || !path)
		return rc;
	(*to)[strcspn(*to, "\r\n")] = '\0';
	if (**to && is_plain(*to))
		return 0;
	return error_set(e, -EINVAL, EXIT_INPUT,
			 "the first line of '%s' has nothing, or control characters", path);
}

int pushing_pem(char **to, const char *path, struct error *e)
{
	int rc = content_take(to, path, e);

	if (rc || !path || strstr(*to, "-----BEGIN "))
		return rc;
	return error_set(e, -EINVAL, EXIT_INPUT, "'%s' is not in PEM form", path);
}

/* ---- the destination ---- */

const struct protocol *pushing_protocol(const char **url, bool by_thread)
{
	if (*url && !strncmp(*url, "otlp+", 5)) {
		*url += 5;
		return &otlp;
	}
	if (*url && !strncmp(*url, "pyroscope+", 10))
		*url += 10;
	return by_thread ? &pyroscope_threads : &pyroscope;
}

static int url_take(struct destination *d, const char *url, struct error *e)
{
	const char *host;
	size_t n;

	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
		error_set(e, -EINVAL, EXIT_USAGE, "'%s' is no URL of a server", url);
		return error_hint(e,
				  "such as http://pyroscope:4040 or https://profiles.example.com");
	}
	host = strstr(url, "://") + 3;
	n = strcspn(host, "/?#");
	if (memchr(host, '@', n)) {
		error_set(e, -EINVAL, EXIT_USAGE,
			  "the URL has a user in it, which everybody can see");
		return error_hint(e, "put user:password into a file: --basic FILE");
	}
	if (!n || strpbrk(host, "?# ") || !is_plain(url))
		return error_set(e, -EINVAL, EXIT_USAGE, "'%s' is no URL of a server", url);
	if (text_take(&d->url, url, "--to", e))
		return -ENOMEM;
	for (n = strlen(d->url); n && d->url[n - 1] == '/'; n--)
		d->url[n - 1] = '\0';
	return 0;
}

static int headers_take(const struct pushing *p, struct destination *d, struct error *e)
{
	int rc = 0;

	for (size_t i = 0; i < p->headers.n && !rc; i++) {
		const char *h = p->headers.v[i], *colon = strchr(h, ':');

		if (!colon || colon == h || memchr(h, ' ', (size_t)(colon - h)))
			return error_set(e, -EINVAL, EXIT_USAGE, "'%s' is no header: 'Name: value'",
					 h);
		if (d->nheaders == DESTINATION_HEADERS)
			return error_set(e, -E2BIG, EXIT_USAGE, "more than %d headers",
					 DESTINATION_HEADERS);
		rc = text_take(&d->headers[d->nheaders], h, "--header", e);
		d->nheaders += !rc;
	}
	return rc;
}

static int tls_take(const struct pushing *p, struct destination *d, struct error *e)
{
	int rc = pushing_pem(&d->ca, p->ca, e);

	if (!rc)
		rc = pushing_pem(&d->cert, p->cert, e);
	if (!rc)
		rc = pushing_pem(&d->key, p->key, e);
	if (!rc && !d->cert != !d->key)
		rc = error_set(e, -EINVAL, EXIT_USAGE, "--cert and --key go together");
	d->insecure = p->insecure;
	return rc;
}

static int secrets_take(const struct pushing *p, struct destination *d, struct error *e)
{
	int rc = secret_take(&d->basic, p->basic, e);

	if (!rc)
		rc = secret_take(&d->bearer, p->bearer, e);
	if (!rc && d->basic && d->bearer)
		rc = error_set(e, -EINVAL, EXIT_USAGE, "--basic and --bearer exclude each other");
	if (!rc && d->basic && !strchr(d->basic, ':'))
		rc = error_set(e, -EINVAL, EXIT_INPUT, "'%s' does not begin with user:password",
			       p->basic);
	if (!rc && (d->basic || d->bearer) && !strncmp(d->url, "http://", 7))
		log_warn("the password goes over the network as it is: the URL is http, not https");
	return rc;
}

int pushing_destination(const struct pushing *p, struct destination *d, struct error *e)
{
	int rc;

	if (!p->url) {
		error_set(e, -EINVAL, EXIT_USAGE, "no server given");
		return error_hint(e, "--to URL, such as --to http://pyroscope:4040");
	}
	d->timeout_ns = p->timeout_ns;
	d->finish_ns = p->finish_ns;
	d->max_age_ns = p->max_age_ns;
	d->bytes_second = PYROSCOPE_BYTES_SECOND;
	rc = url_take(d, p->url, e);
	if (!rc)
		rc = text_take(&d->tenant, p->tenant, "--tenant", e);
	if (!rc)
		rc = text_take(&d->proxy, p->proxy, "--proxy", e);
	if (!rc)
		rc = headers_take(p, d, e);
	if (!rc)
		rc = secrets_take(p, d, e);
	return rc ? rc : tls_take(p, d, e);
}

/* ---- labels ---- */

/* "OLD=NEW": where there is no such label nothing changes. */
static int label_rename(struct labels *l, const char *text, struct error *e)
{
	const char *eq = strchr(text, '='), *value;
	char *old = eq && eq != text && eq[1] ? strndup(text, (size_t)(eq - text)) : NULL;
	int rc = 0;

	if (!old)
		return error_set(e, -EINVAL, EXIT_USAGE,
				 "'%s' does not rename a label: OLD=NEW is expected", text);
	value = labels_get(l, old);
	if (value)
		rc = labels_set(l, eq + 1, value);
	if (value && !rc)
		rc = labels_set(l, old, "");
	free(old);
	if (rc == -ENOMEM)
		return no_memory(e);
	return rc ? error_set(e, rc, EXIT_USAGE, "'%s': no label may be called so", text) : 0;
}

int pushing_labels(const struct pushing *p, const char *service, struct labels *l, struct error *e)
{
	int rc;

	for (size_t i = 0; i < p->renames.n; i++)
		if (label_rename(l, p->renames.v[i], e))
			return e->rc;
	if (p->service)
		service = p->service;
	rc = labels_set(l, "service_name", *service ? service : "unknown_service");
	if (rc)
		return no_memory(e);
	for (size_t i = 0; i < p->labels.n; i++) {
		rc = labels_parse(l, p->labels.v[i]);
		if (rc == -ENOMEM)
			return no_memory(e);
		if (rc == -E2BIG)
			return error_set(e, rc, EXIT_USAGE, "more than %d labels", LABELS_MOST);
		if (rc) {
			error_set(e, rc, EXIT_USAGE, "'%s' is no label", p->labels.v[i]);
			return error_hint(e, "NAME=VALUE, NAME of letters, digits and '_' that "
					     "does not begin with '__'");
		}
	}
	return 0;
}

/* ---- the spool ---- */

static int own_open(struct pushing_spool *s, uint64_t cap, uid_t owner, struct error *e)
{
	snprintf(s->own, sizeof(s->own), "/tmp/gnomon-push.XXXXXX");
	if (!mkdtemp(s->own) || (owner != (uid_t)-1 && lchown(s->own, owner, (gid_t)-1))) {
		int rc = -errno;

		s->own[0] = '\0';
		return error_set(e, rc, EXIT_OUTPUT, "cannot make a directory in /tmp: %s",
				 strerror(-rc));
	}
	return spool_open(&s->s, s->own, cap, owner, e);
}

int pushing_spool_open(const struct pushing *p, struct pushing_spool *s, struct error *e)
{
	uid_t owner = geteuid() ? (uid_t)-1 : SENDER_UID;

	*s = (struct pushing_spool){0};
	if (!p->spool)
		return own_open(s, p->own_cap, owner, e);
	return spool_open(&s->s, p->spool, p->spool_cap, owner, e);
}

void pushing_spool_close(struct pushing_spool *s)
{
	if (s->s && s->own[0])
		spool_destroy(s->s);
	spool_close(s->s);
	s->s = NULL;
}

/* ---- what to do ---- */

const char *pushing_remedy(const struct sender *s)
{
	int status = s->status;

	if (strstr(s->last, "wrong version number"))
		return "it seems to speak http, and not https";
	switch (status) {
	case 0:
		return "is a server there, and is the way to it open? A proxy is given by --proxy, "
		       "certificates by --ca";
	case 401:
	case 403:
		return "it wants to know who sends: --tenant, --basic, --bearer or --header";
	case 200: /* a page */
	case 404:
	case 405:
	case 501:
		return "Pyroscope listens at port 4040; of a collector (port 4318, "
		       "--feature-gates=service.profilesSupport) the URL begins with otlp+";
	case 429:
		return "the limits of the tenant are reached, by others too";
	case 415:
		return "it takes no gzip, or another version of the protocol";
	}
	return status >= 300 && status < 400 ? "give the URL that it redirects to"
					     : "its own log may say more";
}
