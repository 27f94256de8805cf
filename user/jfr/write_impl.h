/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's state, for the files write*.c only. */
#ifndef GNOMON_JFR_WRITE_IMPL_H
#define GNOMON_JFR_WRITE_IMPL_H

#include "base/buffer.h"
#include "jfr/write.h"
#include "jfr/write_file.h"
#include "jfr/write_pool.h"

#define JFRW_METHODS 2048 /* a power of two */

#define JFRW_RATES 32 /* of a chunk are kept; earlier ones are for samples that came late */

struct jfrw {
	struct jfrw_config cfg;
	struct outfile *file;
	struct buffer metadata; /* the event, the same in all chunks */
	uint32_t salt;

	/* constants; NULL for those with fixed ids */
	struct pool *pools[JFR_POOL_END];
	uint32_t generation;
	bool trims; /* a chunk that ends now may drop constants: nobody holds ids meanwhile */
	bool fixed_written; /* the constants with fixed ids, in this chunk */
	size_t pending;	    /* bytes of constants the next checkpoint will hold */
	size_t constants;   /* bytes of constants when the chunk began */
	/* what was not used in this chunk or a later one is dropped at chunks' ends */
	uint32_t keep_chunk;
	uint64_t keep_mono; /* when it began, or later */

	/* the chunk */
	uint32_t chunk;	     /* counts from 1 */
	uint64_t chunk_at;   /* in the file */
	uint64_t chunk_len;  /* handed over; 0: the header is still in `segment` */
	uint64_t chunk_mono; /* its start */
	uint64_t last_mono;  /* the latest time in it */
	/* CLOCK_REALTIME less CLOCK_MONOTONIC: by this chunk, and by the next one */
	uint64_t unix_offset, clock_offset;
	uint64_t end_mono;	 /* the recording's end, 0 not known */
	uint64_t checkpoint_at;	 /* the last one, in the chunk; 0 none */
	struct buffer segment;	 /* what the next flush appends */
	uint64_t segment_events; /* in it */
	/* what the file was given last, which is lost where the file was removed under it */
	uint64_t handed_events, handed_bytes;
	bool ring; /* the disk refuses it: the next one is given a chunk of its own */
	/* CPU samples and wall ticks; what is settled is in the file, or was told as lost */
	struct jfrw_samples {
		uint64_t cpu, wall;
	} segment_samples, handed_samples, settled_samples;

	/* what every chunk begins with, so that it can be read alone */
	struct jfr_thread_reservoir reservoir; /* in force; sampled 0: none was said */
	struct jfrw_period {
		uint64_t id; /* of the event; 0: free */
		char value[24];
	} periods[4];
	bool repeating;
	/* the rates that this chunk tells, by time; `rate`: the last one, n 0: none was said */
	struct jfrw_rates {
		struct jfrw_rate_at {
			uint64_t mono_ns, cpu_ns;
		} v[JFRW_RATES];
		size_t n;
		uint64_t carry_ns; /* that no CPU sample stands for yet */
		struct jfr_rate_change last;
		char by[32], reason[160];
	} rates;

	/* methods by frame_name.method_key; what a chunk wrote before is looked up in the pools */
	struct jfrw_method {
		uint64_t key;
		uint32_t chunk, id;
	} methods[JFRW_METHODS];

	struct buffer scratch;	/* one event or stack */
	struct buffer scratch2; /* one constant */
	bool full;		/* jfrw_full() */
	bool no_memory;		/* sticky: a chunk or checkpoint is incomplete */
	uint64_t loss_pending;	/* bytes dropped since the last jdk.DataLoss */
	struct jfrw_stats stats;
};

/* Note that the chunk needs this constant and what it refers to. False: not a known id. */
bool constant_touch(struct jfrw *w, unsigned int type, uint32_t id);

/* Append a checkpoint with what was touched since the last. False: there was nothing. */
bool checkpoint_write(struct jfrw *w);

/* Bytes of memory of all constants. */
size_t constants_memory(const struct jfrw *w);

#endif
