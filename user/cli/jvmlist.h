/* SPDX-License-Identifier: Apache-2.0 */
/* JVMs of a running daemon, as arguments of commands name them. */
#ifndef GNOMON_CLI_JVMLIST_H
#define GNOMON_CLI_JVMLIST_H

#include "cli/opt.h"
#include "run/control.h"

/* clang-format off */
#define SOCKET_OPT(path)                                                                           \
	{OPT_STRING, 0, "socket", "PATH", "where the daemon listens (default " CONTROL_PATH ")", &(path)}
/* clang-format on */

/*
 * Keeps those of a->jvms that `arg` means: a process id, or a name, with * and ? a pattern; NULL
 * means all. EXIT_TARGET where there is none.
 */
int jvmlist_choose(struct control_answer *a, const char *arg, struct error *e);

/* The same, but EXIT_USAGE where it is not one alone. */
int jvmlist_one(struct control_answer *a, const char *arg, struct error *e);

/* "a CPU sample each 10 ms, no wall samples": how often it is sampled, to stdout. */
void jvmlist_rate(const struct control_jvm *j);

#endif
