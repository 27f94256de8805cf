/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "target/cgroup.h"
#include "target/container.h"

#define ID   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2  "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define POD  "2c48913c-b29f-11e7-9350-020968147796"
#define PODU "2c48913c_b29f_11e7_9350_020968147796"

/* Lines as these runtimes write them: cgroup v1, v2 and hybrid, systemd and cgroupfs drivers. */
static const struct {
	const char *text;
	enum container_kind kind;
	const char *id, *pod;
} cases[] = {
	{"0::/system.slice/docker-" ID ".scope\n", CONTAINER_DOCKER, ID, ""},
	{"12:cpu,cpuacct:/docker/" ID "\n0::/\n", CONTAINER_DOCKER, ID, ""},
	{"0::/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID ".scope\n",
	 CONTAINER_DOCKER, ID, ""},
	{"0::/docker/" ID "/docker/" ID2 "\n", CONTAINER_DOCKER, ID2, ""},
	{"9:cpu:/ecs/task-a/" ID "\n", CONTAINER_DOCKER, ID, ""},
	{"0::/machine.slice/libpod-" ID ".scope/container\n", CONTAINER_PODMAN, ID, ""},
	{"0::/machine.slice/libpod-" ID ".scope\n", CONTAINER_PODMAN, ID, ""},
	{"9:name=systemd:/\n5:memory:/libpod_parent/libpod-" ID "\n0::/libpod_parent/libpod-" ID
	 "\n",
	 CONTAINER_PODMAN, ID, ""},
	{"0::/machine.slice/libpod-conmon-" ID ".scope\n", CONTAINER_NONE, "", ""},
	{"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" PODU
	 ".slice/cri-containerd-" ID ".scope\n",
	 CONTAINER_CONTAINERD, ID, POD},
	{"0::/kubepods.slice/kubepods-pod" PODU ".slice/crio-" ID ".scope\n", CONTAINER_CRIO, ID,
	 POD},
	{"0::/kubepods.slice/kubepods-pod" PODU ".slice/crio-conmon-" ID ".scope\n", CONTAINER_NONE,
	 "", ""},
	{"4:cpu,cpuacct:/kubepods/besteffort/pod" POD "/" ID "\n", CONTAINER_KUBERNETES, ID, POD},
	{"4:cpu:/kubepods/pod" POD "/crio-" ID "\n", CONTAINER_CRIO, ID, POD},
	{"0::/system.slice/containerd.service/kubepods-burstable-pod" PODU
	 ".slice:cri-containerd:" ID "\n",
	 CONTAINER_CONTAINERD, ID, POD},
	{"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" PODU
	 ".slice/docker-" ID ".scope\n",
	 CONTAINER_DOCKER, ID, POD},
	{"0::/default/" ID "\n", CONTAINER_CONTAINERD, ID, ""},
	{"0::/system.slice/nerdctl-" ID ".scope\n", CONTAINER_CONTAINERD, ID, ""},
	{"0::/lxc.payload.web01/system.slice/tomcat.service\n", CONTAINER_LXC, "web01", ""},
	{"0::/lxc/101/ns/system.slice\n", CONTAINER_LXC, "101", ""},
	{"3:cpu:/lxc.payload/c1\n", CONTAINER_LXC, "c1", ""},
	{"0::/lxc.monitor.web01\n", CONTAINER_NONE, "", ""},
	{"0::/machine.slice/systemd-nspawn@deb.service/payload/init.scope\n", CONTAINER_NSPAWN,
	 "deb", ""},
	{"0::/machine.slice/machine-my\\x2dbox.scope/payload\n", CONTAINER_NSPAWN, "my-box", ""},
	{"0::/machine.slice/machine-qemu\\x2d1\\x2dvm.scope\n", CONTAINER_NONE, "", ""},
	{"0::/../" ID "\n", CONTAINER_CONTAINERD, ID, ""},
	{"0::/user.slice/user-0.slice/session-1.scope\n", CONTAINER_NONE, "", ""},
	{"9:name=systemd:/\n1:cpu:/\n0::/\n", CONTAINER_NONE, "", ""},
	{"0::/system.slice/docker.service\n", CONTAINER_NONE, "", ""},
	{"0::/docker/buildkit/abc\n", CONTAINER_NONE, "", ""},
	{"", CONTAINER_NONE, "", ""},
	{"garbage\n::\n:", CONTAINER_NONE, "", ""},
};

static void paths(void **state)
{
	struct container c;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool in = container_parse(cases[i].text, strlen(cases[i].text), &c);

		if (c.kind != cases[i].kind || strcmp(c.id, cases[i].id))
			print_message("case %zu: %s", i, cases[i].text);
		assert_int_equal(c.kind, cases[i].kind);
		assert_int_equal(in, cases[i].kind != CONTAINER_NONE);
		assert_string_equal(c.id, cases[i].id);
		assert_string_equal(c.pod, cases[i].pod);
	}
}

/* Of a group that a user may have made nobody says that it is a container's. */
static const struct {
	const char *text, *group;
} groups[] = {
	{"0::/system.slice/docker-" ID ".scope/init\n", "/system.slice/docker-" ID ".scope"},
	{"0::/docker/" ID "/docker/" ID2 "/x\n", "/docker/" ID "/docker/" ID2},
	{"0::/user.slice/user-1000.slice/user@1000.service/docker-" ID ".scope\n", ""},
	{"9:name=systemd:/user.slice/user-7.slice/user@7.service/x/libpod-" ID ".scope\n0::/\n",
	 ""},
	{"0::/lxc.payload.web01/user.slice/user@0.service/docker-" ID ".scope\n",
	 "/lxc.payload.web01"},
	{"0::/user.slice/user-1000.slice/session-1.scope\n", ""},
};

static void made_by(void **state)
{
	struct container c;

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		container_parse(groups[i].text, strlen(groups[i].text), &c);
		assert_string_equal(c.group, groups[i].group);
	}
}

static void matching(void **state)
{
	struct container c = {.kind = CONTAINER_DOCKER, .id = ID, .name = "web", .pod = POD};

	assert_true(container_match(&c, "web"));
	assert_true(container_match(&c, ID));
	assert_true(container_match(&c, "0123456789ab"));
	assert_true(container_match(&c, POD));
	assert_false(container_match(&c, "012")); /* too short to be meant */
	assert_false(container_match(&c, "123456789ab"));
	assert_false(container_match(&c, "we"));
	assert_false(container_match(&c, ""));
	c.kind = CONTAINER_NONE;
	assert_false(container_match(&c, "web"));
}

static void docker_names(void **state)
{
	static const char json[] = "{\"Mounts\":{\"Name\":\"vol\"},\"Name\":\"/web-1\",\"x\":1}";
	static const char bad[] = "{\"Name\":\"/\\u001b[2J\"}";
	char name[8];

	assert_true(container_docker_name(json, strlen(json), name, sizeof(name)));
	assert_string_equal(name, "web-1");
	assert_false(container_docker_name(bad, strlen(bad), name, sizeof(name)));
	assert_false(container_docker_name(json, 30, name, sizeof(name)));
	assert_false(container_docker_name("", 0, name, sizeof(name)));
}

static void labels(void **state)
{
	struct container c = {.kind = CONTAINER_DOCKER, .id = ID};
	char buf[32];

	container_label(&c, buf, sizeof(buf));
	assert_string_equal(buf, "0123456789ab");
	c.kind = CONTAINER_NONE;
	container_label(&c, buf, sizeof(buf));
	assert_string_equal(buf, "-");
}

static void cgroup_lines(void **state)
{
	static const char hybrid[] = "9:name=systemd:/s\n4:memory:/m:x\n2:cpu,cpuacct:/c\n"
				     "6:freezer:/f\n0::/v2\n";
	struct cgroup_ref r;

	assert_int_equal(cgroup_parse(hybrid, strlen(hybrid), &r), 0);
	assert_string_equal(r.v2, "/v2");
	assert_string_equal(r.cpu, "/c");
	assert_string_equal(r.memory, "/m:x");
	assert_string_equal(r.freezer, "/f");
	assert_string_equal(r.systemd, "/s");
	assert_string_equal(cgroup_path(&r), "/v2");
	assert_int_equal(cgroup_parse("0::/\n2:cpu:/c\n", 14, &r), 0);
	assert_string_equal(cgroup_path(&r), "/c");
	assert_int_equal(cgroup_parse("0::/\n", 5, &r), 0);
	assert_string_equal(cgroup_path(&r), "/");
	assert_int_equal(cgroup_parse("nonsense", 8, &r), -EBADMSG);
	/* cpuset is not cpu */
	assert_int_equal(cgroup_parse("3:cpuset:/x\n", 12, &r), 0);
	assert_string_equal(r.cpu, "");
}

static void cgroup_mount_points(void **state)
{
	static const char text[] =
		"30 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		"31 24 0:27 /outer /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
		"32 24 0:28 / /other rw - cgroup cgroup rw,cpu\n";
	struct cgroup_mounts m;

	assert_int_equal(cgroup_mounts_parse(text, strlen(text), &m), 0);
	assert_string_equal(m.v2.point, "/sys/fs/cgroup/unified");
	assert_string_equal(m.cpu.point, "/sys/fs/cgroup/cpu,cpuacct");
	assert_string_equal(m.cpu.root, "/outer");
	assert_string_equal(m.memory.point, "");
}

static void cpu_max(void **state)
{
	uint64_t q, p;

	assert_int_equal(cgroup_cpu_max_parse("50000 100000\n", 13, &q, &p), 0);
	assert_int_equal(q, 50000);
	assert_int_equal(p, 100000);
	assert_int_equal(cgroup_cpu_max_parse("max 100000\n", 11, &q, &p), 0);
	assert_true(q == CGROUP_NO_LIMIT);
	assert_int_equal(cgroup_cpu_max_parse("max\n", 4, &q, &p), -EBADMSG);
	assert_int_equal(cgroup_cpu_max_parse("1 0\n", 4, &q, &p), -EBADMSG);
	assert_int_equal(cgroup_cpu_max_parse("x 1\n", 4, &q, &p), -EBADMSG);
}

static void cpu_stat(void **state)
{
	static const char v2[] = "usage_usec 5\nnr_periods 10\nnr_throttled 4\nthrottled_usec 77\n";
	static const char v1[] = "nr_periods 10\nnr_throttled 4\nthrottled_time 77000\n";
	struct cgroup_limits l;

	for (int i = 0; i < 2; i++) {
		cgroup_cpu_stat_parse(i ? v1 : v2, strlen(i ? v1 : v2), &l);
		assert_int_equal(l.nr_periods, 10);
		assert_int_equal(l.nr_throttled, 4);
		assert_int_equal(l.throttled_us, 77);
	}
}

static void cgroup_selection(void **state)
{
	struct cgroup_mounts m = {.v2 = {"/sys/fs/cgroup", "/"}};
	struct cgroup_ref r = {.v2 = "/system.slice/web.service/sub"};

	assert_true(cgroup_within(&m, &r, "/system.slice/web.service"));
	assert_true(cgroup_within(&m, &r, "/system.slice/web.service/"));
	assert_true(cgroup_within(&m, &r, "/sys/fs/cgroup/system.slice"));
	assert_true(cgroup_within(&m, &r, "/sys/fs/cgroup"));
	assert_false(cgroup_within(&m, &r, "/system.slice/web"));
	assert_false(cgroup_within(&m, &r, "/user.slice"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(made_by),
		cmocka_unit_test(matching),
		cmocka_unit_test(docker_names),
		cmocka_unit_test(labels),
		cmocka_unit_test(cgroup_lines),
		cmocka_unit_test(cgroup_mount_points),
		cmocka_unit_test(cpu_max),
		cmocka_unit_test(cpu_stat),
		cmocka_unit_test(cgroup_selection),
	};

	return cmocka_run_group_tests_name("container", tests, NULL, NULL);
}
