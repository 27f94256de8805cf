/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every JFR type a recording of ours declares: its fields once, in one table, from which the
 * metadata event, the encoding of events and the walk over constants all come.
 *
 * Names, field order and content types of jdk.* events are those of JDK 25 (`jfr metadata`), and
 * profiler.WallClockSample is async-profiler's; converters that hard-code layouts depend on them.
 * Only gnomon.* is ours to change.
 */
#ifndef GNOMON_JFR_TYPES_H
#define GNOMON_JFR_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Numbers in the file (see jfr_type_number() for the constant types). Type 0 is the metadata
 * event, 1 the checkpoint. Events stay below 128: one byte in each of them.
 */
enum jfr_type {
	JFR_NONE = 0,
	JFR_BOOLEAN = 4,
	JFR_CHAR = 5,
	JFR_FLOAT = 6,
	JFR_DOUBLE = 7,
	JFR_BYTE = 8,
	JFR_SHORT = 9,
	JFR_INT = 10,
	JFR_LONG = 11,
	JFR_STRING = 12,
	JFR_STACK_FRAME = 13,
	JFR_VIRTUAL_SPACE = 14, /* a struct within an event */
	JFR_METASPACE_SIZES = 15,

	JFR_POOL_FIRST = 16, /* constants: events hold their ids */
	JFR_THREAD = JFR_POOL_FIRST,
	JFR_THREAD_GROUP,
	JFR_CLASS,
	JFR_CLASS_LOADER,
	JFR_PACKAGE,
	JFR_METHOD,
	JFR_SYMBOL,
	JFR_STACK_TRACE,
	JFR_FRAME_TYPE,
	JFR_THREAD_STATE,
	JFR_WORD,    /* of ours, by jfrw_name() */
	JFR_GC_NAME, /* from here on words, by jfrw_name(); at most up to 31 */
	JFR_GC_CAUSE,
	JFR_GC_WHEN,
	JFR_FLAG_ORIGIN,
	JFR_OOP_MODE,
	JFR_POOL_END,

	JFR_EVENT_FIRST = 32,
	JFR_EXECUTION_SAMPLE = JFR_EVENT_FIRST,
	JFR_CPU_TIME_SAMPLE,
	JFR_CPU_TIME_SAMPLES_LOST,
	JFR_WALL_CLOCK_SAMPLE,
	JFR_DATA_LOSS,
	JFR_ACTIVE_RECORDING,
	JFR_ACTIVE_SETTING,
	JFR_OS_INFORMATION,
	JFR_CPU_INFORMATION,
	JFR_JVM_INFORMATION,
	JFR_NATIVE_LIBRARY,
	JFR_CONTAINER_CONFIGURATION,
	JFR_CONTAINER_CPU_THROTTLING,
	JFR_SAMPLES_LOST,
	JFR_STACK_QUALITY,
	JFR_OVERHEAD,
	JFR_CPU_USE,
	JFR_THREAD_RESERVOIR,
	JFR_WAIT_CAUSE,
	JFR_RESOURCE,
	JFR_CONTEXT,
	JFR_RATE_CHANGE,
	JFR_NATIVE_FILE,
	JFR_UNMOUNTED_THREADS,
	JFR_UNMOUNTED_LOOK,

	JFR_VITALS_FIRST, /* jfr/vitals.h: declared only in files that have them */
	JFR_CPU_LOAD = JFR_VITALS_FIRST,
	JFR_THREAD_CPU_LOAD,
	JFR_SWITCH_RATE,
	JFR_RESIDENT_SET,
	JFR_PHYSICAL_MEMORY,
	JFR_SYSTEM_PROCESS,
	JFR_SYSTEM_PROPERTY,
	JFR_ENVIRONMENT,
	JFR_BOOLEAN_FLAG,
	JFR_INT_FLAG,
	JFR_UINT_FLAG,
	JFR_LONG_FLAG,
	JFR_ULONG_FLAG,
	JFR_DOUBLE_FLAG,
	JFR_STRING_FLAG,
	JFR_GC_CONFIGURATION,
	JFR_GC_HEAP_CONFIGURATION,
	JFR_GC_SURVIVOR_CONFIGURATION,
	JFR_GC_TLAB_CONFIGURATION,
	JFR_YOUNG_CONFIGURATION,
	JFR_JAVA_THREADS,
	JFR_CLASS_LOADING,
	JFR_GARBAGE_COLLECTION,
	JFR_YOUNG_COLLECTION,
	JFR_OLD_COLLECTION,
	JFR_GC_PAUSE,
	JFR_GC_HEAP_SUMMARY,
	JFR_METASPACE_SUMMARY,
	JFR_CONTAINER_CPU_USAGE,
	JFR_CONTAINER_MEMORY_USAGE,
	JFR_THREAD_START,
	JFR_THREAD_END,
	JFR_THREAD_PARK,
	JFR_THREAD_SLEEP,
	JFR_MONITOR_ENTER,
	JFR_MONITOR_WAIT,
	JFR_SOCKET_READ,
	JFR_SOCKET_WRITE,
	JFR_FILE_READ,
	JFR_FILE_WRITE,
	JFR_VITALS,
	JFR_COLLECTIONS_UNSEEN,
	JFR_EVENT_END,

	JFR_ANNOTATION_FIRST = 160,
	JFR_LABEL = JFR_ANNOTATION_FIRST,
	JFR_DESCRIPTION,
	JFR_CATEGORY,
	JFR_CONTENT_TYPE,
	JFR_TIMESTAMP,
	JFR_TIMESPAN,
	JFR_DATA_AMOUNT,
	JFR_PERCENTAGE,
	JFR_MEMORY_ADDRESS,
	JFR_UNSIGNED_VALUE,
	JFR_FREQUENCY,
	JFR_ANNOTATION_END,
};

/* What a number means, written as an annotation: tools show "50.0 ms" only with it. */
enum jfr_content {
	JFR_PLAIN = 0,
	JFR_TS_TICKS,	/* @Timestamp: ticks of the file (1 GHz) */
	JFR_TS_UNIX_MS, /* @Timestamp: milliseconds since 1970 */
	JFR_SPAN_TICKS, /* @Timespan */
	JFR_SPAN_NS,
	JFR_SPAN_US,
	JFR_SPAN_MS,
	JFR_BYTES,    /* @DataAmount */
	JFR_PERCENT,  /* @Percentage: 0..1 */
	JFR_ADDRESS,  /* @MemoryAddress */
	JFR_UNSIGNED, /* @Unsigned */
	JFR_HERTZ,    /* @Frequency */
	JFR_CONTENT_END,
};

struct jfr_field {
	const char *name;
	uint8_t type;	 /* enum jfr_type */
	uint8_t content; /* enum jfr_content */
	uint8_t array;	 /* dimension 1 */
	uint16_t offset; /* of the member in the event's struct; unused for constants */
	uint16_t size;	 /* of that member */
	const char *label;
};

struct jfr_type_info {
	const char *name;
	const char *super; /* NULL for constants and primitives */
	const char *label;
	const char *description;
	const char *category[2];
	const struct jfr_field *fields;
	uint8_t n_fields;
	uint8_t content_type; /* an annotation class that carries @ContentType */
	uint8_t simple;	      /* simpleType: tools show its only field in its place */
};

/* NULL if t is not declared. */
const struct jfr_type_info *jfr_type_info(unsigned int t);

/* The same for those of which jfr_type_is_vital() is true (vitals.c). */
const struct jfr_type_info *jfr_vital_info(unsigned int t);

static inline bool jfr_type_is_pool(unsigned int t)
{
	return t >= JFR_POOL_FIRST && t < JFR_POOL_END;
}

/* A struct, the fields of which stand one after the other in the event. */
static inline bool jfr_type_is_struct(unsigned int t)
{
	return t == JFR_VIRTUAL_SPACE || t == JFR_METASPACE_SIZES;
}

/* Is it declared only where a file has vitals? */
static inline bool jfr_type_is_vital(unsigned int t)
{
	return (t >= JFR_VITALS_FIRST && t < JFR_EVENT_END) ||
	       (t >= JFR_GC_NAME && t < JFR_POOL_END) || jfr_type_is_struct(t);
}

static inline bool jfr_type_is_event(unsigned int t)
{
	return t >= JFR_EVENT_FIRST && t < JFR_EVENT_END;
}

/*
 * The number of a type in a file. Constant types are numbered by the file's salt: the JDK's parser
 * prefers the value a constant id had in the chunk before, so in `cat a.jfr b.jfr` the ids of b
 * would resolve to a's values, did both files use the same types. Costs nothing: events do not
 * mention constant types.
 */
static inline uint32_t jfr_type_number(unsigned int t, uint32_t salt)
{
	return jfr_type_is_pool(t) ? (1u << 30 | (salt & 0x1ffffff) << 5 | t) : t;
}

/* The annotation a content type is written as, and its value ("" if it has none). */
unsigned int jfr_content_annotation(unsigned int content, const char **value);

/* ---- constants with fixed ids ------------------------------------------------------------------
 */

/* Thread states; ids of the JDK where it has the state (its JVMTI thread state bits). */
enum jfr_state {
	JFR_STATE_NEW = 0,
	JFR_STATE_DEFAULT = 1, /* on a CPU: what converters take for CPU samples */
	JFR_STATE_TERMINATED = 2,
	JFR_STATE_RUNNABLE = 5,
	JFR_STATE_QUEUED = 16,	/* ours: runnable, waits for a CPU */
	JFR_STATE_IO = 17,	/* ours: blocked in the kernel on a device, file or socket */
	JFR_STATE_STOPPED = 18, /* ours: SIGSTOP, a tracer, a frozen control group */
	JFR_STATE_IDLE = 19,	/* ours: waits in native code, as VM threads without work */
	JFR_STATE_SLEEPING = 225,
	JFR_STATE_WAITING = 401,
	JFR_STATE_WAITING_TIMED = 417,
	JFR_STATE_PARKED = 657,
	JFR_STATE_PARKED_TIMED = 673,
	JFR_STATE_BLOCKED = 1025,
};

/*
 * What the JDK has instead of a state or a frame type of ours: itself, where that is the JDK's.
 * RUNNABLE is what runs; what does not and has no state in the JDK's terms is SLEEPING, as
 * async-profiler has it, so that nobody takes it for CPU time.
 */
enum jfr_state jfr_state_plain(enum jfr_state state);
unsigned int jfr_frame_type_plain(unsigned int type); /* enum frame_type */
bool jfr_type_is_plain(unsigned int t);		      /* an event of the JDK's, or no event */

struct jfr_named_id {
	uint32_t id;
	const char *name;
};

extern const struct jfr_named_id jfr_states[];	    /* ended by name NULL */
extern const struct jfr_named_id jfr_frame_types[]; /* enum frame_type */

/* ---- events: what the caller fills in ----------------------------------------------------------
 */

/*
 * Threads and stacks are the ids of jfrw_thread() and jfrw_stack(), 0 for none; strings may be
 * NULL. The start time is no member: it is given beside the struct.
 */
struct jfr_execution_sample {
	uint32_t thread;
	uint32_t stack;
	uint32_t state; /* enum jfr_state */
};

struct jfr_cpu_time_sample {
	uint32_t stack;
	uint32_t thread;
	bool failed; /* no stack could be had */
	uint64_t period_ns;
	bool biased; /* by safepoints */
};

struct jfr_cpu_time_samples_lost {
	uint32_t count;
	uint32_t thread;
};

struct jfr_wall_clock_sample {
	uint32_t thread;
	uint32_t stack;
	uint32_t state;
	uint32_t samples; /* ticks the interval crossed */
	uint64_t span_ns;
};

struct jfr_data_loss {
	uint64_t amount; /* bytes since the last */
	uint64_t total;
};

struct jfr_active_recording {
	uint64_t id;
	const char *name;
	const char *destination;
	bool disk;
	int64_t max_age_ms; /* INT64_MAX: for ever */
	int64_t flush_interval_ms;
	int64_t max_size; /* bytes, 0 without limit */
	int64_t start_unix_ms;
	int64_t duration_ms; /* INT64_MAX: for ever */
};

struct jfr_active_setting {
	uint64_t id; /* enum jfr_type of the event it is about: must be one that is declared */
	const char *name;
	const char *value;
};

struct jfr_os_information {
	const char *version;
};

struct jfr_cpu_information {
	const char *cpu;
	const char *description;
	uint32_t sockets, cores, hw_threads;
};

struct jfr_jvm_information {
	const char *name;
	const char *version;
	const char *jvm_arguments;
	const char *flags;
	const char *java_arguments;
	int64_t start_unix_ms;
	int64_t pid;
};

struct jfr_native_library {
	const char *name;
	uint64_t base;
	uint64_t top;
};

struct jfr_container_configuration {
	const char *type; /* "cgroupv2" */
	int64_t slice_period_us;
	int64_t quota_us; /* -1: none; so for the limits below */
	int64_t shares;
	int64_t effective_cpus;
	int64_t memory_soft_limit; /* bytes */
	int64_t memory_limit;
	int64_t swap_memory_limit;
	int64_t host_memory;
	int64_t host_swap;
};

struct jfr_container_cpu_throttling {
	uint64_t elapsed_slices;
	uint64_t throttled_slices;
	uint64_t throttled_ns;
};

/* Samples that were taken or due and are not in the recording. */
struct jfr_samples_lost {
	uint32_t thread;  /* 0: not of one thread */
	const char *kind; /* "cpu" or "wall" */
	const char *reason;
	uint64_t count;
};

/* How the stacks of a period's samples ended. The counts are of samples, not of distinct stacks. */
struct jfr_stack_quality {
	uint64_t period_ns;
	const char *kind; /* "cpu" or "wall" */
	uint64_t samples;
	uint64_t complete;
	uint64_t guessed;     /* at least one frame found by a heuristic */
	uint64_t truncated;   /* depth cap */
	uint64_t bad_address; /* memory could not be read */
	uint64_t no_rule;     /* no unwind rule for a pc */
	uint64_t failed;      /* no stack at all */
	uint64_t unnamed;     /* at least one frame whose class was unloaded before it had a name */
	uint64_t in_heap;     /* a virtual thread's, the callers of which lie in the Java heap */
};

/* What recording cost in a period, and what the host of a guest did. */
struct jfr_overhead {
	uint64_t period_ns;
	uint64_t collector_ns; /* CPU time of the collector */
	uint64_t bpf_ns;       /* run time of the BPF programs */
	uint64_t bpf_runs;
	uint64_t memory;    /* bytes: collector and maps */
	float cpu_share;    /* (collector + BPF) of one CPU, 0..1 */
	uint64_t stolen_ns; /* of all CPUs: what a hypervisor gave to others. In no sample. */
};

/* Who used the machine's CPUs during the recording: one for each kind but PROCESS, see
 * target/neighbours.h */
struct jfr_cpu_use {
	uint64_t period_ns;
	const char *whose; /* "machine", "recorded", or "process": of that name */
	const char *name;  /* of the process or processes */
	int64_t pid;	   /* of the one with most of it */
	uint32_t count;	   /* of processes */
	uint64_t cpu_ns;
};

/*
 * What a thread waited for in one state and stack: `samples` of its wall samples, which
 * are in profiler.WallClockSample, too, the first at the event's time, the last period_ns later.
 * Of a lock: whose it was at these ticks. Ticks are the same instants for all threads.
 */
struct jfr_wait_cause {
	uint32_t thread;
	uint32_t stack;
	uint32_t state;	    /* enum jfr_state */
	uint32_t kind;	    /* of what it waited for: jfrw_name(JFR_WORD), as the next three */
	uint32_t operation; /* what it wanted of that */
	uint32_t cause;	    /* which one */
	uint32_t detail;    /* 0 none */
	uint32_t samples;
	uint64_t span_ns; /* as theirs together */
	uint64_t period_ns;
	uint32_t owner; /* who had it; 0: nobody, or it is not known: then detail says so */
	uint64_t tick;	/* of a lock: the number of the first sample's tick */
	uint64_t ticks; /* bit n: tick + n is one of them, up to 64; 0: they are consecutive */
	uint32_t waker; /* the thread of its process that woke it at their end; 0 none */
	uint32_t waker_stack; /* and where that one was then */
};

/*
 * Unmounted virtual threads that wait at one place in one state. Each stands for
 * period_ns before the event.
 */
struct jfr_unmounted_threads {
	uint32_t stack;
	uint32_t state; /* enum jfr_state; QUEUED: they may run, and wait for a carrier */
	double threads; /* their number, estimated from those that were sampled */
	uint64_t seen;	/* the number that was sampled */
	uint64_t period_ns;
	const char *name; /* of one of them, "" none */
	uint64_t id;	  /* its Thread.threadId() */
};

/* One look at the virtual threads, which those events with the same time are of. */
struct jfr_unmounted_look {
	uint64_t period_ns;	/* 0: none was seen; the next look tells of that time, too */
	uint64_t places, drawn; /* in the tables of threads, and those that were sampled */
	double threads;		/* unmounted ones whose place is told */
	double mounted;		/* carriers run them, or are about to, or they end */
	double unsettled;	/* they changed while they were read */
	double unknown;		/* what was found was no stack, or there were too many different */
	double strange;		/* places that could not be followed */
	uint64_t left_out;	/* containers of threads that were not looked at */
	uint64_t cpu_ns;	/* what it cost */
};

/* What the process is called, by the names of OpenTelemetry's conventions. */
struct jfr_resource {
	const char *key, *value;
	const char *source; /* who says so */
};

/* A file in which frames lie: one mapping of its code. */
struct jfr_native_file {
	const char *name; /* the class of these frames */
	uint64_t base, top, offset;
	const char *build_id; /* hexadecimal; "": it has none */
};

/*
 * The request that a thread worked for: all its samples from the event's time on and for
 * duration_ns, both inclusive, are of it, but those that an event with a later time is about. No
 * ids, no names: none, or (`attributes` says so) it was lost.
 */
struct jfr_context {
	uint64_t duration_ns;
	uint32_t thread;
	const char *trace, *span; /* hexadecimal digits; NULL: all of them 0 */
	const char *root;	  /* span id of the request's outermost span here; NULL: not told */
	uint32_t endpoint;	  /* jfrw_name(JFR_WORD), 0: not told; as the next */
	uint32_t operation;
	const char *attributes; /* others, "key=value, key=value"; NULL: none */
	uint32_t samples;
};

/*
 * How often the process is sampled from the event's time until the next such event; 0: not at all.
 * A CPU sample stands for the interval in force at its time. Wall samples count ticks of one
 * interval throughout (ActiveSetting "period"), and one of them stands for as many as its interval
 * has.
 */
struct jfr_rate_change {
	uint64_t cpu_ns, wall_ns;
	uint32_t threads;   /* whose waits are sampled at a time; 0: all */
	const char *by;	    /* who decided: "configuration", "command", "trigger", "budget" */
	const char *reason; /* in words */
};

/*
 * Which part of the threads is sampled by the wall clock, from the event's time until the next
 * such event: one tick of a wall sample then stands for eligible / sampled ticks. CPU samples are
 * not concerned.
 */
struct jfr_thread_reservoir {
	uint64_t draw;	   /* counts the choices made; "epoch" in the file */
	uint32_t live;	   /* threads there are */
	uint32_t eligible; /* of these, the ones chosen from */
	uint32_t sampled;  /* of these, the ones chosen */
};

#endif
