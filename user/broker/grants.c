/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/grants.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/mman.h>

struct grants {
	_Atomic uint32_t n; /* places that are, or have been, taken */
	_Atomic uint64_t v[GRANTS_MAX];
	_Atomic uint32_t uid[GRANTS_MAX]; /* whose they have to be */
};

static struct grants *grants;

int grants_open(void)
{
	void *p;

	if (grants)
		return 0;
	p = mmap(NULL, sizeof(*grants), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	grants = p;
	return 0;
}

void grants_close(void)
{
	if (grants)
		munmap(grants, sizeof(*grants));
	grants = NULL;
}

/* The entry of an asker and a process; of the asker alone (pid 0): it is bound. */
static uint64_t entry_of(pid_t asker, pid_t pid)
{
	return (uint64_t)(uint32_t)asker << 32 | (uint32_t)pid;
}

static _Atomic uint64_t *find(uint64_t entry)
{
	uint32_t n = grants ? grants->n : 0;

	for (uint32_t i = 0; i < n; i++)
		if (grants->v[i] == entry)
			return &grants->v[i];
	return NULL;
}

static int put(uint64_t entry, uint32_t uid)
{
	_Atomic uint64_t *at;

	if (!grants)
		return 0;
	at = find(entry);
	if (!at)
		at = find(0);
	if (!at && grants->n == GRANTS_MAX)
		return -ENOSPC;
	if (!at)
		at = &grants->v[grants->n++]; /* 0: nobody's yet */
	grants->uid[at - grants->v] = uid;
	*at = entry; /* after whose it is */
	return 0;
}

/* The asker stays bound. */
static void given_clear(pid_t asker)
{
	for (uint32_t i = 0; grants && i < grants->n; i++)
		if (grants->v[i] >> 32 == (uint32_t)asker && (uint32_t)grants->v[i])
			grants->v[i] = 0;
}

/* Nothing is left of what was given to another process that had its number. */
int grants_bind(pid_t asker)
{
	int rc = asker > 0 ? put(entry_of(asker, 0), GRANTS_ANY)
			   : -EINVAL; /* (0 is a place that is free) */

	if (!rc)
		given_clear(asker);
	return rc ? rc : grants_give(asker, asker, GRANTS_ANY); /* its own */
}

int grants_give(pid_t asker, pid_t pid, uint32_t uid)
{
	return asker > 0 && pid > 0 ? put(entry_of(asker, pid), uid) : -EINVAL;
}

void grants_take(pid_t asker, pid_t pid)
{
	_Atomic uint64_t *at = pid > 0 ? find(entry_of(asker, pid)) : NULL;

	if (at)
		*at = 0;
}

/* The asker itself last: it is bound as long as it has any. */
void grants_unbind(pid_t asker)
{
	_Atomic uint64_t *bound = find(entry_of(asker, 0));

	if (!bound)
		return;
	given_clear(asker);
	*bound = 0;
}

bool grants_is_bound(pid_t asker)
{
	return grants && (!asker || find(entry_of(asker, 0)));
}

bool grants_has(pid_t asker, pid_t pid)
{
	return !grants_is_bound(asker) || (asker > 0 && pid > 0 && find(entry_of(asker, pid)));
}

uint32_t grants_uid(pid_t asker, pid_t pid)
{
	const _Atomic uint64_t *at = asker > 0 && pid > 0 ? find(entry_of(asker, pid)) : NULL;

	return at ? grants->uid[at - grants->v] : GRANTS_ANY;
}

int grants_listen(int socket)
{
	int yes = 1;

	return setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) ? -errno : 0;
}
