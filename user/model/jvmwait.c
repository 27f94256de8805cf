/* SPDX-License-Identifier: Apache-2.0 */
#include "model/jvmwait.h"

#include <string.h>

#define LOOK_AT 48 /* so many frames from the leaf are looked at */

struct sign {
	const char *prefix; /* of a function of libjvm */
	const char *words;
	bool served; /* for somebody: one of `callers` */
};

/*
 * The first frame from the leaf decides. runtime/safepoint.cpp, handshake.cpp, vmThread.cpp,
 * mutex.cpp; gc/z/zPageAllocator.cpp, gc/x/xPageAllocator.cpp, gc/shenandoah,
 * gc/shared/gcLocker.cpp; compiler/compileBroker.cpp; oops/instanceKlass.cpp,
 * classfile/systemDictionary.cpp.
 */
static const struct sign waits[] = {
	{"SafepointSynchronize::block", "safepoint", false},
	{"HandshakeState::", "handshake", false},
	{"ZPageAllocator::alloc_page_stall", "ZGC allocation stall", false},
	{"XPageAllocator::alloc_page_stall", "ZGC allocation stall", false}, /* 21, by default */
	{"ShenandoahControlThread::handle_alloc_failure", "Shenandoah allocation failure", false},
	{"ShenandoahController::handle_alloc_failure", "Shenandoah allocation failure", false},
	{"VMThread::execute", "VM operation", true},
	{"VMThread::wait_until_executed", "VM operation", true},
	{"Mutex::lock_contended", "lock of the JVM", true},
	{"GCLocker::", "GC locker", false},
	{"CompileBroker::wait_for_completion", "JIT compilation", false},
	{"InstanceKlass::initialize_impl", "class initialization", false},
	{"InstanceKlass::link_class_impl", "class initialization", false},
	{"SystemDictionary::", "class loading", false},
};

/* For whom: the first of those that called it. */
static const struct sign callers[] = {
	{"G1CollectedHeap::", "G1 heap", false},
	{"G1", "G1", false},
	{"ParallelScavengeHeap::", "Parallel heap", false},
	{"PSOldGen::", "Parallel heap", false},
	{"SerialHeap::", "Serial heap", false},
	{"GenCollectedHeap::", "Serial heap", false},
	{"ShenandoahHeap::", "Shenandoah heap", false},
	{"Deoptimiz", "deoptimization", false},
	{"BiasedLocking::", "biased locking", false},
	{"JvmtiEnv::", "JVMTI", false},
	{"ThreadService::", "thread dump", false},
	{"InstanceKlass::", "classes", false},
	{"SystemDictionary::", "classes", false},
	{"CompileBroker::", "compiler", false},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

_Static_assert(COUNT(waits) < 16 && COUNT(callers) < 16, "both fit a byte");

/* 1 and up, 0 none. */
static uint8_t sign_find(const struct sign *signs, size_t n, const char *method)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(method, signs[i].prefix, strlen(signs[i].prefix)))
			return (uint8_t)(i + 1);
	return 0;
}

/* Of the program, and not a stub of the JVM's. */
static bool is_java(const struct frame_name *f)
{
	return f->type != FRAME_KERNEL && f->type != FRAME_CPP && f->type != FRAME_NATIVE &&
	       f->klass[0] != '(';
}

uint8_t jvmwait_of(const struct frame_name *f, size_t n)
{
	uint8_t wait = 0, of = 0;

	for (size_t i = 0; i < n && i < LOOK_AT; i++) {
		if (is_java(&f[i]))
			return wait ? (uint8_t)(wait << 4 | of) : 0;
		if (f[i].type == FRAME_KERNEL)
			continue;
		if (wait && waits[wait - 1].served && !of)
			of = sign_find(callers, COUNT(callers), f[i].method);
		if (!wait)
			wait = sign_find(waits, COUNT(waits), f[i].method);
	}
	return 0;
}

const char *jvmwait_words(uint8_t wait, const char **of)
{
	size_t how = wait >> 4, whose = wait & 15;

	*of = whose && whose <= COUNT(callers) ? callers[whose - 1].words : NULL;
	return how && how <= COUNT(waits) ? waits[how - 1].words : "?";
}

bool jvmwait_is_vm(uint8_t wait)
{
	size_t how = wait >> 4;
	const char *words = how && how <= COUNT(waits) ? waits[how - 1].words : "";

	return !strcmp(words, "safepoint") || !strcmp(words, "VM operation");
}
