/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmds.h"
#include "cli/complete.h"

static int run(int argc, char **argv, struct error *e)
{
	if (argc == 1 && !strcmp(argv[0], "bash")) {
		complete_bash(stdout);
	} else if (argc == 1 && !strcmp(argv[0], "zsh")) {
		complete_zsh(stdout);
	} else {
		if (argc == 1)
			error_set(e, -EINVAL, EXIT_USAGE, "no completion for '%s'", argv[0]);
		else
			error_set(e, -EINVAL, EXIT_USAGE, "one shell, got %d", argc);
		error_hint(e, "there is bash and zsh");
		return EXIT_USAGE;
	}
	return EXIT_OK;
}

const struct command cmd_completion = {
	.name = "completion",
	.summary = "print the completion script for a shell",
	.usage = "completion bash|zsh",
	.opts = (const struct opt[]){{0}},
	.notes = "Completes commands, options, their values, JVMs and recordings. 'make install' "
		 "puts\n"
		 "the scripts where the shells look for them.\n",
	.examples = "  source <(gnomon completion bash)\n"
		    "  gnomon completion zsh >\"${fpath[1]}/_gnomon\"\n",
	.takes = TAKES_SHELL,
	.run = run,
};
