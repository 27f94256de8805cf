/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of output files: what -o gives is a file, a directory, or a pattern with %p (pid), %n
 * (main class or jar, its last part), %c (container, or "host"), %t (when it began) and %% in it.
 * Pure but for outname_read(), outname_time() and outname_start().
 */
#ifndef GNOMON_CLI_OUTNAME_H
#define GNOMON_CLI_OUTNAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define OUTNAME_LEN 1024

struct outname {
	char pattern[OUTNAME_LEN];
	bool fixed;  /* always the same name */
	bool unique; /* has the pid in it: two JVMs never share a name at one time */
};

/*
 * A directory (one that exists, or anything that ends in '/') means DIR/%n-%p.jfr. EXIT_USAGE for
 * an unknown % sequence and for what is too long.
 */
int outname_read(struct outname *out, const char *output, struct error *e);

struct outname_facts {
	pid_t pid;
	const char *main;      /* class, module or jar as the command line has it; "" unknown */
	const char *container; /* label; "" none */
	const char *time;      /* as outname_time() has it */
};

#define OUTNAME_TIME_LEN 20

/* Now, in local time: "20261123-014500". */
void outname_time(char *to);

/*
 * Writes when a process started, as the kernel has it (struct proc_id), in UTC: "20261123T014500Z".
 * It is the same each time, unless the clock of the machine was set meanwhile.
 */
void outname_start(uint64_t start_ticks, char *to);

/*
 * The facts are the target's own words: of each only letters, digits and "._-" are taken, other
 * bytes become '_', so that no name leads to another directory. again > 0 puts "-again" before the
 * suffix, for a name that is taken. 0 or -ENAMETOOLONG.
 */
int outname_make(const struct outname *o, const struct outname_facts *f, unsigned int again,
		 char *path, size_t cap);

#endif
