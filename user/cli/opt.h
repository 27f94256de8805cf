/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option tables: one per command, from which parsing, --help and shell completion
 * all come. A command is one file user/cli/cmd_NAME.c with one `const struct command cmd_NAME`.
 */
#ifndef GNOMON_CLI_OPT_H
#define GNOMON_CLI_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

enum opt_type {
	OPT_END = 0,
	OPT_FLAG,     /* bool */
	OPT_STRING,   /* const char * */
	OPT_DURATION, /* uint64_t nanoseconds; "10ms", "2s", "1m"; a unit is required but for `bare`
		       */
	OPT_COUNT,    /* uint64_t, plain decimal */
	OPT_SIZE,     /* uint64_t bytes; "64k", "12m", "1g", or plain bytes */
	OPT_PID,      /* pid_t, positive */
	OPT_LIST,     /* struct opt_list, may be given several times */
	OPT_ENUM,     /* int, index into `choices` */
	OPT_INSTANT,  /* struct instant (cli/instant.h) */
};

#define OPTS_MOST 64 /* of a command: which were given is a bit each */

struct opt_list {
	const char **v;
	size_t n;
};

struct opt {
	enum opt_type type;
	char letter;		 /* 'p' for -p, 0 if none */
	const char *name;	 /* "pid" for --pid */
	const char *arg;	 /* what --help calls the value: "PID"; NULL for flags */
	const char *help;	 /* one line, lower case, no full stop */
	void *value;		 /* where it goes; the default is what is there before parsing */
	const char *choices[16]; /* OPT_ENUM, NULL ended */
	uint64_t min, max;	 /* numbers: inclusive bounds; both 0 = none */
	bool bare;		 /* OPT_DURATION: a number without a unit is of seconds */
	bool once;		 /* given twice it is an error, not the later one */
};

enum operand { TAKES_NOTHING, TAKES_RECORDINGS, TAKES_PID, TAKES_COMMAND, TAKES_SHELL };

struct command {
	const char *name;
	const char *summary;  /* one line for `gnomon help` */
	const char *usage;    /* "record -p PID [options]" without "gnomon " */
	const char *examples; /* several lines, indented two spaces */
	const char *notes;    /* paragraphs for --help, may be NULL */
	const struct opt *opts;
	/*
	 * Runs with what is left after the options. Returns an exit code; where that is not
	 * EXIT_OK, e->msg says why (main() prints it) unless it is empty.
	 */
	int (*run)(int argc, char **argv, struct error *e);
	enum operand takes; /* what the arguments are, for completion */
	bool looks;	    /* into other processes */
	bool takes_program; /* what follows "--" is a program's: "--" stays among the arguments */
};

/*
 * Parse argv[1..] against the table. Returns the index of the first argument that is left
 * (arguments are permuted, "--" ends the options), or a negative errno with e filled in
 * (EXIT_USAGE). --help is handled by the caller before.
 */
int opt_parse(const struct command *cmd, int argc, char **argv, struct error *e);

/*
 * The option of that long name set to a value, as a configuration file has it; a flag's is yes or
 * no. -ENOENT (and nothing in *e) where there is none; EXIT_USAGE where the value is bad.
 */
int opt_assign(const struct opt *opts, const char *name, const char *value, struct error *e);

/* Is --help or -h among the options, whatever else is wrong with them? Not behind "--". */
bool opt_help_wanted(int argc, char *const *argv);

void opt_help(const struct command *cmd);

/* user/cli/commands.c */
extern const struct command *const commands[]; /* NULL ended */
const struct command *command_find(const char *name);
/* The command that was probably meant, NULL if none is near. */
const char *command_near(const char *name);
void commands_help(FILE *to);

#endif
