/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion scripts for shells, from the option tables: commands, options, the choices of options
 * that have them, JVMs for those that take a pid, recordings for commands that take these.
 */
#ifndef GNOMON_CLI_COMPLETE_H
#define GNOMON_CLI_COMPLETE_H

#include <stdio.h>

void complete_bash(FILE *f);
void complete_zsh(FILE *f);

#endif
