/* SPDX-License-Identifier: Apache-2.0 */
#include "model/threadname.h"

#include <stddef.h>
#include <string.h>

/*
 * The digit in "G1 Conc#0" and "C2 CompilerThread0" is part of the name, and no number of a pool's
 * thread.
 */
static bool is_vm_thread(const char *s)
{
	return (s[0] == 'G' || s[0] == 'C') && (s[1] == '1' || s[1] == '2') && s[2] == ' ';
}

void threadname_group(const char *s, struct buffer *out)
{
	bool digit = false;

	if (is_vm_thread(s)) {
		buffer_add(out, s, 2);
		s += 2;
	}
	for (; *s; s++) {
		bool d = *s >= '0' && *s <= '9';

		if (!d)
			buffer_byte(out, (uint8_t)*s);
		else if (!digit && !(out->len && out->data[out->len - 1] == '#'))
			buffer_byte(out, '#');
		digit = d;
	}
}

static bool begins_with_any(const char *name, const char *const *known, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(name, known[i], strlen(known[i])))
			return true;
	return false;
}

bool threadname_is_collector(const char *name)
{
	static const char *const known[] = {
		"GC Thread#",  "G1 Conc#",	"G1 Main Marker", "G1 Refine#",
		"G1 Service",  "ParGC Thread#", "ZWorker",	  "ZDriver",
		"XWorker", /* ZGC of JDK 21 that is not generational */
		"XDriver",     "RuntimeWorker", "Shenandoah GC",  "Concurrent Mark-Sweep",
		"Gang worker#"};

	return begins_with_any(name, known, sizeof(known) / sizeof(known[0]));
}

bool threadname_is_compiler(const char *name)
{
	static const char *const known[] = {"C1 CompilerThre", "C2 CompilerThre",
					    "JVMCI CompilerT"};

	return begins_with_any(name, known, sizeof(known) / sizeof(known[0]));
}
