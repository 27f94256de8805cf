/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/gccause.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * In the order of their numbers, which no release has changed. From release `since` on, 0: from 17
 * on; up to the one before `gone`, 0: it is there in 25.
 */
static const struct cause {
	const char *text;
	int since, gone;
} causes[] = {
	{"System.gc()"},
	{"FullGCAlot"},
	{"ScavengeAlot"},
	{"Allocation Profiler"},
	{"JvmtiEnv ForceGarbageCollection"},
	{"GCLocker Initiated GC", .gone = 25},
	{"Heap Inspection Initiated GC"},
	{"Heap Dump Initiated GC"},
	{"WhiteBox Initiated Young GC"},
	{"WhiteBox Initiated Concurrent Mark", .gone = 21},
	{"WhiteBox Initiated Full GC"},
	{"WhiteBox Initiated Run to Breakpoint"},
	{"Full GC for -Xshare:dump", .gone = 21},
	{"No GC"},
	{"unknown GCCause"},
	{"Allocation Failure"},
	{"CodeCache GC Threshold", .since = 21},
	{"CodeCache GC Aggressive", .since = 21},
	{"Tenured Generation Full", .gone = 21},
	{"Metadata GC Threshold"},
	{"Metadata GC Clear Soft References"},
	{"Old Generation Expanded On Last Scavenge", .gone = 21},
	{"Old Generation Too Full To Scavenge", .gone = 21},
	{"Ergonomics", .gone = 25},
	{"G1 Evacuation Pause"},
	{"G1 Compaction Pause"},
	{"G1 Humongous Allocation"},
	{"G1 Periodic Collection"},
	{"G1 Preventive Collection", .gone = 21},
	{"Diagnostic Command"},
	{"Stopping VM"},
	{"Allocation Failure During Evacuation"},
	{"unknown GCCause", .since = 25}, /* Shenandoah's, of large objects: it has no text */
	{"Concurrent GC"},
	{"Upgrade To Full GC"},
	{"Timer"},
	{"Warmup"},
	{"Allocation Rate"},
	{"Allocation Stall"},
	{"Proactive"},
	{"High Usage"},
};

static bool is_in(const struct cause *c, int release)
{
	return release >= c->since && (!c->gone || release < c->gone);
}

const char *gccause_text(int release, int number)
{
	if ((release != 17 && release != 21 && release != 25) || number < 0)
		return NULL;
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (is_in(&causes[i], release) && !number--)
			return causes[i].text;
	return NULL;
}
