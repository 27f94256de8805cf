/* SPDX-License-Identifier: Apache-2.0 */
#include "target/pidns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The initial namespace has a fixed number: PROC_PID_INIT_INO of include/linux/proc_ns.h. */
#define INITIAL "pid:[4026531836]"

int pidns_judge(const char *self, int own, struct error *e)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", own);
	if (!self || strcmp(self, number)) {
		error_set(e, -EXDEV, EXIT_PERMISSION,
			  "/proc is not that of gnomon's own PID namespace");
		return error_hint(e,
				  "start the container with the host's PID namespace (--pid=host; "
				  "Kubernetes: hostPID: true), or mount its own proc on /proc");
	}
	return 0;
}

static const char *link_read(const char *path, char *buf, size_t cap)
{
	ssize_t n = readlink(path, buf, cap - 1);

	if (n < 0)
		return NULL;
	buf[n] = '\0';
	return buf;
}

int pidns_check(struct error *e)
{
	char self[64];

	return pidns_judge(link_read("/proc/self", self, sizeof(self)), getpid(), e);
}

bool pidns_is_private(void)
{
	char ns[64];
	const char *at = link_read("/proc/self/ns/pid", ns, sizeof(ns));

	return at && strcmp(at, INITIAL);
}
