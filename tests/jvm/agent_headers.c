/* SPDX-License-Identifier: Apache-2.0 */
/* agent/vm.h against a JDK's own headers: compiles where they agree. */
#include <jvmti.h>
#include <jvmticmlr.h>
#include <stddef.h>
#include <string.h>

/* vm.h uses some names of the JDK's for its own numbers */
enum { JDK_EVENT_LOAD = JVMTI_EVENT_COMPILED_METHOD_LOAD, JDK_INLINE = JVMTI_CMLR_INLINE_INFO };
enum { JDK_JVMTI_1_2 = JVMTI_VERSION_1_2, JDK_JNI_1_6 = JNI_VERSION_1_6 };

#include "agent/vm.h"

#define SAME(name, a, b) _Static_assert((a) == (b), name)
#define JVMTI(f)	 SAME(#f, offsetof(jvmtiInterface_1, f) / sizeof(void *), JVMTI_##f - 1)
#define JNI(f)		 SAME(#f, offsetof(struct JNINativeInterface_, f) / sizeof(void *), JNI_##f)
#define EVENT(f)                                                                                   \
	SAME(#f, offsetof(jvmtiEventCallbacks, f) / sizeof(void *), EVENT_##f - EVENT_FIRST)
#define FIELD(theirs, a, ours, b) SAME(#a, offsetof(theirs, a), offsetof(struct ours, b))

JVMTI(SetEventNotificationMode);
JVMTI(GetAllThreads);
JVMTI(GetThreadInfo);
JVMTI(GetCurrentThread);
JVMTI(Deallocate);
JVMTI(GetClassSignature);
JVMTI(GetMethodName);
JVMTI(GetMethodDeclaringClass);
JVMTI(GetMethodModifiers);
JVMTI(GetLineNumberTable);
JVMTI(GetThreadLocalStorage);
JVMTI(SetThreadLocalStorage);
JVMTI(GetExtensionEvents);
JVMTI(SetExtensionEventCallback);
JVMTI(SetEventCallbacks);
JVMTI(GenerateEvents);
JVMTI(AddCapabilities);
JNI(FindClass);
JNI(ExceptionClear);
JNI(DeleteLocalRef);
JNI(GetFieldID);
JNI(GetLongField);
JNI(GetByteArrayRegion);
JNI(GetJavaVM);
JNI(NewDirectByteBuffer);
SAME("GetEnv", offsetof(struct JNIInvokeInterface_, GetEnv) / sizeof(void *), INVOKE_GetEnv);
EVENT(ThreadStart);
EVENT(ThreadEnd);
EVENT(CompiledMethodLoad);
EVENT(CompiledMethodUnload);
EVENT(DynamicCodeGenerated);
SAME("number of the load event", JDK_EVENT_LOAD, EVENT_CompiledMethodLoad);
SAME("inline info", JDK_INLINE, CMLR_INLINE_INFO);
SAME("JVMTI version", JDK_JVMTI_1_2, VM_JVMTI_VERSION);
SAME("JNI version", JDK_JNI_1_6, VM_JNI_VERSION);
SAME("capabilities", sizeof(jvmtiCapabilities), sizeof(struct vm_capabilities));
SAME("line entry", sizeof(jvmtiLineNumberEntry), sizeof(struct vm_line));
SAME("map entry", sizeof(jvmtiAddrLocationMap), sizeof(struct vm_addr_location));
SAME("thread info", sizeof(jvmtiThreadInfo), sizeof(struct vm_thread_info));
FIELD(jvmtiThreadInfo, thread_group, vm_thread_info, thread_group);
FIELD(jvmtiThreadInfo, context_class_loader, vm_thread_info, context_class_loader);
SAME("parameter", sizeof(jvmtiParamInfo), sizeof(struct vm_parameter));
SAME("extension event", sizeof(jvmtiExtensionEventInfo), sizeof(struct vm_extension_event));
FIELD(jvmtiExtensionEventInfo, id, vm_extension_event, id);
FIELD(jvmtiExtensionEventInfo, params, vm_extension_event, params);
SAME("pc stack", sizeof(PCStackInfo), sizeof(struct vm_pc_stack));
FIELD(PCStackInfo, methods, vm_pc_stack, methods);
FIELD(PCStackInfo, bcis, vm_pc_stack, bcis);
FIELD(jvmtiCompiledMethodLoadInlineRecord, numpcs, vm_inline_record, npcs);
FIELD(jvmtiCompiledMethodLoadInlineRecord, pcinfo, vm_inline_record, pcs);

static int bit_is(const jvmtiCapabilities *c, int bit)
{
	const unsigned int *w = (const unsigned int *)c;

	return w[bit / 32] == 1u << bit % 32;
}

/* bit fields have no offset: tried */
int main(void)
{
	jvmtiCapabilities load, lines, virtual;

	memset(&load, 0, sizeof(load));
	memset(&lines, 0, sizeof(lines));
	memset(&virtual, 0, sizeof(virtual));
	load.can_generate_compiled_method_load_events = 1;
	lines.can_get_line_numbers = 1;
#ifdef JNI_VERSION_21
	virtual.can_support_virtual_threads = 1;
#else
	((unsigned int *)&virtual)[CAP_support_virtual_threads / 32] =
		1u << CAP_support_virtual_threads % 32;
#endif
	return !bit_is(&load, CAP_compiled_method_load) || !bit_is(&lines, CAP_get_line_numbers) ||
	       !bit_is(&virtual, CAP_support_virtual_threads);
}
