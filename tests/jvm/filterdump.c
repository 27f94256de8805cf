/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: filterdump PID
 *
 * Reads the process's seccomp filter as the kernel has it, and runs it on every system call with
 * many arguments: a line "always NAME" for a call that is allowed with all of them, "some NAME"
 * with one or more. As root. One filter alone is expected.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CALLS 1024
#define X32   0x40000000u /* the same calls once more, by other numbers */

#ifdef __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#else
#define MACHINE AUDIT_ARCH_X86_64
#endif

static const struct {
	const char *name;
	int nr;
} calls[] = {
#include "calls.h" /* made by the test: {"read", SYS_read}, ... */
};

static struct sock_filter filter[BPF_MAXINSNS];
static int n;

static int die(const char *what)
{
	fprintf(stderr, "filterdump: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void filter_read(int pid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, 0, 0) || ptrace(PTRACE_INTERRUPT, pid, 0, 0) ||
	    waitpid(pid, &status, __WALL) != pid)
		die("cannot stop the process");
	if (ptrace(PTRACE_SECCOMP_GET_FILTER, pid, 1, NULL) != -1)
		die("there is more than one filter");
	n = (int)ptrace(PTRACE_SECCOMP_GET_FILTER, pid, 0, filter);
	if (n <= 0)
		die("it has no filter");
	ptrace(PTRACE_DETACH, pid, 0, 0);
}

/* Of classic BPF what our filter consists of; anything else is no answer. */
static uint32_t run(const struct seccomp_data *d)
{
	uint32_t a = 0;

	for (int pc = 0; pc < n; pc++) {
		const struct sock_filter *f = &filter[pc];

		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			memcpy(&a, (const char *)d + f->k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= f->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == f->k ? f->jt : f->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= f->k ? f->jt : f->jf;
			break;
		case BPF_RET | BPF_K:
			return f->k;
		default:
			errno = EINVAL;
			die("an instruction that is not known");
		}
	}
	return 0;
}

/* With every constant of the filter in all arguments: those that it compares with are among them.
 */
static void call_try(const char *name, int nr)
{
	int allowed = 0, all = 0;

	for (int i = -2; i < n; i++) {
		uint64_t v = i == -2 ? 0 : i == -1 ? UINT64_MAX : filter[i].k;
		struct seccomp_data d = {.nr = nr, .arch = MACHINE, .args = {v, v, v, v, v, v}};

		all++;
		allowed += (run(&d) & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ALLOW;
	}
	if (allowed)
		printf("%s %s\n", allowed == all ? "always" : "some", name);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	filter_read(atoi(argv[1]));
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		call_try(calls[i].name, calls[i].nr);
	for (int nr = 0; nr < CALLS; nr++) { /* those that nobody has a name for */
		size_t i = 0;

		while (i < sizeof(calls) / sizeof(*calls) && calls[i].nr != nr)
			i++;
		if (i == sizeof(calls) / sizeof(*calls))
			call_try("unnamed", nr);
		call_try("x32", (int)(X32 | (unsigned int)nr));
	}
	return 0;
}
