/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording is asked for on the command line, and its way from there: which JVMs, which
 * files, and rendering where the output is not JFR.
 */
#ifndef GNOMON_CLI_RECORDING_H
#define GNOMON_CLI_RECORDING_H

#include "cli/rendering.h"
#include "run/session.h"
#include "target/select.h"

struct recording {
	struct select_spec select;
	char *const *argv;  /* a program to start instead; NULL: none */
	const char *output; /* NULL: a name of its own in the current directory */
	int format;	    /* enum format; -1: by the output's name, else JFR */
	bool keep;	    /* keep the JFR file of what is rendered, beside it */
	struct session_config cfg;
	struct rendering render;
	char made[1024]; /* what recording_run() wrote, if it is one file; else "" */
};

/*
 * A JVM by its pid or its name, as an argument has it, beside what options say. EXIT_USAGE where
 * there are two.
 */
int recording_target(struct recording *r, const char *arg, struct error *e);

/* Returns an exit code: where it is not EXIT_OK, e->msg says why, or a program's own is empty. */
int recording_run(struct recording *r, struct error *e);

#endif
