/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long recordings of a directory are kept that goes on and on: DIR/JVM/TIME.jfr
 * (jfr/segment.h). The oldest go first, and never one that is being written, which its writer has
 * locked. Files and directories of other names are somebody else's, and never touched; symbolic
 * links never followed.
 */
#ifndef GNOMON_RUN_RETENTION_H
#define GNOMON_RUN_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "run/age.h"

struct retention_policy {
	uint64_t age_max_ns;	  /* since a file was written last; 0: any */
	uint64_t jvm_max_bytes;	  /* of the files of one JVM; 0: any */
	uint64_t total_max_bytes; /* of all; 0: any */
	uint64_t free_min_bytes;  /* of the file system for whoever is not root; 0: none */
};

struct retention_file {
	uint32_t jvm;	     /* files of one JVM have one number */
	uint64_t age_ns;     /* since it was written last (run/age.h) */
	uint64_t written_ns; /* when that was, since 1970: tells files of one age apart */
	uint64_t bytes;	     /* that it takes on the disk */
	bool open;	     /* it is being written, and stays */
	bool goes;	     /* retention_plan() says so */
};

/* Pure: which of the files go, of which none has to be sorted. -ENOMEM: none of them. */
int retention_plan(const struct retention_policy *p, struct retention_file *v, size_t n,
		   uint64_t free_bytes);

struct retention_look {
	uint64_t files, bytes; /* that stay */
	uint64_t removed, removed_bytes;
	uint64_t free_bytes;
	uint64_t jvms; /* directories */
};

/* Is told what stays in each directory. */
struct retention_tell {
	void (*jvm)(void *ctx, const char *name, uint64_t bytes);
	void *ctx;
};

/*
 * Looks at the directory and removes what goes, and directories in which nothing is left. 0, or the
 * first negative errno, of which *e says more; what could be done was done. `tell` may be NULL.
 */
int retention_apply(const struct retention_policy *p, const struct age_clock *clock,
		    const char *dir, const struct retention_tell *tell, struct retention_look *out,
		    struct error *e);

/* When the directory is looked at again; all zero: now. */
struct retention_pace {
	uint64_t next_ns; /* not before this, */
	uint64_t soon_ns; /* or this, where less is free than is to be */
};

/* Pure: after a look that began and ended then. One that took long is not repeated soon. */
void retention_paced(struct retention_pace *p, uint64_t began_ns, uint64_t ended_ns);
bool retention_is_due(const struct retention_pace *p, uint64_t now_ns,
		      const struct retention_policy *policy, uint64_t free_bytes);

/* Tells what the file system of `dir` has left for whoever is not root. 0 or -errno. */
int retention_free(const char *dir, uint64_t *bytes);

#endif
