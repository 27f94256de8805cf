/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmds.h"
#include "cli/man.h"

static bool man;

static const struct opt opts[] = {
	{OPT_FLAG, 0, "man", NULL, "print the manual page, for man -l -", &man},
	{OPT_END},
};

static int run(int argc, char **argv, struct error *e)
{
	const struct command *c = argc ? command_find(argv[0]) : NULL;

	if (argc > 1) {
		error_set(e, -EINVAL, EXIT_USAGE, "one command at a time, got %d", argc);
		return EXIT_USAGE;
	}
	if (argc && !c) {
		error_set(e, -EINVAL, EXIT_USAGE, "unknown command '%s'", argv[0]);
		error_hint(e, "see: gnomon help");
		return EXIT_USAGE;
	}
	if (man && c)
		man_command(c, stdout);
	else if (man)
		man_overview(stdout);
	else if (c)
		opt_help(c);
	else
		commands_help(stdout);
	return EXIT_OK;
}

const struct command cmd_help = {
	.name = "help",
	.summary = "say what the commands do, or one of them",
	.usage = "help [--man] [COMMAND]",
	.opts = opts,
	.notes = "The same as 'gnomon COMMAND --help'. 'make install' puts the manual pages where "
		 "man\n"
		 "looks for them.\n",
	.examples = "  gnomon help record\n"
		    "  gnomon help --man record | man -l -\n",
	.takes = TAKES_COMMAND,
	.run = run,
};
