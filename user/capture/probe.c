/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/probe.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>

/* How the kernel's BTF names what such programs are attached to. */
static int target_id(const struct btf *kernel, const struct probe_place *at)
{
	bool iter = at->kind == PROBE_ITER;
	char name[128];
	int id;

	snprintf(name, sizeof(name), "%s%s", iter ? "bpf_iter_" : "btf_trace_", at->target);
	id = kernel ? btf__find_by_name_kind(kernel, name, iter ? BTF_KIND_FUNC : BTF_KIND_TYPEDEF)
		    : -ENOENT;
	return id > 0 ? id : -ENOENT;
}

static enum bpf_prog_type program_type(enum probe_kind kind)
{
	switch (kind) {
	case PROBE_PERF:
		return BPF_PROG_TYPE_PERF_EVENT;
	case PROBE_SYSCALL:
		return BPF_PROG_TYPE_SYSCALL;
	default:
		return BPF_PROG_TYPE_TRACING;
	}
}

int probe_load(const struct btf *kernel, const struct probe_place *at, const struct bpf_insn *insns,
	       size_t n, char *log, size_t log_size)
{
	LIBBPF_OPTS(bpf_prog_load_opts, o, .log_buf = log, .log_size = (__u32)log_size,
		    .log_level = log ? 1 : 0, .prog_flags = at->sleepable ? BPF_F_SLEEPABLE : 0);
	enum bpf_prog_type type = program_type(at->kind);
	int fd;

	if (log)
		log[0] = '\0';
	if (type == BPF_PROG_TYPE_TRACING) {
		int id = target_id(kernel, at);

		if (id < 0)
			return id;
		o.attach_btf_id = (__u32)id;
		o.expected_attach_type = at->kind == PROBE_ITER ? BPF_TRACE_ITER : BPF_TRACE_RAW_TP;
	}
	fd = bpf_prog_load(type, "gnomon_probe", "GPL", insns, n, &o);
	return fd < 0 ? -errno : fd;
}

int probe_clock(int pid, int cpu, bool inherit)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(a),
		.sample_period = 1000000000,
		.disabled = 1,
		.exclude_idle = 1,
		.inherit = inherit,
		.inherit_thread = inherit,
	};
	long fd = syscall(SYS_perf_event_open, &a, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int clock_attach(int prog)
{
	int fd = probe_clock(0, -1, false), rc;

	if (fd < 0)
		return fd;
	rc = ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) ? -errno : 0;
	close(fd);
	return rc;
}

int probe_attach(const struct probe_place *at, int prog)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int fd;

	switch (at->kind) {
	case PROBE_RAW_TP:
		fd = bpf_raw_tracepoint_open(NULL, prog);
		break;
	case PROBE_ITER:
		fd = bpf_link_create(prog, 0, BPF_TRACE_ITER, NULL);
		break;
	case PROBE_PERF:
		return clock_attach(prog);
	default:
		return bpf_prog_test_run_opts(prog, &run) ? -errno : 0;
	}
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}
