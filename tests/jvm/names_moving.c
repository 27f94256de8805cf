/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: names_moving PID SECONDS
 *
 * Reads the names of NamesMove's threads again and again while a collector moves them. The first 15
 * bytes of a thread's name, which it had when it began, are its comm: a name of another beginning
 * is another object's. Prints how many reads there were, how many told a name, and how many a wrong
 * one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "jvm/threads.h"
#include "jvm/vm.h"
#include "jvm/vmstructs.h"

static struct {
	pid_t pid;
	struct vm *vm;
	uint64_t since; /* what is told is to be of then or later */
	unsigned long reads, told, wrong, groups;
} t;

static int comm_read(pid_t tid, char *comm, int size)
{
	char path[64];
	FILE *f;
	int rc;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)t.pid, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	rc = fgets(comm, size, f) ? 0 : -1;
	fclose(f);
	comm[strcspn(comm, "\n")] = 0;
	return rc;
}

static bool groups_right(const char *groups)
{
	return !groups[0] || !memcmp(groups, "main\0system\0", sizeof("main\0system\0"));
}

static int look(void *arg, uint64_t thread, pid_t tid)
{
	static struct java_thread jt;
	char comm[17];
	int rc;

	if (comm_read(tid, comm, sizeof(comm)) || strncmp(comm, "mover-", 6))
		return 0;
	rc = vm_thread_read(t.vm, thread, tid, t.since, &jt);
	t.reads++;
	if (rc || !jt.name[0])
		return 0;
	t.told++;
	t.groups += jt.groups[0] != 0;
	if (strncmp(jt.name, comm, strlen(comm)) || !groups_right(jt.groups)) {
		if (t.wrong++ < 5)
			fprintf(stderr, "%s is called '%s', group '%s'\n", comm, jt.name,
				jt.groups);
	}
	return 0;
}

static int look_anew(void *arg, uint64_t thread, pid_t tid)
{
	t.since = now_ns();
	return look(arg, thread, tid);
}

int main(int argc, char **argv)
{
	uint64_t end = now_ns() + (argc == 3 ? strtoull(argv[2], NULL, 10) : 0) * 1000000000ull;
	struct error e = {0};

	t.pid = argc == 3 ? atoi(argv[1]) : 0;
	if (t.pid <= 0 || vm_open(t.pid, &t.vm, &e)) {
		fprintf(stderr, "names_moving: %s\n", t.pid > 0 ? e.msg : "usage: PID SECONDS");
		return 1;
	}
	/* by turns for each thread anew, and for all of a pass at once */
	for (int pass = 0; now_ns() < end; pass++) {
		t.since = now_ns();
		vm_threads(t.vm, pass % 2 ? look_anew : look, NULL);
	}
	printf("%lu reads, %lu names, %lu groups, %lu wrong\n", t.reads, t.told, t.groups, t.wrong);
	vm_close(t.vm);
	return 0;
}
