/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the triggers of a daemon want to know of each JVM that only its samples tell (run/trigger.h
 * decides by it), and what was found.
 */
#ifndef GNOMON_MODEL_WATCH_H
#define GNOMON_MODEL_WATCH_H

#include <stdint.h>
#include <sys/types.h>

#define WATCH_METHODS 16
#define WATCH_PATTERN 128

struct watch_orders {
	uint32_t number; /* of these orders, others have another one; 0: there were none yet */
	uint32_t locks;	 /* whether threads wait in a circle is wanted */
	uint32_t n, pad; /* patterns of CLASS.METHOD (base/pattern.h) */
	char method[WATCH_METHODS][WATCH_PATTERN];
};

struct watch_method {
	uint64_t cpu_ns; /* of samples with such a frame, since the orders came */
	/*
	 * For so long a thread has been at one stack that has such a frame: in one wait, or always
	 * running there; as of its last sample. The one that has been so the longest.
	 */
	uint64_t held_ns;
	int32_t tid; /* which thread that is; 0: none */
	char thread[36];
};

struct watch {
	uint32_t number; /* of the orders that it is about */
	uint32_t locked; /* threads that wait for each other's locks in a circle */
	char circle[96]; /* some of them by name */
	struct watch_method v[WATCH_METHODS];
};

#endif
