// SPDX-License-Identifier: Apache-2.0
/*
 * The half of GnomonContext that Java cannot do: the thread-local variable that readers look for
 * (OpenTelemetry OTEP 4947), the mapping of the process context (OTEP 4719), and virtual threads,
 * whose context has to move with them from carrier to carrier. No libc and no other library: one
 * file for glibc and musl.
 *
 * A platform thread's record is thread-local itself, so that it is there for as long as the thread
 * and no longer. One of a virtual thread comes from an array that Java sees whole (`records`), from
 * its outermost scope on until that ends; it is kept in JVMTI's storage of that thread, and the
 * carrier's variable points to it while the virtual thread is mounted.
 */
#include "agent/str.h"
#include "agent/sys.h"
#include "agent/vm.h"

#define EXPORT	       __attribute__((visibility("default")))
#define RECORD_SIZE    384 /* GnomonContext.RECORD_SIZE */
#define RECORDS	       (1U << 20)
#define PROCESS_SIZE   65536
#define MOUNT_EVENT    "com.sun.hotspot.events.VirtualThreadMount"
#define UNMOUNT_EVENT  "com.sun.hotspot.events.VirtualThreadUnmount"
#define RECORD_INVALID 24 /* offset of `valid` */

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published;
	const void *payload;
};

EXPORT __thread void *otel_thread_ctx_v1;
static __thread uint8_t own_record[RECORD_SIZE] __attribute__((aligned(8)));

static struct header *process;
static uint8_t *records;
static uint32_t records_used; /* so many were taken from the array at some time */
static uint64_t records_free; /* the first free one's number + 1, above it a count against ABA */
static vm_env tool;

/* ---- the process context ---- */

EXPORT uint8_t Java_gnomon_Library_publish(vm_env env, void *cls, void *payload, int32_t size);
EXPORT uint8_t Java_gnomon_Library_publish(vm_env env, void *cls, void *payload, int32_t size)
{
	uint8_t *bytes;
	uint64_t now;

	if (!process)
		process = sys_map_named("OTEL_CTX", PROCESS_SIZE);
	if (!process || size < 0 || (size_t)size > PROCESS_SIZE - sizeof(*process))
		return 0;
	bytes = (uint8_t *)(process + 1);
	now = sys_boot_now();
	if (now <= process->published)
		now = process->published + 1;
	__atomic_store_n(&process->published, 0, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	JNI_FUNC(env, GetByteArrayRegion, void, (vm_env, void *, int32_t, int32_t, void *))
	(env, payload, 0, size, bytes);
	memcpy(process->signature, "OTEL_CTX", 8);
	process->version = 2;
	process->size = (uint32_t)size;
	process->payload = bytes;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&process->published, now, __ATOMIC_SEQ_CST);
	sys_name_mapping("OTEL_CTX", process, PROCESS_SIZE);
	return 1;
}

/* ---- platform threads ---- */

EXPORT void *Java_gnomon_Library_attach(vm_env env, void *cls);
EXPORT void *Java_gnomon_Library_attach(vm_env env, void *cls)
{
	own_record[RECORD_INVALID] = 0;
	otel_thread_ctx_v1 = own_record;
	return JNI_FUNC(env, NewDirectByteBuffer, void *,
			(vm_env, void *, int64_t))(env, own_record, RECORD_SIZE);
}

/* ---- virtual threads ---- */

static uint32_t *record_next(uint32_t i)
{
	return (uint32_t *)(records + (uint64_t)i * RECORD_SIZE);
}

/* A record's number, or -1. A free one has the next one's number + 1 in its first bytes. */
static int64_t record_take(void)
{
	uint64_t head = __atomic_load_n(&records_free, __ATOMIC_ACQUIRE), next;
	uint32_t i;

	while ((uint32_t)head) {
		next = __atomic_load_n(record_next((uint32_t)head - 1), __ATOMIC_RELAXED);
		next |= ((head >> 32) + 1) << 32;
		if (__atomic_compare_exchange_n(&records_free, &head, next, 0, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return (int64_t)(uint32_t)head - 1;
	}
	i = __atomic_load_n(&records_used, __ATOMIC_RELAXED);
	do {
		if (i == RECORDS)
			return -1;
	} while (!__atomic_compare_exchange_n(&records_used, &i, i + 1, 0, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return i;
}

static void record_give(uint32_t i)
{
	uint64_t head = __atomic_load_n(&records_free, __ATOMIC_ACQUIRE), next;

	do {
		__atomic_store_n(record_next(i), (uint32_t)head, __ATOMIC_RELAXED);
		next = (((head >> 32) + 1) << 32) | (i + 1);
	} while (!__atomic_compare_exchange_n(&records_free, &head, next, 0, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
}

static void *record_of(void *thread)
{
	void *record = NULL;

	return JVMTI_CALL(tool, GetThreadLocalStorage, (vm_env, void *, void **), thread, &record)
		       ? NULL
		       : record;
}

static void on_mount(vm_env tool_env, vm_env env, void *thread)
{
	otel_thread_ctx_v1 = record_of(thread);
}

static void on_unmount(vm_env tool_env, vm_env env, void *thread)
{
	otel_thread_ctx_v1 = NULL;
}

static void event_free(vm_env e, struct vm_extension_event *x)
{
	for (int32_t i = 0; i < x->param_count; i++)
		JVMTI_CALL(e, Deallocate, (vm_env, void *), x->params[i].name);
	JVMTI_CALL(e, Deallocate, (vm_env, void *), x->params);
	JVMTI_CALL(e, Deallocate, (vm_env, void *), x->id);
	JVMTI_CALL(e, Deallocate, (vm_env, void *), x->short_description);
}

/* With a callback alone the event does not come: it has to be switched on as well. */
static bool event_follow(vm_env e, const struct vm_extension_event *x)
{
	void *callback = NULL;
	size_t n = str_len(x->id, 256);

	if (str_same(x->id, n, MOUNT_EVENT))
		callback = (void *)(uintptr_t)on_mount;
	else if (str_same(x->id, n, UNMOUNT_EVENT))
		callback = (void *)(uintptr_t)on_unmount;
	return callback &&
	       !JVMTI_CALL(e, SetExtensionEventCallback, (vm_env, int32_t, void *), x->index,
			   callback) &&
	       !JVMTI_CALL(e, SetEventNotificationMode, (vm_env, int32_t, int32_t, void *, ...), 1,
			   x->index, NULL);
}

/* Both events are there and come from now on. */
static bool mounts_follow(vm_env e)
{
	struct vm_extension_event *x = NULL;
	int32_t n = 0;
	int followed = 0;

	if (JVMTI_CALL(e, GetExtensionEvents, (vm_env, int32_t *, struct vm_extension_event **), &n,
		       &x))
		return false;
	for (int32_t i = 0; i < n; i++) {
		followed += event_follow(e, &x[i]);
		event_free(e, &x[i]);
	}
	JVMTI_CALL(e, Deallocate, (vm_env, void *), x);
	return followed == 2;
}

/* The array of all records, or null where this JVM does not tell when virtual threads are mounted.
 * Called once. */
EXPORT void *Java_gnomon_Library_followVirtual(vm_env env, void *cls);
EXPORT void *Java_gnomon_Library_followVirtual(vm_env env, void *cls)
{
	struct vm_capabilities caps = {.bits = {0}};
	vm_env vm = NULL, e = NULL;

	caps.bits[CAP_support_virtual_threads / 32] = 1u << CAP_support_virtual_threads % 32;
	if (JNI_FUNC(env, GetJavaVM, int32_t, (vm_env, vm_env *))(env, &vm) ||
	    ((int32_t(*)(vm_env, vm_env *, int32_t))(uintptr_t)(*vm)[INVOKE_GetEnv])(
		    vm, &e, VM_JVMTI_VERSION) ||
	    JVMTI_CALL(e, AddCapabilities, (vm_env, struct vm_capabilities *), &caps))
		return NULL;
	records = sys_map_private((size_t)RECORDS * RECORD_SIZE);
	if (!records)
		return NULL;
	tool = e;
	if (!mounts_follow(e))
		return NULL;
	return JNI_FUNC(env, NewDirectByteBuffer, void *,
			(vm_env, void *, int64_t))(env, records, (int64_t)RECORDS * RECORD_SIZE);
}

/* The calling virtual thread's record, by its offset in the array; -1: none is left. It is not
 * valid yet. */
EXPORT int64_t Java_gnomon_Library_enter(vm_env env, void *cls, void *thread);
EXPORT int64_t Java_gnomon_Library_enter(vm_env env, void *cls, void *thread)
{
	int64_t i = record_take();
	uint8_t *record;

	if (i < 0)
		return -1;
	record = records + i * RECORD_SIZE;
	record[RECORD_INVALID] = 0;
	if (JVMTI_CALL(tool, SetThreadLocalStorage, (vm_env, void *, const void *), thread,
		       record)) {
		record_give((uint32_t)i);
		return -1;
	}
	otel_thread_ctx_v1 = record;
	return i * RECORD_SIZE;
}

EXPORT void Java_gnomon_Library_leave(vm_env env, void *cls, void *thread, int64_t at);
EXPORT void Java_gnomon_Library_leave(vm_env env, void *cls, void *thread, int64_t at)
{
	otel_thread_ctx_v1 = NULL;
	JVMTI_CALL(tool, SetThreadLocalStorage, (vm_env, void *, const void *), thread, NULL);
	record_give((uint32_t)(at / RECORD_SIZE));
}
