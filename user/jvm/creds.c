/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/creds.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int set_euid(uid_t uid)
{
	return syscall(SYS_setresuid, -1, uid, -1) ? -errno : 0;
}

static int set_egid(gid_t gid)
{
	return syscall(SYS_setresgid, -1, gid, -1) ? -errno : 0;
}

static void groups_drop(struct creds *old, gid_t gid)
{
	old->ngroups = getgroups(CREDS_GROUPS, old->groups);
	if (old->ngroups >= 0 && syscall(SYS_setgroups, 1, &gid))
		old->ngroups = -1;
}

int creds_assume(struct creds *old, uid_t uid, gid_t gid)
{
	int rc;

	*old = (struct creds){.uid = geteuid(), .gid = getegid(), .ngroups = -1};
	if (old->uid == uid && old->gid == gid)
		return 0;
	groups_drop(old, gid);
	old->changed = true;
	rc = set_egid(gid);
	if (!rc)
		rc = set_euid(uid);
	if (rc) {
		creds_restore(old);
		old->changed = false;
	}
	return rc;
}

void creds_restore(const struct creds *old)
{
	if (!old->changed)
		return;
	/* the uid first: it brings the capabilities back that the rest needs */
	if (set_euid(old->uid) || set_egid(old->gid))
		abort();
	if (old->ngroups >= 0 && syscall(SYS_setgroups, old->ngroups, old->groups))
		abort();
}
