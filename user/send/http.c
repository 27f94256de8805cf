/* SPDX-License-Identifier: Apache-2.0 */
#include "send/http.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

#define ANSWER_MOST 65536

struct http {
	CURL *curl;
	const struct destination *to;
	char words[240]; /* the answer's first bytes */
	size_t nwords, nbody;
	char failure[CURL_ERROR_SIZE];
};

static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
	struct http *h = ctx;
	size_t room = sizeof(h->words) - 1 - h->nwords, take = n < room ? n : room;

	(void)size; /* 1 */
	memcpy(h->words + h->nwords, data, take);
	h->nwords += take;
	h->nbody += n;
	return h->nbody > ANSWER_MOST ? 0 : n; /* 0 ends the request */
}

static void blob_set(CURL *c, CURLoption option, char *pem)
{
	struct curl_blob blob = {.data = pem, .len = pem ? strlen(pem) : 0};

	if (pem)
		curl_easy_setopt(c, option, &blob);
}

static void secure(struct http *h)
{
	const struct destination *d = h->to;

	blob_set(h->curl, CURLOPT_CAINFO_BLOB, d->ca);
	blob_set(h->curl, CURLOPT_SSLCERT_BLOB, d->cert);
	blob_set(h->curl, CURLOPT_SSLKEY_BLOB, d->key);
	curl_easy_setopt(h->curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (d->insecure) {
		curl_easy_setopt(h->curl, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(h->curl, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

struct http *http_new(const struct destination *d)
{
	struct http *h = calloc(1, sizeof(*h));

	if (!h || curl_global_init(CURL_GLOBAL_DEFAULT) || !(h->curl = curl_easy_init())) {
		free(h);
		return NULL;
	}
	h->to = d;
	curl_easy_setopt(h->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(h->curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(h->curl, CURLOPT_USERAGENT, "gnomon");
	curl_easy_setopt(h->curl, CURLOPT_ERRORBUFFER, h->failure);
	if (d->proxy)
		curl_easy_setopt(h->curl, CURLOPT_PROXY, d->proxy);
	if (d->basic) {
		curl_easy_setopt(h->curl, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		curl_easy_setopt(h->curl, CURLOPT_USERPWD, d->basic);
	}
	secure(h);
	return h;
}

void http_free(struct http *h)
{
	if (!h)
		return;
	curl_easy_cleanup(h->curl);
	curl_global_cleanup();
	free(h);
}

/* ---- a request ---- */

static void header_add(struct curl_slist **list, bool *failed, const char *name, const char *value)
{
	struct buffer b = BUFFER_INIT;
	struct curl_slist *more;

	buffer_printf(&b, "%s%s%s", name, *name ? ": " : "", value);
	buffer_byte(&b, 0);
	more = b.failed ? NULL : curl_slist_append(*list, (char *)b.data);
	buffer_free(&b);
	if (more)
		*list = more;
	else
		*failed = true;
}

/* NULL: no memory. */
static struct curl_slist *headers(const struct destination *d, const struct payload *p)
{
	struct curl_slist *list = NULL;
	struct buffer bearer = BUFFER_INIT;
	bool failed = false;

	header_add(&list, &failed, "Content-Type", p->type);
	if (p->encoding[0])
		header_add(&list, &failed, "Content-Encoding", p->encoding);
	header_add(&list, &failed, "", "Expect:"); /* libcurl would ask before it sends more */
	if (d->tenant)
		header_add(&list, &failed, "X-Scope-OrgID", d->tenant);
	buffer_printf(&bearer, "Bearer %s", d->bearer ? d->bearer : "");
	buffer_byte(&bearer, 0);
	if (d->bearer && !bearer.failed)
		header_add(&list, &failed, "Authorization", (char *)bearer.data);
	for (size_t i = 0; i < d->nheaders; i++)
		header_add(&list, &failed, "", d->headers[i]);
	buffer_free(&bearer);
	if (!failed)
		return list;
	curl_slist_free_all(list);
	return NULL;
}

/* The text of {"code":"...","message":"..."}, as Pyroscope answers, or all of it. */
static const char *message_of(char *words)
{
	static const char key[] = "\"message\":";
	char *at = strstr(words, key), *end;

	if (!at)
		return words;
	at += sizeof(key) - 1;
	at += strspn(at, " \"");
	end = strrchr(at, '"');
	if (end)
		*end = '\0';
	return at;
}

/*
 * OTLP's ExportProfilesServiceResponse: its field 1 says how many profiles were rejected (1) and
 * why (2). Where that is more than none, the answer is a refusal: words begin with why.
 */
static bool is_rejection(const struct http *h)
{
	const uint8_t *p = (const uint8_t *)h->words, *end = p + h->nwords;

	return end - p >= 4 && p[0] == (1 << 3 | 2) && p[2] == (1 << 3 | 0) && p[3] != 0;
}

static void rejection_read(struct http *h, struct answer *a)
{
	size_t at = 4;

	while (at < h->nwords && h->words[at - 1] & 0x80) /* the rest of the number */
		at++;
	at += 2; /* field 2 and its length */
	a->status = 400;
	snprintf(a->words, sizeof(a->words), "rejected: %s", at < h->nwords ? h->words + at : "");
}

static bool is_page(const char *words)
{
	words += strspn(words, " \t\r\n");
	return !strncasecmp(words, "<!doctype html", 14) || !strncasecmp(words, "<html", 5);
}

/* The text of a page, without its elements and with single blanks: its title, mostly. */
static void page_read(const char *page, char *to, size_t size)
{
	bool within = false, blank = true;
	size_t n = 0;

	for (; *page && n + 1 < size; page++) {
		bool space = *page == '<' || strchr(" \t\r\n", *page);

		within = *page == '<' || (within && *page != '>');
		if (within || *page == '>') {
			space = true;
			if (*page == '>')
				continue;
		}
		if (space && !blank)
			to[n++] = ' ';
		else if (!space)
			to[n++] = *page;
		blank = space;
	}
	while (n && to[n - 1] == ' ')
		n--;
	to[n] = '\0';
}

static void answer_read(struct http *h, CURLcode rc, struct answer *a)
{
	curl_off_t after = 0;
	long status = 0;

	curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(h->curl, CURLINFO_RETRY_AFTER, &after);
	/* an answer too long to read has told its status all the same */
	a->status = rc == CURLE_OK || (rc == CURLE_WRITE_ERROR && status) ? (int)status : 0;
	a->retry_after_ns = after > 0 && after < 1000000 ? (uint64_t)after * 1000000000u : 0;
	h->words[h->nwords] = '\0';
	if (!a->status)
		snprintf(a->words, sizeof(a->words), "%s",
			 h->failure[0] ? h->failure : curl_easy_strerror(rc));
	else if (is_page(h->words))
		page_read(h->words, a->words, sizeof(a->words));
	else
		snprintf(a->words, sizeof(a->words), "%s", message_of(h->words));
	/* whoever answers so to everything has stored nothing */
	a->is_page = a->status && is_page(h->words);
	if (a->status == 200 && is_rejection(h))
		rejection_read(h, a);
	utf8_clean(a->words, strlen(a->words), false);
}

void http_post(struct http *h, const struct payload *p, const struct buffer *body,
	       uint64_t limit_ns, struct answer *a)
{
	struct curl_slist *list = headers(h->to, p);
	struct buffer url = BUFFER_INIT;
	CURLcode rc = CURLE_OUT_OF_MEMORY;

	buffer_printf(&url, "%s%s", h->to->url, p->path);
	buffer_byte(&url, 0);
	h->nwords = h->nbody = 0;
	h->failure[0] = '\0';
	if (list && !url.failed) {
		curl_easy_setopt(h->curl, CURLOPT_POST, 1L);
		curl_easy_setopt(h->curl, CURLOPT_WRITEFUNCTION, on_body);
		curl_easy_setopt(h->curl, CURLOPT_WRITEDATA, h);
		curl_easy_setopt(h->curl, CURLOPT_URL, (char *)url.data);
		curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, list);
		curl_easy_setopt(h->curl, CURLOPT_POSTFIELDS, (char *)body->data);
		curl_easy_setopt(h->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
		curl_easy_setopt(h->curl, CURLOPT_TIMEOUT_MS, (long)(limit_ns / 1000000) + 1);
		rc = curl_easy_perform(h->curl);
	}
	answer_read(h, rc, a);
	curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, NULL);
	curl_slist_free_all(list);
	buffer_free(&url);
}

/* ---- a question ---- */

struct content {
	struct buffer b;
	size_t most;
};

static size_t on_content(char *data, size_t size, size_t n, void *ctx)
{
	struct content *c = ctx;

	(void)size; /* 1 */
	if (n > c->most - c->b.len)
		return 0;
	buffer_add(&c->b, data, n);
	return c->b.failed ? 0 : n;
}

static void content_tell(struct http *h, CURLcode rc, const struct content *c, FILE *to)
{
	long status = 0;

	curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &status);
	if (rc == CURLE_OK && status == 200)
		fwrite(c->b.data, 1, c->b.len, to);
	else if (rc == CURLE_OK)
		fprintf(to, "!it answers %ld", status);
	else if (rc == CURLE_WRITE_ERROR)
		fprintf(to, "!it answers more than %zu bytes", c->most);
	else
		fprintf(to, "!%s", h->failure[0] ? h->failure : curl_easy_strerror(rc));
}

void http_get(struct http *h, uint64_t limit_ns, size_t most, FILE *to)
{
	struct content c = {.b = BUFFER_INIT, .most = most};
	struct curl_slist *list = NULL;
	struct buffer bearer = BUFFER_INIT;
	bool failed = false;

	h->failure[0] = '\0';
	buffer_printf(&bearer, "Bearer %s", h->to->bearer ? h->to->bearer : "");
	buffer_byte(&bearer, 0);
	if (h->to->bearer && !bearer.failed)
		header_add(&list, &failed, "Authorization", (char *)bearer.data);
	curl_easy_setopt(h->curl, CURLOPT_URL, h->to->url);
	curl_easy_setopt(h->curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(h->curl, CURLOPT_HTTPGET, 1L);
	curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, list);
	curl_easy_setopt(h->curl, CURLOPT_WRITEFUNCTION, on_content);
	curl_easy_setopt(h->curl, CURLOPT_WRITEDATA, &c);
	curl_easy_setopt(h->curl, CURLOPT_TIMEOUT_MS, (long)(limit_ns / 1000000) + 1);
	content_tell(h, curl_easy_perform(h->curl), &c, to);
	curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, NULL);
	curl_slist_free_all(list);
	buffer_free(&bearer);
	buffer_free(&c.b);
}
