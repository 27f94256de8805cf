/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording says of the JVM's collections, heap and container, of any producer that has the
 * JDK's events (jdk.GarbageCollection, jdk.GCHeapSummary, jdk.ClassLoadingStatistics ...) or ours
 * (gnomon.Vitals, gnomon.CollectionsUnseen).
 */
#ifndef GNOMON_OUT_VITALS_H
#define GNOMON_OUT_VITALS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/live.h"

struct jfr_event;
struct jfr_reader;

/* Sums of one or more recordings; a figure that was never told is 0. */
struct prof_vitals {
	uint64_t collections; /* those that were seen one by one, and the others */
	uint64_t unseen, unseen_ns;
	uint64_t pause_ns;   /* of those seen */
	uint64_t longest_ns; /* of these */
	char longest_name[48], longest_cause[64];
	uint64_t heap_after, heap_max; /* after the last collection; at most */
	uint64_t young_max;	       /* of that, where objects are made */
	char old_collector[48];
	struct live live;
	uint64_t allocated, allocated_ns; /* between collections that follow each other */
	uint64_t classes, unloaded, threads_peak;
	/* gnomon.Vitals, added up */
	uint64_t period_ns;
	uint64_t safepoints, safepoint_ns, to_safepoint_ns;
	uint64_t throttled_ns, major_faults, io_wait_ns, oom_kills, limit_hits;
	uint64_t group_memory, group_memory_limit; /* latest */
	uint64_t code_used, code_max;		   /* latest */
	/* internal: the collection before, for what was allocated since */
	uint64_t last_id, last_after, last_ns, before_id, before;
};

/* Takes note of an event that is about it. */
void vitals_event(struct prof_vitals *v, struct jfr_reader *r, const struct jfr_event *ev);

/* Tells what may live at most, bytes: of a collector with generations of fixed places, the old one.
 * 0: not known. */
uint64_t vitals_live_max(const struct prof_vitals *v);

/* All collections' pauses. */
uint64_t vitals_pause_ns(const struct prof_vitals *v);

/* Lines of `gnomon summary`; nothing where nothing was told. recorded_ns: how long it was. */
void vitals_print(const struct prof_vitals *v, uint64_t recorded_ns, FILE *f);

/* Two recordings' figures side by side; nothing where neither has any. */
void vitals_compare(const struct prof_vitals v[2], const uint64_t recorded_ns[2], FILE *f);

#endif
