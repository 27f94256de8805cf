/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/vitals.h"

#include "jfr/types.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define F(E, m, field, t, c, l)                                                                    \
	{                                                                                          \
		.name = field, .type = t, .content = c, .offset = offsetof(struct E, m),           \
		.size = sizeof(((struct E *)0)->m), .label = l                                     \
	}
#define LONG(E, m, field, c, l) F(E, m, field, JFR_LONG, c, l)
#define INT(E, m, field, c, l)	F(E, m, field, JFR_INT, c, l)
#define BOOL(E, m, field, l)	F(E, m, field, JFR_BOOLEAN, 0, l)
#define TEXT(E, m, field, l)	F(E, m, field, JFR_STRING, 0, l)
#define THREAD(E, m, field, l)	F(E, m, field, JFR_THREAD, 0, l)
#define STACK(E, m)		F(E, m, "stackTrace", JFR_STACK_TRACE, 0, "Stack Trace")
#define DURATION(E)		LONG(E, duration, "duration", JFR_SPAN_TICKS, "Duration")
#define GC_ID(E)		INT(E, id, "gcId", JFR_UNSIGNED, "GC Identifier")

/* ---- words and structs ----------------------------------------------------------------------- */

#define WORD(name_, field, l)                                                                      \
	static const struct jfr_field name_##_fields[] = {                                         \
		{.name = field, .type = JFR_STRING, .label = l}}

WORD(gc_name, "name", "Name");
WORD(gc_cause, "cause", "Cause");
WORD(gc_when, "when", "When");
WORD(flag_origin, "origin", "Origin");
WORD(oop_mode, "mode", "Mode");

static const struct jfr_field virtual_space_fields[] = {
	LONG(jfr_virtual_space, start, "start", JFR_ADDRESS, "Start Address"),
	LONG(jfr_virtual_space, committed_end, "committedEnd", JFR_ADDRESS,
	     "Committed End Address"),
	LONG(jfr_virtual_space, committed, "committedSize", JFR_BYTES, "Committed Size"),
	LONG(jfr_virtual_space, reserved_end, "reservedEnd", JFR_ADDRESS, "Reserved End Address"),
	LONG(jfr_virtual_space, reserved, "reservedSize", JFR_BYTES, "Reserved Size"),
};

static const struct jfr_field metaspace_sizes_fields[] = {
	LONG(jfr_metaspace_sizes, committed, "committed", JFR_BYTES, "Committed"),
	LONG(jfr_metaspace_sizes, used, "used", JFR_BYTES, "Used"),
	LONG(jfr_metaspace_sizes, reserved, "reserved", JFR_BYTES, "Reserved"),
};

/* ---- the machine and the process ------------------------------------------------------------- */

static const struct jfr_field cpu_load_fields[] = {
	F(jfr_cpu_load, jvm_user, "jvmUser", JFR_FLOAT, JFR_PERCENT, "JVM User"),
	F(jfr_cpu_load, jvm_system, "jvmSystem", JFR_FLOAT, JFR_PERCENT, "JVM System"),
	F(jfr_cpu_load, machine, "machineTotal", JFR_FLOAT, JFR_PERCENT, "Machine Total"),
};

static const struct jfr_field thread_cpu_load_fields[] = {
	THREAD(jfr_thread_cpu_load, thread, "eventThread", "Event Thread"),
	F(jfr_thread_cpu_load, user, "user", JFR_FLOAT, JFR_PERCENT, "User Mode CPU Load"),
	F(jfr_thread_cpu_load, system, "system", JFR_FLOAT, JFR_PERCENT, "System Mode CPU Load"),
};

static const struct jfr_field switch_rate_fields[] = {
	F(jfr_switch_rate, hertz, "switchRate", JFR_FLOAT, JFR_HERTZ, "Switch Rate"),
};

static const struct jfr_field resident_set_fields[] = {
	LONG(jfr_resident_set, size, "size", JFR_BYTES, "Resident Set Size"),
	LONG(jfr_resident_set, peak, "peak", JFR_BYTES, "Resident Set Size Peak Value"),
};

static const struct jfr_field physical_memory_fields[] = {
	LONG(jfr_physical_memory, total, "totalSize", JFR_BYTES, "Total Size"),
	LONG(jfr_physical_memory, used, "usedSize", JFR_BYTES, "Used Size"),
};

static const struct jfr_field system_process_fields[] = {
	TEXT(jfr_system_process, pid, "pid", "Process Identifier"),
	TEXT(jfr_system_process, command, "commandLine", "Command Line"),
};

static const struct jfr_field key_value_fields[] = {
	TEXT(jfr_key_value, key, "key", "Key"),
	TEXT(jfr_key_value, value, "value", "Value"),
};

static const struct jfr_field container_cpu_usage_fields[] = {
	LONG(jfr_container_cpu_usage, total, "cpuTime", JFR_SPAN_NS, "CPU Time"),
	LONG(jfr_container_cpu_usage, user, "cpuUserTime", JFR_SPAN_NS, "CPU User Time"),
	LONG(jfr_container_cpu_usage, system, "cpuSystemTime", JFR_SPAN_NS, "CPU System Time"),
};

static const struct jfr_field container_memory_usage_fields[] = {
	LONG(jfr_container_memory_usage, fails, "memoryFailCount", 0, "Memory Fail Count"),
	LONG(jfr_container_memory_usage, usage, "memoryUsage", JFR_BYTES, "Memory Usage"),
	LONG(jfr_container_memory_usage, swap_usage, "swapMemoryUsage", JFR_BYTES,
	     "Memory and Swap Usage"),
};

/* ---- the JVM as it was set up ---------------------------------------------------------------- */

#define FLAG(name_, m, t, c)                                                                       \
	static const struct jfr_field name_##_fields[] = {                                         \
		TEXT(jfr_flag, name, "name", "Name"),                                              \
		F(jfr_flag, m, "value", t, c, "Value"),                                            \
		F(jfr_flag, origin, "origin", JFR_FLAG_ORIGIN, 0, "Origin"),                       \
	}

FLAG(boolean_flag, is, JFR_BOOLEAN, 0);
FLAG(int_flag, small, JFR_INT, 0);
FLAG(uint_flag, small, JFR_INT, JFR_UNSIGNED);
FLAG(long_flag, large, JFR_LONG, 0);
FLAG(ulong_flag, large, JFR_LONG, JFR_UNSIGNED);
FLAG(double_flag, real, JFR_DOUBLE, 0);
FLAG(string_flag, text, JFR_STRING, 0);

static const struct jfr_field gc_configuration_fields[] = {
	F(jfr_gc_configuration, young, "youngCollector", JFR_GC_NAME, 0, "Young Garbage Collector"),
	F(jfr_gc_configuration, old, "oldCollector", JFR_GC_NAME, 0, "Old Garbage Collector"),
	INT(jfr_gc_configuration, parallel_threads, "parallelGCThreads", JFR_UNSIGNED,
	    "Parallel GC Threads"),
	INT(jfr_gc_configuration, concurrent_threads, "concurrentGCThreads", JFR_UNSIGNED,
	    "Concurrent GC Threads"),
	BOOL(jfr_gc_configuration, dynamic_threads, "usesDynamicGCThreads",
	     "Uses Dynamic GC Threads"),
	BOOL(jfr_gc_configuration, explicit_concurrent, "isExplicitGCConcurrent",
	     "Concurrent Explicit GC"),
	BOOL(jfr_gc_configuration, explicit_disabled, "isExplicitGCDisabled",
	     "Disabled Explicit GC"),
	LONG(jfr_gc_configuration, pause_target_ms, "pauseTarget", JFR_SPAN_MS, "Pause Target"),
	INT(jfr_gc_configuration, time_ratio, "gcTimeRatio", JFR_UNSIGNED, "GC Time Ratio"),
};

static const struct jfr_field gc_heap_configuration_fields[] = {
	LONG(jfr_gc_heap_configuration, min, "minSize", JFR_BYTES, "Minimum Heap Size"),
	LONG(jfr_gc_heap_configuration, max, "maxSize", JFR_BYTES, "Maximum Heap Size"),
	LONG(jfr_gc_heap_configuration, initial, "initialSize", JFR_BYTES, "Initial Heap Size"),
	BOOL(jfr_gc_heap_configuration, compressed, "usesCompressedOops",
	     "If Compressed Oops Are Used"),
	F(jfr_gc_heap_configuration, mode, "compressedOopsMode", JFR_OOP_MODE, 0,
	  "Compressed Oops Mode"),
	LONG(jfr_gc_heap_configuration, alignment, "objectAlignment", JFR_BYTES,
	     "Object Alignment"),
	F(jfr_gc_heap_configuration, address_bits, "heapAddressBits", JFR_BYTE, JFR_UNSIGNED,
	  "Heap Address Size"),
};

static const struct jfr_field gc_survivor_configuration_fields[] = {
	F(jfr_gc_survivor_configuration, max, "maxTenuringThreshold", JFR_BYTE, JFR_UNSIGNED,
	  "Maximum Tenuring Threshold"),
	F(jfr_gc_survivor_configuration, initial, "initialTenuringThreshold", JFR_BYTE,
	  JFR_UNSIGNED, "Initial Tenuring Threshold"),
};

static const struct jfr_field gc_tlab_configuration_fields[] = {
	BOOL(jfr_gc_tlab_configuration, used, "usesTLABs", "TLABs Used"),
	LONG(jfr_gc_tlab_configuration, min, "minTLABSize", JFR_BYTES, "Minimum TLAB Size"),
	LONG(jfr_gc_tlab_configuration, waste_limit, "tlabRefillWasteLimit", JFR_BYTES,
	     "TLAB Refill Waste Limit"),
};

static const struct jfr_field young_configuration_fields[] = {
	LONG(jfr_young_configuration, min, "minSize", JFR_BYTES, "Minimum Young Generation Size"),
	LONG(jfr_young_configuration, max, "maxSize", JFR_BYTES, "Maximum Young Generation Size"),
	INT(jfr_young_configuration, new_ratio, "newRatio", JFR_UNSIGNED, "New Ratio"),
};

/* ---- the JVM as it goes ---------------------------------------------------------------------- */

static const struct jfr_field java_threads_fields[] = {
	LONG(jfr_java_threads, active, "activeCount", 0, "Active Threads"),
	LONG(jfr_java_threads, daemon, "daemonCount", 0, "Daemon Threads"),
	LONG(jfr_java_threads, started, "accumulatedCount", 0, "Accumulated Threads"),
	LONG(jfr_java_threads, peak, "peakCount", 0, "Peak Threads"),
};

static const struct jfr_field class_loading_fields[] = {
	LONG(jfr_class_loading, loaded, "loadedClassCount", 0, "Loaded Class Count"),
	LONG(jfr_class_loading, unloaded, "unloadedClassCount", 0, "Unloaded Class Count"),
};

static const struct jfr_field garbage_collection_fields[] = {
	DURATION(jfr_garbage_collection),
	THREAD(jfr_garbage_collection, thread, "eventThread", "Event Thread"),
	GC_ID(jfr_garbage_collection),
	F(jfr_garbage_collection, name, "name", JFR_GC_NAME, 0, "Name"),
	F(jfr_garbage_collection, cause, "cause", JFR_GC_CAUSE, 0, "Cause"),
	LONG(jfr_garbage_collection, pauses, "sumOfPauses", JFR_SPAN_TICKS, "Sum of Pauses"),
	LONG(jfr_garbage_collection, longest, "longestPause", JFR_SPAN_TICKS, "Longest Pause"),
};

static const struct jfr_field young_collection_fields[] = {
	DURATION(jfr_young_collection),
	GC_ID(jfr_young_collection),
	INT(jfr_young_collection, tenuring, "tenuringThreshold", JFR_UNSIGNED,
	    "Tenuring Threshold"),
};

static const struct jfr_field old_collection_fields[] = {
	DURATION(jfr_old_collection),
	GC_ID(jfr_old_collection),
};

static const struct jfr_field gc_pause_fields[] = {
	DURATION(jfr_gc_pause),
	THREAD(jfr_gc_pause, thread, "eventThread", "Event Thread"),
	GC_ID(jfr_gc_pause),
	TEXT(jfr_gc_pause, name, "name", "Name"),
};

static const struct jfr_field gc_heap_summary_fields[] = {
	GC_ID(jfr_gc_heap_summary),
	F(jfr_gc_heap_summary, when, "when", JFR_GC_WHEN, 0, "When"),
	F(jfr_gc_heap_summary, heap, "heapSpace", JFR_VIRTUAL_SPACE, 0, "Heap Space"),
	LONG(jfr_gc_heap_summary, used, "heapUsed", JFR_BYTES, "Heap Used"),
};

static const struct jfr_field metaspace_summary_fields[] = {
	GC_ID(jfr_metaspace_summary),
	F(jfr_metaspace_summary, when, "when", JFR_GC_WHEN, 0, "When"),
	LONG(jfr_metaspace_summary, threshold, "gcThreshold", JFR_BYTES, "GC Threshold"),
	F(jfr_metaspace_summary, all, "metaspace", JFR_METASPACE_SIZES, 0, "Total"),
	F(jfr_metaspace_summary, data, "dataSpace", JFR_METASPACE_SIZES, 0, "Data"),
	F(jfr_metaspace_summary, classes, "classSpace", JFR_METASPACE_SIZES, 0, "Class"),
};

static const struct jfr_field thread_start_fields[] = {
	THREAD(jfr_thread_start, event_thread, "eventThread", "Event Thread"),
	STACK(jfr_thread_start, stack),
	THREAD(jfr_thread_start, thread, "thread", "New Java Thread"),
	THREAD(jfr_thread_start, parent, "parentThread", "Parent Java Thread"),
};

static const struct jfr_field thread_end_fields[] = {
	THREAD(jfr_thread_end, event_thread, "eventThread", "Event Thread"),
	THREAD(jfr_thread_end, thread, "thread", "Java Thread"),
};

/* ---- waits ----------------------------------------------------------------------------------- */

static const struct jfr_field thread_park_fields[] = {
	DURATION(jfr_thread_park),
	THREAD(jfr_thread_park, thread, "eventThread", "Event Thread"),
	STACK(jfr_thread_park, stack),
	F(jfr_thread_park, klass, "parkedClass", JFR_CLASS, 0, "Class Parked On"),
	LONG(jfr_thread_park, timeout_ns, "timeout", JFR_SPAN_NS, "Park Timeout"),
	LONG(jfr_thread_park, until_ms, "until", JFR_TS_UNIX_MS, "Park Until"),
	LONG(jfr_thread_park, address, "address", JFR_ADDRESS, "Address of Object Parked"),
};

#define SOCKET_FIELDS                                                                              \
	DURATION(jfr_socket_io), THREAD(jfr_socket_io, thread, "eventThread", "Event Thread"),     \
		STACK(jfr_socket_io, stack), TEXT(jfr_socket_io, host, "host", "Remote Host"),     \
		TEXT(jfr_socket_io, address, "address", "Remote Address"),                         \
		INT(jfr_socket_io, port, "port", 0, "Remote Port")
#define FILE_FIELDS                                                                                \
	DURATION(jfr_file_io), THREAD(jfr_file_io, thread, "eventThread", "Event Thread"),         \
		STACK(jfr_file_io, stack), TEXT(jfr_file_io, path, "path", "Path")

static const struct jfr_field socket_read_fields[] = {
	SOCKET_FIELDS,
	LONG(jfr_socket_io, timeout_ms, "timeout", JFR_SPAN_MS, "Timeout Value"),
	LONG(jfr_socket_io, bytes, "bytesRead", JFR_BYTES, "Bytes Read"),
	BOOL(jfr_socket_io, ends, "endOfStream", "End of Stream"),
};

static const struct jfr_field socket_write_fields[] = {
	SOCKET_FIELDS,
	LONG(jfr_socket_io, bytes, "bytesWritten", JFR_BYTES, "Bytes Written"),
};

static const struct jfr_field file_read_fields[] = {
	FILE_FIELDS,
	LONG(jfr_file_io, bytes, "bytesRead", JFR_BYTES, "Bytes Read"),
	BOOL(jfr_file_io, ends, "endOfFile", "End of File"),
};

static const struct jfr_field file_write_fields[] = {
	FILE_FIELDS,
	LONG(jfr_file_io, bytes, "bytesWritten", JFR_BYTES, "Bytes Written"),
};

static const struct jfr_field thread_sleep_fields[] = {
	DURATION(jfr_thread_sleep),
	THREAD(jfr_thread_sleep, thread, "eventThread", "Event Thread"),
	STACK(jfr_thread_sleep, stack),
	LONG(jfr_thread_sleep, time_ns, "time", JFR_SPAN_NS, "Sleep Time"),
};

static const struct jfr_field monitor_enter_fields[] = {
	DURATION(jfr_monitor_enter),
	THREAD(jfr_monitor_enter, thread, "eventThread", "Event Thread"),
	STACK(jfr_monitor_enter, stack),
	F(jfr_monitor_enter, klass, "monitorClass", JFR_CLASS, 0, "Monitor Class"),
	THREAD(jfr_monitor_enter, owner, "previousOwner", "Previous Monitor Owner"),
	LONG(jfr_monitor_enter, address, "address", JFR_ADDRESS, "Monitor Address"),
};

static const struct jfr_field monitor_wait_fields[] = {
	DURATION(jfr_monitor_wait),
	THREAD(jfr_monitor_wait, thread, "eventThread", "Event Thread"),
	STACK(jfr_monitor_wait, stack),
	F(jfr_monitor_wait, klass, "monitorClass", JFR_CLASS, 0, "Monitor Class"),
	THREAD(jfr_monitor_wait, notifier, "notifier", "Notifier Thread"),
	LONG(jfr_monitor_wait, timeout_ms, "timeout", JFR_SPAN_MS, "Timeout"),
	BOOL(jfr_monitor_wait, timed_out, "timedOut", "Timed Out"),
	LONG(jfr_monitor_wait, address, "address", JFR_ADDRESS, "Monitor Address"),
};

/* ---- ours ------------------------------------------------------------------------------------ */

#define V(m, field, c, l) LONG(jfr_vitals, m, field, c, l)

static const struct jfr_field vitals_fields[] = {
	V(period_ns, "period", JFR_SPAN_NS, "Period"),
	TEXT(jfr_vitals, has, "has", "What Is Known"),
	V(minor_faults, "minorFaults", 0, "Page Faults without I/O"),
	V(major_faults, "majorFaults", 0, "Page Faults with I/O"),
	V(read_bytes, "bytesRead", JFR_BYTES, "Bytes Read from Storage"),
	V(written_bytes, "bytesWritten", JFR_BYTES, "Bytes Written to Storage"),
	V(io_wait_ns, "ioWaitTime", JFR_SPAN_NS, "Time Waited for Storage"),
	V(cgroup_cpu_ns, "groupCPUTime", JFR_SPAN_NS, "CPU Time of the Control Group"),
	V(throttled_ns, "throttledTime", JFR_SPAN_NS, "Time Throttled"),
	V(throttled_slices, "throttledSlices", 0, "Slices Throttled"),
	V(memory, "groupMemory", JFR_BYTES, "Memory of the Control Group"),
	V(memory_limit, "groupMemoryLimit", JFR_BYTES, "Memory Limit of the Control Group"),
	V(limit_hits, "memoryLimitHits", 0, "Times the Memory Limit Was Reached"),
	V(oom_kills, "oomKills", 0, "Processes Killed for Lack of Memory"),
	V(cpu_some_ns, "cpuPressure", JFR_SPAN_NS, "Time Some Waited for a CPU"),
	V(memory_some_ns, "memoryPressure", JFR_SPAN_NS, "Time Some Waited for Memory"),
	V(memory_full_ns, "memoryPressureFull", JFR_SPAN_NS, "Time All Waited for Memory"),
	V(io_some_ns, "ioPressure", JFR_SPAN_NS, "Time Some Waited for I/O"),
	V(io_full_ns, "ioPressureFull", JFR_SPAN_NS, "Time All Waited for I/O"),
	V(stolen_ns, "stolenTime", JFR_SPAN_NS, "CPU Time the Hypervisor Gave to Others"),
	V(safepoints, "safepoints", 0, "Safepoints"),
	V(safepoint_ns, "safepointTime", JFR_SPAN_NS, "Time in Safepoints"),
	V(to_safepoint_ns, "timeToSafepoint", JFR_SPAN_NS, "Time to Safepoints"),
	V(heap_used, "heapUsed", JFR_BYTES, "Heap Used"),
	V(heap_committed, "heapCommitted", JFR_BYTES, "Heap Committed"),
	V(heap_max, "heapMax", JFR_BYTES, "Heap at Most"),
	V(code_used, "codeCacheUsed", JFR_BYTES, "Code Cache Used"),
	V(code_max, "codeCacheMax", JFR_BYTES, "Code Cache at Most"),
	V(clock_error_ns, "clockError", JFR_SPAN_NS, "Error of Collections' Times"),
};

static const struct jfr_field collections_unseen_fields[] = {
	LONG(jfr_collections_unseen, period_ns, "period", JFR_SPAN_NS, "Period"),
	TEXT(jfr_collections_unseen, collector, "collector", "Collector"),
	LONG(jfr_collections_unseen, count, "collections", 0, "Collections"),
	LONG(jfr_collections_unseen, pauses_ns, "sumOfPauses", JFR_SPAN_NS, "Sum of Pauses"),
	LONG(jfr_collections_unseen, late_ns, "late", JFR_SPAN_NS,
	     "Part of the Period after the Recording's End"),
};

/* ---- the table ------------------------------------------------------------------------------- */

#define FIELDS(f) .fields = f, .n_fields = ARRAY_LEN(f)
#define EVENT(n, f, l, d, ...)                                                                     \
	{                                                                                          \
		.name = n, .super = "jdk.jfr.Event", .label = l, .description = d,                 \
		.category = {__VA_ARGS__}, FIELDS(f)                                               \
	}
#define WORDS(n, f, l)                                                                             \
	{                                                                                          \
		.name = "jdk.types." n, .label = l, FIELDS(f), .simple = 1                         \
	}

#define APP "Java Application"
#define JVM "Java Virtual Machine"
#define OS  "Operating System"
#define OWN "gnomon"

#define READ	 "Read from the JVM's performance counters"
#define FLAG_SAY "A flag of the JVM and who set it, read from its memory"

static const struct jfr_type_info structs[] = {
	{.name = "jdk.types.VirtualSpace", FIELDS(virtual_space_fields)},
	{.name = "jdk.types.MetaspaceSizes", FIELDS(metaspace_sizes_fields)},
};

static const struct jfr_type_info words[] = {
	[JFR_GC_NAME - JFR_GC_NAME] = WORDS("GCName", gc_name_fields, "GC Name"),
	[JFR_GC_CAUSE - JFR_GC_NAME] = WORDS("GCCause", gc_cause_fields, "GC Cause"),
	[JFR_GC_WHEN - JFR_GC_NAME] = WORDS("GCWhen", gc_when_fields, "GC When"),
	[JFR_FLAG_ORIGIN - JFR_GC_NAME] =
		WORDS("FlagValueOrigin", flag_origin_fields, "Flag Value Origin"),
	[JFR_OOP_MODE - JFR_GC_NAME] = WORDS("NarrowOopMode", oop_mode_fields, "Narrow Oop Mode"),
};

#define AT(t) [t - JFR_VITALS_FIRST]

static const struct jfr_type_info events[] = {
	AT(JFR_CPU_LOAD) = EVENT("jdk.CPULoad", cpu_load_fields, "CPU Load",
				 "Shares of all CPUs in about a second", OS, "Processor"),
	AT(JFR_THREAD_CPU_LOAD) =
		EVENT("jdk.ThreadCPULoad", thread_cpu_load_fields, "Thread CPU Load",
		      "A busy thread's share of all CPUs in about ten seconds", OS, "Processor"),
	AT(JFR_SWITCH_RATE) =
		EVENT("jdk.ThreadContextSwitchRate", switch_rate_fields,
		      "Thread Context Switch Rate", "Of the machine", OS, "Processor"),
	AT(JFR_RESIDENT_SET) = EVENT("jdk.ResidentSetSize", resident_set_fields,
				     "Resident Set Size", "Of the process", JVM, "Memory"),
	AT(JFR_PHYSICAL_MEMORY) = EVENT("jdk.PhysicalMemory", physical_memory_fields,
					"Physical Memory", "Of the machine", OS, "Memory"),
	AT(JFR_SYSTEM_PROCESS) = EVENT("jdk.SystemProcess", system_process_fields, "System Process",
				       "A process that the JVM can see", OS),
	AT(JFR_SYSTEM_PROPERTY) =
		EVENT("jdk.InitialSystemProperty", key_value_fields, "Initial System Property",
		      "What looks like a secret is masked", JVM),
	AT(JFR_ENVIRONMENT) =
		EVENT("jdk.InitialEnvironmentVariable", key_value_fields,
		      "Initial Environment Variable", "What looks like a secret is masked", OS),
	AT(JFR_BOOLEAN_FLAG) = EVENT("jdk.BooleanFlag", boolean_flag_fields, "Boolean Flag",
				     FLAG_SAY, JVM, "Flag"),
	AT(JFR_INT_FLAG) = EVENT("jdk.IntFlag", int_flag_fields, "Int Flag", FLAG_SAY, JVM, "Flag"),
	AT(JFR_UINT_FLAG) = EVENT("jdk.UnsignedIntFlag", uint_flag_fields, "Unsigned Int Flag",
				  FLAG_SAY, JVM, "Flag"),
	AT(JFR_LONG_FLAG) =
		EVENT("jdk.LongFlag", long_flag_fields, "Long Flag", FLAG_SAY, JVM, "Flag"),
	AT(JFR_ULONG_FLAG) = EVENT("jdk.UnsignedLongFlag", ulong_flag_fields, "Unsigned Long Flag",
				   FLAG_SAY, JVM, "Flag"),
	AT(JFR_DOUBLE_FLAG) =
		EVENT("jdk.DoubleFlag", double_flag_fields, "Double Flag", FLAG_SAY, JVM, "Flag"),
	AT(JFR_STRING_FLAG) =
		EVENT("jdk.StringFlag", string_flag_fields, "String Flag", FLAG_SAY, JVM, "Flag"),
	AT(JFR_GC_CONFIGURATION) = EVENT("jdk.GCConfiguration", gc_configuration_fields,
					 "GC Configuration", "From the JVM's flags", JVM, "GC"),
	AT(JFR_GC_HEAP_CONFIGURATION) =
		EVENT("jdk.GCHeapConfiguration", gc_heap_configuration_fields,
		      "GC Heap Configuration", "From the JVM's flags", JVM, "GC"),
	AT(JFR_GC_SURVIVOR_CONFIGURATION) =
		EVENT("jdk.GCSurvivorConfiguration", gc_survivor_configuration_fields,
		      "GC Survivor Configuration", "From the JVM's flags", JVM, "GC"),
	AT(JFR_GC_TLAB_CONFIGURATION) =
		EVENT("jdk.GCTLABConfiguration", gc_tlab_configuration_fields, "TLAB Configuration",
		      "From the JVM's flags", JVM, "GC"),
	AT(JFR_YOUNG_CONFIGURATION) =
		EVENT("jdk.YoungGenerationConfiguration", young_configuration_fields,
		      "Young Generation Configuration", "From the JVM's flags", JVM, "GC"),
	AT(JFR_JAVA_THREADS) = EVENT("jdk.JavaThreadStatistics", java_threads_fields,
				     "Java Thread Statistics", READ, APP, "Statistics"),
	AT(JFR_CLASS_LOADING) = EVENT("jdk.ClassLoadingStatistics", class_loading_fields,
				      "Class Loading Statistics", READ, APP, "Statistics"),
	AT(JFR_GARBAGE_COLLECTION) = EVENT(
		"jdk.GarbageCollection", garbage_collection_fields, "Garbage Collection",
		READ ", where a concurrent collection is one event for each pause", JVM, "GC"),
	AT(JFR_YOUNG_COLLECTION) = EVENT("jdk.YoungGarbageCollection", young_collection_fields,
					 "Young Garbage Collection", READ, JVM, "GC"),
	AT(JFR_OLD_COLLECTION) = EVENT("jdk.OldGarbageCollection", old_collection_fields,
				       "Old Garbage Collection", READ, JVM, "GC"),
	AT(JFR_GC_PAUSE) =
		EVENT("jdk.GCPhasePause", gc_pause_fields, "GC Phase Pause", READ, JVM, "GC"),
	AT(JFR_GC_HEAP_SUMMARY) =
		EVENT("jdk.GCHeapSummary", gc_heap_summary_fields, "Heap Summary",
		      READ "; before a collection, as they were at the last look", JVM, "GC"),
	AT(JFR_METASPACE_SUMMARY) =
		EVENT("jdk.MetaspaceSummary", metaspace_summary_fields, "Metaspace Summary",
		      READ "; before a collection, as they were at the last look", JVM, "GC"),
	AT(JFR_CONTAINER_CPU_USAGE) =
		EVENT("jdk.ContainerCPUUsage", container_cpu_usage_fields, "CPU Usage",
		      "CPU time of the control group", OS, "Processor"),
	AT(JFR_CONTAINER_MEMORY_USAGE) =
		EVENT("jdk.ContainerMemoryUsage", container_memory_usage_fields,
		      "Container Memory Usage", "Memory of the control group", OS, "Memory"),
	AT(JFR_THREAD_START) = EVENT("jdk.ThreadStart", thread_start_fields, "Java Thread Start",
				     "A thread was made by the kernel", APP),
	AT(JFR_THREAD_END) = EVENT("jdk.ThreadEnd", thread_end_fields, "Java Thread End",
				   "A thread ended in the kernel", APP),
	AT(JFR_THREAD_PARK) = EVENT("jdk.ThreadPark", thread_park_fields, "Java Thread Park",
				    "A wall sample of 10 ms and more that was parked", APP),
	AT(JFR_THREAD_SLEEP) = EVENT("jdk.ThreadSleep", thread_sleep_fields, "Java Thread Sleep",
				     "A wall sample of 10 ms and more that slept", APP),
	AT(JFR_MONITOR_ENTER) =
		EVENT("jdk.JavaMonitorEnter", monitor_enter_fields, "Java Monitor Blocked",
		      "A wall sample of 10 ms and more that was blocked by a monitor", APP),
	AT(JFR_MONITOR_WAIT) =
		EVENT("jdk.JavaMonitorWait", monitor_wait_fields, "Java Monitor Wait",
		      "A wall sample of 10 ms and more in Object.wait()", APP),
	AT(JFR_SOCKET_READ) =
		EVENT("jdk.SocketRead", socket_read_fields, "Socket Read",
		      "A wall sample of 10 ms and more that read from a connection", APP),
	AT(JFR_SOCKET_WRITE) =
		EVENT("jdk.SocketWrite", socket_write_fields, "Socket Write",
		      "A wall sample of 10 ms and more that wrote to a connection", APP),
	AT(JFR_FILE_READ) = EVENT("jdk.FileRead", file_read_fields, "File Read",
				  "A wall sample of 10 ms and more that read a file", APP),
	AT(JFR_FILE_WRITE) = EVENT("jdk.FileWrite", file_write_fields, "File Write",
				   "A wall sample of 10 ms and more that wrote a file", APP),
	AT(JFR_VITALS) = EVENT("gnomon.Vitals", vitals_fields, "Vitals",
			       "What a second was like for the process, its control group and "
			       "the machine",
			       OWN),
	AT(JFR_COLLECTIONS_UNSEEN) = EVENT("gnomon.CollectionsUnseen", collections_unseen_fields,
					   "Collections Not Seen One by One",
					   "How many came and went between two looks, and their "
					   "time together",
					   OWN),
};
_Static_assert(ARRAY_LEN(events) == JFR_EVENT_END - JFR_VITALS_FIRST, "one for each");
_Static_assert(ARRAY_LEN(words) == JFR_POOL_END - JFR_GC_NAME && JFR_POOL_END <= 32,
	       "type numbers");
_Static_assert(JFR_EVENT_END <= 128, "one byte in each event");

const struct jfr_type_info *jfr_vital_info(unsigned int t)
{
	if (jfr_type_is_struct(t))
		return &structs[t - JFR_VIRTUAL_SPACE];
	return jfr_type_is_pool(t) ? &words[t - JFR_GC_NAME] : &events[t - JFR_VITALS_FIRST];
}
