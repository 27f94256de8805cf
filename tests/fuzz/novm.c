/* SPDX-License-Identifier: Apache-2.0 */
/* For fuzzers of what may ask a JVM's structures and is given none. */
#include <errno.h>

#include "jvm/codecache.h"
#include "jvm/vmstructs.h"

int vm_flag(struct vm *vm, const char *name)
{
	return -ENOENT;
}

int codecache_use(struct vm *vm, struct codecache_use *out)
{
	*out = (struct codecache_use){0};
	return -ENOTSUP;
}
