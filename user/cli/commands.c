/* SPDX-License-Identifier: Apache-2.0 */
/* The command table: one line per command, in the order `gnomon help` shows them. */
#include "cli/cmds.h"

const struct command *const commands[] = {
	&cmd_record, &cmd_jvms,	  &cmd_doctor,	&cmd_render, &cmd_summary,
	&cmd_diff,   &cmd_repair, &cmd_perfmap, NULL,
};
