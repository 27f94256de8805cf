/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a thread waits, as /proc says it. */
#ifndef TESTS_BPF_ASLEEP_H
#define TESTS_BPF_ASLEEP_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* false also of a thread that is gone */
static inline bool is_asleep(pid_t pid, pid_t tid)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'S';
}

#endif
