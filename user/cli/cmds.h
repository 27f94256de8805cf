/* SPDX-License-Identifier: Apache-2.0 */
/* Every command of the binary; each is defined in user/cli/cmd_NAME.c. */
#ifndef GNOMON_CLI_CMDS_H
#define GNOMON_CLI_CMDS_H

#include "cli/opt.h"

extern const struct command cmd_record;
extern const struct command cmd_daemon;
extern const struct command cmd_status;
extern const struct command cmd_dump;
extern const struct command cmd_start;
extern const struct command cmd_stop;
extern const struct command cmd_set;
extern const struct command cmd_flame;
extern const struct command cmd_jvms;
extern const struct command cmd_doctor;
extern const struct command cmd_render;
extern const struct command cmd_summary;
extern const struct command cmd_requests;
extern const struct command cmd_diff;
extern const struct command cmd_repair;
extern const struct command cmd_push;
extern const struct command cmd_vitals;
extern const struct command cmd_perfmap;
extern const struct command cmd_completion;
extern const struct command cmd_help;

#endif
