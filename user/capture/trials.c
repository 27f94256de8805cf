/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/trials.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#define SINCE(version) "Linux " version " and later have it"

/* ---- a structure's members ---- */

/* The type behind t, without typedefs and qualifiers. */
static const struct btf_type *type_plain(const struct btf *b, __u32 id)
{
	return btf__type_by_id(b, (__u32)btf__resolve_type(b, id));
}

/* The offset of a member of t in bytes, or -ENOENT. Members of unnamed structs in it count, too. */
static int member_find(const struct btf *b, const struct btf_type *t, const char *name, size_t len,
		       const struct btf_type **type)
{
	const struct btf_member *m = t && btf_is_composite(t) ? btf_members(t) : NULL;

	for (int i = 0; m && i < btf_vlen(t); i++, m++) {
		const char *is = btf__name_by_offset(b, m->name_off);
		int at = (int)btf_member_bit_offset(t, (__u32)i) / 8, in;

		if (!strncmp(is, name, len) && !is[len]) {
			*type = type_plain(b, m->type);
			return at;
		}
		in = is[0] ? -ENOENT : member_find(b, type_plain(b, m->type), name, len, type);
		if (in >= 0)
			return at + in;
	}
	return -ENOENT;
}

/*
 * The offset in *t of the member that `path` names ("se.cfs_rq"); *t becomes the type that it
 * points to. If there is none `ok` becomes false.
 */
static int member_at(const struct btf *b, const struct btf_type **t, const char *path, bool *ok)
{
	const struct btf_type *of = *t;
	int at = 0;

	while (*ok && *path) {
		size_t len = strcspn(path, ".");
		int in = member_find(b, of, path, len, &of);

		if (in < 0)
			*ok = false;
		at += in;
		path += len + (path[len] == '.');
	}
	if (*ok && of && btf_is_ptr(of))
		*t = type_plain(b, of->type);
	return *ok ? at : 0;
}

static const struct btf_type *struct_find(const struct btf *b, const char *name)
{
	int id = b ? btf__find_by_name_kind(b, name, BTF_KIND_STRUCT) : -ENOENT;

	return id > 0 ? btf__type_by_id(b, (__u32)id) : NULL;
}

static int function_id(const struct btf *b, const char *name)
{
	return b ? btf__find_by_name_kind(b, name, BTF_KIND_FUNC) : -ENOENT;
}

/* ---- how each is tried: 0, -EACCES and -EPERM of the verifier, else -errno ---- */

static const struct btf *types_of(struct trials *t)
{
	if (!t->read)
		t->kernel = btf__load_vmlinux_btf();
	t->read = true;
	return t->kernel;
}

struct trial {
	struct feature_info info;
	int (*try)(const struct feature_info *f, struct trials *t);
};

static int program_load(const struct feature_info *f, struct trials *t,
			const struct bpf_insn *insns, size_t n, char *log, size_t log_size)
{
	bool traces = f->at->kind == PROBE_RAW_TP || f->at->kind == PROBE_ITER;

	return probe_load(traces ? types_of(t) : NULL, f->at, insns, n, log, log_size);
}

static int program_try(const struct feature_info *f, struct trials *t, const struct bpf_insn *insns,
		       size_t n)
{
	int fd = program_load(f, t, insns, n, NULL, 0);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/*
 * Programs of tracepoints are only loaded: attaching one makes the next program that attaches wait
 * for the kernel.
 */
static int hook_try(const struct feature_info *f, struct trials *t)
{
	const struct bpf_insn nothing[] = {PROBE_SET(BPF_REG_0, 0), PROBE_EXIT};
	int prog, rc = 0;

	prog = program_load(f, t, nothing, 2, NULL, 0);
	if (prog < 0)
		return prog;
	if (f->at->kind != PROBE_RAW_TP)
		rc = probe_attach(f->at, prog);
	close(prog);
	return rc;
}

/*
 * The helper is called without arguments: if it exists for this kind of program, the verifier
 * complains of the arguments and not of the helper.
 */
static int helper_try(const struct feature_info *f, struct trials *t)
{
	const struct bpf_insn call[] = {PROBE_CALL(f->id), PROBE_SET(BPF_REG_0, 0), PROBE_EXIT};
	char log[4096];
	int fd = program_load(f, t, call, 3, log, sizeof(log));

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (!log[0])
		return fd;
	return strstr(log, "invalid func") || strstr(log, "unknown func") ||
			       strstr(log, "cannot use helper")
		       ? -EOPNOTSUPP
		       : 0;
}

/* The fourth argument is the state in which the thread, the second argument, left the CPU. */
static int switches_try(const struct feature_info *f, struct trials *t)
{
	const struct btf *b = types_of(t);
	const struct btf_type *task = struct_find(b, "task_struct");
	bool ok = task;
	int pid = member_at(b, &task, "pid", &ok);
	const struct bpf_insn insns[] = {
		PROBE_LOAD(BPF_REG_2, BPF_REG_1, 3 * 8, BPF_DW),
		PROBE_LOAD(BPF_REG_1, BPF_REG_1, 1 * 8, BPF_DW),
		PROBE_LOAD(BPF_REG_2, BPF_REG_1, pid, BPF_W),
		PROBE_SET(BPF_REG_0, 0),
		PROBE_EXIT,
	};

	return ok ? program_try(f, t, insns, 5) : -EOPNOTSUPP;
}

#define ITER_TASK 8 /* offset of the task, which may be NULL, in struct bpf_iter__task */

/* Takes the same way from a task to its run queue as run_queue() of kern/clock.bpf.h. */
static int run_queue_try(const struct feature_info *f, struct trials *t)
{
	const struct btf *b = types_of(t);
	const struct btf_type *at = struct_find(b, "task_struct");
	bool ok = at;
	int cfs_rq = member_at(b, &at, "se.cfs_rq", &ok);
	int rq = member_at(b, &at, "rq", &ok);
	int clock = member_at(b, &at, "clock", &ok);
	int clock_task = member_at(b, &at, "clock_task", &ok);
	const struct bpf_insn insns[] = {
		PROBE_LOAD(BPF_REG_1, BPF_REG_1, ITER_TASK, BPF_DW),
		PROBE_SKIP_IF_ZERO(BPF_REG_1, 4),
		PROBE_LOAD(BPF_REG_1, BPF_REG_1, cfs_rq, BPF_DW),
		PROBE_LOAD(BPF_REG_1, BPF_REG_1, rq, BPF_DW),
		PROBE_LOAD(BPF_REG_2, BPF_REG_1, clock, BPF_DW),
		PROBE_LOAD(BPF_REG_2, BPF_REG_1, clock_task, BPF_DW),
		PROBE_SET(BPF_REG_0, 0),
		PROBE_EXIT,
	};

	return ok ? program_try(f, t, insns, 8) : -EOPNOTSUPP;
}

static int stolen_try(const struct feature_info *f, struct trials *t)
{
	const struct btf *b = types_of(t);
	const struct btf_type *at = struct_find(b, "task_struct");
	bool ok = at;
	int cfs_rq = member_at(b, &at, "se.cfs_rq", &ok);
	int rq = member_at(b, &at, "rq", &ok);
	int stolen = member_at(b, &at, "prev_steal_time_rq", &ok);
	const struct bpf_insn insns[] = {
		PROBE_LOAD(BPF_REG_1, BPF_REG_1, ITER_TASK, BPF_DW),
		PROBE_SKIP_IF_ZERO(BPF_REG_1, 3),
		PROBE_LOAD(BPF_REG_1, BPF_REG_1, cfs_rq, BPF_DW),
		PROBE_LOAD(BPF_REG_1, BPF_REG_1, rq, BPF_DW),
		PROBE_LOAD(BPF_REG_1, BPF_REG_1, stolen, BPF_DW),
		PROBE_SET(BPF_REG_0, 0),
		PROBE_EXIT,
	};

	return ok ? program_try(f, t, insns, 7) : -EOPNOTSUPP;
}

static int sched_info_try(const struct feature_info *f, struct trials *t)
{
	const struct btf *b = types_of(t);
	const struct btf_type *task = struct_find(b, "task_struct");
	bool ok = task;
	int arrival = member_at(b, &task, "sched_info.last_arrival", &ok);
	int queued = member_at(b, &task, "sched_info.last_queued", &ok);
	int delay = member_at(b, &task, "sched_info.run_delay", &ok);
	int cpu = member_at(b, &task, "thread_info.cpu", &ok);
	const struct bpf_insn insns[] = {
		PROBE_LOAD(BPF_REG_1, BPF_REG_1, ITER_TASK, BPF_DW),
		PROBE_SKIP_IF_ZERO(BPF_REG_1, 4),
		PROBE_LOAD(BPF_REG_2, BPF_REG_1, arrival, BPF_DW),
		PROBE_LOAD(BPF_REG_2, BPF_REG_1, queued, BPF_DW),
		PROBE_LOAD(BPF_REG_2, BPF_REG_1, delay, BPF_DW),
		PROBE_LOAD(BPF_REG_2, BPF_REG_1, cpu, BPF_W),
		PROBE_SET(BPF_REG_0, 0),
		PROBE_EXIT,
	};

	return ok ? program_try(f, t, insns, 8) : -EOPNOTSUPP;
}

/*
 * Where the kernel keeps time by a slow device, the counters of the CPUs are not in step, nor are
 * the clocks of their run queues (sched_clock_stable, kernel/sched/clock.c).
 */
static int clocks_try(const struct feature_info *f, struct trials *t)
{
	static const char path[] = "/sys/devices/system/clocksource/clocksource0/"
				   "current_clocksource";
	static const char *const slow[] = {"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"};
	char name[64] = "";
	FILE *in = fopen(path, "re");

	if (!in)
		return 0;
	if (fgets(name, sizeof(name), in))
		name[strcspn(name, "\n")] = '\0';
	fclose(in);
	for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++)
		if (!strcmp(name, slow[i]))
			return -EOPNOTSUPP;
	return 0;
}

/*
 * The functions are there since 6.2, but programs that user space runs may call them since 6.10
 * only (a8e03b6bbb2c, "bpf: Allow invoking kfuncs from BPF_PROG_TYPE_SYSCALL progs").
 */
static int task_find_try(const struct feature_info *f, struct trials *t)
{
	int find = function_id(types_of(t), "bpf_task_from_pid");
	int release = function_id(types_of(t), "bpf_task_release");
	const struct bpf_insn insns[] = {
		PROBE_SET(BPF_REG_1, 1),
		PROBE_CALL_KFUNC(find),
		PROBE_SKIP_IF_ZERO(BPF_REG_0, 2),
		PROBE_MOVE(BPF_REG_1, BPF_REG_0),
		PROBE_CALL_KFUNC(release),
		PROBE_SET(BPF_REG_0, 0),
		PROBE_EXIT,
	};

	return find > 0 && release > 0 ? program_try(f, t, insns, 7) : -EOPNOTSUPP;
}

/*
 * A kernel that knows such iterators refuses a process and a thread given at once
 * (kernel/bpf/task_iter.c, bpf_iter_attach_task()); one that does not know them ignores both.
 */
static int iter_process_try(const struct feature_info *f, struct trials *t)
{
	const struct bpf_insn nothing[] = {PROBE_SET(BPF_REG_0, 0), PROBE_EXIT};
	union bpf_iter_link_info both = {.task = {.tid = 1, .pid = 1}};
	LIBBPF_OPTS(bpf_link_create_opts, opts, .iter_info = &both, .iter_info_len = sizeof(both));
	int prog = program_load(f, t, nothing, 2, NULL, 0), link, rc;

	if (prog < 0)
		return prog;
	link = bpf_link_create(prog, 0, BPF_TRACE_ITER, &opts);
	rc = link >= 0 ? -EOPNOTSUPP : errno == EINVAL ? 0 : -errno;
	if (link >= 0)
		close(link);
	close(prog);
	return rc;
}

static int btf_try(const struct feature_info *f, struct trials *t)
{
	return types_of(t) ? 0 : -EOPNOTSUPP;
}

/* libbpf answers yes or no, and a no means nothing if we may not create maps. */
static int map_try(const struct feature_info *f, struct trials *t)
{
	return libbpf_probe_bpf_map_type((enum bpf_map_type)f->id, NULL) > 0 ? 0 : -EPERM;
}

/* Puts in inner maps of other sizes than the one that the outer map was made with. */
static int inner_try(__u32 flags, enum bpf_map_type outer_type, bool batch)
{
	LIBBPF_OPTS(bpf_map_create_opts, inner, .map_flags = flags);
	LIBBPF_OPTS(bpf_map_create_opts, outer);
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	int small = bpf_map_create(BPF_MAP_TYPE_ARRAY, "gnomon_probe", 4, 8, 1, &inner);
	int large =
		flags ? bpf_map_create(BPF_MAP_TYPE_ARRAY, "gnomon_probe", 4, 8, 2, &inner) : -1;
	int put = flags ? large : small, map = -1, rc = 0;
	__u32 key = 0, n = 1;

	outer.inner_map_fd = (__u32)small;
	if (put >= 0)
		map = bpf_map_create(outer_type, "gnomon_probe", 4, 4, 1, &outer);
	if (map < 0 || (batch ? bpf_map_update_batch(map, &key, &put, &n, &opts)
			      : bpf_map_update_elem(map, &key, &put, BPF_ANY)))
		rc = -errno;
	if (map >= 0)
		close(map);
	if (large >= 0)
		close(large);
	if (small >= 0)
		close(small);
	return rc;
}

static int inner_size_try(const struct feature_info *f, struct trials *t)
{
	return inner_try(BPF_F_INNER_MAP, BPF_MAP_TYPE_ARRAY_OF_MAPS, false);
}

static int inner_batch_try(const struct feature_info *f, struct trials *t)
{
	int rc = inner_try(0, BPF_MAP_TYPE_ARRAY_OF_MAPS, true);

	return rc ? rc : inner_try(0, BPF_MAP_TYPE_HASH_OF_MAPS, true);
}

/* Atomic instructions that return the value from before. */
static int atomics_try(const struct feature_info *f, struct trials *t)
{
	const struct bpf_insn insns[] = {
		PROBE_SET(BPF_REG_0, 0),
		PROBE_SET(BPF_REG_1, 1),
		PROBE_STORE(BPF_REG_10, -8, BPF_REG_0),
		PROBE_ATOMIC(BPF_CMPXCHG, BPF_REG_10, -8, BPF_REG_1),
		PROBE_ATOMIC(BPF_XCHG, BPF_REG_10, -8, BPF_REG_1),
		PROBE_ATOMIC(BPF_ADD | BPF_FETCH, BPF_REG_10, -8, BPF_REG_1),
		PROBE_SET(BPF_REG_0, 0),
		PROBE_EXIT,
	};

	return program_try(f, t, insns, 8);
}

/* Opens a clock of a thread or of a CPU. No verifier is asked here, so -EACCES is about us. */
static int clock_try(int pid, int cpu)
{
	int fd = probe_clock(pid, cpu, cpu < 0);

	if (fd < 0)
		return fd == -EACCES ? -EPERM : fd;
	close(fd);
	return 0;
}

static int thread_clock_try(const struct feature_info *f, struct trials *t)
{
	return clock_try(0, -1);
}

static int cpu_clock_try(const struct feature_info *f, struct trials *t)
{
	return clock_try(-1, 0);
}

/* ---- what there is ---- */

/* The places where programs of kern/ run. */
static const struct probe_place at_switch = {.kind = PROBE_RAW_TP, .target = "sched_switch"};
static const struct probe_place at_waking = {.kind = PROBE_RAW_TP, .target = "sched_waking"};
static const struct probe_place at_birth = {.kind = PROBE_RAW_TP, .target = "task_newtask"};
static const struct probe_place at_exit = {.kind = PROBE_RAW_TP, .target = "sched_process_exit"};
static const struct probe_place at_exec = {.kind = PROBE_RAW_TP, .target = "sched_process_exec"};
static const struct probe_place at_rename = {.kind = PROBE_RAW_TP, .target = "task_rename"};
static const struct probe_place at_clock = {.kind = PROBE_PERF};
static const struct probe_place at_call = {.kind = PROBE_SYSCALL, .sleepable = true};
static const struct probe_place at_tasks = {.kind = PROBE_ITER, .target = "task"};
static const struct probe_place at_files = {.kind = PROBE_ITER, .target = "task_file"};
static const struct probe_place at_sleeper = {
	.kind = PROBE_ITER, .target = "task", .sleepable = true};

/* clang-format off */
#define DEF(kind_, name_, need_, place, number, use_, fix, how)                                    \
	{                                                                                          \
		.info = {.name = name_, .use = use_, .remedy = fix, .kind = FEATURE_OF_##kind_,    \
			 .need = FEATURE_FOR_##need_, .at = place, .id = number},                  \
		.try = how,                                                                        \
	}
#define HOOK(name, need, place, use, fix) DEF(HOOKS, name, need, place, 0, use, fix, hook_try)
#define HELPER(name, need, place, use, since)                                                      \
	DEF(HELPERS, "bpf_" #name, need, place, BPF_FUNC_##name, use, SINCE(since), helper_try)
#define MAP(type, name, use, since)                                                                \
	DEF(MAPS, name, ALL, NULL, BPF_MAP_TYPE_##type, use, SINCE(since), map_try)

/*
 * A feature stands before those that need it, so that the one that is missing is told, and not its
 * consequences.
 */
static const struct trial trials[] = {
	[FEATURE_SWITCHES] = {{
		.name = "tp_btf/sched_switch",
		.use = "wall samples by switches",
		.without = "does not tell threads' states: wall samples by scans",
		.remedy = SINCE("5.18"),
		.kind = FEATURE_OF_HOOKS,
		.at = &at_switch,
	}, switches_try},
	[FEATURE_RUN_QUEUE] = {{
		.name = "cfs_rq.rq",
		.use = "run queues' clocks",
		.without = "run queues' clocks are not found: wall samples by scans, CPU time to a "
			   "scheduler's tick",
		.remedy = "needs CONFIG_FAIR_GROUP_SCHED",
		.kind = FEATURE_OF_HELPERS,
		.at = &at_tasks,
	}, run_queue_try},
	[FEATURE_SCHED_INFO] = {{
		.name = "task_struct.sched_info",
		.use = "time in run queues",
		.without = "time in run queues is not known: wall samples by scans",
		.remedy = "needs CONFIG_SCHED_INFO (schedstats or task delay accounting), Linux 5.16",
		.kind = FEATURE_OF_HELPERS,
		.at = &at_tasks,
	}, sched_info_try},
	[FEATURE_STOLEN] = {{
		.name = "rq.prev_steal_time_rq",
		.use = "time that a virtual machine's host takes",
		.without = "time that a virtual machine's host takes may be in samples of young threads",
		.remedy = "needs CONFIG_PARAVIRT_TIME_ACCOUNTING",
		.kind = FEATURE_OF_HELPERS,
		.at = &at_tasks,
	}, stolen_try},
	[FEATURE_CLOCKS_IN_STEP] = {{
		.name = "clocks of CPUs",
		.use = "in step",
		.without = "not in step, the kernel keeps time by a slow device: wall samples by scans",
		.remedy = "/sys/devices/system/clocksource says which there are: a steady TSC will do",
		.kind = FEATURE_OF_CLOCKS,
	}, clocks_try},
	[FEATURE_TASK_FIND] = {{
		.name = "bpf_task_from_pid",
		.use = "threads that sleep, found by id",
		.without = "not for such programs: threads that sleep are found by iteration",
		.remedy = SINCE("6.10"),
		.kind = FEATURE_OF_HELPERS,
		.at = &at_call,
	}, task_find_try},
	[FEATURE_ITER_PROCESS] = {{
		.name = "iter/task of a process",
		.use = "looks at the targets' threads alone",
		.without = "not known: a look at a target goes over all threads there are",
		.remedy = SINCE("6.1"),
		.kind = FEATURE_OF_HOOKS,
		.at = &at_tasks,
	}, iter_process_try},
	[FEATURE_WAKING] = {{
		.name = "tp_btf/sched_waking",
		.use = "who wakes threads",
		.without = "not to be seen: who wakes threads is not told",
		.remedy = SINCE("5.5"),
		.kind = FEATURE_OF_HOOKS,
		.at = &at_waking,
	}, hook_try},
	[FEATURE_ITER_FILES] = {{
		.name = "iter/task_file",
		.use = "whose connections within this machine are",
		.without = "not known: whose the other ends of connections are is not told",
		.remedy = SINCE("5.8"),
		.kind = FEATURE_OF_HOOKS,
		.at = &at_files,
	}, hook_try},
	[FEATURE_INNER_BATCH] = {{
		.name = "batches of inner maps",
		.use = "unwind tables put in place at once",
		.without = "not known: unwind tables are put in place one by one, some ms each",
		.remedy = SINCE("5.19"),
		.kind = FEATURE_OF_MAPS,
	}, inner_batch_try},

	DEF(HOOKS, "BTF", ALL, NULL, 0, "the kernel's types",
	    "needs CONFIG_DEBUG_INFO_BTF; in a container, /sys mounted", btf_try),
	HOOK("tp_btf/task_newtask", ALL, &at_birth, "new threads", SINCE("5.5")),
	HOOK("tp_btf/sched_process_exec", ALL, &at_exec, "exec", SINCE("5.5")),
	HOOK("tp_btf/sched_process_exit", ALL, &at_exit, "exits", SINCE("5.5")),
	HOOK("tp_btf/task_rename", ALL, &at_rename, "thread names", SINCE("5.5")),
	HOOK("iter/task", ALL, &at_tasks, "threads that were there before", SINCE("5.8")),
	HOOK("iter.s/task", WALL, &at_sleeper, "stacks of threads that sleep", SINCE("5.18")),
	HOOK("syscall program", ALL, &at_call, "work at ticks", SINCE("5.14")),
	HOOK("perf_event program", ALL, &at_clock, "CPU samples",
	     "needs CONFIG_PERF_EVENTS and CONFIG_BPF_EVENTS"),

	DEF(HELPERS, "atomic instructions", ALL, &at_clock, 0, "counts", SINCE("5.12"), atomics_try),
	HELPER(get_stack, ALL, &at_clock, "kernel frames", "4.18"),
	HELPER(get_task_stack, WALL, &at_sleeper, "kernel frames of threads that sleep", "5.9"),
	HELPER(probe_read_user, ALL, &at_clock, "unwinding in place", "5.5"),
	HELPER(loop, ALL, &at_clock, "unwinding", "5.17"),
	HELPER(copy_from_user_task, WALL, &at_sleeper, "unwinding of threads that sleep", "5.18"),
	HELPER(task_pt_regs, ALL, &at_clock, "registers of user code", "5.15"),
	HELPER(get_current_task_btf, ALL, &at_clock, "the running thread", "5.11"),
	HELPER(task_storage_get, ALL, &at_clock, "state of a thread", "5.12"),
	HELPER(task_storage_delete, ALL, &at_tasks, "threads that are recorded no longer", "5.12"),
	HELPER(find_vma, WALL, &at_sleeper, "what of a sleeping thread's memory may be read", "5.17"),
	HELPER(map_lookup_percpu_elem, ALL, &at_tasks, "clocks of other CPUs", "5.19"),
	HELPER(seq_write, ALL, &at_tasks, "sleepers accounted for bit by bit", "5.7"),
	HELPER(ringbuf_output, ALL, &at_clock, "records", "5.8"),
	HELPER(ringbuf_query, ALL, &at_clock, "room for records", "5.8"),
	HELPER(ringbuf_reserve, WALL, &at_switch, "who had the CPUs", "5.8"),
	HELPER(ringbuf_submit, WALL, &at_switch, "who had the CPUs", "5.8"),
	HELPER(ringbuf_discard, WALL, &at_switch, "ticks that are left out", "5.8"),
	HELPER(probe_read_kernel, ALL, &at_clock, "the kernel's structures", "5.5"),
	HELPER(probe_read_kernel_str, ALL, &at_rename, "thread names", "5.5"),

	MAP(RINGBUF, "ring buffer", "records", "5.8"),
	MAP(TASK_STORAGE, "task storage", "state of a thread", "5.11"),
	MAP(ARRAY_OF_MAPS, "map of maps", "a ring for each CPU", "4.12"),
	MAP(HASH_OF_MAPS, "hash of maps", "unwind tables of processes", "4.12"),
	MAP(LRU_HASH, "LRU hash", "stacks already sent", "4.10"),
	MAP(PERCPU_ARRAY, "per-CPU array", "room for stacks", "4.6"),
	MAP(QUEUE, "queue", "threads to look at", "4.20"),
	MAP(PROG_ARRAY, "program array", "from one program to the next", "4.2"),
	DEF(MAPS, "inner maps of any size", ALL, NULL, 0, "unwind tables", SINCE("5.10"),
	    inner_size_try),

	DEF(CLOCKS, "per-thread CPU clock", ALL, NULL, 0, "CPU samples, inherited by new threads",
	    "needs CONFIG_PERF_EVENTS, Linux 5.13", thread_clock_try),
	DEF(CLOCKS, "per-CPU clock", ALL, NULL, 0, "CPU samples past the open-files limit",
	    "needs CONFIG_PERF_EVENTS", cpu_clock_try),
};
/* clang-format on */

#define TRIALS ((int)(sizeof(trials) / sizeof(trials[0])))
_Static_assert(TRIALS <= TRIALS_MAX, "room to remember them");

const struct feature_info *feature_info(int f)
{
	return f >= 0 && f < TRIALS ? &trials[f].info : NULL;
}

int trial_run(int f, struct trials *t)
{
	return trials[f].try(&trials[f].info, t);
}

/* The program is of a kind that needs all capabilities that the other programs need. */
int trial_permitted(void)
{
	const struct bpf_insn nothing[] = {PROBE_SET(BPF_REG_0, 0), PROBE_EXIT};
	int fd = probe_load(NULL, &at_clock, nothing, 2, NULL, 0);

	if (fd >= 0)
		close(fd);
	if (fd == -EPERM || fd == -EACCES)
		return -EPERM;
	return fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM ? fd : 0;
}

void trials_end(struct trials *t)
{
	btf__free(t->kernel);
	*t = (struct trials){0};
}
