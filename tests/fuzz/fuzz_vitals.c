/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any numbers as what a JVM and the kernel tell of it, and a recording made of them: this process
 * has a file of performance counters mapped, as a JVM has, whose bytes are the input and change
 * between two looks; processes, control groups and the machine are other bytes of it.
 */
// FUZZ-LINK: user/naming/vitals.c user/model/live.c user/jvm/perfdata.c user/jvm/counters.c user/jvm/collections.c
// FUZZ-LINK: user/jvm/vmclock.c user/jvm/gctimer.c user/jvm/gccause.c user/jvm/statics.c user/jvm/mem.c
// FUZZ-LINK: user/target/procfs.c user/base/inroot.c user/base/utf8.c tests/fuzz/novm.c
// FUZZ-LINK: user/base/log.c user/broker/broker.c user/broker/workers.c user/base/fdmsg.c user/base/shared.c user/broker/grants.c user/base/rights.c user/broker/opening.c user/broker/reader.c user/broker/file.c user/base/beat.c
// FUZZ-LINK: user/jvm/memguard.c user/target/mapquery.c user/target/maps.c user/base/buffer.c
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jfr/vitals.h"
#include "jfr/write.h"
#include "naming/jvmsetup.h"
#include "naming/processes.h"
#include "naming/vitals.h"
#include "target/container.h"
#include "target/usage.h"

#define BYTES 32768
#define LOOKS 6
#define S     1000000000ull

static struct {
	const uint8_t *p;
	size_t len, at;
} input;

static void take(void *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = input.len ? input.p[input.at++ % input.len] : 0;
}

/* ---- what it asks the kernel ---- */

int host_usage_read(struct host_usage *out)
{
	take(out, sizeof(*out));
	return 0;
}

void proc_io_read(const pid_t *pids, size_t n, struct proc_io *out)
{
	take(out, n * sizeof(*out));
}

int proc_usage_read(pid_t pid, struct proc_usage *out)
{
	take(out, sizeof(*out));
	return 0;
}

void proc_memory_read(pid_t pid, struct proc_usage *out)
{
	take(&out->rss, sizeof(out->rss));
	take(&out->rss_peak, sizeof(out->rss_peak));
}

void host_memory_read(struct host_usage *out)
{
	take(&out->memory, sizeof(out->memory));
	take(&out->memory_used, sizeof(out->memory_used));
}

int group_find(pid_t pid, struct group *out)
{
	memset(out, 0, sizeof(*out));
	take(&out->memory_limit, sizeof(out->memory_limit));
	return 0;
}

void group_usage_read(const struct group *g, struct group_usage *out)
{
	take(out, sizeof(*out));
}

void group_usage_glance(const struct group *g, struct group_usage *out)
{
	take(out, sizeof(*out));
}

int container_read(pid_t pid, struct container *out)
{
	memset(out, 0, sizeof(*out));
	return 0;
}

/* ---- what it writes with ---- */

struct jfrw {
	int nothing;
};

void jfrw_event(struct jfrw *w, enum jfr_type type, uint64_t time, const void *event)
{
}

uint32_t jfrw_name(struct jfrw *w, enum jfr_type type, const char *name)
{
	return name ? (uint32_t)strlen(name) : 0;
}

uint32_t jfrw_class(struct jfrw *w, const char *name)
{
	return 1;
}

uint64_t jvmsetup_flags(struct jfrw *out, uint64_t time, struct vm *vm, uint64_t *live)
{
	*live = 0;
	return 0;
}

void jvmsetup_properties(struct jfrw *out, uint64_t time, pid_t pid, struct counters *k)
{
}

void jvmsetup_environment(struct jfrw *out, uint64_t time, pid_t pid)
{
}

struct processes *processes_new(void)
{
	static struct {
		char none;
	} one;

	return (struct processes *)&one;
}

void processes_free(struct processes *p)
{
}

void processes_rest(struct processes *p, uint64_t now_ns)
{
}

void processes_write(struct processes *p, struct jfrw *out, uint64_t now_ns, pid_t pid)
{
}

/* ---- the JVM ---- */

/* Its file goes at once, and stays mapped: the counters are found by the name in maps. */
static uint8_t *counters_map(void)
{
	char dir[] = "/tmp/hsperfdata_fuzz.XXXXXX", path[64];
	uint8_t *p;
	int fd;

	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/1", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, BYTES))
		abort();
	p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		abort();
	close(fd);
	unlink(path);
	rmdir(dir);
	return p;
}

static void counters_set(uint8_t *p, const uint8_t *data, size_t size)
{
	memset(p, 0, BYTES);
	memcpy(p, data, size < BYTES ? size : BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t *map;
	struct vitals_host *host = vitals_host_new();
	struct jfrw w = {0};
	struct vitals *v = vitals_new(getpid(), &w, host, false);
	uint64_t now = S;

	if (!map)
		map = counters_map();
	input.p = data;
	input.len = size;
	input.at = 0;
	for (int i = 0; i < LOOKS; i++) {
		/* the first part of it, then the other, then both by turns */
		counters_set(map, data + i % 2 * (size / 2), size / 2);
		vitals_poll(v, NULL, now, i + 1 == LOOKS);
		now += i % 2 ? S : S / 8;
		if (i == 3)
			vitals_stop(v, now);
	}
	vitals_free(v);
	vitals_host_free(host);
	return 0;
}
