/* SPDX-License-Identifier: Apache-2.0 */
/* Building a profile: shared by profile*.c only. */
#ifndef GNOMON_OUT_PROFILE_INT_H
#define GNOMON_OUT_PROFILE_INT_H

#include "out/profile.h"

/* Hash of numbers into an array whose elements hold the keys themselves: 8 bytes a slot. */
struct index32 {
	uint64_t *slots; /* 32 bits of the key's hash, then the number + 1 */
	size_t cap, n;
};

struct prof_index {
	struct index32 frames, nodes, threads, cells;
	size_t frames_cap, nodes_cap, threads_cap, cells_cap, times_cap, states_cap, counts_cap,
		links_cap;
	struct idmap links; /* of their names */
	size_t times_most;  /* before they are made fewer; 0: the usual number */
	uint64_t times_bin_ns;
	struct buffer text; /* scratch */
	struct idle_rules *idle;
};

enum match {
	MATCH_INCLUDE = 1,
	MATCH_EXCLUDE = 2,
	MATCH_FOCUS = 4,
	MATCH_HIDE = 8,
	MATCH_IDLE = 16, /* a rule for idle threads begins with it */
};

/* The root, which is the first node and has the first frame. -ENOMEM is the only failure. */
int profile_root(struct profile *p);

/* Each returns the number of the element, added when new; NODE_NONE when out of memory. */
uint32_t profile_frame(struct profile *p, uint32_t name, uint8_t type);
uint32_t profile_node(struct profile *p, uint32_t parent, uint32_t frame);
uint32_t profile_thread(struct profile *p, uint32_t name, int64_t os_id, int64_t java_id);
uint32_t profile_state(struct profile *p, const char *name);
/* By all of *c but its sums. */
uint32_t profile_cell(struct profile *p, const struct prof_cell *c);
/* 0 where these are no ids. */
uint32_t profile_link(struct profile *p, const char *trace, const char *span);
/* Tells which names are of one thread, and how many threads there are. 0 or -ENOMEM. */
int profile_selves(struct profile *p);
/* Some recording began then: times are since the first one's start, and move when that does. */
void profile_begin(struct profile *p, int64_t start_ns);
/* 0 or -ENOMEM. */
int profile_time(struct profile *p, const struct prof_time *t);
int profile_count(struct profile *p, const char *name, uint64_t events, uint64_t bytes);

void index32_free(struct index32 *x);

/* One frame of each method: nodes and cells that differ by what ran it become one. */
int profile_merge_tiers(struct profile *p);

/* Make room for one more element; false when out of memory. */
bool array_room(void **array, size_t n, size_t *cap, size_t size);

/* Take note of an event that is no sample. */
struct facts_reader;
void facts_event(struct profile_facts *f, struct jfr_reader *r, const struct jfr_event *ev);

#endif
