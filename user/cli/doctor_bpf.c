/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every hook and helper that a recording uses, tried for real: a program of one or two instructions
 * is loaded and attached for a moment. What the kernel says then counts, not its version.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/doctor.h"

#define INSN_CALL(helper)                                                                          \
	{                                                                                          \
		.code = BPF_JMP | BPF_CALL, .imm = (helper)                                        \
	}
#define INSN_ZERO                                                                                  \
	{                                                                                          \
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0                          \
	}
#define INSN_EXIT                                                                                  \
	{                                                                                          \
		.code = BPF_JMP | BPF_EXIT                                                         \
	}

/* ---- where programs run ---------------------------------------------------------------------- */

enum hook_kind { HOOK_RAW_TP, HOOK_ITER, HOOK_PERF, HOOK_SYSCALL };

struct hook {
	enum hook_kind kind;
	const char *target; /* of tp_btf and iter */
	bool sleepable;
	const char *name;
	const char *purpose;
	enum exit_code fatal;
};

/* As kern/ *.bpf.c has them in SEC(). */
static const struct hook hooks[] = {
	{HOOK_RAW_TP, "sched_switch", false, "tp_btf/sched_switch", "off-CPU time", EXIT_KERNEL},
	{HOOK_RAW_TP, "task_newtask", false, "tp_btf/task_newtask", "new threads", EXIT_KERNEL},
	{HOOK_RAW_TP, "sched_process_exec", false, "tp_btf/sched_process_exec", "exec",
	 EXIT_KERNEL},
	{HOOK_RAW_TP, "sched_process_exit", false, "tp_btf/sched_process_exit", "exits",
	 EXIT_KERNEL},
	{HOOK_RAW_TP, "task_rename", false, "tp_btf/task_rename", "thread names", EXIT_KERNEL},
	{HOOK_ITER, "task", false, "iter/task", "threads that were there before", EXIT_KERNEL},
	{HOOK_ITER, "task", true, "iter.s/task", "stacks of sleeping threads", EXIT_OK},
	{HOOK_SYSCALL, NULL, true, "syscall program", "remote capture at ticks", EXIT_OK},
	{HOOK_PERF, NULL, false, "perf_event program", "CPU samples", EXIT_KERNEL},
};

static int program_load(const struct hook *h, const struct bpf_insn *insns, size_t n, char *log,
			size_t log_size)
{
	LIBBPF_OPTS(bpf_prog_load_opts, o, .log_buf = log, .log_size = (__u32)log_size,
		    .log_level = log ? 1 : 0, .prog_flags = h->sleepable ? BPF_F_SLEEPABLE : 0);
	enum bpf_prog_type type = h->kind == HOOK_PERF	    ? BPF_PROG_TYPE_PERF_EVENT
				  : h->kind == HOOK_SYSCALL ? BPF_PROG_TYPE_SYSCALL
							    : BPF_PROG_TYPE_TRACING;

	if (type == BPF_PROG_TYPE_TRACING) {
		int id;

		o.expected_attach_type = h->kind == HOOK_ITER ? BPF_TRACE_ITER : BPF_TRACE_RAW_TP;
		id = libbpf_find_vmlinux_btf_id(h->target, o.expected_attach_type);
		if (id <= 0)
			return -ENOENT;
		o.attach_btf_id = (__u32)id;
	}
	return bpf_prog_load(type, "gnomon_doctor", "GPL", insns, n, &o);
}

static int clock_open(pid_t pid, int cpu, bool inherit)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(a),
		.sample_period = 1000000000,
		.disabled = 1,
		.inherit = inherit,
		.inherit_thread = inherit, /* Linux 5.13 */
	};
	long fd = syscall(SYS_perf_event_open, &a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int perf_attach(int prog)
{
	int fd = clock_open(0, -1, true), rc;

	if (fd < 0)
		return fd;
	rc = ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) ? -errno : 0;
	close(fd);
	return rc;
}

static int hook_attach(const struct hook *h, int prog)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int fd;

	switch (h->kind) {
	case HOOK_RAW_TP:
		fd = bpf_raw_tracepoint_open(NULL, prog);
		break;
	case HOOK_ITER:
		fd = bpf_link_create(prog, 0, BPF_TRACE_ITER, NULL);
		break;
	case HOOK_PERF:
		return perf_attach(prog);
	default:
		return bpf_prog_test_run_opts(prog, &run);
	}
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int hook_try(const struct hook *h)
{
	static const struct bpf_insn nothing[] = {INSN_ZERO, INSN_EXIT};
	int prog = program_load(h, nothing, 2, NULL, 0), rc;

	if (prog < 0)
		return prog;
	rc = hook_attach(h, prog);
	close(prog);
	return rc;
}

static void verdict(struct doctor *d, int rc, enum exit_code fatal, const char *name,
		    const char *purpose, const char *remedy)
{
	struct check *c;

	if (rc == -EPERM || rc == -EACCES) {
		c = doctor_add(d, CHECK_UNKNOWN, EXIT_OK, name, "%s: not permitted to try",
			       purpose);
		doctor_remedy(c, "run as root");
	} else if (rc) {
		c = doctor_add(d, fatal ? CHECK_MISSING : CHECK_DEGRADED, fatal, name, "%s: %s",
			       purpose, strerror(-rc));
		doctor_remedy(c, "%s", remedy);
	} else {
		doctor_add(d, CHECK_OK, EXIT_OK, name, "%s", purpose);
	}
}

/* ---- helpers --------------------------------------------------------------------------------- */

struct helper {
	enum bpf_func_id id;
	const char *name;
	const char *purpose;
	struct hook where;
	enum exit_code fatal;
};

#define AT_SWITCH                                                                                  \
	{                                                                                          \
		.kind = HOOK_RAW_TP, .target = "sched_switch"                                      \
	}
#define AT_CLOCK                                                                                   \
	{                                                                                          \
		.kind = HOOK_PERF                                                                  \
	}
#define AT_TICK                                                                                    \
	{                                                                                          \
		.kind = HOOK_SYSCALL, .sleepable = true                                            \
	}
#define AT_SWEEP                                                                                   \
	{                                                                                          \
		.kind = HOOK_ITER, .target = "task", .sleepable = true                             \
	}

static const struct helper helpers[] = {
	{BPF_FUNC_get_stack, "bpf_get_stack", "kernel frames", AT_CLOCK, EXIT_KERNEL},
	{BPF_FUNC_ringbuf_output, "bpf_ringbuf_output", "records", AT_SWITCH, EXIT_KERNEL},
	{BPF_FUNC_task_storage_get, "bpf_task_storage_get", "state of a thread", AT_SWITCH,
	 EXIT_KERNEL},
	{BPF_FUNC_get_current_task_btf, "bpf_get_current_task_btf", "the running thread", AT_CLOCK,
	 EXIT_KERNEL},
	{BPF_FUNC_probe_read_user, "bpf_probe_read_user", "unwinding in place", AT_SWITCH,
	 EXIT_KERNEL},
	{BPF_FUNC_loop, "bpf_loop", "unwinding (Linux 5.17)", AT_SWITCH, EXIT_KERNEL},
	{BPF_FUNC_copy_from_user_task, "bpf_copy_from_user_task",
	 "unwinding of sleeping threads (Linux 5.18)", AT_SWEEP, EXIT_OK},
};

/*
 * Called without arguments: where the helper exists for this kind of program, the verifier's
 * complaint is about the arguments instead.
 */
static int helper_try(const struct helper *h)
{
	const struct bpf_insn call[] = {INSN_CALL(h->id), INSN_ZERO, INSN_EXIT};
	char log[4096] = "";
	int fd = program_load(&h->where, call, 3, log, sizeof(log));

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (fd == -EPERM || fd == -ENOENT || !log[0])
		return fd;
	return strstr(log, "invalid func") || strstr(log, "unknown func") ||
			       strstr(log, "cannot use helper")
		       ? -EOPNOTSUPP
		       : 0;
}

/* ---- types, fields and kernel functions ------------------------------------------------------ */

static void check_maps(struct doctor *d)
{
	static const struct {
		enum bpf_map_type type;
		const char *name;
	} maps[] = {
		{BPF_MAP_TYPE_RINGBUF, "ring buffer"},
		{BPF_MAP_TYPE_TASK_STORAGE, "task storage"},
		{BPF_MAP_TYPE_ARRAY_OF_MAPS, "map of maps"},
		{BPF_MAP_TYPE_LRU_HASH, "LRU hash"},
		{BPF_MAP_TYPE_PERCPU_ARRAY, "per-CPU array"},
	};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		/* libbpf says only yes or no: without permission its no means nothing */
		int rc = libbpf_probe_bpf_map_type(maps[i].type, NULL);

		verdict(d,
			rc > 0	    ? 0
			: geteuid() ? -EPERM
			: rc	    ? rc
				    : -EOPNOTSUPP,
			EXIT_KERNEL, maps[i].name, "map type", "needs Linux 6.1 or later");
	}
}

static bool field_exists(const struct btf *b, const char *type, const char *field)
{
	int id = btf__find_by_name_kind(b, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(b, (__u32)id) : NULL;
	const struct btf_member *m = t ? btf_members(t) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(b, m[i].name_off), field))
			return true;
	return false;
}

static void check_types(struct doctor *d)
{
	struct btf *b = btf__load_vmlinux_btf();
	struct check *c;
	bool found;

	if (libbpf_get_error(b))
		return; /* doctor_kernel() has said so */
	found = field_exists(b, "sched_info", "last_queued") &&
		field_exists(b, "task_struct", "sched_info");
	c = doctor_add(d, found ? CHECK_OK : CHECK_DEGRADED, EXIT_OK, "task_struct.sched_info",
		       found ? "time in run queues" : "time in run queues is not known");
	if (!found)
		doctor_remedy(c, "needs CONFIG_SCHED_INFO (schedstats or task delay accounting)");
	found = btf__find_by_name_kind(b, "bpf_task_from_pid", BTF_KIND_FUNC) > 0;
	c = doctor_add(d, found ? CHECK_OK : CHECK_DEGRADED, EXIT_OK, "bpf_task_from_pid",
		       found ? "threads found by id"
			     : "not in this kernel: threads are found by iteration");
	if (!found)
		doctor_remedy(c, "Linux 6.2 or later has it");
	btf__free(b);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static void check_clock(struct doctor *d, const char *name, pid_t pid, int cpu, const char *purpose)
{
	int fd = clock_open(pid, cpu, cpu < 0);

	verdict(d, fd < 0 ? fd : 0, EXIT_KERNEL, name, purpose, "needs CONFIG_PERF_EVENTS");
	if (fd >= 0)
		close(fd);
}

static int silent(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

void doctor_bpf(struct doctor *d)
{
	libbpf_print_fn_t before = libbpf_set_print(silent);

	doctor_group(d, "BPF hooks");
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		verdict(d, hook_try(&hooks[i]), hooks[i].fatal, hooks[i].name, hooks[i].purpose,
			"needs Linux 6.1 or later with BTF");
	doctor_group(d, "BPF helpers and maps");
	for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
		verdict(d, helper_try(&helpers[i]), helpers[i].fatal, helpers[i].name,
			helpers[i].purpose, "needs Linux 6.1 or later");
	check_maps(d);
	check_types(d);
	doctor_group(d, "clocks");
	check_clock(d, "per-thread CPU clock", 0, -1, "CPU samples, inherited by new threads");
	check_clock(d, "per-CPU clock", -1, 0, "CPU samples past the open-files limit");
	libbpf_set_print(before);
}
