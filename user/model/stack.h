/* SPDX-License-Identifier: Apache-2.0 */
/* A stack, as the samples that have it need to know it. */
#ifndef GNOMON_MODEL_STACK_H
#define GNOMON_MODEL_STACK_H

#include <stdbool.h>
#include <stdint.h>

struct stack {
	uint64_t id;
	uint64_t seen_ns; /* when a sample had it last */
	uint32_t jfr;	  /* its id in the file */
	uint8_t end;	  /* enum gn_walk_end */
	uint8_t sleep;	  /* enum thread_state for GN_ST_SLEEP */
	uint8_t disk;	  /* and for GN_ST_DISK */
	uint8_t jvm;	  /* jvmwait_of() */
	uint8_t vmop;	  /* vmop_of() */
	bool delays;	  /* vmop_delays() */
	bool guessed;	  /* a frame was found by a heuristic */
	uint16_t watched; /* bits of the patterns (model/watch.h) that a frame of it fits */
	uint32_t watch;	  /* of the orders with that number */
	bool unnamed;	  /* has one whose class was unloaded too soon */
};

#endif
