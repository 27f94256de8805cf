/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a JFR 2.1 recording that the JDK's tools, JMC and async-profiler's converters read.
 *
 * One thread calls all of this; a call only appends to memory. A thread of the writer's own does
 * the file I/O. Call jfrw_flush() about once a second: what it hands over survives kill -9.
 *
 * With form.segments each chunk is a file of its own in a directory (jfr/segment.h), and what the
 * disk refuses is held in memory and tried again: jfrw_close() alone reports an error then.
 *
 * On disk: chunks of at most chunk_max_bytes, each complete in itself: it also repeats the periods
 * of samples that were set (jdk.ActiveSetting) and the thread reservoir in force. A flush appends
 * events and a checkpoint with the constants they are the first in the chunk to refer to, then
 * rewrites the chunk's header in place, so between two system calls the file is readable by every
 * tool, without repair. Killed between those two, it has bytes behind its last chunk, which
 * jfr_repair() takes in or cuts off.
 *
 * Ids (threads, stacks) are stable: the same value has the same id in every chunk, an id never
 * changes its meaning, and a chunk holds exactly the constants it refers to. They stay valid until
 * jfrw_generation() changes, which happens only in a jfrw_flush() that ends a chunk: constants that
 * were not used for constants_keep_ns are dropped, and all of them when what is left exceeds
 * constants_max, or when ids run out in a recording of segments, in which they begin with 1 again
 * then. Caches of ids must then be emptied, but for stacks that jfrw_has_stack(). An id that was
 * dropped is written as none. Chunks end early where constants become many, so a writer's memory is
 * that of its constants in use, and some MB.
 *
 * Times are CLOCK_MONOTONIC nanoseconds. Ticks of the file are nanoseconds since start_mono_ns;
 * what lies before that is written as the start.
 */
#ifndef GNOMON_JFR_WRITE_H
#define GNOMON_JFR_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/frame.h"
#include "jfr/finished.h"
#include "jfr/form.h"
#include "jfr/types.h"

struct jfrw;

#define JFRW_RESUMED_MAX 3

struct jfrw_config {
	const char *path;
	bool overwrite;
	bool opened; /* the file is there: `fd` is taken over, also after an error */
	int fd;
	/*
	 * With `opened`: so many writers of the file were lost. What is whole of theirs stays, and
	 * our chunks follow, with ids that none of them gave; the first begins at resumed_mono_ns.
	 * At most JFRW_RESUMED_MAX.
	 */
	uint32_t resumed;
	uint64_t resumed_mono_ns;
	uint64_t start_unix_ns; /* CLOCK_REALTIME at start_mono_ns */
	uint64_t start_mono_ns;
	struct jfrw_form form;
	uint64_t chunk_first_ns;     /* the first chunk's form.chunk_max_ns; 0: as of the others */
	uint64_t constants_max;	     /* bytes of constants kept in memory; 0: 256 MiB */
	uint64_t constants_keep_ns;  /* after which those that were not used may go; 0: never */
	uint64_t cpu_period_ns;	     /* for JFRW_CPUTIME */
	struct finished_to finished; /* who is told of each chunk that is whole */
	/* of segments (jfr/write_file.h); NULL: they are made here */
	const struct outfile_maker *maker;
};

struct jfrw_stats {
	uint64_t events;
	uint64_t bytes;		 /* handed to the file */
	uint64_t dropped_events; /* the disk did not keep up, or the file failed */
	uint64_t dropped_bytes;
	uint64_t held_bytes;  /* in memory, since the disk takes nothing */
	uint64_t over_events; /* left out, since the file was as large as it may be */
	uint64_t stale_ids;   /* references to ids that were dropped */
	/* of jfrw_cpu_sample(), and ticks of jfrw_wall_sample(): in the file, or told as lost */
	uint64_t cpu_settled, wall_settled;
	uint32_t chunks;
	uint32_t generation;
	size_t threads, stacks, methods, classes, symbols; /* known now */
	size_t constants_bytes;				   /* their memory */
};

struct jfrw_thread {
	const char *os_name;
	uint64_t os_tid;
	const char *java_name; /* NULL: not a Java thread */
	uint64_t java_tid;
	/* names of its thread groups, its own first, each with its terminator and "" at the end:
	 * "main\0system\0"; NULL: not known */
	const char *groups;
	bool is_virtual;
};

/*
 * Create the file and write an empty first chunk. Errors are EXIT_OUTPUT: the file exists (without
 * `overwrite`; only a regular file is ever replaced, and by a new one), a symbolic link, a missing
 * directory, no permission, a full disk.
 */
int jfrw_open(struct jfrw **out, const struct jfrw_config *cfg, struct error *e);

/*
 * Takes note of what the two clocks say now. They part when one is set, or the machine was
 * suspended: a chunk that begins later has its time since 1970 by what was told last, so that a
 * recording that goes on and on does not stay by the clock of its start.
 */
void jfrw_clock(struct jfrw *w, uint64_t unix_ns, uint64_t mono_ns);

/*
 * The recording's start is now, not the opening of the file: for the first chunk, before its first
 * event.
 */
void jfrw_begin(struct jfrw *w, uint64_t mono_ns);

/*
 * The recording's end, now or known before: what is told of later is told as of then. 0: not known.
 */
void jfrw_end(struct jfrw *w, uint64_t mono_ns);

/*
 * Write all that is left and close. Returns the first error of the file, also where jfrw_flush()
 * reported it before. w may be NULL.
 */
int jfrw_close(struct jfrw *w, struct error *e);

/* Close and remove the file; one that was opened by others stays. */
void jfrw_discard(struct jfrw *w);

/*
 * Hand over what there is, and start another chunk where a limit is reached. Does not wait: where
 * the last hand-over is still being written, it leaves all to the next call. Returns 0 or the
 * file's first error, which sticks: later events are counted as dropped, and what had been written
 * before stays readable.
 */
int jfrw_flush(struct jfrw *w, uint64_t mono_ns, struct error *e);
int jfrw_error(struct jfrw *w, struct error *e);

/*
 * The id of a thread with exactly these names. 0 for none: memory or ids ran out, or the constants
 * exceed twice constants_max since the disk does not let chunks end.
 */
uint32_t jfrw_thread(struct jfrw *w, const struct jfrw_thread *t);

/*
 * Frames leaf first; equal stacks have the same id. Names may hold any bytes. Java class names are
 * given dotted and written with slashes, as the JVM does; a missing one
 * becomes "(unknown)", a missing name of a method "[unknown]"; no class begins with "["
 * (base/frame.h).
 */
uint32_t jfrw_stack(struct jfrw *w, const struct frame_name *frames, size_t n, bool truncated);

/*
 * The id of a word (JFR_WORD, or a type from JFR_GC_NAME on: a collector's name, a cause). NULL is
 * none, 0.
 */
uint32_t jfrw_name(struct jfrw *w, enum jfr_type type, const char *name);

/* The id of a class by its dotted name; NULL: one that is not known, "(unknown)". */
uint32_t jfrw_class(struct jfrw *w, const char *name);

uint32_t jfrw_generation(const struct jfrw *w);

/* The number of the chunk that events are added to, from 1. */
uint32_t jfrw_chunk(const struct jfrw *w);

/* Bytes of memory that the constants known now take. */
size_t jfrw_constants(const struct jfrw *w);

/* No more samples, as if the file were as large as it may be. */
void jfrw_full(struct jfrw *w);

/* Was the stack's id not dropped? */
bool jfrw_has_stack(const struct jfrw *w, uint32_t stack);

/* Is what the last flush handed over still being written? Then jfrw_flush() leaves all for later.
 */
bool jfrw_busy(const struct jfrw *w);

/* Would jfrw_flush() now end the chunk? What belongs into it is to be written before. */
bool jfrw_chunk_ends(const struct jfrw *w, uint64_t mono_ns);

/* Or the flush after it, at next_ns, if as much is written until then as was since the last one? */
bool jfrw_chunk_ends_soon(const struct jfrw *w, uint64_t next_ns);
void jfrw_stats(const struct jfrw *w, struct jfrw_stats *out);

/* ---- events ---------------------------------------------------------------------------------- */

/* Any event: `fields` points to its struct in jfr/types.h. The functions below are type-safe. */
void jfrw_event(struct jfrw *w, enum jfr_type type, uint64_t mono_ns, const void *fields);

/* As cfg.cpu_event says; state is JFR_STATE_DEFAULT. Stack 0: failed. */
void jfrw_cpu_sample(struct jfrw *w, uint64_t mono_ns, uint32_t thread, uint32_t stack);

/*
 * n of them, which stand for each_ns of CPU time each (0: as the file's settings say): as many as
 * readers take for so much time, by the rates that the file tells.
 */
void jfrw_cpu_samples(struct jfrw *w, uint64_t mono_ns, uint32_t thread, uint32_t stack, uint32_t n,
		      uint64_t each_ns);

/* From mono_ns on, and at the beginning of each later chunk. */
void jfrw_rate(struct jfrw *w, uint64_t mono_ns, const struct jfr_rate_change *change);

/*
 * An off-CPU interval, or a part of one, that crossed `samples` ticks, the first at mono_ns;
 * span_ns is its length, so that the parts of an interval add up.
 */
void jfrw_wall_sample(struct jfrw *w, uint64_t mono_ns, uint32_t thread, uint32_t stack,
		      enum jfr_state state, uint32_t samples, uint64_t span_ns);

/* jdk.CPUTimeSamplesLost */
void jfrw_cpu_lost(struct jfrw *w, uint64_t mono_ns, uint32_t thread, uint32_t count);

/*
 * From mono_ns on, only `r->sampled` of `r->eligible` threads are sampled by the wall clock; equal
 * numbers end that. To be written before the samples it is about.
 */
void jfrw_thread_reservoir(struct jfrw *w, uint64_t mono_ns, const struct jfr_thread_reservoir *r);

#define JFRW_EVENT(name, type)                                                                     \
	static inline void jfrw_##name(struct jfrw *w, uint64_t mono_ns,                           \
				       const struct jfr_##name *e)                                 \
	{                                                                                          \
		jfrw_event(w, type, mono_ns, e);                                                   \
	}

JFRW_EVENT(execution_sample, JFR_EXECUTION_SAMPLE)
JFRW_EVENT(cpu_time_sample, JFR_CPU_TIME_SAMPLE)
JFRW_EVENT(data_loss, JFR_DATA_LOSS)
JFRW_EVENT(active_recording, JFR_ACTIVE_RECORDING)
JFRW_EVENT(active_setting, JFR_ACTIVE_SETTING)
JFRW_EVENT(os_information, JFR_OS_INFORMATION)
JFRW_EVENT(cpu_information, JFR_CPU_INFORMATION)
JFRW_EVENT(jvm_information, JFR_JVM_INFORMATION)
JFRW_EVENT(native_library, JFR_NATIVE_LIBRARY)
JFRW_EVENT(container_configuration, JFR_CONTAINER_CONFIGURATION)
JFRW_EVENT(container_cpu_throttling, JFR_CONTAINER_CPU_THROTTLING)
JFRW_EVENT(samples_lost, JFR_SAMPLES_LOST)
JFRW_EVENT(stack_quality, JFR_STACK_QUALITY)
JFRW_EVENT(overhead, JFR_OVERHEAD)
JFRW_EVENT(cpu_use, JFR_CPU_USE)
JFRW_EVENT(wait_cause, JFR_WAIT_CAUSE)
JFRW_EVENT(resource, JFR_RESOURCE)
JFRW_EVENT(native_file, JFR_NATIVE_FILE)
JFRW_EVENT(context, JFR_CONTEXT)
JFRW_EVENT(unmounted_threads, JFR_UNMOUNTED_THREADS)
JFRW_EVENT(unmounted_look, JFR_UNMOUNTED_LOOK)

#undef JFRW_EVENT

#endif
