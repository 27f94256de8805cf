/* SPDX-License-Identifier: Apache-2.0 */
#include "model/vmop.h"

#include <string.h>

#define LOOK_AT 48 /* so many frames from the leaf are looked at */

/* VM_NAME::doit() does the operation NAME. Those that a program meets. */
static const char *const operations[] = {
	"Cleanup",
	"ThreadDump",
	"PrintThreads",
	"FindDeadlocks",
	"ForceSafepoint",
	"ICBufferFull",
	"DeoptimizeAll",
	"HeapDumper",
	"GC_HeapInspection",
	"GenCollectForAllocation",
	"GenCollectFull",
	"SerialCollectForAllocation",
	"SerialGCCollect",
	"CollectForMetadataAllocation",
	"CollectForCodeCacheAllocation",
	"ParallelGCFailedAllocation",
	"ParallelGCSystemGC",
	"ParallelCollectForAllocation",
	"ParallelGCCollect",
	"G1CollectForAllocation",
	"G1CollectFull",
	"G1TryInitiateConcMark",
	"G1Concurrent",
	"G1PauseRemark",
	"G1PauseCleanup",
	"ZMarkStart",
	"ZMarkEnd",
	"ZRelocateStart",
	"ZMarkStartYoung",
	"ZMarkStartYoungAndOld",
	"ZMarkEndYoung",
	"ZMarkEndOld",
	"ZRelocateStartYoung",
	"ZRelocateStartOld",
	"XMarkStart",
	"XMarkEnd",
	"XRelocateStart",
	"ShenandoahInitMark",
	"ShenandoahFinalMarkStartEvac",
	"ShenandoahInitUpdateRefs",
	"ShenandoahFinalUpdateRefs",
	"ShenandoahFinalRoots",
	"ShenandoahFullGC",
	"ShenandoahDegeneratedGC",
	"HandshakeAllThreads",
	"RevokeBias",
	"BulkRevokeBias",
	"RedefineClasses",
	"ChangeBreakpoints",
	"GetAllStackTraces",
	"GetOrSetLocal",
	"JFRCheckpoint",
	"JFROldObject",
	"Exit",
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define OTHER	 2
#define FIRST	 3

_Static_assert(COUNT(operations) + FIRST <= VMOP_MAX, "each has a number");

/* "NAME" of "VM_NAME::doit", and its length; 0: it is another function. */
static size_t operation_name(const char *method, const char **name)
{
	const char *end = strncmp(method, "VM_", 3) ? NULL : strstr(method, "::doit");

	if (!end || (end[6] && end[6] != '('))
		return 0;
	*name = method + 3;
	return (size_t)(end - *name);
}

static uint8_t operation_of(const char *method)
{
	const char *name;
	size_t n = operation_name(method, &name);

	if (!n)
		return 0;
	for (size_t i = 0; i < COUNT(operations); i++)
		if (strlen(operations[i]) == n && !strncmp(operations[i], name, n))
			return (uint8_t)(FIRST + i);
	return OTHER;
}

static bool is_stopping(const char *method)
{
	return !strncmp(method, "SafepointSynchronize::begin", 27) ||
	       !strncmp(method, "SafepointSynchronize::synchronize_threads", 41);
}

uint8_t vmop_of(const struct frame_name *f, size_t n)
{
	for (size_t i = 0; i < n && i < LOOK_AT; i++) {
		uint8_t op;

		if (f[i].type != FRAME_CPP && f[i].type != FRAME_NATIVE)
			continue;
		if (is_stopping(f[i].method))
			return VMOP_STOPPING;
		op = operation_of(f[i].method);
		if (op)
			return op;
	}
	return 0;
}

bool vmop_delays(const struct frame_name *f, size_t n)
{
	for (size_t i = 0; i < n && i < LOOK_AT; i++) {
		if (f[i].type == FRAME_KERNEL)
			continue;
		if (f[i].type == FRAME_CPP || f[i].type == FRAME_NATIVE)
			return !strcmp(f[i].klass, "libjvm.so");
		return true;
	}
	return false;
}

const char *vmop_words(uint8_t op)
{
	if (op == VMOP_STOPPING)
		return "until all threads have stopped";
	if (op < FIRST || op >= FIRST + COUNT(operations))
		return "another operation";
	return operations[op - FIRST];
}
