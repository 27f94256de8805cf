/* SPDX-License-Identifier: Apache-2.0 */
#include "http/route.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define JSON "application/json"
#define TEXT "text/plain; charset=utf-8"

static const struct route routes[] = {
	{"GET", "/status", JSON, .command = {"status", "--json"}},
	{"GET", "/jvms", JSON, .command = {"status", "--json", "--jvms"}},
	{"GET", "/metrics", "text/plain; version=0.0.4; charset=utf-8",
	 .command = {"status", "--metrics"}},
	{"GET", "/dump", "application/octet-stream", .file = "gnomon.jfr", .of_jvm = true,
	 .heavy = true, .command = {"dump", "--output=-", "--format=jfr"},
	 .params = {{"jvm"}, {"last", "--last"}, {"from", "--from"}, {"to", "--to"}}},
	{"GET", "/flame", "text/html; charset=utf-8", .of_jvm = true, .heavy = true,
	 .command = {"dump", "--output=-", "--format=html"},
	 .params = {{"jvm"}, {"last", "--last"}, {"from", "--from"}, {"to", "--to"}}},
	{"POST", "/start", TEXT, .of_jvm = true, .command = {"start"},
	 .params = {{"jvm", NULL, true}}},
	{"POST", "/stop", TEXT, .of_jvm = true, .command = {"stop"},
	 .params = {{"jvm", NULL, true}}},
	{"POST", "/set", TEXT, .of_jvm = true, .command = {"set"},
	 .params = {{"jvm", NULL, true},
		    {"cpu", "--cpu"},
		    {"wall", "--wall"},
		    {"for", "--for"},
		    {"no-cpu", "--no-cpu", .flag = true},
		    {"no-wall", "--no-wall", .flag = true},
		    {"usual", "--usual", .flag = true}}},
};
#define ROUTES (sizeof(routes) / sizeof(routes[0]))

int route_find(const char *method, const char *path, const struct route **out)
{
	int status = 404;

	if (!strcmp(method, "HEAD"))
		method = "GET";
	for (size_t i = 0; i < ROUTES; i++) {
		if (strcmp(routes[i].path, path))
			continue;
		status = 405;
		if (strcmp(routes[i].method, method))
			continue;
		*out = &routes[i];
		return 0;
	}
	return status;
}

static void argument(struct route_call *call, const char *text)
{
	call->argv[call->argc++] = (char *)text;
}

void route_begin(struct route_call *call, const struct route *route, const char *socket)
{
	*call = (struct route_call){.route = route};
	argument(call, "gnomon");
	for (size_t i = 0; i < sizeof(route->command) / sizeof(route->command[0]); i++)
		if (route->command[i])
			argument(call, route->command[i]);
	argument(call, "--socket");
	argument(call, socket);
}

/* What a person, a log or a file name could stumble over is in none of what may be asked. */
static bool is_value(const char *value, size_t len)
{
	if (!len || len > ROUTE_VALUE_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)value[i] < ' ' || value[i] == 0x7f)
			return false;
	return true;
}

static const struct route_param *param_find(const struct route *r, const char *name, size_t len,
					    unsigned int *at)
{
	for (*at = 0; *at < ROUTE_PARAMS && r->params[*at].name; ++*at)
		if (strlen(r->params[*at].name) == len && !memcmp(r->params[*at].name, name, len))
			return &r->params[*at];
	return NULL;
}

static int param_unknown(const struct route *r, const char *name, size_t len, struct error *e)
{
	char shown[64], known[128] = "";
	size_t n = len < sizeof(shown) - 1 ? len : sizeof(shown) - 1;

	memcpy(shown, name, n);
	shown[n] = '\0';
	utf8_clean(shown, n, false);
	for (unsigned int i = 0; i < ROUTE_PARAMS && r->params[i].name; i++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 i ? ", " : "", r->params[i].name);
	error_set(e, -EINVAL, EXIT_USAGE, "%s has no parameter '%s'", r->path, shown);
	return error_hint(e, known[0] ? "it has: %s" : "it has none%s", known);
}

/* -EINVAL: it is neither yes nor no. */
static int flag_param(struct route_call *call, const struct route_param *p, const char *value,
		      size_t len, struct error *e)
{
	if (len == 3 && !memcmp(value, "yes", 3))
		argument(call, p->option);
	else if (len != 2 || memcmp(value, "no", 2))
		return error_set(e, -EINVAL, EXIT_USAGE, "'%s' is yes or no", p->name);
	return 0;
}

int route_param(struct route_call *call, const char *name, size_t name_len, const char *value,
		size_t value_len, struct error *e)
{
	unsigned int i;
	const struct route_param *p = param_find(call->route, name, name_len, &i);
	char *text;

	if (!p)
		return param_unknown(call->route, name, name_len, e);
	if (call->seen & 1u << i)
		return error_set(e, -EINVAL, EXIT_USAGE, "'%s' is given twice", p->name);
	if (!is_value(value, value_len))
		return error_set(e, -EINVAL, EXIT_USAGE, "'%s' has no value that could be one",
				 p->name);
	call->seen |= 1u << i;
	if (p->flag)
		return flag_param(call, p, value, value_len, e);
	text = call->text[i];
	snprintf(text, sizeof(call->text[i]), "%s%s%.*s", p->option ? p->option : "",
		 p->option ? "=" : "", (int)value_len, value);
	if (p->option)
		argument(call, text);
	else
		call->operand = text;
	return 0;
}

int route_end(struct route_call *call, struct error *e)
{
	const struct route *r = call->route;

	for (unsigned int i = 0; i < ROUTE_PARAMS && r->params[i].name; i++)
		if (r->params[i].needed && !(call->seen & 1u << i))
			return error_set(e, -EINVAL, EXIT_USAGE, "%s wants a parameter '%s'",
					 r->path, r->params[i].name);
	if (call->operand) {
		argument(call, "--");
		argument(call, call->operand);
	}
	call->argv[call->argc] = NULL;
	return 0;
}

int route_status(const struct route *route, int exit_code)
{
	switch (exit_code) {
	case EXIT_OK:
		return 200;
	case EXIT_USAGE:
		return 400;
	case EXIT_TARGET:
		return route->of_jvm ? 404 : 503;
	case EXIT_INPUT: /* nothing of that time */
		return 404;
	case EXIT_PERMISSION: /* the daemon does not listen to us */
		return 503;
	default:
		return 500;
	}
}
