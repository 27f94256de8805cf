/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "jfr/write.h"
#include "jvm/vmstructs.h"
#include "naming/env.h"
#include "sym/proc.h"
#include "target/jvmproc.h"

static void setting(struct jfrw *out, uint64_t time, enum jfr_type event, const char *name,
		    const char *value)
{
	struct jfr_active_setting s = {.id = event, .name = name, .value = value};

	jfrw_event(out, JFR_ACTIVE_SETTING, time, &s);
}

/* The settings of an event with a period, which is written as the JDK does: "10 ms". */
static void period(struct jfrw *out, uint64_t time, enum jfr_type event, uint64_t ns)
{
	char value[32];

	if (ns % 1000000 == 0)
		snprintf(value, sizeof(value), "%" PRIu64 " ms", ns / 1000000);
	else if (ns % 1000 == 0)
		snprintf(value, sizeof(value), "%" PRIu64 " us", ns / 1000);
	else
		snprintf(value, sizeof(value), "%" PRIu64 " ns", ns);
	setting(out, time, event, "enabled", ns ? "true" : "false");
	if (ns)
		setting(out, time, event, "period", value);
}

static void recording_write(struct jfrw *out, const struct target_config *cfg, const char *path,
			    uint64_t time)
{
	struct timespec ts;
	struct jfr_active_recording r = {
		.id = 1,
		.name = "gnomon",
		.destination = path,
		.disk = true,
		.max_age_ms = INT64_MAX,
		.flush_interval_ms = 1000,
		.duration_ms = cfg->duration_ns ? (int64_t)(cfg->duration_ns / 1000000) : INT64_MAX,
	};
	char wall[24], interval[24];

	clock_gettime(CLOCK_REALTIME, &ts);
	r.start_unix_ms = (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
	jfrw_event(out, JFR_ACTIVE_RECORDING, time, &r);
	period(out, time,
	       cfg->form.cpu_event == JFRW_CPUTIME ? JFR_CPU_TIME_SAMPLE : JFR_EXECUTION_SAMPLE,
	       cfg->cpu_ns);
	period(out, time, JFR_WALL_CLOCK_SAMPLE, cfg->wall_ns);
	/* as async-profiler says it, whose recordings are what readers of plain ones know */
	snprintf(interval, sizeof(interval), "%" PRIu64, cfg->cpu_ns ? cfg->cpu_ns : cfg->wall_ns);
	if (cfg->form.plain)
		setting(out, time, JFR_EXECUTION_SAMPLE, "interval", interval);
	/* async-profiler's converter needs it to make a heatmap of wall samples */
	snprintf(wall, sizeof(wall), "%" PRIu64, cfg->wall_ns);
	if (cfg->wall_ns)
		setting(out, time, JFR_WALL_CLOCK_SAMPLE, "wall", wall);
}

static void os_write(struct jfrw *out, uint64_t time)
{
	struct jfr_os_information os;
	struct utsname u;
	char text[sizeof(u.sysname) * 4 + 8];

	if (uname(&u))
		return;
	snprintf(text, sizeof(text), "%s %s %s %s", u.sysname, u.release, u.version, u.machine);
	os.version = text;
	jfrw_event(out, JFR_OS_INFORMATION, time, &os);
}

/* Reads the first "model name" of /proc/cpuinfo, and how many sockets and cores there are. */
static void cpuinfo_read(char *model, size_t cap, uint32_t *sockets, uint32_t *cores)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	unsigned int n, max_socket = 0, per_socket = 0;
	char line[512];

	snprintf(model, cap, "unknown");
	*sockets = *cores = 1;
	while (f && fgets(line, sizeof(line), f)) {
		char *value = strchr(line, ':');

		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "model name", 10) && value && value[1])
			snprintf(model, cap, "%s", value + 2);
		if (sscanf(line, "physical id : %u", &n) == 1 && n > max_socket)
			max_socket = n;
		if (sscanf(line, "cpu cores : %u", &n) == 1)
			per_socket = n;
	}
	if (f)
		fclose(f);
	*sockets = max_socket + 1;
	if (per_socket)
		*cores = *sockets * per_socket;
}

static void cpu_write(struct jfrw *out, uint64_t time)
{
	struct jfr_cpu_information cpu = {0};
	struct utsname u;
	char model[256];

	cpuinfo_read(model, sizeof(model), &cpu.sockets, &cpu.cores);
	cpu.cpu = uname(&u) ? "unknown" : u.machine;
	cpu.description = model;
	cpu.hw_threads = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	jfrw_event(out, JFR_CPU_INFORMATION, time, &cpu);
}

/* Splits the command line in two parts, as the JDK writes it: options of the VM, and the rest. */
static void args_split(const struct proc_args *a, struct buffer *vm, struct buffer *java)
{
	bool options = true;

	for (size_t i = 1; i < a->n; i++) {
		struct buffer *to;

		if (a->v[i][0] != '-')
			options = false;
		to = options ? vm : java;
		buffer_printf(to, "%s%s", to->len ? " " : "", a->v[i]);
		/* the value of these options is the next word */
		if (options && i + 1 < a->n &&
		    (!strcmp(a->v[i], "-cp") || !strcmp(a->v[i], "-classpath") ||
		     !strcmp(a->v[i], "--class-path") || !strcmp(a->v[i], "-p") ||
		     !strcmp(a->v[i], "--module-path") || !strcmp(a->v[i], "--add-modules")))
			buffer_printf(to, " %s", a->v[++i]);
	}
	buffer_byte(vm, 0);
	buffer_byte(java, 0);
}

static const char *text_of(const struct buffer *b)
{
	return b->failed || !b->len ? "" : (const char *)b->data;
}

static int64_t started_unix_ms(const struct jvm_proc *j)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000 - (int64_t)(j->uptime_ns / 1000000);
}

static int64_t limit_of(uint64_t v)
{
	return v == CGROUP_NO_LIMIT || v > INT64_MAX ? -1 : (int64_t)v;
}

static void container_write(struct jfrw *out, uint64_t time, const struct jvm_proc *j)
{
	struct jfr_container_configuration c = {
		.type = "cgroup",
		.slice_period_us = (int64_t)j->limits.period_us,
		.quota_us = limit_of(j->limits.quota_us),
		.shares = -1,
		.effective_cpus = sysconf(_SC_NPROCESSORS_ONLN),
		.memory_soft_limit = -1,
		.memory_limit = limit_of(j->limits.memory_max),
		.swap_memory_limit = -1,
		.host_memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE),
	};

	if (c.quota_us < 0 && c.memory_limit < 0 && !j->container.id[0])
		return;
	if (c.quota_us > 0 && c.slice_period_us > 0) {
		int64_t cpus = (c.quota_us + c.slice_period_us - 1) / c.slice_period_us;

		if (cpus < c.effective_cpus)
			c.effective_cpus = cpus;
	}
	jfrw_container_configuration(out, time, &c);
}

void facts_throttling(struct jfrw *out, uint64_t time, pid_t tgid)
{
	struct cgroup_mounts mounts;
	struct cgroup_limits lim;
	struct cgroup_ref ref;

	if (cgroup_mounts_read(&mounts) || cgroup_read(tgid, &ref))
		return;
	cgroup_limits_read(&mounts, &ref, &lim);
	if (lim.quota_us == CGROUP_NO_LIMIT)
		return;
	jfrw_container_cpu_throttling(out, time,
				      &(struct jfr_container_cpu_throttling){
					      .elapsed_slices = lim.nr_periods,
					      .throttled_slices = lim.nr_throttled,
					      .throttled_ns = lim.throttled_us * 1000,
				      });
}

void facts_libraries(struct jfrw *out, uint64_t time, const struct symproc *native)
{
	const struct maps *maps = symproc_maps(native);

	for (size_t i = 0; i < maps_count(maps); i++) {
		const struct mapping *mp = maps_at(maps, i);

		if (mp->prot & MAPPING_EXEC && mapping_is_file(mp))
			jfrw_native_library(out, time,
					    &(struct jfr_native_library){
						    .name = maps_path(maps, mp),
						    .base = mp->start,
						    .top = mp->end,
					    });
	}
}

static void id_print(char to[static 2 * ELF_BUILD_ID_MAX + 1], const struct elf_build_id *id)
{
	for (size_t i = 0; i < id->len; i++)
		snprintf(to + 2 * i, 3, "%02x", id->bytes[i]);
	to[2 * id->len] = '\0';
}

void facts_files(struct jfrw *out, uint64_t time, struct symproc *native, uint32_t mark)
{
	char id[2 * ELF_BUILD_ID_MAX + 1];
	struct symproc_file f;

	while (symproc_file_next(native, mark, &f)) {
		id_print(id, f.id);
		jfrw_native_file(out, time,
				 &(struct jfr_native_file){
					 .name = f.name,
					 .base = f.start,
					 .top = f.end,
					 .offset = f.offset,
					 .build_id = id,
				 });
	}
}

/*
 * The JVM's own version string, from its memory or, without VM structures, from its library; if
 * neither has one, what the release file says. JMC looks for "JRE (" in it.
 */
static void version_read(const struct jvm_proc *j, struct vm *vm, char *buf, size_t cap)
{
	if ((vm && !vm_info(vm, buf, cap)) || !jvm_info_read(j, buf, cap))
		return;
	snprintf(buf, cap, "%s%s%s",
		 j->release.runtime[0] ? j->release.runtime : j->release.version,
		 j->release.vendor[0] ? ", " : "", j->release.vendor);
}

/*
 * The name is the part of the version string before the bracket: "OpenJDK 64-Bit Server VM" of
 * "OpenJDK 64-Bit Server VM (17.0.15+6) for ...".
 */
static void name_read(const struct jvm_proc *j, const char *version, char *buf, size_t cap)
{
	const char *end = strstr(version, " (");

	if (j->release.openj9)
		snprintf(buf, cap, "OpenJ9");
	else if (end)
		snprintf(buf, cap, "%.*s", (int)(end - version), version);
	else
		snprintf(buf, cap, "OpenJDK 64-Bit Server VM");
}

int facts_jvm(struct jfrw *out, pid_t tgid, struct vm *vm, uint64_t time)
{
	struct buffer options = BUFFER_INIT, java = BUFFER_INIT;
	struct jfr_jvm_information info = {0};
	struct proc_args args = {0};
	char version[512], name[128];
	struct jvm_proc j;
	int rc = jvm_proc_read(tgid, &j);

	if (rc)
		return rc;
	if (!proc_cmdline_read(tgid, &args))
		args_split(&args, &options, &java);
	version_read(&j, vm, version, sizeof(version));
	name_read(&j, version, name, sizeof(name));
	info.name = name;
	info.version = version;
	info.jvm_arguments = text_of(&options);
	info.java_arguments = text_of(&java);
	info.start_unix_ms = started_unix_ms(&j);
	info.pid = tgid;
	jfrw_event(out, JFR_JVM_INFORMATION, time, &info);
	if (j.container.id[0])
		setting(out, time, JFR_ACTIVE_RECORDING, "gnomon.container", j.container.id);
	if (j.container.name[0])
		setting(out, time, JFR_ACTIVE_RECORDING, "gnomon.containerName", j.container.name);
	setting(out, time, JFR_ACTIVE_RECORDING, "gnomon.cgroup", cgroup_path(&j.cgroup));
	container_write(out, time, &j);
	proc_args_free(&args);
	buffer_free(&options);
	buffer_free(&java);
	return 0;
}

void facts_host(struct jfrw *out, const struct target_config *cfg, const char *path, uint64_t time)
{
	recording_write(out, cfg, path, time);
	os_write(out, time);
	cpu_write(out, time);
}
