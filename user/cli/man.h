/* SPDX-License-Identifier: Apache-2.0 */
/* Manual pages, section 1, from the option tables: man(7) macros, for groff and mandoc alike. */
#ifndef GNOMON_CLI_MAN_H
#define GNOMON_CLI_MAN_H

#include <stdio.h>

#include "cli/opt.h"

/* gnomon-NAME(1) */
void man_command(const struct command *c, FILE *f);

/* gnomon(1): the commands, the exit codes */
void man_overview(FILE *f);

#endif
