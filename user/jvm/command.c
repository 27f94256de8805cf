/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/command.h"

#include <errno.h>

#include "jvm/counters.h"
#include "jvm/vmstructs.h"

static void on_command(void *ctx, const char *name, const char *value)
{
	if (!name[0])
		java_command_parse(value, ctx);
}

static void on_args(void *ctx, const char *name, const char *value)
{
	struct java_cmd *cmd = ctx;

	if (!name[0])
		java_options_parse(value, &cmd->flags);
}

/* By the mapping of its hsperfdata file or, where it has none, by its structures. */
static int open_either(pid_t pid, struct counters **out)
{
	int rc = counters_open(out, pid, NULL);
	struct vm *vm;

	if (rc != -ENOENT || vm_open(pid, &vm, NULL))
		return rc;
	rc = counters_open(out, pid, vm);
	vm_close(vm);
	return rc;
}

void jvm_command_tell(pid_t pid, struct java_cmd *cmd)
{
	struct counters *c;

	if (open_either(pid, &c))
		return;
	counters_texts(c, "sun.rt.javaCommand", on_command, cmd);
	counters_texts(c, "java.rt.vmArgs", on_args, cmd);
	counters_close(c);
}
