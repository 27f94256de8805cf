/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmds.h"

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
	if (c)
		opt_help(c);
	else
		commands_help(stdout);
	return EXIT_OK;
}

const struct command cmd_help = {
	.name = "help",
	.summary = "say what the commands do, or one of them",
	.usage = "help [COMMAND]",
	.opts = (const struct opt[]){{0}},
	.notes = "The same as 'gnomon COMMAND --help'. The manual pages, which 'make install' puts "
		 "where\nman looks for them, say more: man gnomon-record.\n",
	.examples = "  gnomon help record\n",
	.takes = TAKES_COMMAND,
	.run = run,
};
