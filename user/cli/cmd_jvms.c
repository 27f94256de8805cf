/* SPDX-License-Identifier: Apache-2.0 */
/* gnomon jvms: what can be recorded on this host. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cmds.h"
#include "cli/table.h"
#include "jvm/attach.h"
#include "jvm/vmstructs.h"
#include "target/jvmproc.h"

static bool as_json;
static bool wide;

static const struct opt options[] = {
	{.type = OPT_FLAG, .name = "json", .help = "print JSON", .value = &as_json},
	{.type = OPT_FLAG,
	 .letter = 'w',
	 .name = "wide",
	 .help = "do not cut columns to the width of the terminal",
	 .value = &wide},
	{.type = OPT_END},
};

static const struct table_column columns[] = {
	{"PID", .right = true},
	{"USER", .least = 6},
	{"CONTAINER", .least = 9},
	{"JDK", .least = 6},
	{"THREADS", .right = true},
	{"UPTIME", .right = true},
	{"MAIN CLASS", .least = 16, .keep_tail = true},
	{"ATTACH", .least = 12},
};

#define COLUMNS_N (sizeof(columns) / sizeof(columns[0]))

struct listing {
	struct table *table;
	struct json json;
	size_t n;
};

static void uptime_text(uint64_t ns, char *buf, size_t cap)
{
	unsigned long long s = ns / 1000000000u;

	if (s < 60)
		snprintf(buf, cap, "%llus", s);
	else if (s < 3600)
		snprintf(buf, cap, "%llum %02llus", s / 60, s % 60);
	else if (s < 86400)
		snprintf(buf, cap, "%lluh %02llum", s / 3600, s % 3600 / 60);
	else
		snprintf(buf, cap, "%llud %02lluh", s / 86400, s % 86400 / 3600);
}

static int row_add(const struct jvm_proc *j, void *arg)
{
	struct attach_status st;
	char pid[16], threads[16], uptime[32], jdk[96], attach[sizeof(st.reason) + 8];
	char container[CONTAINER_NAME_LEN];
	const char *const cells[COLUMNS_N] = {pid,
					      j->user,
					      container,
					      jdk,
					      threads,
					      uptime,
					      j->cmd.main[0] ? j->cmd.main : j->comm,
					      attach};
	struct listing *l = arg;

	snprintf(pid, sizeof(pid), "%d", j->id.pid);
	snprintf(threads, sizeof(threads), "%u", j->threads);
	uptime_text(j->uptime_ns, uptime, sizeof(uptime));
	jvm_version_text(j, jdk, sizeof(jdk));
	container_label(&j->container, container, sizeof(container));
	snprintf(attach, sizeof(attach), "%s%s",
		 attach_judge(j, &st) == ATTACH_OK ? "yes" : "no: ", st.reason);
	l->n++;
	return table_row(l->table, cells);
}

static void json_container(struct json *o, const struct container *c)
{
	if (c->kind == CONTAINER_NONE) {
		json_string(o, "container", NULL);
		return;
	}
	json_open(o, "container", '{');
	json_string(o, "runtime", container_kind_name(c->kind));
	json_string(o, "id", c->id);
	json_string(o, "name", c->name);
	json_string(o, "pod", c->pod);
	json_close(o, '}');
}

static void json_limits(struct json *o, const struct cgroup_limits *l)
{
	if (l->quota_us == CGROUP_NO_LIMIT)
		json_string(o, "cpu_limit", NULL);
	else
		json_double(o, "cpu_limit", (double)l->quota_us / (double)l->period_us);
	if (l->memory_max == CGROUP_NO_LIMIT)
		json_string(o, "memory_limit", NULL);
	else
		json_number(o, "memory_limit", l->memory_max);
	json_number(o, "throttled_periods", l->nr_throttled);
}

/*
 * The collector by the flags as the JVM has them now, since it sets the flag of a collector that it
 * chose itself (JDK gc/shared/gcConfig.cpp). If its memory may not be read, by its command line.
 * NULL: not known.
 */
static const char *gc_name(const struct jvm_proc *j)
{
	static const char *const names[] = {
		"G1", "Z", "Shenandoah", "Parallel", "Serial", "ConcMarkSweep", "Epsilon"};
	const char *found = NULL;
	struct vm *vm = NULL;
	char flag[32];

	if (!j->release.openj9 && !vm_open(j->id.pid, &vm, NULL)) {
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++) {
			snprintf(flag, sizeof(flag), "Use%sGC", names[i]);
			if (vm_flag(vm, flag) == 1)
				found = names[i];
		}
		vm_close(vm);
	}
	return found ? found : j->cmd.flags.gc[0] ? j->cmd.flags.gc : NULL;
}

static int object_add(const struct jvm_proc *j, void *arg)
{
	struct listing *l = arg;
	struct json *o = &l->json;
	struct attach_status st;

	attach_judge(j, &st);
	l->n++;
	json_open(o, NULL, '{');
	json_number(o, "pid", (uint64_t)j->id.pid);
	json_number(o, "inner_pid", (uint64_t)j->inner_pid);
	json_string(o, "user", j->user);
	json_number(o, "uid", j->uid);
	json_container(o, &j->container);
	json_string(o, "cgroup", cgroup_path(&j->cgroup));
	json_limits(o, &j->limits);
	json_string(o, "jdk", j->release.version);
	json_string(o, "jdk_build", j->release.runtime);
	json_string(o, "vendor", j->release.vendor);
	json_string(o, "libjvm", j->image.path);
	json_number(o, "threads", j->threads);
	json_number(o, "uptime_ms", j->uptime_ns / 1000000);
	json_string(o, "main", j->cmd.main);
	json_string(o, "gc", gc_name(j));
	json_bool(o, "can_attach", st.state == ATTACH_OK);
	json_string(o, "why_not", st.reason);
	json_close(o, '}');
	return 0;
}

static void notes(const struct listing *l, const struct jvm_skipped *s)
{
	if (!l->n)
		fprintf(stderr, "gnomon: no JVM found\n");
	if (s->denied)
		fprintf(stderr, "gnomon: %zu process%s could not be looked into%s\n", s->denied,
			s->denied == 1 ? "" : "es",
			geteuid() ? " (as root there may be more JVMs)" : "");
}

static int list_json(struct listing *l, struct jvm_skipped *s)
{
	int rc;

	json_begin(&l->json, stdout);
	json_open(&l->json, NULL, '[');
	rc = jvm_list(object_add, l, s);
	json_close(&l->json, ']');
	json_end(&l->json);
	return rc;
}

static int list_table(struct listing *l, struct jvm_skipped *s)
{
	int rc;

	l->table = table_new(columns, COLUMNS_N);
	if (!l->table)
		return -ENOMEM;
	rc = jvm_list(row_add, l, s);
	if (!rc)
		table_print(l->table, stdout, wide ? 0 : terminal_width(stdout));
	table_free(l->table);
	return rc;
}

static int run(int argc, char **argv, struct error *e)
{
	struct listing l = {0};
	struct jvm_skipped skipped = {0};
	int rc;

	if (argc > 0) {
		error_set(e, -EINVAL, EXIT_USAGE, "unexpected argument '%s'", argv[0]);
		return EXIT_USAGE;
	}
	rc = as_json ? list_json(&l, &skipped) : list_table(&l, &skipped);
	if (rc) {
		error_set(e, rc, EXIT_INTERNAL, "cannot list processes: %s", strerror(-rc));
		return EXIT_INTERNAL;
	}
	notes(&l, &skipped);
	return EXIT_OK;
}

const struct command cmd_jvms = {
	.name = "jvms",
	.summary = "list the JVMs of this host and whether they can be attached to",
	.usage = "jvms [--json] [--wide]",
	.opts = options,
	.notes = "A process is a JVM when it has libjvm.so mapped. ATTACH tells whether an agent "
		 "can be\n"
		 "loaded into it, and if not, why; a recording is possible without.\n",
	.examples = "  gnomon jvms\n"
		    "  gnomon jvms --json | jq '.[] | select(.container != null)'\n",
	.run = run,
	.looks = true,
};
