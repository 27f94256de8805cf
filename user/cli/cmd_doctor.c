/* SPDX-License-Identifier: Apache-2.0 */
/* gnomon doctor: what will work here, what will not, and what to do about it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/cmds.h"
#include "cli/doctor.h"
#include "cli/pushing.h"

static bool as_json;
static bool no_jvms;
static struct pushing to = PUSHING_INIT;

static const struct opt options[] = {
	{.type = OPT_FLAG, .name = "json", .help = "print JSON", .value = &as_json},
	{.type = OPT_FLAG,
	 .name = "host-only",
	 .help = "do not look at the JVMs that run",
	 .value = &no_jvms},
	{OPT_STRING, 0, "to", "URL",
	 "only ask a server whether it takes profiles: http://HOST:4040, otlp+http://HOST:4318",
	 &to.url},
	PUSHING_OPTS(to),
	{.type = OPT_END},
};

static const struct {
	const char *word, *json, *color;
} looks[] = {
	[CHECK_OK] = {"ok", "ok", "\033[32m"},
	[CHECK_DEGRADED] = {"degraded", "degraded", "\033[33m"},
	[CHECK_MISSING] = {"missing", "missing", "\033[31m"},
	[CHECK_UNKNOWN] = {"unknown", "unknown", "\033[36m"},
};

static bool use_color(void)
{
	const char *no = getenv("NO_COLOR"); /* no-color.org: present and not empty */

	return isatty(STDOUT_FILENO) && !(no && no[0]);
}

/*
 * Missing privileges come first: as long as they are, what the kernel lacks is not known. The
 * remaining order is that of the checks.
 */
static enum exit_code verdict(const struct doctor *d)
{
	enum exit_code code = EXIT_OK;

	for (size_t i = 0; i < d->n; i++) {
		if (d->v[i].status != CHECK_MISSING || d->v[i].fatal == EXIT_OK)
			continue;
		if (d->v[i].fatal == EXIT_PERMISSION)
			return EXIT_PERMISSION;
		if (code == EXIT_OK)
			code = d->v[i].fatal;
	}
	return code;
}

/* One remedy for several checks in a row is given once, after the last. */
static void check_print(const struct check *c, const struct check *next, bool color)
{
	char value[sizeof(c->value)];

	utf8_printable(c->value, value, sizeof(value));
	printf("  %s%-8s%s  %-26s  %s\n", color ? looks[c->status].color : "",
	       looks[c->status].word, color ? "\033[0m" : "", c->name, value);
	if (c->remedy[0] && !(next && next->group == c->group && !strcmp(next->remedy, c->remedy)))
		printf("  %-8s  %-26s  -> %s\n", "", "", c->remedy);
}

static void summary_print(const struct doctor *d, enum exit_code code)
{
	size_t n[CHECK_UNKNOWN + 1] = {0};

	for (size_t i = 0; i < d->n; i++)
		n[d->v[i].status]++;
	if (to.url)
		printf("\n%s\n", code == EXIT_OK ? "profiles can be sent there"
						 : "profiles cannot be sent there");
	else
		printf("\n%s: %zu ok, %zu degraded, %zu missing, %zu unknown\n",
		       code == EXIT_OK		 ? "a recording can work"
		       : code == EXIT_PERMISSION ? "a recording needs more privileges"
						 : "a recording cannot work with this kernel",
		       n[CHECK_OK], n[CHECK_DEGRADED], n[CHECK_MISSING], n[CHECK_UNKNOWN]);
}

static void print_text(const struct doctor *d, enum exit_code code)
{
	bool color = use_color();
	const char *group = NULL;
	char title[512];

	for (size_t i = 0; i < d->n; i++) {
		if (d->v[i].group != group) {
			utf8_printable(d->v[i].group, title, sizeof(title));
			printf("%s%s\n", group ? "\n" : "", title);
		}
		group = d->v[i].group;
		check_print(&d->v[i], i + 1 < d->n ? &d->v[i + 1] : NULL, color);
	}
	summary_print(d, code);
}

static void print_json(const struct doctor *d, enum exit_code code)
{
	struct json j;

	json_begin(&j, stdout);
	json_open(&j, NULL, '{');
	json_bool(&j, to.url ? "can_push" : "can_record", code == EXIT_OK);
	json_number(&j, "exit_code", (uint64_t)code);
	json_open(&j, "checks", '[');
	for (size_t i = 0; i < d->n; i++) {
		json_open(&j, NULL, '{');
		json_string(&j, "group", d->v[i].group);
		json_string(&j, "name", d->v[i].name);
		json_string(&j, "status", looks[d->v[i].status].json);
		json_string(&j, "value", d->v[i].value);
		json_string(&j, "remedy", d->v[i].remedy);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	json_end(&j);
}

static void host_look(struct doctor *d)
{
	doctor_kernel(d);
	doctor_privileges(d);
	doctor_surroundings(d);
	doctor_bpf(d);
	if (!no_jvms)
		doctor_jvms(d);
}

static int run(int argc, char **argv, struct error *e)
{
	struct doctor d = {0};
	enum exit_code code;

	if (argc > 0) {
		error_set(e, -EINVAL, EXIT_USAGE, "unexpected argument '%s'", argv[0]);
		return EXIT_USAGE;
	}
	if (!to.url)
		host_look(&d);
	else if (doctor_server(&d, &to, e))
		return (int)e->exit;
	code = verdict(&d);
	if (d.failed) {
		error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
		code = EXIT_INTERNAL;
	} else if (as_json) {
		print_json(&d, code);
	} else {
		print_text(&d, code);
	}
	doctor_free(&d);
	return (int)code;
}

const struct command cmd_doctor = {
	.name = "doctor",
	.summary = "say what will work on this host and what to do about the rest",
	.usage = "doctor [--json] [--host-only]\n"
		 "       gnomon doctor --to URL [--json]",
	.opts = options,
	.notes = "What record takes of the kernel is tried, as record itself does, and never "
		 "guessed from\n"
		 "its version. Exit code 0: a recording can work; 4: privileges are missing; 5: "
		 "the\n"
		 "kernel lacks something.\n\n"
		 "With --to nothing of this host is tried: an empty profile is sent, and what the "
		 "server\n"
		 "says to it is told. Exit code 6: it does not take profiles.\n",
	.examples = "  sudo gnomon doctor\n"
		    "  gnomon doctor --to http://pyroscope:4040\n"
		    "  gnomon doctor --json | jq '.checks[] | select(.status != \"ok\")'\n",
	.run = run,
	.looks = true,
};
