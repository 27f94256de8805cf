/* SPDX-License-Identifier: Apache-2.0 */
// FUZZ-LINK: user/target/procfs.c user/target/cgroup.c user/target/container.c
// FUZZ-LINK: user/base/inroot.c
// FUZZ-LINK: user/base/log.c user/base/utf8.c user/broker/broker.c user/broker/workers.c user/base/fdmsg.c user/base/shared.c user/broker/grants.c user/base/rights.c user/broker/opening.c user/broker/reader.c user/broker/file.c user/base/beat.c
/* The texts of /proc and of control groups: the first byte chooses the parser. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "target/cgroup.h"
#include "target/container.h"
#include "target/procfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int mount_check(const struct proc_mount *m, void *arg)
{
	if (strlen(m->point) >= sizeof(m->point) || strlen(m->options) >= sizeof(m->options))
		abort();
	return 0;
}

static void parse_task(const char *s, size_t n)
{
	uint64_t stolen, busy;
	struct proc_status status;
	struct proc_stat stat;
	int64_t shift;

	if (!proc_stat_parse(s, n, &stat) && strlen(stat.comm) >= sizeof(stat.comm))
		abort();
	if (!proc_status_parse(s, n, &status) && status.nspid_n > PROC_NS_LEVELS)
		abort();
	proc_busy_parse(s, n, &busy);
	proc_stolen_parse(s, n, &stolen);
	/* the difference of two has to be one again */
	proc_timens_parse(s, n, &shift);
	if (shift > INT64_MAX / 2 + 1000000000 || shift < -INT64_MAX / 2)
		abort();
}

static void parse_args(const char *s, size_t n)
{
	struct proc_args a;

	if (proc_args_parse(s, n, &a))
		return;
	for (size_t i = 0; i < a.n; i++)
		if (a.v[i] < a.data || a.v[i] + strlen(a.v[i]) > a.data + n)
			abort();
	proc_env_find(&a, "PATH");
	proc_args_free(&a);
}

static void parse_cgroup(const char *s, size_t n)
{
	struct cgroup_mounts m;
	struct cgroup_limits l;
	struct cgroup_ref r;
	struct container c;
	uint64_t quota, period;
	char name[64];

	if (!cgroup_parse(s, n, &r))
		cgroup_path(&r);
	cgroup_cpu_stat_parse(s, n, &l);
	if (!cgroup_cpu_max_parse(s, n, &quota, &period) && !period)
		abort();
	cgroup_mounts_parse(s, n, &m);
	if (container_parse(s, n, &c) != (c.kind != CONTAINER_NONE))
		abort();
	container_label(&c, name, sizeof(name));
	if (container_docker_name(s, n, name, sizeof(name)) != (name[0] != '\0'))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *s = (const char *)data + 1;

	if (!size)
		return 0;
	switch (data[0] % 4) {
	case 0:
		parse_task(s, size - 1);
		break;
	case 1:
		parse_args(s, size - 1);
		break;
	case 2:
		parse_cgroup(s, size - 1);
		break;
	default:
		proc_mountinfo_parse(s, size - 1, mount_check, NULL);
	}
	return 0;
}
