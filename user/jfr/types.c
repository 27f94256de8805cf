/* SPDX-License-Identifier: Apache-2.0 */
#include "jfr/types.h"

#include <string.h>

#include "base/frame.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* An event field: E is the event's struct, m its member. */
#define F(E, m, field, t, c, l)                                                                    \
	{                                                                                          \
		.name = field, .type = t, .content = c, .offset = offsetof(struct E, m),           \
		.size = sizeof(((struct E *)0)->m), .label = l                                     \
	}
/* A field of a constant: no struct, it is encoded by hand from interned parts. */
#define C(field, t, l)                                                                             \
	{                                                                                          \
		.name = field, .type = t, .label = l                                               \
	}

/* ---- constants ------------------------------------------------------------------------------- */

static const struct jfr_field thread_fields[] = {
	C("osName", JFR_STRING, "OS Thread Name"),
	C("osThreadId", JFR_LONG, "OS Thread Id"),
	C("javaName", JFR_STRING, "Java Thread Name"),
	C("javaThreadId", JFR_LONG, "Java Thread Id"),
	C("group", JFR_THREAD_GROUP, "Java Thread Group"),
	C("virtual", JFR_BOOLEAN, "Virtual Thread"),
};

static const struct jfr_field thread_group_fields[] = {
	C("parent", JFR_THREAD_GROUP, "Parent"),
	C("name", JFR_STRING, "Name"),
};

static const struct jfr_field class_fields[] = {
	C("classLoader", JFR_CLASS_LOADER, "Class Loader"),
	C("name", JFR_SYMBOL, "Name"),
	C("package", JFR_PACKAGE, "Package"),
	C("modifiers", JFR_INT, "Access Modifiers"),
	C("hidden", JFR_BOOLEAN, "Hidden"),
};

static const struct jfr_field class_loader_fields[] = {
	C("type", JFR_CLASS, "Type"),
	C("name", JFR_SYMBOL, "Name"),
};

static const struct jfr_field package_fields[] = {
	C("name", JFR_SYMBOL, "Name"),
};

static const struct jfr_field method_fields[] = {
	C("type", JFR_CLASS, "Java Class"),	   C("name", JFR_SYMBOL, "Name"),
	C("descriptor", JFR_SYMBOL, "Descriptor"), C("modifiers", JFR_INT, "Access Modifiers"),
	C("hidden", JFR_BOOLEAN, "Hidden"),
};

static const struct jfr_field symbol_fields[] = {
	C("string", JFR_STRING, "String"),
};

static const struct jfr_field stack_trace_fields[] = {
	C("truncated", JFR_BOOLEAN, "Truncated"),
	{.name = "frames", .type = JFR_STACK_FRAME, .array = 1, .label = "Stack Frames"},
};

static const struct jfr_field stack_frame_fields[] = {
	C("method", JFR_METHOD, "Java Method"),
	C("lineNumber", JFR_INT, "Line Number"),
	C("bytecodeIndex", JFR_INT, "Bytecode Index"),
	C("type", JFR_FRAME_TYPE, "Frame Type"),
};

static const struct jfr_field frame_type_fields[] = {
	C("description", JFR_STRING, "Description"),
};

static const struct jfr_field word_fields[] = {
	C("word", JFR_STRING, "Word"),
};

static const struct jfr_field thread_state_fields[] = {
	C("name", JFR_STRING, "Name"),
};

/* ---- annotations ----------------------------------------------------------------------------- */

static const struct jfr_field value_field[] = {
	C("value", JFR_STRING, NULL),
};

static const struct jfr_field values_field[] = {
	{.name = "value", .type = JFR_STRING, .array = 1},
};

/* ---- events ---------------------------------------------------------------------------------- */

static const struct jfr_field execution_sample_fields[] = {
	F(jfr_execution_sample, thread, "sampledThread", JFR_THREAD, 0, "Thread"),
	F(jfr_execution_sample, stack, "stackTrace", JFR_STACK_TRACE, 0, "Stack Trace"),
	F(jfr_execution_sample, state, "state", JFR_THREAD_STATE, 0, "Thread State"),
};

static const struct jfr_field cpu_time_sample_fields[] = {
	F(jfr_cpu_time_sample, stack, "stackTrace", JFR_STACK_TRACE, 0, "Stack Trace"),
	F(jfr_cpu_time_sample, thread, "eventThread", JFR_THREAD, 0, "Thread"),
	F(jfr_cpu_time_sample, failed, "failed", JFR_BOOLEAN, 0, "Failed"),
	F(jfr_cpu_time_sample, period_ns, "samplingPeriod", JFR_LONG, JFR_SPAN_TICKS,
	  "CPU Time Sampling Period"),
	F(jfr_cpu_time_sample, biased, "biased", JFR_BOOLEAN, 0, "Biased"),
};

static const struct jfr_field cpu_time_samples_lost_fields[] = {
	F(jfr_cpu_time_samples_lost, count, "lostSamples", JFR_INT, 0, "Lost Samples"),
	F(jfr_cpu_time_samples_lost, thread, "eventThread", JFR_THREAD, 0, "Thread"),
};

static const struct jfr_field wall_clock_sample_fields[] = {
	F(jfr_wall_clock_sample, thread, "sampledThread", JFR_THREAD, 0, "Thread"),
	F(jfr_wall_clock_sample, stack, "stackTrace", JFR_STACK_TRACE, 0, "Stack Trace"),
	F(jfr_wall_clock_sample, state, "state", JFR_THREAD_STATE, 0, "Thread State"),
	F(jfr_wall_clock_sample, samples, "samples", JFR_INT, 0, "Samples"),
	F(jfr_wall_clock_sample, span_ns, "timeSpan", JFR_LONG, JFR_SPAN_TICKS, "Time Span"),
};

static const struct jfr_field data_loss_fields[] = {
	F(jfr_data_loss, amount, "amount", JFR_LONG, JFR_BYTES, "Amount"),
	F(jfr_data_loss, total, "total", JFR_LONG, JFR_BYTES, "Total"),
};

static const struct jfr_field active_recording_fields[] = {
	F(jfr_active_recording, id, "id", JFR_LONG, 0, "Id"),
	F(jfr_active_recording, name, "name", JFR_STRING, 0, "Name"),
	F(jfr_active_recording, destination, "destination", JFR_STRING, 0, "Destination"),
	F(jfr_active_recording, disk, "disk", JFR_BOOLEAN, 0, "To Disk"),
	F(jfr_active_recording, max_age_ms, "maxAge", JFR_LONG, JFR_SPAN_MS, "Max Age"),
	F(jfr_active_recording, flush_interval_ms, "flushInterval", JFR_LONG, JFR_SPAN_MS,
	  "Flush Interval"),
	F(jfr_active_recording, max_size, "maxSize", JFR_LONG, JFR_BYTES, "Max Size"),
	F(jfr_active_recording, start_unix_ms, "recordingStart", JFR_LONG, JFR_TS_UNIX_MS,
	  "Start Time"),
	F(jfr_active_recording, duration_ms, "recordingDuration", JFR_LONG, JFR_SPAN_MS,
	  "Recording Duration"),
};

static const struct jfr_field active_setting_fields[] = {
	F(jfr_active_setting, id, "id", JFR_LONG, 0, "Event Id"),
	F(jfr_active_setting, name, "name", JFR_STRING, 0, "Setting Name"),
	F(jfr_active_setting, value, "value", JFR_STRING, 0, "Setting Value"),
};

static const struct jfr_field os_information_fields[] = {
	F(jfr_os_information, version, "osVersion", JFR_STRING, 0, "OS Version"),
};

static const struct jfr_field cpu_information_fields[] = {
	F(jfr_cpu_information, cpu, "cpu", JFR_STRING, 0, "Type"),
	F(jfr_cpu_information, description, "description", JFR_STRING, 0, "Description"),
	F(jfr_cpu_information, sockets, "sockets", JFR_INT, 0, "Sockets"),
	F(jfr_cpu_information, cores, "cores", JFR_INT, 0, "Cores"),
	F(jfr_cpu_information, hw_threads, "hwThreads", JFR_INT, 0, "Hardware Threads"),
};

static const struct jfr_field jvm_information_fields[] = {
	F(jfr_jvm_information, name, "jvmName", JFR_STRING, 0, "JVM Name"),
	F(jfr_jvm_information, version, "jvmVersion", JFR_STRING, 0, "JVM Version"),
	F(jfr_jvm_information, jvm_arguments, "jvmArguments", JFR_STRING, 0,
	  "JVM Command Line Arguments"),
	F(jfr_jvm_information, flags, "jvmFlags", JFR_STRING, 0, "JVM Settings File Arguments"),
	F(jfr_jvm_information, java_arguments, "javaArguments", JFR_STRING, 0,
	  "Java Application Arguments"),
	F(jfr_jvm_information, start_unix_ms, "jvmStartTime", JFR_LONG, JFR_TS_UNIX_MS,
	  "JVM Start Time"),
	F(jfr_jvm_information, pid, "pid", JFR_LONG, 0, "Process Identifier"),
};

static const struct jfr_field native_library_fields[] = {
	F(jfr_native_library, name, "name", JFR_STRING, 0, "Name"),
	F(jfr_native_library, base, "baseAddress", JFR_LONG, JFR_ADDRESS, "Base Address"),
	F(jfr_native_library, top, "topAddress", JFR_LONG, JFR_ADDRESS, "Top Address"),
};

static const struct jfr_field container_configuration_fields[] = {
	F(jfr_container_configuration, type, "containerType", JFR_STRING, 0, "Container Type"),
	F(jfr_container_configuration, slice_period_us, "cpuSlicePeriod", JFR_LONG, JFR_SPAN_US,
	  "CPU Slice Period"),
	F(jfr_container_configuration, quota_us, "cpuQuota", JFR_LONG, JFR_SPAN_US, "CPU Quota"),
	F(jfr_container_configuration, shares, "cpuShares", JFR_LONG, 0, "CPU Shares"),
	F(jfr_container_configuration, effective_cpus, "effectiveCpuCount", JFR_LONG, 0,
	  "Effective CPU Count"),
	F(jfr_container_configuration, memory_soft_limit, "memorySoftLimit", JFR_LONG, JFR_BYTES,
	  "Memory Soft Limit"),
	F(jfr_container_configuration, memory_limit, "memoryLimit", JFR_LONG, JFR_BYTES,
	  "Memory Limit"),
	F(jfr_container_configuration, swap_memory_limit, "swapMemoryLimit", JFR_LONG, JFR_BYTES,
	  "Memory and Swap Limit"),
	F(jfr_container_configuration, host_memory, "hostTotalMemory", JFR_LONG, JFR_BYTES,
	  "Container Host Total Memory"),
	F(jfr_container_configuration, host_swap, "hostTotalSwapMemory", JFR_LONG, JFR_BYTES,
	  "Container Host Total Swap Memory"),
};

static const struct jfr_field container_cpu_throttling_fields[] = {
	F(jfr_container_cpu_throttling, elapsed_slices, "cpuElapsedSlices", JFR_LONG, 0,
	  "CPU Elapsed Slices"),
	F(jfr_container_cpu_throttling, throttled_slices, "cpuThrottledSlices", JFR_LONG, 0,
	  "CPU Throttled Slices"),
	F(jfr_container_cpu_throttling, throttled_ns, "cpuThrottledTime", JFR_LONG, JFR_SPAN_NS,
	  "CPU Throttled Time"),
};

static const struct jfr_field samples_lost_fields[] = {
	F(jfr_samples_lost, thread, "eventThread", JFR_THREAD, 0, "Thread"),
	F(jfr_samples_lost, kind, "kind", JFR_STRING, 0, "Kind of Sample"),
	F(jfr_samples_lost, reason, "reason", JFR_STRING, 0, "Reason"),
	F(jfr_samples_lost, count, "lostSamples", JFR_LONG, 0, "Lost Samples"),
};

static const struct jfr_field stack_quality_fields[] = {
	F(jfr_stack_quality, period_ns, "period", JFR_LONG, JFR_SPAN_NS, "Period"),
	F(jfr_stack_quality, kind, "kind", JFR_STRING, 0, "Kind of Sample"),
	F(jfr_stack_quality, samples, "samples", JFR_LONG, 0, "Samples"),
	F(jfr_stack_quality, complete, "complete", JFR_LONG, 0, "Complete"),
	F(jfr_stack_quality, guessed, "guessed", JFR_LONG, 0, "With Guessed Frames"),
	F(jfr_stack_quality, truncated, "truncated", JFR_LONG, 0, "Truncated"),
	F(jfr_stack_quality, bad_address, "badAddress", JFR_LONG, 0, "Ended at Unreadable Memory"),
	F(jfr_stack_quality, no_rule, "noRule", JFR_LONG, 0, "Ended without Unwind Rule"),
	F(jfr_stack_quality, failed, "failed", JFR_LONG, 0, "Without Stack"),
	F(jfr_stack_quality, unnamed, "unnamed", JFR_LONG, 0, "With Unloaded Methods"),
	F(jfr_stack_quality, in_heap, "inHeap", JFR_LONG, 0, "Ended where Callers Are in the Heap"),
};

static const struct jfr_field overhead_fields[] = {
	F(jfr_overhead, period_ns, "period", JFR_LONG, JFR_SPAN_NS, "Period"),
	F(jfr_overhead, collector_ns, "collectorTime", JFR_LONG, JFR_SPAN_NS, "Collector CPU Time"),
	F(jfr_overhead, bpf_ns, "bpfTime", JFR_LONG, JFR_SPAN_NS, "BPF Run Time"),
	F(jfr_overhead, bpf_runs, "bpfRuns", JFR_LONG, 0, "BPF Program Runs"),
	F(jfr_overhead, memory, "memory", JFR_LONG, JFR_BYTES, "Memory"),
	F(jfr_overhead, cpu_share, "cpuShare", JFR_FLOAT, JFR_PERCENT, "Share of One CPU"),
	F(jfr_overhead, stolen_ns, "stolenTime", JFR_LONG, JFR_SPAN_NS,
	  "CPU Time the Hypervisor Gave to Others"),
};

static const struct jfr_field cpu_use_fields[] = {
	F(jfr_cpu_use, period_ns, "period", JFR_LONG, JFR_SPAN_NS, "Period"),
	F(jfr_cpu_use, whose, "whose", JFR_STRING, 0, "Of What"),
	F(jfr_cpu_use, name, "processName", JFR_STRING, 0, "Process Name"),
	F(jfr_cpu_use, pid, "pid", JFR_LONG, 0, "Process Identifier"),
	F(jfr_cpu_use, count, "processes", JFR_INT, 0, "Processes"),
	F(jfr_cpu_use, cpu_ns, "cpuTime", JFR_LONG, JFR_SPAN_NS, "CPU Time"),
};

static const struct jfr_field thread_reservoir_fields[] = {
	F(jfr_thread_reservoir, draw, "epoch", JFR_LONG, 0, "Epoch"),
	F(jfr_thread_reservoir, live, "live", JFR_INT, 0, "Live Threads"),
	F(jfr_thread_reservoir, eligible, "eligible", JFR_INT, 0, "Eligible Threads"),
	F(jfr_thread_reservoir, sampled, "sampled", JFR_INT, 0, "Sampled Threads"),
};

static const struct jfr_field rate_change_fields[] = {
	F(jfr_rate_change, cpu_ns, "cpuInterval", JFR_LONG, JFR_SPAN_NS, "CPU Interval"),
	F(jfr_rate_change, wall_ns, "wallInterval", JFR_LONG, JFR_SPAN_NS, "Wall Interval"),
	F(jfr_rate_change, threads, "threads", JFR_INT, 0, "Threads Sampled at a Time"),
	F(jfr_rate_change, by, "by", JFR_STRING, 0, "Decided By"),
	F(jfr_rate_change, reason, "reason", JFR_STRING, 0, "Reason"),
};

static const struct jfr_field wait_cause_fields[] = {
	F(jfr_wait_cause, thread, "eventThread", JFR_THREAD, 0, "Thread"),
	F(jfr_wait_cause, stack, "stackTrace", JFR_STACK_TRACE, 0, "Stack Trace"),
	F(jfr_wait_cause, state, "state", JFR_THREAD_STATE, 0, "Thread State"),
	F(jfr_wait_cause, kind, "kind", JFR_WORD, 0, "Kind"),
	F(jfr_wait_cause, operation, "operation", JFR_WORD, 0, "Operation"),
	F(jfr_wait_cause, cause, "cause", JFR_WORD, 0, "Cause"),
	F(jfr_wait_cause, detail, "detail", JFR_WORD, 0, "Detail"),
	F(jfr_wait_cause, samples, "samples", JFR_INT, 0, "Samples"),
	F(jfr_wait_cause, span_ns, "timeSpan", JFR_LONG, JFR_SPAN_TICKS, "Time Span"),
	F(jfr_wait_cause, period_ns, "period", JFR_LONG, JFR_SPAN_TICKS,
	  "From the First Sample to the Last"),
	F(jfr_wait_cause, owner, "owner", JFR_THREAD, 0, "Owner"),
	F(jfr_wait_cause, tick, "tick", JFR_LONG, 0, "Number of the First Sample's Tick"),
	F(jfr_wait_cause, ticks, "ticks", JFR_LONG, 0, "Bits of the Samples' Ticks from There On"),
	F(jfr_wait_cause, waker, "waker", JFR_THREAD, 0, "Waker"),
	F(jfr_wait_cause, waker_stack, "wakerStackTrace", JFR_STACK_TRACE, 0,
	  "Waker's Stack Trace"),
};

static const struct jfr_field unmounted_threads_fields[] = {
	F(jfr_unmounted_threads, stack, "stackTrace", JFR_STACK_TRACE, 0, "Stack Trace"),
	F(jfr_unmounted_threads, state, "state", JFR_THREAD_STATE, 0, "Thread State"),
	F(jfr_unmounted_threads, threads, "threads", JFR_DOUBLE, 0, "Threads"),
	F(jfr_unmounted_threads, seen, "seen", JFR_LONG, 0, "Threads Drawn"),
	F(jfr_unmounted_threads, period_ns, "period", JFR_LONG, JFR_SPAN_TICKS, "Period"),
	F(jfr_unmounted_threads, name, "exampleName", JFR_STRING, 0, "Name of One of Them"),
	F(jfr_unmounted_threads, id, "exampleId", JFR_LONG, 0, "Java Thread Id of That"),
};

static const struct jfr_field unmounted_look_fields[] = {
	F(jfr_unmounted_look, period_ns, "period", JFR_LONG, JFR_SPAN_TICKS, "Period"),
	F(jfr_unmounted_look, places, "places", JFR_LONG, 0, "Places in Tables of Threads"),
	F(jfr_unmounted_look, drawn, "drawn", JFR_LONG, 0, "Places Drawn"),
	F(jfr_unmounted_look, threads, "threads", JFR_DOUBLE, 0, "Threads That Nobody Runs"),
	F(jfr_unmounted_look, mounted, "mounted", JFR_DOUBLE, 0, "Mounted Threads"),
	F(jfr_unmounted_look, unsettled, "unsettled", JFR_DOUBLE, 0,
	  "Threads That Changed Meanwhile"),
	F(jfr_unmounted_look, unknown, "unknown", JFR_DOUBLE, 0, "Threads without a Stack"),
	F(jfr_unmounted_look, strange, "strange", JFR_DOUBLE, 0, "Places That Were Not Followed"),
	F(jfr_unmounted_look, left_out, "leftOut", JFR_LONG, 0, "Containers Left Out"),
	F(jfr_unmounted_look, cpu_ns, "cpuTime", JFR_LONG, JFR_SPAN_NS, "CPU Time"),
};

static const struct jfr_field resource_fields[] = {
	F(jfr_resource, key, "key", JFR_STRING, 0, "Key"),
	F(jfr_resource, value, "value", JFR_STRING, 0, "Value"),
	F(jfr_resource, source, "source", JFR_STRING, 0, "Source"),
};

static const struct jfr_field native_file_fields[] = {
	F(jfr_native_file, name, "name", JFR_STRING, 0, "Name"),
	F(jfr_native_file, base, "baseAddress", JFR_LONG, JFR_ADDRESS, "Base Address"),
	F(jfr_native_file, top, "topAddress", JFR_LONG, JFR_ADDRESS, "Top Address"),
	F(jfr_native_file, offset, "fileOffset", JFR_LONG, JFR_BYTES, "File Offset"),
	F(jfr_native_file, build_id, "buildId", JFR_STRING, 0, "Build Id"),
};

static const struct jfr_field context_fields[] = {
	F(jfr_context, duration_ns, "duration", JFR_LONG, JFR_SPAN_TICKS, "Duration"),
	F(jfr_context, thread, "eventThread", JFR_THREAD, 0, "Thread"),
	F(jfr_context, trace, "traceId", JFR_STRING, 0, "Trace Id"),
	F(jfr_context, span, "spanId", JFR_STRING, 0, "Span Id"),
	F(jfr_context, root, "localRootSpanId", JFR_STRING, 0, "Local Root Span Id"),
	F(jfr_context, endpoint, "endpoint", JFR_WORD, 0, "Endpoint"),
	F(jfr_context, operation, "operation", JFR_WORD, 0, "Operation"),
	F(jfr_context, attributes, "attributes", JFR_STRING, 0, "Attributes"),
	F(jfr_context, samples, "samples", JFR_INT, 0, "Samples"),
};

/* ---- the table ------------------------------------------------------------------------------- */

#define FIELDS(f) .fields = f, .n_fields = ARRAY_LEN(f)
#define EVENT(n, f, l, d, ...)                                                                     \
	{                                                                                          \
		.name = n, .super = "jdk.jfr.Event", .label = l, .description = d,                 \
		.category = {__VA_ARGS__}, FIELDS(f)                                               \
	}
#define ANNOTATION(n, l, unit, ...)                                                                \
	{                                                                                          \
		.name = n, .super = "java.lang.annotation.Annotation", .label = l,                 \
		.content_type = unit, __VA_ARGS__                                                  \
	}

#define JVM "Java Virtual Machine"
#define OS  "Operating System"
#define OWN "gnomon"

static const struct jfr_type_info table[] = {
	[JFR_BOOLEAN] = {.name = "boolean"},
	[JFR_CHAR] = {.name = "char"},
	[JFR_FLOAT] = {.name = "float"},
	[JFR_DOUBLE] = {.name = "double"},
	[JFR_BYTE] = {.name = "byte"},
	[JFR_SHORT] = {.name = "short"},
	[JFR_INT] = {.name = "int"},
	[JFR_LONG] = {.name = "long"},
	[JFR_STRING] = {.name = "java.lang.String"},
	[JFR_STACK_FRAME] = {.name = "jdk.types.StackFrame", FIELDS(stack_frame_fields)},

	[JFR_THREAD] = {.name = "java.lang.Thread", .label = "Thread", FIELDS(thread_fields)},
	[JFR_THREAD_GROUP] = {.name = "jdk.types.ThreadGroup",
			      .label = "Thread Group",
			      FIELDS(thread_group_fields)},
	[JFR_CLASS] = {.name = "java.lang.Class", .label = "Java Class", FIELDS(class_fields)},
	[JFR_CLASS_LOADER] = {.name = "jdk.types.ClassLoader",
			      .label = "Java Class Loader",
			      FIELDS(class_loader_fields)},
	[JFR_PACKAGE] = {.name = "jdk.types.Package", .label = "Package", FIELDS(package_fields)},
	[JFR_METHOD] = {.name = "jdk.types.Method", .label = "Java Method", FIELDS(method_fields)},
	[JFR_SYMBOL] = {.name = "jdk.types.Symbol",
			.label = "Symbol",
			FIELDS(symbol_fields),
			.simple = 1},
	[JFR_STACK_TRACE] = {.name = "jdk.types.StackTrace",
			     .label = "Stacktrace",
			     FIELDS(stack_trace_fields)},
	[JFR_FRAME_TYPE] = {.name = "jdk.types.FrameType",
			    .label = "Frame type",
			    FIELDS(frame_type_fields),
			    .simple = 1},
	[JFR_THREAD_STATE] = {.name = "jdk.types.ThreadState",
			      .label = "Java Thread State",
			      FIELDS(thread_state_fields),
			      .simple = 1},

	[JFR_WORD] = {.name = "gnomon.types.Word",
		      .label = "Word",
		      FIELDS(word_fields),
		      .simple = 1},

	[JFR_EXECUTION_SAMPLE] = EVENT(
		"jdk.ExecutionSample", execution_sample_fields, "Java Execution Sample",
		"A thread found on a CPU, after each CPU interval of its own", JVM, "Profiling"),
	[JFR_CPU_TIME_SAMPLE] = EVENT(
		"jdk.CPUTimeSample", cpu_time_sample_fields, "CPU Time Sample",
		"A thread found on a CPU, after each CPU interval of its own", JVM, "Profiling"),
	[JFR_CPU_TIME_SAMPLES_LOST] = EVENT(
		"jdk.CPUTimeSamplesLost", cpu_time_samples_lost_fields, "CPU Time Samples Lost",
		"CPU samples that were due and are not in the recording", JVM, "Profiling"),
	[JFR_WALL_CLOCK_SAMPLE] =
		EVENT("profiler.WallClockSample", wall_clock_sample_fields, "Wall Clock Sample",
		      "A thread off the CPU: one event per interval, with the ticks it crossed",
		      JVM, "Profiling"),
	[JFR_DATA_LOSS] =
		EVENT("jdk.DataLoss", data_loss_fields, "Data Loss",
		      "Events dropped since the output could not keep up", "Flight Recorder"),
	[JFR_ACTIVE_RECORDING] = EVENT("jdk.ActiveRecording", active_recording_fields,
				       "Flight Recording", "What was asked for", "Flight Recorder"),
	[JFR_ACTIVE_SETTING] =
		EVENT("jdk.ActiveSetting", active_setting_fields, "Recording Setting",
		      "A setting in force for one kind of event", "Flight Recorder"),
	[JFR_OS_INFORMATION] = EVENT("jdk.OSInformation", os_information_fields, "OS Information",
				     "Distribution and kernel of the host", OS),
	[JFR_CPU_INFORMATION] = EVENT("jdk.CPUInformation", cpu_information_fields,
				      "CPU Information", "Processors of the host", OS, "Processor"),
	[JFR_JVM_INFORMATION] = EVENT("jdk.JVMInformation", jvm_information_fields,
				      "JVM Information", "The JVM that was recorded", JVM),
	[JFR_NATIVE_LIBRARY] = EVENT("jdk.NativeLibrary", native_library_fields, "Native Library",
				     "A library mapped into the target", JVM, "Runtime"),
	[JFR_CONTAINER_CONFIGURATION] =
		EVENT("jdk.ContainerConfiguration", container_configuration_fields,
		      "Container Configuration", "Limits of the target's control group", OS),
	[JFR_CONTAINER_CPU_THROTTLING] = EVENT(
		"jdk.ContainerCPUThrottling", container_cpu_throttling_fields, "CPU Throttling",
		"How often the CPU quota held the control group back", OS, "Processor"),
	[JFR_SAMPLES_LOST] =
		EVENT("gnomon.SamplesLost", samples_lost_fields, "Samples Lost",
		      "Samples that were due and are not in the recording, by reason", OWN),
	[JFR_STACK_QUALITY] = EVENT("gnomon.StackQuality", stack_quality_fields, "Stack Quality",
				    "How the stacks of the samples of a period ended", OWN),
	[JFR_OVERHEAD] = EVENT("gnomon.Overhead", overhead_fields, "Overhead",
			       "What recording itself cost in a period", OWN),
	[JFR_CPU_USE] = EVENT("gnomon.CPUUse", cpu_use_fields, "CPU Use",
			      "Who used the machine's CPUs while it was recorded", OWN),
	[JFR_THREAD_RESERVOIR] =
		EVENT("gnomon.ThreadReservoir", thread_reservoir_fields, "Thread Reservoir",
		      "How many threads the wall clock samples from here on, and of how many", OWN),
	[JFR_WAIT_CAUSE] = EVENT("gnomon.WaitCause", wait_cause_fields, "Wait Cause",
				 "What a thread waited for in some of its wall clock samples", OWN),
	[JFR_RESOURCE] = EVENT("gnomon.Resource", resource_fields, "Resource",
			       "What the process is called by those who sort telemetry", OWN),
	[JFR_CONTEXT] = EVENT("gnomon.Context", context_fields, "Context",
			      "Which request a thread worked for in some of its samples", OWN),
	[JFR_RATE_CHANGE] =
		EVENT("gnomon.RateChange", rate_change_fields, "Rate Change",
		      "How often the process is sampled from here on, and who wants it so", OWN),
	[JFR_NATIVE_FILE] = EVENT("gnomon.NativeFile", native_file_fields, "Native File",
				  "A file with code in which frames of samples lie", OWN),
	[JFR_UNMOUNTED_THREADS] = EVENT(
		"gnomon.UnmountedThreads", unmounted_threads_fields, "Unmounted Virtual Threads",
		"Virtual threads that nobody runs, by where they wait", OWN),
	[JFR_UNMOUNTED_LOOK] =
		EVENT("gnomon.UnmountedLook", unmounted_look_fields, "Look at Virtual Threads",
		      "How many virtual threads nobody runs, and how that is known", OWN),

	[JFR_LABEL] = ANNOTATION("jdk.jfr.Label", NULL, 0, FIELDS(value_field)),
	[JFR_DESCRIPTION] = ANNOTATION("jdk.jfr.Description", NULL, 0, FIELDS(value_field)),
	[JFR_CATEGORY] = ANNOTATION("jdk.jfr.Category", NULL, 0, FIELDS(values_field)),
	[JFR_CONTENT_TYPE] = ANNOTATION("jdk.jfr.ContentType", "Content Type", 0, ),
	[JFR_TIMESTAMP] = ANNOTATION("jdk.jfr.Timestamp", "Timestamp", 1, FIELDS(value_field)),
	[JFR_TIMESPAN] = ANNOTATION("jdk.jfr.Timespan", "Timespan", 1, FIELDS(value_field)),
	[JFR_DATA_AMOUNT] = ANNOTATION("jdk.jfr.DataAmount", "Data Amount", 1, FIELDS(value_field)),
	[JFR_PERCENTAGE] = ANNOTATION("jdk.jfr.Percentage", "Percentage", 1, ),
	[JFR_MEMORY_ADDRESS] = ANNOTATION("jdk.jfr.MemoryAddress", "Memory Address", 1, ),
	[JFR_UNSIGNED_VALUE] = ANNOTATION("jdk.jfr.Unsigned", "Unsigned Value", 1, ),
	[JFR_FREQUENCY] = ANNOTATION("jdk.jfr.Frequency", "Frequency", 1, ),
};

const struct jfr_type_info *jfr_type_info(unsigned int t)
{
	if (jfr_type_is_vital(t))
		return jfr_vital_info(t);
	return t < ARRAY_LEN(table) && table[t].name ? &table[t] : NULL;
}

static const struct {
	uint8_t annotation;
	const char *value;
} contents[JFR_CONTENT_END] = {
	[JFR_TS_TICKS] = {JFR_TIMESTAMP, "TICKS"},
	[JFR_TS_UNIX_MS] = {JFR_TIMESTAMP, "MILLISECONDS_SINCE_EPOCH"},
	[JFR_SPAN_TICKS] = {JFR_TIMESPAN, "TICKS"},
	[JFR_SPAN_NS] = {JFR_TIMESPAN, "NANOSECONDS"},
	[JFR_SPAN_US] = {JFR_TIMESPAN, "MICROSECONDS"},
	[JFR_SPAN_MS] = {JFR_TIMESPAN, "MILLISECONDS"},
	[JFR_BYTES] = {JFR_DATA_AMOUNT, "BYTES"},
	[JFR_PERCENT] = {JFR_PERCENTAGE, ""},
	[JFR_ADDRESS] = {JFR_MEMORY_ADDRESS, ""},
	[JFR_UNSIGNED] = {JFR_UNSIGNED_VALUE, ""},
	[JFR_HERTZ] = {JFR_FREQUENCY, ""},
};

unsigned int jfr_content_annotation(unsigned int content, const char **value)
{
	if (content >= JFR_CONTENT_END || !contents[content].annotation)
		return JFR_NONE;
	*value = contents[content].value;
	return contents[content].annotation;
}

enum jfr_state jfr_state_plain(enum jfr_state state)
{
	switch (state) {
	case JFR_STATE_DEFAULT:
		return JFR_STATE_RUNNABLE;
	case JFR_STATE_QUEUED:
	case JFR_STATE_IO:
	case JFR_STATE_STOPPED:
	case JFR_STATE_IDLE:
		return JFR_STATE_SLEEPING;
	default:
		return state;
	}
}

unsigned int jfr_frame_type_plain(unsigned int type)
{
	switch (type) {
	case FRAME_CPP:
	case FRAME_KERNEL:
		return FRAME_NATIVE;
	case FRAME_C1:
		return FRAME_JIT;
	default:
		return type;
	}
}

bool jfr_type_is_plain(unsigned int t)
{
	const struct jfr_type_info *info = jfr_type_info(t);

	if (jfr_type_is_event(t))
		return info && !strncmp(info->name, "jdk.", 4);
	return !info || strncmp(info->name, "gnomon.", 7);
}

const struct jfr_named_id jfr_states[] = {
	{JFR_STATE_NEW, "STATE_NEW"},
	{JFR_STATE_DEFAULT, "STATE_DEFAULT"},
	{JFR_STATE_TERMINATED, "STATE_TERMINATED"},
	{JFR_STATE_RUNNABLE, "STATE_RUNNABLE"},
	{JFR_STATE_QUEUED, "STATE_QUEUED"},
	{JFR_STATE_IO, "STATE_IO"},
	{JFR_STATE_STOPPED, "STATE_STOPPED"},
	{JFR_STATE_IDLE, "STATE_IDLE"},
	{JFR_STATE_SLEEPING, "STATE_SLEEPING"},
	{JFR_STATE_WAITING, "STATE_IN_OBJECT_WAIT"},
	{JFR_STATE_WAITING_TIMED, "STATE_IN_OBJECT_WAIT_TIMED"},
	{JFR_STATE_PARKED, "STATE_PARKED"},
	{JFR_STATE_PARKED_TIMED, "STATE_PARKED_TIMED"},
	{JFR_STATE_BLOCKED, "STATE_BLOCKED_ON_MONITOR_ENTER"},
	{0, NULL},
};

const struct jfr_named_id jfr_frame_types[] = {
	{FRAME_INTERPRETED, "Interpreted"},
	{FRAME_JIT, "JIT compiled"},
	{FRAME_INLINED, "Inlined"},
	{FRAME_NATIVE, "Native"},
	{FRAME_CPP, "C++"},
	{FRAME_KERNEL, "Kernel"},
	{FRAME_C1, "C1 compiled"},
	{0, NULL},
};
