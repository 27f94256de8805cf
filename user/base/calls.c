/* SPDX-License-Identifier: Apache-2.0 */
#include "base/calls.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifdef __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#else
#define MACHINE AUDIT_ARCH_X86_64
#endif
#define X32 0x40000000u /* the same calls once more, by other numbers */

/* Too many steps for the room that there is are none at all. */
static void add(struct calls *c, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (c->n < CALLS_MAX)
		c->v[c->n] = (struct sock_filter){.code = code, .jt = jt, .jf = jf, .k = k};
	c->n++;
}

static void ret(struct calls *c, uint32_t what)
{
	add(c, BPF_RET | BPF_K, what, 0, 0);
}

static void load(struct calls *c, size_t offset)
{
	add(c, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void say(struct calls *c, uint32_t nr, uint32_t what)
{
	add(c, BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1);
	ret(c, what);
}

void calls_begin(struct calls *c)
{
	c->n = 0;
	load(c, offsetof(struct seccomp_data, arch));
	add(c, BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
	ret(c, SECCOMP_RET_KILL_PROCESS);
	load(c, offsetof(struct seccomp_data, nr));
	add(c, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
	ret(c, SECCOMP_RET_ERRNO | ENOSYS);
}

void calls_allow(struct calls *c, const uint32_t *nrs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		say(c, nrs[i], SECCOMP_RET_ALLOW);
}

void calls_refuse(struct calls *c, const uint32_t *nrs, size_t n, int error)
{
	for (size_t i = 0; i < n; i++)
		say(c, nrs[i], SECCOMP_RET_ERRNO | (uint32_t)error);
}

/* The low half of the argument: no call here looks at more of it. */
void calls_allow_if(struct calls *c, uint32_t nr, unsigned int arg, uint32_t mask, uint32_t value)
{
	add(c, BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 5);
	load(c, offsetof(struct seccomp_data, args) + 8 * arg);
	add(c, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
	add(c, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	ret(c, SECCOMP_RET_ALLOW);
	ret(c, SECCOMP_RET_ERRNO | EPERM);
}

void calls_allow_threads(struct calls *c)
{
	say(c, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
	calls_allow_if(c, SYS_clone, 0, CLONE_THREAD, CLONE_THREAD);
}

int calls_end(struct calls *c, bool others)
{
	struct sock_fprog prog = {.filter = c->v};

	ret(c, others ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | EPERM);
	if (c->n > CALLS_MAX)
		return -E2BIG;
	prog.len = c->n;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) ? -errno : 0;
}
