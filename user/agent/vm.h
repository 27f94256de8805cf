/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent, and user/java/publisher.c, use of JVMTI and JNI, so that building needs no JDK.
 * Numbers are those of the specifications: "JVM Tool Interface 1.2", function index (its numbers
 * start at 1), and the "JNI Specification", interface function table (starts at 0).
 * tests/jvm/agent_headers.c compares them with a JDK's headers where there is one.
 */
#ifndef GNOMON_AGENT_VM_H
#define GNOMON_AGENT_VM_H

#include <stdint.h>

#define VM_JNI_VERSION	 0x00010006
#define VM_JVMTI_VERSION 0x30010200

enum { VM_OK = 0, VM_ERR = -1 };

/* An interface pointer points to a pointer to its table of functions. */
typedef void *const *const *vm_env;

enum vm_invoke_index { INVOKE_GetEnv = 6 };

enum vm_jni_index {
	JNI_FindClass = 6,
	JNI_ExceptionClear = 17,
	JNI_DeleteLocalRef = 23,
	JNI_GetFieldID = 94,
	JNI_GetLongField = 101,
	JNI_GetByteArrayRegion = 200,
	JNI_GetJavaVM = 219,
	JNI_NewDirectByteBuffer = 229,
};

enum vm_jvmti_index {
	JVMTI_SetEventNotificationMode = 2,
	JVMTI_GetAllThreads = 4,
	JVMTI_GetThreadInfo = 9,
	JVMTI_GetCurrentThread = 18,
	JVMTI_Deallocate = 47,
	JVMTI_GetClassSignature = 48,
	JVMTI_GetMethodName = 64,
	JVMTI_GetMethodDeclaringClass = 65,
	JVMTI_GetMethodModifiers = 66,
	JVMTI_GetLineNumberTable = 70,
	JVMTI_GetThreadLocalStorage = 102,
	JVMTI_SetThreadLocalStorage = 103,
	JVMTI_SetEventCallbacks = 122,
	JVMTI_GenerateEvents = 123,
	JVMTI_GetExtensionEvents = 125,
	JVMTI_SetExtensionEventCallback = 126,
	JVMTI_AddCapabilities = 142,
};

enum vm_event {
	EVENT_FIRST = 50, /* index 0 of the callback table */
	EVENT_ThreadStart = 52,
	EVENT_ThreadEnd = 53,
	EVENT_CompiledMethodLoad = 68,
	EVENT_CompiledMethodUnload = 69,
	EVENT_DynamicCodeGenerated = 70,
	EVENT_COUNT = 21, /* entries of the callback table that we pass */
};

/* Bits of the capability set. */
enum vm_capability {
	CAP_get_line_numbers = 12,
	CAP_compiled_method_load = 27,
	CAP_support_virtual_threads = 44, /* since JDK 21 */
	CAP_BITS = 128
};

struct vm_capabilities {
	uint32_t bits[CAP_BITS / 32];
};

struct vm_thread_info {
	char *name;
	int32_t priority;
	uint8_t is_daemon;
	void *thread_group;
	void *context_class_loader;
};

struct vm_parameter {
	char *name;
	int32_t kind, base_type;
	uint8_t null_ok;
};

struct vm_extension_event {
	int32_t index;
	char *id, *short_description;
	int32_t param_count;
	struct vm_parameter *params;
};

struct vm_line {
	int64_t start_location;
	int32_t line;
};

struct vm_addr_location {
	const void *start_address;
	int64_t location;
};

/* compile_info of CompiledMethodLoad: a list of records (jvmticmlr.h of the JDK). */
enum { CMLR_INLINE_INFO = 2 };

struct vm_cmlr {
	int32_t kind, major, minor;
	struct vm_cmlr *next;
};

struct vm_pc_stack {
	const void *pc;
	int32_t depth;
	void **methods; /* innermost first */
	int32_t *bcis;
};

struct vm_inline_record {
	struct vm_cmlr header;
	int32_t npcs;
	struct vm_pc_stack *pcs;
};

/* Call entry `name` of a JVMTI or JNI environment, with the types of the arguments given. */
#define JVMTI_CALL(env, name, types, ...)                                                          \
	(((int32_t(*) types)(uintptr_t)(*(env))[JVMTI_##name - 1])(env, __VA_ARGS__))
#define JNI_FUNC(env, name, ret, types) ((ret(*) types)(uintptr_t)(*(env))[JNI_##name])

#endif
