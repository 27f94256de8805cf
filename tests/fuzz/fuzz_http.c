/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client may make gnomon-http run, and on what it is let in. The input is a request: method,
 * path, a line for each parameter (NAME=VALUE, decoded, of any bytes), and headers. Whatever it is,
 * gnomon gets the arguments of one row, options of that row with a value, and one operand behind
 * "--"; who does not have the token is refused.
 */
// FUZZ-LINK: user/http/route.c user/http/access.c user/http/address.c user/base/error.c user/base/log.c user/base/utf8.c
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "http/access.h"
#include "http/address.h"
#include "http/route.h"

#define SOCKET "/run/gnomon/gnomon.sock"
#define TOKEN  "0123456789abcdef"

struct input {
	const uint8_t *p;
	size_t left;
};

/* Up to the next byte `end`, which is taken, too; a copy without anything behind it. */
static char *next(struct input *in, uint8_t end, size_t *len)
{
	const uint8_t *at = in->left ? memchr(in->p, end, in->left) : NULL;
	char *text;

	*len = at ? (size_t)(at - in->p) : in->left;
	text = malloc(*len + 1);
	if (!text)
		abort();
	memcpy(text, in->p, *len);
	text[*len] = '\0';
	in->p += *len + (at != NULL);
	in->left -= *len + (at != NULL);
	return text;
}

static bool is_option_of(const struct route *r, const char *arg)
{
	for (int i = 0; i < ROUTE_PARAMS && r->params[i].name; i++) {
		const char *o = r->params[i].option;

		if (!o)
			continue;
		if (r->params[i].flag ? !strcmp(arg, o)
				      : !strncmp(arg, o, strlen(o)) && arg[strlen(o)] == '=' &&
						arg[strlen(o) + 1])
			return true;
	}
	return false;
}

static void text_check(const char *arg)
{
	if (!*arg || strlen(arg) > ROUTE_VALUE_MAX + 16)
		abort();
	for (; *arg; arg++)
		if ((unsigned char)*arg < ' ' || *arg == 0x7f)
			abort();
}

static void call_check(const struct route_call *c)
{
	int i = 0;

	if (c->argv[c->argc] || strcmp(c->argv[i++], "gnomon"))
		abort();
	for (int k = 0; k < 6 && c->route->command[k]; k++)
		if (strcmp(c->argv[i++], c->route->command[k]))
			abort();
	if (strcmp(c->argv[i++], "--socket") || strcmp(c->argv[i++], SOCKET))
		abort();
	for (; i < c->argc && strcmp(c->argv[i], "--"); i++) {
		text_check(c->argv[i]);
		if (!is_option_of(c->route, c->argv[i]))
			abort();
	}
	if (i < c->argc && i + 2 != c->argc)
		abort();
	if (i < c->argc)
		text_check(c->argv[i + 1]);
}

static void error_check(const struct error *e)
{
	if (e->exit != EXIT_USAGE || !e->msg[0])
		abort();
	for (const char *s = e->msg; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			abort();
}

static void params_run(struct input *in, const struct route *r)
{
	struct route_call call;
	struct error e = {0};
	int rc = 0;

	route_begin(&call, r, SOCKET);
	while (in->left && *in->p != '\n' && !rc) {
		size_t name_len, value_len;
		char *name = next(in, '=', &name_len), *value = next(in, '\n', &value_len);

		rc = route_param(&call, name, name_len, value, value_len, &e);
		free(name);
		free(value);
	}
	if (!rc)
		rc = route_end(&call, &e);
	if (rc)
		error_check(&e);
	else
		call_check(&call);
}

static void access_run(struct input *in)
{
	static const struct access_rule with = {TOKEN}, without = {0};
	const struct sockaddr_in here = {.sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(0x7f000001)},
				 there = {.sin_family = AF_INET,
					  .sin_addr.s_addr = htonl(0x08080808)};
	size_t len;
	char *authorization = next(in, '\n', &len), *host = next(in, '\n', &len);
	struct access_claim c = {.from = (const struct sockaddr *)&there,
				 .authorization = authorization,
				 .host = host,
				 .changes = true};
	struct sockaddr_storage a;
	struct error e;
	char text[ADDRESS_TEXT];

	if (!access_check(&without, &c) ||
	    (!access_check(&with, &c) && !strstr(authorization, TOKEN)))
		abort();
	c.from = (const struct sockaddr *)&here;
	if (!access_check(&without, &c) && host[0] != '1' && host[0] != '[' && host[0] != 'l' &&
	    host[0] != 'L')
		abort();
	if (!address_read(&a, host, &e))
		address_text(&a, 1, text);
	free(authorization);
	free(host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	const struct route *r = NULL;
	size_t len;
	char *method = next(&in, ' ', &len), *path = next(&in, '\n', &len);
	int status = route_find(method, path, &r);

	if ((status && status != 404 && status != 405) || !status != !!r)
		abort();
	if (r)
		params_run(&in, r);
	access_run(&in);
	free(method);
	free(path);
	return 0;
}
