/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF programs, loaded in parts. Those that walk stacks take the kernel some 30 ms each, one
 * after the other. So the maps and the small programs come first; each part is loaded by a thread
 * of its own, onto the same maps, while the caller goes on.
 */
#ifndef GNOMON_CAPTURE_PROGRAMS_H
#define GNOMON_CAPTURE_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>

struct gnomon; /* the skeleton */
struct programs;

enum programs_part {
	PROGRAMS_CLOCK,	 /* thread_clock */
	PROGRAMS_SWITCH, /* wall_switch */
	PROGRAMS_REMOTE, /* remote_tick, remote_scan, lock_tick */
	PROGRAMS_SCAN,	 /* wall_scan, cpus_look */
	/* these keep no skeleton, and are put to work when they have been loaded */
	PROGRAMS_WAKING, /* wall_waking, waking_walk: attached */
	PROGRAMS_VISIT,	 /* switch_visit: where wall_switch goes on in it */
	PROGRAMS_PARTS
};

/*
 * Load the maps and the small programs of an opened and configured skeleton, which stays the
 * caller's. Programs that are not to be loaded (bpf_program__set_autoload) are in no part, either.
 * `btf`: as in struct capture_config, kept.
 */
int programs_open(struct programs **out, struct gnomon *base, const char *btf);

/* Waits for threads that load. The base is to be destroyed after it. */
void programs_close(struct programs *p);

/*
 * Begin to load a part, the first time. 0: it has been loaded; -EAGAIN: not yet; or -errno. After
 * -EMFILE and -ENFILE, which may pass, the next call begins anew. From any thread; it does not
 * wait.
 */
int programs_begin(struct programs *p, enum programs_part part);

/* Wait until it is, beginning now if need be. 0 or -errno. From one thread. */
int programs_wait(struct programs *p, enum programs_part part);

/* What there is not without a part that a recording goes on without; NULL of the others. */
const char *programs_without(enum programs_part part);

/* The skeleton that has the programs of a part that has been loaded; NULL of another. */
struct gnomon *programs_of(const struct programs *p, enum programs_part part);

/*
 * Attaches PROGRAMS_WAKING or detaches it, now or when it has been loaded; at first it is to be
 * attached. A program that is attached and has nothing to do costs four fifths of one that has. 0
 * or -errno. From any thread.
 */
int programs_wake(struct programs *p, bool on);

void programs_detach(struct programs *p); /* of all parts, and of the base */

/* As capture_run_time(), where the kernel counts that (BPF_ENABLE_STATS). */
void programs_run_time(const struct programs *p, uint64_t *ns, uint64_t *runs);

#endif
