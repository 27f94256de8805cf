/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors: functions return 0 or a negative errno and, where a person will read it, fill a
 * struct error. Only main() prints it. Messages are lower case, name the thing in quotes and have
 * no full stop; the hint says what to do about it.
 */
#ifndef GNOMON_BASE_ERROR_H
#define GNOMON_BASE_ERROR_H

/* Exit codes of every command: documented in README.md and the man pages, never renumbered. */
enum exit_code {
	EXIT_OK = 0,
	EXIT_INTERNAL = 1, /* unexpected: a bug or resource exhaustion */
	EXIT_USAGE = 2,	   /* bad option or argument */
	EXIT_TARGET = 3, /* no such process, not a JVM, target ended before anything was recorded */
	EXIT_PERMISSION = 4, /* root or a capability is missing */
	EXIT_KERNEL = 5,     /* the kernel lacks something that cannot be done without */
	EXIT_OUTPUT = 6,     /* output exists, cannot be written, disk full */
	EXIT_INPUT = 7,	     /* an input file is damaged or of another kind */
};

struct error {
	int rc;		     /* negative errno */
	enum exit_code exit; /* what main() exits with */
	char msg[512];
	char hint[256]; /* "" if none */
};

/*
 * Fill *e (which may be NULL) and return rc, so that `return error_set(...)` reads well. Of -EMFILE
 * the hint is known, and EXIT_INTERNAL becomes EXIT_KERNEL.
 */
int error_set(struct error *e, int rc, enum exit_code exit, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Add or replace the hint; returns e->rc, -ECANCELED where e is NULL: it is a failure all the same.
 */
int error_hint(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A file that could not be created, with what to do about it: EXIT_OUTPUT; returns -err. */
int error_create(struct error *e, const char *path, int err);

/* Print "gnomon: msg" and "  hint" to stderr. */
void error_print(const struct error *e);

#endif
