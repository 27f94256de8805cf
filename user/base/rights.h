/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process gives up of root's rights, for good. Capabilities are each thread's own, so this
 * is for a process with one.
 */
#ifndef GNOMON_BASE_RIGHTS_H
#define GNOMON_BASE_RIGHTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RIGHTS_NOBODY 65534

/*
 * Started as root, the process is that user and in that group alone; in any case it has no
 * capability, and gets none by a program that it becomes. 0 or a negative errno: then it must end.
 */
int rights_drop(uid_t uid, gid_t gid);

/*
 * Of its capabilities it keeps at most those n (linux/capability.h), and gets none by a program
 * that it becomes. 0 or a negative errno.
 */
int rights_keep(const unsigned int *keep, size_t n);

/*
 * What a process may use from now on that is about to read what others wrote: CPU time, after which
 * it is killed, and address space. It leaves no core.
 */
void rights_bound(unsigned int cpu_s, uint64_t bytes);

#endif
