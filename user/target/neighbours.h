/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who else used the CPUs while a recording was made: the CPU time of every process at its start and
 * at its end, from /proc. A process that began and ended within it is in the machine's sum alone.
 */
#ifndef GNOMON_TARGET_NEIGHBOURS_H
#define GNOMON_TARGET_NEIGHBOURS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct neighbours;

/* The first look, a few microseconds for each process; NULL: no memory. */
struct neighbours *neighbours_new(void);
void neighbours_free(struct neighbours *n); /* NULL is fine */

/* The second one. 0, or -errno: nothing is known. Once; then only read, from any thread. */
int neighbours_end(struct neighbours *n);

/* Processes of one name. */
struct neighbour {
	char comm[16];	 /* raw bytes, as they chose them */
	pid_t pid;	 /* of the one with most of it */
	uint32_t count;	 /* processes */
	uint64_t cpu_ns; /* used between the looks, to the clock tick (10 ms) */
};

/* Those with most, without process `but`: their number, at most `max`. */
size_t neighbours_top(const struct neighbours *n, pid_t but, struct neighbour *top, size_t max);

struct neighbours_sums {
	uint64_t period_ns;  /* between the looks */
	uint64_t machine_ns; /* all CPUs, by whomever */
	uint64_t own_ns;     /* of that process; 0 also if it was gone at the second look */
};
void neighbours_sums(const struct neighbours *n, pid_t own, struct neighbours_sums *sums);

#endif
