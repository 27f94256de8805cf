/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/jvmlist.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "out/format.h"

/* The last part of a class's name is enough, as for `record`. */
static bool is_meant(const struct control_jvm *j, const char *arg)
{
	const char *dot = strrchr(j->name, '.'), *slash = strrchr(j->name, '/');
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", j->pid);
	return !strcmp(arg, pid) || !fnmatch(arg, j->name, 0) ||
	       (dot && !fnmatch(arg, dot + 1, 0)) || (slash && !fnmatch(arg, slash + 1, 0));
}

int jvmlist_choose(struct control_answer *a, const char *arg, struct error *e)
{
	uint32_t n = 0, all = a->state.njvms;

	for (uint32_t i = 0; i < all; i++)
		if (!arg || is_meant(&a->jvms[i], arg))
			a->jvms[n++] = a->jvms[i];
	a->state.njvms = n;
	if (n)
		return 0;
	if (arg)
		error_set(e, -ESRCH, EXIT_TARGET, "no JVM that is recorded is called '%s'", arg);
	else
		error_set(e, -ESRCH, EXIT_TARGET, "no JVM is recorded");
	return error_hint(e, "'gnomon status' lists those that are");
}

int jvmlist_one(struct control_answer *a, const char *arg, struct error *e)
{
	int rc = jvmlist_choose(a, arg, e);

	if (rc || a->state.njvms == 1)
		return rc;
	error_set(e, -EINVAL, EXIT_USAGE, "%u JVMs are called '%s'", a->state.njvms, arg);
	return error_hint(e, "say which by its process id, such as %d", a->jvms[0].pid);
}

void jvmlist_rate(const struct control_jvm *j)
{
	if (j->cpu_ns)
		printf("a CPU sample each %s", format_ns(j->cpu_ns).s);
	else
		printf("no CPU samples");
	if (j->wall_ns)
		printf(", a wall sample each %s", format_ns(j->wall_ns).s);
	else
		printf(", no wall samples");
}
