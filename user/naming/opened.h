/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a recording that naming writes and has not told the end of, as the session keeps
 * them: who made them, opens them once and closes them where naming was lost.
 */
#ifndef GNOMON_NAMING_OPENED_H
#define GNOMON_NAMING_OPENED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "model/totals.h"
#include "naming/records.h"

struct opened {
	uint32_t serial;
	pid_t tgid;
	uint32_t uid; /* its user, or GRANTS_ANY (broker/grants.h) */
	int fd;	      /* ours; -1: of a directory */
	char *path;
	uint64_t start_ns;	  /* CLOCK_MONOTONIC, when it began to be recorded; 0: not yet */
	bool added;		  /* naming has it */
	bool waits;		  /* it is to be handed over once more */
	bool ending;		  /* its process has ended, as naming was told */
	uint32_t resumed;	  /* so many processes that had it were lost */
	uint32_t blamed;	  /* so many of them at it */
	bool untried;		  /* it is not to be looked into any more */
	struct rec_choice choice; /* the last one; size 0: none */
	struct rec_rate rate;	  /* likewise */
	struct totals totals;	  /* as naming told them last */
	bool told;		  /* it has */
	struct opened *next;
};

struct opened_list {
	struct opened *first;
	uint32_t serial;
};

/* Makes the file; `path` is a directory where `segments`, and nothing is made. */
int opened_new(struct opened_list *l, pid_t tgid, const char *path, bool overwrite, bool segments,
	       struct opened **out, struct error *e);
struct opened *opened_find(const struct opened_list *l, uint32_t serial);
struct opened *opened_of(const struct opened_list *l, pid_t tgid);

void opened_drop(struct opened_list *l, struct opened *o);   /* the file stays */
void opened_remove(struct opened_list *l, struct opened *o); /* with the file */

/* So many CPU samples and wall ticks were lost with naming, of this target or another one. */
struct opened_loss {
	uint64_t cpu, wall, time_ns;
};
struct jfrw_form;

/*
 * Ends the file where naming was lost: what is whole of it stays, and says what is missing; of
 * segments one more does. 0 or a negative errno.
 */
int opened_close(const struct opened *o, const struct jfrw_form *form,
		 const struct opened_loss *lost, struct error *e);

#endif
