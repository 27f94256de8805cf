/* SPDX-License-Identifier: Apache-2.0 */
/* The command table: one line per command, in the order `gnomon help` shows them. */
#include <string.h>

#include "cli/cmds.h"
#include "cli/suggestion.h"

const struct command *const commands[] = {
	&cmd_record,	 &cmd_daemon,	&cmd_status, &cmd_dump,	  &cmd_start,  &cmd_stop,
	&cmd_set,	 &cmd_flame,	&cmd_jvms,   &cmd_vitals, &cmd_doctor, &cmd_render,
	&cmd_summary,	 &cmd_requests, &cmd_diff,   &cmd_repair, &cmd_push,   &cmd_perfmap,
	&cmd_completion, &cmd_help,	NULL,
};

const struct command *command_find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

/* What other profilers call it. */
static const struct {
	const char *word, *command;
} elsewhere[] = {
	{"profile", "record"}, {"collect", "record"},	{"attach", "record"}, {"list", "jvms"},
	{"ps", "jvms"},	       {"jps", "jvms"},		{"report", "render"}, {"view", "render"},
	{"convert", "render"}, {"script", "render"},	{"load", "render"},   {"info", "summary"},
	{"stat", "summary"},   {"flamegraph", "flame"}, {"top", "status"},    {"compare", "diff"},
	{"fix", "repair"},     {"version", "-V"},	{"send", "push"},     {"upload", "push"},
};

const char *command_near(const char *name)
{
	struct suggestion near = {.word = name, .len = strlen(name)};

	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		if (!strcmp(elsewhere[i].word, name))
			return elsewhere[i].command;
	for (const struct command *const *c = commands; *c; c++)
		suggestion_offer(&near, (*c)->name);
	return near.best;
}

void commands_help(FILE *to)
{
	fprintf(to, "usage: gnomon COMMAND [options]\n\n"
		    "A kernel-assisted profiler for JVMs: CPU and wall clock in one recording.\n\n"
		    "Commands:\n");
	for (const struct command *const *c = commands; *c; c++)
		fprintf(to, "  %-12s %s\n", (*c)->name, (*c)->summary);
	fprintf(to, "\n`gnomon COMMAND --help` tells more, and its manual page most. Before the "
		    "command -v "
		    "says what\nhappens, -vv also how, and -vvv how each stack came. -V tells "
		    "which build "
		    "this is.\n");
}
