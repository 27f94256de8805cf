/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread names. A thread that starts reports itself and knows its tid; of threads that were there
 * before only the JavaThread* is known (the private field Thread.eetop, there since JDK 1.2), from
 * which the collector finds the tid.
 */
#include "agent/agent.h"
#include "agent/ring.h"
#include "agent/str.h"
#include "agent/sys.h"

#define THREAD_NAME_MAX 1024

static void *eetop; /* jfieldID */

static void *eetop_find(vm_env jni)
{
	void *klass =
		JNI_FUNC(jni, FindClass, void *, (vm_env, const char *))(jni, "java/lang/Thread");
	void *id = NULL;

	if (klass) {
		id = JNI_FUNC(jni, GetFieldID, void *,
			      (vm_env, void *, const char *, const char *))(jni, klass, "eetop",
									    "J");
		JNI_FUNC(jni, DeleteLocalRef, void, (vm_env, void *))(jni, klass);
	}
	if (!id)
		JNI_FUNC(jni, ExceptionClear, void, (vm_env))(jni);
	return id;
}

static void thread_write(vm_env jvmti, vm_env jni, void *thread, uint32_t tid)
{
	struct vm_thread_info info = {0};
	struct gna_thread r = {.tid = tid};
	void (*drop)(vm_env, void *) = JNI_FUNC(jni, DeleteLocalRef, void, (vm_env, void *));

	if (JVMTI_CALL(jvmti, GetThreadInfo, (vm_env, void *, struct vm_thread_info *), thread,
		       &info))
		return;
	if (eetop)
		r.javathread = (uint64_t)JNI_FUNC(jni, GetLongField, int64_t,
						  (vm_env, void *, void *))(jni, thread, eetop);
	r.name_len = (uint32_t)str_len(info.name, THREAD_NAME_MAX);
	if (r.tid || r.javathread) { /* else it has ended since it was found */
		record_init(&r.r, GNA_THREAD, agent_flags());
		ring_record(&r, sizeof(r), info.name, r.name_len);
	}
	agent_free(jvmti, info.name);
	if (info.thread_group)
		drop(jni, info.thread_group);
	if (info.context_class_loader)
		drop(jni, info.context_class_loader);
}

void on_thread_start(vm_env jvmti, vm_env jni, void *thread)
{
	if (agent_listening())
		thread_write(jvmti, jni, thread, sys_gettid());
}

void on_thread_end(vm_env jvmti, vm_env jni, void *thread)
{
	struct gna_thread_end r = {.tid = sys_gettid()};

	if (!agent_listening())
		return;
	record_init(&r.r, GNA_THREAD_END, 0);
	ring_record(&r, sizeof(r), NULL, 0);
}

/* The thread that runs this is reported with its tid. */
static void self_emit(vm_env jvmti, vm_env jni)
{
	void *self = NULL;

	if (JVMTI_CALL(jvmti, GetCurrentThread, (vm_env, void **), &self) || !self)
		return;
	thread_write(jvmti, jni, self, sys_gettid());
	JNI_FUNC(jni, DeleteLocalRef, void, (vm_env, void *))(jni, self);
}

void threads_emit(vm_env jvmti, vm_env jni)
{
	void **threads = NULL;
	int32_t n = 0, i;

	if (!eetop)
		eetop = eetop_find(jni);
	if (JVMTI_CALL(jvmti, GetAllThreads, (vm_env, int32_t *, void ***), &n, &threads))
		return;
	for (i = 0; i < n; i++) {
		thread_write(jvmti, jni, threads[i], 0);
		JNI_FUNC(jni, DeleteLocalRef, void, (vm_env, void *))(jni, threads[i]);
	}
	agent_free(jvmti, threads);
	self_emit(jvmti, jni);
}
