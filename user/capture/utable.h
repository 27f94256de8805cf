/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the unwinder's maps hold: files' tables as pages, the rule dictionary shared by all files,
 * and per process the list of its executable mappings. This module decides numbers, contents and
 * order of publication; where they go is the sink's business (BPF maps in capture/unwinder.c,
 * memory in tests).
 *
 * Order: a rule is written before a page that names it, a file before a process list that names it.
 * A file that no list names any more keeps its number for UTABLE_GRACE_NS, since a walk may still
 * hold the old list; then utable_reap() drops it, and the rules that only it had. Not thread safe.
 *
 * Targets choose how large their files' tables are: one file gets UTABLE_FILE_RULES rules, all of
 * them together so many bytes. And a target gets UTABLE_SHARE of the rules and bytes that others
 * leave, so that each that comes finds some. What is refused is counted.
 */
#ifndef GNOMON_CAPTURE_UTABLE_H
#define GNOMON_CAPTURE_UTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/unwinder.h"

#define UTABLE_GRACE_NS 2000000000ULL

#define UTABLE_SHARE	  1 / 4
#define UTABLE_FILE_RULES 2048 /* LLVM's library has 1,250, libc 360, libjvm 80 */

/* All return 0 or a negative errno. Files come by their place, UW_FILE_SLOT() of their number. */
struct utable_sink {
	void *ctx;
	uint64_t max_bytes; /* of pages, 0: UNWIND_MAX_BYTES */
	int (*rule)(void *ctx, uint32_t id, const struct uw_rule *rule);
	int (*file)(void *ctx, uint32_t slot, const struct uw_page *pages, uint32_t n);
	int (*file_drop)(void *ctx, uint32_t slot);
	int (*proc)(void *ctx, uint32_t tgid, const struct uw_proc *proc);
	int (*proc_drop)(void *ctx, uint32_t tgid);
};

struct utable_stats {
	uint32_t files, procs, rules;
	uint64_t pages;		/* of sizeof(struct uw_page) bytes */
	uint32_t rules_refused; /* over their file's share or the target's, or the dictionary was
				   full */
	uint32_t maps_refused;	/* mappings over UW_MAX_MAPS or overlapping */
	uint32_t files_refused; /* that were too large for what room there was */
};

struct utable;

int utable_new(struct utable **out, const struct utable_sink *sink); /* writes rules 0 and 1 */
void utable_free(struct utable *u); /* the sink's maps are left as they are */

/*
 * Number of the file known under this key (what tells its content), UNWIND_NO_FILE if there
 * is none. A number stays valid until the next utable_reap() unless a process names it.
 */
uint32_t utable_file_find(struct utable *u, const void *key, size_t len);

/*
 * To which process the files count that are added from now on. 0, as at first: to none, and there
 * is no share. A file that others map, too, stays that process's.
 */
void utable_owner(struct utable *u, uint32_t tgid);

/*
 * Publish a file's rows. 0, -EINVAL, -ENOSPC (too many files, or too large for the room left),
 * -E2BIG, -ENOMEM or the sink's error.
 */
int utable_file_add(struct utable *u, const void *key, size_t len, const struct unwind_table *rows,
		    uint32_t *file);

/*
 * Publish what tgid has mapped, replacing what it had. The array is changed; mappings that overlap
 * an earlier one, are empty or beyond user space are left out (and counted), and those of
 * UW_MAP_FP, which are walked like what is not there. Of more than UW_MAX_MAPS the files' lowest go
 * first: the loader maps libraries from the top down.
 */
int utable_proc_set(struct utable *u, uint32_t tgid, struct unwind_mapping *v, size_t n,
		    uint64_t now_ns);
/* Returns a number that tells one list of mappings from another; 0 when it has none. */
uint64_t utable_proc_sum(struct utable *u, uint32_t tgid);

int utable_proc_drop(struct utable *u, uint32_t tgid, uint64_t now_ns);

/* Drop files that nobody has named for UTABLE_GRACE_NS. Call it every now and then. */
int utable_reap(struct utable *u, uint64_t now_ns);
bool utable_has_idle(const struct utable *u); /* some that nobody names: they wait for a reap */

struct utable_stats utable_stats(const struct utable *u);

/* Pages for the rows: *pages is malloc'ed. What utable_file_add() gives to the sink, for tests. */
int utable_pages(const struct unwind_row *rows, size_t n, struct uw_page **pages, uint32_t *npages);

#endif
