/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Which takes a capability itself: as long as there are any. */
static void bound(void)
{
	for (int c = 0; c <= CAP_LAST_CAP; c++)
		prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

int rights_keep(const unsigned int *keep, size_t n)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {0}, have[2] = {0};

	if (syscall(SYS_capget, &h, have))
		return -errno;
	for (size_t i = 0; i < n; i++)
		d[keep[i] / 32].permitted |= 1u << keep[i] % 32;
	for (int i = 0; i < 2; i++)
		d[i].effective = d[i].permitted &= have[i].permitted;
	bound();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capset, &h, d))
		return -errno;
	return 0;
}

int rights_drop(uid_t uid, gid_t gid)
{
	bound();
	if (!geteuid() &&
	    (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid)))
		return -errno;
	return rights_keep(NULL, 0);
}

void rights_bound(unsigned int cpu_s, uint64_t bytes)
{
	struct rlimit cpu = {cpu_s, cpu_s}, space = {bytes, bytes}, none = {0, 0};

#ifdef __SANITIZE_ADDRESS__
	space.rlim_cur = space.rlim_max = RLIM_INFINITY; /* the sanitizer reserves terabytes */
#endif
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_AS, &space);
	setrlimit(RLIMIT_CORE, &none);
}
