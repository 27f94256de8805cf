/* SPDX-License-Identifier: Apache-2.0 */
/* What a JVM says of one of its threads. */
#ifndef GNOMON_MODEL_THREAD_H
#define GNOMON_MODEL_THREAD_H

#include <stdint.h>

struct resolved_thread {
	char name[512];	  /* the full Java name */
	char groups[512]; /* struct java_thread's */
	int64_t java_id;
	uint64_t thread;  /* its JavaThread*; 0 not known */
	uint64_t carrier; /* of virtual threads: struct java_thread's; 0 no, or not known */
};

#endif
