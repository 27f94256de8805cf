/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/runprice.h"

#include <unistd.h>

#include <bpf/bpf.h>

#include "base/log.h"
#include "capture/probe.h"

#define RUNS 1000 /* some 50 us */

static uint64_t mean_of(int prog)
{
	char packet[64] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = sizeof(packet),
		    .repeat = RUNS);
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);

	if (bpf_prog_test_run_opts(prog, &opts) || bpf_obj_get_info_by_fd(prog, &info, &len))
		return 0;
	return info.run_cnt ? info.run_time_ns / info.run_cnt : 0;
}

uint64_t runprice_measure(void)
{
	const struct bpf_insn insns[] = {PROBE_SET(0, 0), PROBE_EXIT};
	int prog =
		bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "gnomon_nothing", "GPL", insns, 2, NULL);
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	uint64_t ns = 0;

	if (prog >= 0 && stats >= 0)
		ns = mean_of(prog);
	if (stats >= 0)
		close(stats);
	if (prog >= 0)
		close(prog);
	log_debug("to measure a BPF program takes %llu ns a run", (unsigned long long)ns);
	return ns;
}
