/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/jvmsetup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jfr/vitals.h"
#include "jfr/write.h"
#include "jvm/counters.h"
#include "jvm/flags.h"
#include "naming/secret.h"
#include "target/procfs.h"

#define KEY_MAX 512

/* ---- flags ------------------------------------------------------------------------------------
 */

/* The few that configurations are made of; by their names below. */
enum wanted {
	W_SERIAL,
	W_PARALLEL,
	W_G1,
	W_Z,
	W_Z_GENERATIONAL,
	W_SHENANDOAH,
	W_PARALLEL_THREADS,
	W_CONC_THREADS,
	W_DYNAMIC,
	W_EXPLICIT_CONCURRENT,
	W_EXPLICIT_DISABLED,
	W_PAUSE,
	W_RATIO,
	W_MIN,
	W_MAX,
	W_INITIAL,
	W_COMPRESSED,
	W_ALIGNMENT,
	W_TENURING_MAX,
	W_TENURING,
	W_TLAB,
	W_TLAB_MIN,
	W_TLAB_WASTE,
	W_NEW,
	W_NEW_MAX,
	W_NEW_RATIO,
	WANTED
};

static const char *const wanted[WANTED] = {
	[W_SERIAL] = "UseSerialGC",
	[W_PARALLEL] = "UseParallelGC",
	[W_G1] = "UseG1GC",
	[W_Z] = "UseZGC",
	[W_Z_GENERATIONAL] = "ZGenerational",
	[W_SHENANDOAH] = "UseShenandoahGC",
	[W_PARALLEL_THREADS] = "ParallelGCThreads",
	[W_CONC_THREADS] = "ConcGCThreads",
	[W_DYNAMIC] = "UseDynamicNumberOfGCThreads",
	[W_EXPLICIT_CONCURRENT] = "ExplicitGCInvokesConcurrent",
	[W_EXPLICIT_DISABLED] = "DisableExplicitGC",
	[W_PAUSE] = "MaxGCPauseMillis",
	[W_RATIO] = "GCTimeRatio",
	[W_MIN] = "MinHeapSize",
	[W_MAX] = "MaxHeapSize",
	[W_INITIAL] = "InitialHeapSize",
	[W_COMPRESSED] = "UseCompressedOops",
	[W_ALIGNMENT] = "ObjectAlignmentInBytes",
	[W_TENURING_MAX] = "MaxTenuringThreshold",
	[W_TENURING] = "InitialTenuringThreshold",
	[W_TLAB] = "UseTLAB",
	[W_TLAB_MIN] = "MinTLABSize",
	[W_TLAB_WASTE] = "TLABRefillWasteFraction",
	[W_NEW] = "NewSize",
	[W_NEW_MAX] = "MaxNewSize",
	[W_NEW_RATIO] = "NewRatio",
};

struct flags {
	struct jfrw *out;
	uint64_t time;
	uint64_t v[WANTED];
	bool has[WANTED];
	bool pause_set;
	uint64_t n;
};

static void wanted_take(struct flags *w, const struct flag *f)
{
	for (unsigned int i = 0; i < WANTED; i++)
		if (!strcmp(wanted[i], f->name)) {
			w->v[i] = f->bits;
			w->has[i] = true;
		}
	if (!strcmp(wanted[W_PAUSE], f->name))
		w->pause_set = strcmp(f->origin, "Default") != 0;
}

static void on_flag(void *ctx, const struct flag *f)
{
	static const enum jfr_type types[FLAG_TYPES] = {
		[FLAG_BOOL] = JFR_BOOLEAN_FLAG,	 [FLAG_INT] = JFR_INT_FLAG,
		[FLAG_UINT] = JFR_UINT_FLAG,	 [FLAG_INTX] = JFR_LONG_FLAG,
		[FLAG_UINTX] = JFR_ULONG_FLAG,	 [FLAG_UINT64] = JFR_ULONG_FLAG,
		[FLAG_SIZE] = JFR_ULONG_FLAG,	 [FLAG_DOUBLE] = JFR_DOUBLE_FLAG,
		[FLAG_STRING] = JFR_STRING_FLAG, [FLAG_STRINGS] = JFR_STRING_FLAG,
	};
	struct flags *w = ctx;
	struct jfr_flag e = {
		.name = f->name,
		.is = f->bits != 0,
		.small = (int32_t)f->bits,
		.large = (int64_t)f->bits,
		.real = f->real,
		.text = secret_looks(f->name, f->text) ? SECRET_MASK : f->text,
		.origin = jfrw_name(w->out, JFR_FLAG_ORIGIN, f->origin),
	};

	if (f->type >= FLAG_STRING && !f->bits)
		e.text = NULL;
	wanted_take(w, f);
	w->n++;
	jfrw_event(w->out, types[f->type], w->time, &e);
}

/* ---- what follows from them ------------------------------------------------------------------ */

/* gc/shared/gcConfiguration.cpp, in the words of gcName.hpp. */
static void collector_names(const struct flags *w, const char **young, const char **old)
{
	*young = "N/A";
	if (w->v[W_G1]) {
		*young = "G1New";
		*old = "G1Old";
	} else if (w->v[W_PARALLEL]) {
		*young = "ParallelScavenge";
		*old = "ParallelOld";
	} else if (w->v[W_Z] && (w->v[W_Z_GENERATIONAL] || !w->has[W_Z_GENERATIONAL])) {
		*young = "ZGC Minor";
		*old = "ZGC Major";
	} else if (w->v[W_Z]) {
		*old = "Z";
	} else if (w->v[W_SHENANDOAH]) {
		*old = "Shenandoah";
	} else {
		*young = "DefNew";
		*old = "SerialOld";
	}
}

static void gc_write(const struct flags *w)
{
	const char *young, *old;
	struct jfr_gc_configuration e = {
		.parallel_threads = (uint32_t)w->v[W_PARALLEL_THREADS],
		.concurrent_threads = (uint32_t)w->v[W_CONC_THREADS],
		.dynamic_threads = w->v[W_DYNAMIC],
		.explicit_concurrent = w->v[W_EXPLICIT_CONCURRENT],
		.explicit_disabled = w->v[W_EXPLICIT_DISABLED],
		.pause_target_ms = w->pause_set ? (int64_t)w->v[W_PAUSE] : INT64_MIN,
		.time_ratio = (uint32_t)w->v[W_RATIO],
	};

	collector_names(w, &young, &old);
	e.young = jfrw_name(w->out, JFR_GC_NAME, young);
	e.old = jfrw_name(w->out, JFR_GC_NAME, old);
	jfrw_event(w->out, JFR_GC_CONFIGURATION, w->time, &e);
}

static void heap_write(const struct flags *w, struct vm *vm)
{
	const char *mode = vm_oop_mode(vm);

	jfrw_event(w->out, JFR_GC_HEAP_CONFIGURATION, w->time,
		   &(struct jfr_gc_heap_configuration){
			   .min = w->v[W_MIN],
			   .max = w->v[W_MAX],
			   .initial = w->v[W_INITIAL],
			   .compressed = w->v[W_COMPRESSED],
			   .mode = jfrw_name(w->out, JFR_OOP_MODE, mode ? mode : "32-bit"),
			   .alignment = w->v[W_ALIGNMENT],
			   .address_bits = w->v[W_COMPRESSED] ? 32 : 64,
		   });
	jfrw_event(w->out, JFR_GC_SURVIVOR_CONFIGURATION, w->time,
		   &(struct jfr_gc_survivor_configuration){
			   .max = (uint8_t)w->v[W_TENURING_MAX],
			   .initial = (uint8_t)w->v[W_TENURING],
		   });
	jfrw_event(w->out, JFR_GC_TLAB_CONFIGURATION, w->time,
		   &(struct jfr_gc_tlab_configuration){
			   .used = w->v[W_TLAB],
			   .min = w->v[W_TLAB_MIN],
			   .waste_limit = w->v[W_TLAB_WASTE],
		   });
	jfrw_event(w->out, JFR_YOUNG_CONFIGURATION, w->time,
		   &(struct jfr_young_configuration){
			   .min = w->v[W_NEW],
			   .max = w->v[W_NEW_MAX],
			   .new_ratio = (uint32_t)w->v[W_NEW_RATIO],
		   });
}

/* G1 and ZGC may use all of the heap for what is old. */
static uint64_t live_max(const struct flags *w)
{
	const char *young, *old;
	bool apart;

	collector_names(w, &young, &old);
	apart = !strcmp(old, "SerialOld") || !strcmp(old, "ParallelOld");
	return apart && w->v[W_NEW_MAX] < w->v[W_MAX] ? w->v[W_MAX] - w->v[W_NEW_MAX] : w->v[W_MAX];
}

uint64_t jvmsetup_flags(struct jfrw *out, uint64_t time, struct vm *vm, uint64_t *live)
{
	struct flags w = {.out = out, .time = time};

	flags_each(vm, on_flag, &w);
	*live = 0;
	if (!w.n)
		return 0;
	gc_write(&w);
	heap_write(&w, vm);
	*live = live_max(&w);
	return w.v[W_MAX];
}

/* ---- properties and environment -------------------------------------------------------------- */

struct writer {
	struct jfrw *out;
	uint64_t time;
};

static void pair_write(const struct writer *w, enum jfr_type type, const char *key,
		       const char *value)
{
	jfrw_event(w->out, type, w->time,
		   &(struct jfr_key_value){
			   .key = key,
			   .value = secret_looks(key, value) ? SECRET_MASK : value,
		   });
}

static void on_property(void *ctx, const char *name, const char *value)
{
	pair_write(ctx, JFR_SYSTEM_PROPERTY, name, value);
}

/* "KEY=VALUE", or "KEY" alone. */
static void text_write(const struct writer *w, enum jfr_type type, const char *text)
{
	size_t n = strcspn(text, "=");
	char key[KEY_MAX];

	if (n >= sizeof(key))
		return;
	memcpy(key, text, n);
	key[n] = '\0';
	pair_write(w, type, key, text[n] ? text + n + 1 : "");
}

/* The options of the JVM end where the main class or -jar begins. */
static void defines_write(const struct writer *w, pid_t pid)
{
	struct proc_args a;

	if (proc_cmdline_read(pid, &a))
		return;
	for (size_t i = 1; i < a.n && strcmp(a.v[i], "-jar"); i++) {
		if (!strcmp(a.v[i], "-cp") || !strcmp(a.v[i], "-classpath") ||
		    !strcmp(a.v[i], "--class-path") || !strcmp(a.v[i], "-p") ||
		    !strcmp(a.v[i], "--module-path") || !strcmp(a.v[i], "--add-modules"))
			i++;
		else if (a.v[i][0] != '-' && a.v[i][0] != '@')
			break;
		else if (!strncmp(a.v[i], "-D", 2))
			text_write(w, JFR_SYSTEM_PROPERTY, a.v[i] + 2);
	}
	proc_args_free(&a);
}

void jvmsetup_properties(struct jfrw *out, uint64_t time, pid_t pid, struct counters *k)
{
	struct writer w = {out, time};

	if (k)
		counters_texts(k, "java.property.", on_property, &w);
	defines_write(&w, pid);
}

void jvmsetup_environment(struct jfrw *out, uint64_t time, pid_t pid)
{
	struct writer w = {out, time};
	struct proc_args env;

	if (proc_environ_read(pid, &env))
		return;
	for (size_t i = 0; i < env.n; i++)
		text_write(&w, JFR_ENVIRONMENT, env.v[i]);
	proc_args_free(&env);
}
