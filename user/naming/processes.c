/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jfr/vitals.h"
#include "jfr/write.h"
#include "target/procfs.h"

#define KEEP_NS	    1000000000ull
#define WRITTEN_MAX 1000 /* in one recording */
#define LISTED_MAX  65536
#define NS_BYTES    32	/* "pid:[4026531836]" */
#define SOME	    128 /* are asked for together */

struct process {
	pid_t pid;
	pid_t inner;	   /* in its own PID namespace; 0: not asked for yet */
	char *command;	   /* NULL: not asked for yet; "": it cannot be had */
	char ns[NS_BYTES]; /* the link of its PID namespace; "": it cannot be had */
};

struct processes {
	struct process *v;
	size_t n, room;
	uint64_t read_ns;   /* 0: not read */
	char own[NS_BYTES]; /* our PID namespace: pids there need no translation */
};

struct processes *processes_new(void)
{
	return calloc(1, sizeof(struct processes));
}

static void forget(struct processes *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i].command);
	free(p->v);
	*p = (struct processes){0};
}

void processes_free(struct processes *p)
{
	if (!p)
		return;
	forget(p);
	free(p);
}

void processes_rest(struct processes *p, uint64_t now_ns)
{
	if (p->read_ns && now_ns - p->read_ns >= KEEP_NS)
		forget(p);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Nonzero: there is no room for more. */
static int on_process(pid_t pid, void *arg)
{
	struct processes *p = arg;

	if (p->n == LISTED_MAX)
		return 1;
	if (p->n == p->room) {
		size_t room = p->room ? 2 * p->room : SOME;
		struct process *v = realloc(p->v, room * sizeof(*v));

		if (!v)
			return 1;
		p->v = v;
		p->room = room;
	}
	p->v[p->n++] = (struct process){.pid = pid};
	return 0;
}

static void ns_take(char to[NS_BYTES], const char *link)
{
	snprintf(to, NS_BYTES, "%.*s", NS_BYTES - 1, link);
}

static void some_ns_read(struct process *v, size_t n)
{
	char ns[SOME][PROC_TEXT_BYTES];
	pid_t pids[SOME];

	for (size_t i = 0; i < n; i++)
		pids[i] = v[i].pid;
	proc_texts_read(pids, n, "ns/pid", true, ns);
	for (size_t i = 0; i < n; i++)
		ns_take(v[i].ns, ns[i]);
}

static void list_read(struct processes *p, uint64_t now_ns)
{
	char own[PROC_TEXT_BYTES];

	forget(p);
	p->read_ns = now_ns;
	if (proc_link_read(getpid(), "ns/pid", own, sizeof(own)) > 0)
		ns_take(p->own, own);
	proc_each(on_process, p);
	for (size_t i = 0; i < p->n; i += SOME)
		some_ns_read(p->v + i, p->n - i < SOME ? p->n - i : SOME);
}

static const struct process *process_find(const struct processes *p, pid_t pid)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].pid == pid)
			return &p->v[i];
	return NULL;
}

/* What is known of them, with `pid` among them; NULL: it is gone. */
static const struct process *current(struct processes *p, uint64_t now_ns, pid_t pid)
{
	const struct process *found = NULL;

	if (p->read_ns && now_ns - p->read_ns < KEEP_NS)
		found = process_find(p, pid);
	if (found)
		return found;
	list_read(p, now_ns);
	return process_find(p, pid);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* "" for one that is gone, or the kernel's. */
static const char *command_of(struct process *x)
{
	char command[1024];

	if (!x->command)
		x->command = strdup(
			proc_read(x->pid, "cmdline", command, sizeof(command)) > 0 ? command : "");
	return x->command ? x->command : "";
}

static pid_t inner_pid(const struct processes *p, struct process *x)
{
	struct proc_status st;

	if (!strcmp(x->ns, p->own))
		return x->pid;
	if (!x->inner)
		x->inner = proc_status_read(x->pid, 0, &st) ? x->pid : proc_status_inner(&st);
	return x->inner;
}

void processes_write(struct processes *p, struct jfrw *out, uint64_t now_ns, pid_t pid)
{
	const struct process *jvm = current(p, now_ns, pid);
	unsigned int written = 0;
	char number[16];

	if (!jvm || !jvm->ns[0])
		return;
	for (size_t i = 0; i < p->n && written < WRITTEN_MAX; i++) {
		struct process *x = &p->v[i];

		if (strcmp(x->ns, jvm->ns) || !command_of(x)[0])
			continue;
		snprintf(number, sizeof(number), "%d", inner_pid(p, x));
		jfrw_event(out, JFR_SYSTEM_PROCESS, now_ns,
			   &(struct jfr_system_process){.pid = number, .command = x->command});
		written++;
	}
}
