/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line per BPF program in the kernel whose name is not of another tool's, tab-separated: name,
 * instructions the verifier went through, its share of the limit, instructions, bytes of machine
 * code, runs, nanoseconds a run (with kernel.bpf_stats_enabled). Run while gnomon records.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#define VERIFIER_LIMIT 1000000.0 /* BPF_COMPLEXITY_LIMIT_INSNS, include/linux/bpf.h */

static int line(__u32 id)
{
	struct bpf_prog_info info = {0};
	__u32 len = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);

	if (fd < 0)
		return -errno;
	if (!bpf_obj_get_info_by_fd(fd, &info, &len) && info.type != BPF_PROG_TYPE_CGROUP_DEVICE)
		printf("%s\t%u\t%.2f\t%u\t%u\t%llu\t%llu\n", info.name, info.verified_insns,
		       info.verified_insns * 100 / VERIFIER_LIMIT, info.xlated_prog_len / 8,
		       info.jited_prog_len, (unsigned long long)info.run_cnt,
		       (unsigned long long)(info.run_cnt ? info.run_time_ns / info.run_cnt : 0));
	close(fd);
	return 0;
}

int main(void)
{
	__u32 id = 0;
	int rc;

	while (!(rc = bpf_prog_get_next_id(id, &id)))
		line(id);
	if (errno == ENOENT)
		return 0;
	fprintf(stderr, "cannot list the BPF programs: %s\n", strerror(errno));
	return 1;
}
