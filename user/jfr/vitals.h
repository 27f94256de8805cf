/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of vitals: what a JVM, its container and the machine do beside running code. Their
 * types, fields and units are those of JDK 25, so that JDK Mission Control's pages and rules and
 * `jfr view` read them; gnomon-jfr(5) says what each is made of. Only gnomon.* is ours to change.
 * The structs are written by jfrw_event() with the type of their name; what all of jfr/types.h says
 * of ids, strings and times holds here, too.
 */
#ifndef GNOMON_JFR_VITALS_H
#define GNOMON_JFR_VITALS_H

#include <stdbool.h>
#include <stdint.h>

/* ---- the machine and the process ---------------------------------------------------------------
 */

struct jfr_cpu_load { /* shares of all CPUs, 0..1 */
	float jvm_user, jvm_system, machine;
};

struct jfr_thread_cpu_load {
	uint32_t thread;
	float user, system;
};

struct jfr_switch_rate {
	float hertz; /* of the machine */
};

struct jfr_resident_set {
	uint64_t size, peak;
};

struct jfr_physical_memory {
	uint64_t total, used;
};

struct jfr_system_process {
	const char *pid;
	const char *command;
};

struct jfr_key_value { /* JFR_SYSTEM_PROPERTY, JFR_ENVIRONMENT */
	const char *key;
	const char *value;
};

struct jfr_container_cpu_usage { /* ns since the group was made */
	uint64_t total, user, system;
};

struct jfr_container_memory_usage {
	uint64_t fails, usage, swap_usage;
};

/* ---- the JVM as it was set up ------------------------------------------------------------------
 */

struct jfr_flag { /* JFR_*_FLAG: the member that the type has; the rest is not looked at */
	const char *name;
	bool is;
	int32_t small;
	int64_t large; /* also an unsigned one's bits */
	double real;
	const char *text;
	uint32_t origin; /* jfrw_name(JFR_FLAG_ORIGIN) */
};

struct jfr_gc_configuration {
	uint32_t young, old; /* jfrw_name(JFR_GC_NAME), 0 none */
	uint32_t parallel_threads, concurrent_threads;
	bool dynamic_threads, explicit_concurrent, explicit_disabled;
	int64_t pause_target_ms; /* INT64_MIN: none */
	uint32_t time_ratio;
};

struct jfr_gc_heap_configuration {
	uint64_t min, max, initial;
	bool compressed;
	uint32_t mode; /* jfrw_name(JFR_OOP_MODE) */
	uint64_t alignment;
	uint8_t address_bits;
};

struct jfr_gc_survivor_configuration {
	uint8_t max, initial;
};

struct jfr_gc_tlab_configuration {
	bool used;
	uint64_t min, waste_limit;
};

struct jfr_young_configuration {
	uint64_t min, max;
	uint32_t new_ratio;
};

/* ---- the JVM as it goes ------------------------------------------------------------------------
 */

struct jfr_java_threads {
	int64_t active, daemon, started, peak;
};

struct jfr_class_loading {
	int64_t loaded, unloaded;
};

struct jfr_garbage_collection {
	uint64_t duration;
	uint32_t thread;
	uint32_t id;
	uint32_t name, cause; /* jfrw_name() */
	uint64_t pauses, longest;
};

struct jfr_young_collection {
	uint64_t duration;
	uint32_t id;
	uint32_t tenuring; /* 0: not known */
};

struct jfr_old_collection {
	uint64_t duration;
	uint32_t id;
};

struct jfr_gc_pause {
	uint64_t duration;
	uint32_t thread;
	uint32_t id;
	const char *name;
};

struct jfr_virtual_space { /* addresses are not known: 0 */
	uint64_t start, committed_end, committed, reserved_end, reserved;
};

struct jfr_gc_heap_summary {
	uint32_t id;
	uint32_t when;
	struct jfr_virtual_space heap;
	uint64_t used;
};

struct jfr_metaspace_sizes {
	uint64_t committed, used, reserved;
};

struct jfr_metaspace_summary {
	uint32_t id;
	uint32_t when;
	uint64_t threshold; /* 0: not known */
	struct jfr_metaspace_sizes all, data, classes;
};

struct jfr_thread_start {
	uint32_t event_thread, stack, thread, parent;
};

struct jfr_thread_end {
	uint32_t event_thread, thread;
};

/* ---- waits of 10 ms and more -------------------------------------------------------------------
 */

struct jfr_thread_park { /* what is waited for is not known */
	uint64_t duration;
	uint32_t thread, stack, klass;
	int64_t timeout_ns, until_ms; /* INT64_MIN: none */
	uint64_t address;
};

/* Four events: of reading and writing. The number of bytes is not known: it is 0. */
struct jfr_socket_io {
	uint64_t duration;
	uint32_t thread, stack;
	const char *host, *address;
	uint32_t port;
	uint64_t timeout_ms, bytes;
	bool ends;
};

struct jfr_file_io {
	uint64_t duration;
	uint32_t thread, stack;
	const char *path;
	uint64_t bytes;
	bool ends;
};

struct jfr_thread_sleep {
	uint64_t duration;
	uint32_t thread, stack;
	int64_t time_ns; /* that was asked for: not known, the time that it took */
};

struct jfr_monitor_enter {
	uint64_t duration;
	uint32_t thread, stack, klass, owner;
	uint64_t address;
};

struct jfr_monitor_wait {
	uint64_t duration;
	uint32_t thread, stack, klass, notifier;
	int64_t timeout_ms;
	bool timed_out;
	uint64_t address;
};

/* ---- ours --------------------------------------------------------------------------------------
 */

/*
 * What a period of about a second was like for the process, its container and the machine. Where a
 * source is not there (no quota, no PSI, a kernel without), its numbers are 0 and `has` lacks its
 * name.
 */
struct jfr_vitals {
	uint64_t period_ns;
	const char *has; /* "process cgroup pressure safepoints": which of the groups below count */
	/* the process */
	uint64_t minor_faults, major_faults;
	uint64_t read_bytes, written_bytes; /* from and to storage */
	uint64_t io_wait_ns;		    /* its threads, for storage; needs delay accounting */
	/* its control group */
	uint64_t cgroup_cpu_ns, throttled_ns, throttled_slices;
	uint64_t memory, memory_limit; /* bytes; limit 0: none */
	uint64_t limit_hits, oom_kills;
	/* pressure, of the control group where it tells, else of the machine: time that some, or
	 * all of its tasks waited */
	uint64_t cpu_some_ns, memory_some_ns, memory_full_ns, io_some_ns, io_full_ns;
	/* the machine */
	uint64_t stolen_ns;
	/* the JVM */
	uint64_t safepoints, safepoint_ns, to_safepoint_ns;
	uint64_t heap_used, heap_committed, heap_max;
	uint64_t code_used, code_max; /* of the code cache, at most 10 s ago; 0: not known */
	uint64_t clock_error_ns;      /* of collections' times */
};

/*
 * Collections that came and went between two looks: of each only the last one shows, of the others
 * how many there were and how long they took together.
 */
struct jfr_collections_unseen {
	uint64_t period_ns;
	uint64_t late_ns; /* of the period: after the recording's end, where gnomon looked late */
	const char *collector;
	uint64_t count;
	uint64_t pauses_ns;
};

#endif
