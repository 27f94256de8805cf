/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/unwinder.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/log.h"
#include "capture/capture.h"
#include "capture/innermap.h"
#include "capture/utable.h"

struct unwinder_maps {
	struct unwinder port;
	struct capture_tables maps;    /* descriptors */
	struct innermap_waiting files; /* tables not yet in maps.files */
	struct utable *utable;
	/* when files may be dropped that no process has any more; 0: there are none */
	uint64_t reap_ns;
	bool freed; /* some were dropped, and naming has not been told */
};

/* ---- where utable's decisions go ---- */

/*
 * Is called before a change of what walks go by, and after it: what was found by the tables of
 * before does not hold any more, and what is found while the number is odd is not kept.
 */
static void tables_change(struct unwinder_maps *m)
{
	__atomic_fetch_add(m->maps.changes, 1, __ATOMIC_SEQ_CST);
}

static int sink_rule(void *ctx, uint32_t id, const struct uw_rule *rule)
{
	struct unwinder_maps *m = ctx;

	return bpf_map_update_elem(m->maps.rules, &id, rule, BPF_ANY) ? -errno : 0;
}

/*
 * Each file and each process has an array of its own, which is filled first and then put in its
 * place. Files wait for the process that names them and are put there together.
 */
static int sink_file(void *ctx, uint32_t id, const struct uw_page *pages, uint32_t n)
{
	struct unwinder_maps *m = ctx;
	int fd = innermap_array(pages, sizeof(*pages), n, BPF_F_INNER_MAP);

	return fd < 0 ? fd : innermap_wait(&m->files, id, fd);
}

static int sink_file_drop(void *ctx, uint32_t id)
{
	struct unwinder_maps *m = ctx;

	innermap_forget(&m->files, id);
	return bpf_map_delete_elem(m->maps.files, &id) && errno != ENOENT ? -errno : 0;
}

static int sink_proc(void *ctx, uint32_t tgid, const struct uw_proc *proc)
{
	struct unwinder_maps *m = ctx;
	int rc = innermap_flush(&m->files), fd;

	if (rc)
		return rc;
	fd = innermap_array(proc, sizeof(*proc), 1, 0);
	if (fd < 0)
		return fd;
	tables_change(m);
	rc = innermap_put(m->maps.procs, &tgid, &fd, 1);
	tables_change(m);
	close(fd);
	return rc;
}

static int sink_proc_drop(void *ctx, uint32_t tgid)
{
	struct unwinder_maps *m = ctx;
	int rc;

	tables_change(m);
	rc = bpf_map_delete_elem(m->maps.procs, &tgid) ? -errno : 0;
	tables_change(m);
	return rc;
}

/* ---- files and mappings ---- */

static uint32_t file_find(void *ctx, const void *key, size_t len)
{
	struct unwinder_maps *m = ctx;

	return utable_file_find(m->utable, key, len);
}

static int file_add(void *ctx, pid_t tgid, const void *key, size_t len,
		    const struct unwind_table *table, uint32_t *file, uint32_t *refused)
{
	struct unwinder_maps *m = ctx;
	uint32_t before = utable_stats(m->utable).rules_refused;
	int rc;

	utable_owner(m->utable, (uint32_t)tgid);
	rc = utable_file_add(m->utable, key, len, table, file);

	*refused = utable_stats(m->utable).rules_refused - before;
	return rc;
}

static void stats_say(const struct unwinder_maps *m)
{
	struct utable_stats now = utable_stats(m->utable);

	log_debug("unwind tables: %u files of %.1f MB, %u rules; %u files, %u rules, %u mappings "
		  "refused",
		  now.files, (double)(now.pages * sizeof(struct uw_page)) / 1e6, now.rules,
		  now.files_refused, now.rules_refused, now.maps_refused);
}

/* Files whose time has not come yet are looked at again when that of the last has. */
static void files_reap(struct unwinder_maps *m, uint64_t now_ns)
{
	uint32_t files = utable_stats(m->utable).files;

	utable_reap(m->utable, now_ns);
	m->reap_ns = utable_has_idle(m->utable) ? now_ns + UTABLE_GRACE_NS : 0;
	if (utable_stats(m->utable).files == files)
		return;
	m->freed = true;
	stats_say(m);
}

static int proc_set(void *ctx, pid_t tgid, struct unwind_mapping *v, size_t n, uint64_t now_ns)
{
	struct unwinder_maps *m = ctx;
	uint64_t before = utable_proc_sum(m->utable, (uint32_t)tgid);
	int rc = utable_proc_set(m->utable, (uint32_t)tgid, v, n, now_ns);

	files_reap(m, now_ns);
	stats_say(m);
	return rc ? rc : utable_proc_sum(m->utable, (uint32_t)tgid) != before;
}

static void places_drop(struct unwinder_maps *m, pid_t tgid)
{
	if (!bpf_map_delete_elem(m->maps.places, &tgid))
		--*m->maps.ncontexts;
}

static void proc_drop(void *ctx, pid_t tgid, uint64_t now_ns)
{
	struct unwinder_maps *m = ctx;

	bpf_map_delete_elem(m->maps.vthreads, &tgid);
	places_drop(m, tgid);
	bpf_map_delete_elem(m->maps.locks, &tgid);
	tables_change(m);
	bpf_map_delete_elem(m->maps.jvms, &tgid);
	tables_change(m);
	if (!utable_proc_drop(m->utable, (uint32_t)tgid, now_ns) && !m->reap_ns)
		m->reap_ns = now_ns + UTABLE_GRACE_NS;
}

static bool freed(void *ctx, uint64_t now_ns)
{
	struct unwinder_maps *m = ctx;
	bool freed;

	if (m->reap_ns && now_ns >= m->reap_ns)
		files_reap(m, now_ns);
	freed = m->freed;
	m->freed = false;
	return freed;
}

/* ---- JVMs and their threads ---- */

static int jvm_set(void *ctx, const struct gn_jvm *jvm)
{
	struct unwinder_maps *m = ctx;
	int rc;

	tables_change(m);
	rc = bpf_map_update_elem(m->maps.jvms, &jvm->tgid, jvm, BPF_ANY) ? -errno : 0;
	tables_change(m);
	return rc;
}

/*
 * Those that were there when it was added are met by the scan of threads that follows. One that
 * starts later is met as it names itself, before it compiles anything.
 */
static int coders_met(void *ctx, pid_t tgid)
{
	struct unwinder_maps *m = ctx;
	struct gn_coders coders;
	struct gn_proc proc;

	if (bpf_map_lookup_elem(m->maps.targets, &tgid, &proc))
		return -errno;
	if (__atomic_load_n(m->maps.scanned, __ATOMIC_ACQUIRE) < proc.scan)
		return -EAGAIN;
	if (bpf_map_lookup_elem(m->maps.coders, &tgid, &coders))
		return errno == ENOENT ? -EAGAIN : -errno;
	return 0;
}

/*
 * Whether the thread still lives. If it ends after this look the kernel side takes its entry out.
 */
static bool thread_lives(pid_t tgid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", tgid, tid);
	return !access(path, F_OK);
}

/*
 * Publishes what is known of a thread under its number, but not if the thread has ended meanwhile:
 * another may get that number next.
 */
static int thread_publish(int map, pid_t tgid, pid_t tid, const void *value)
{
	if (bpf_map_update_elem(map, &tid, value, BPF_ANY))
		return -errno;
	if (!thread_lives(tgid, tid))
		bpf_map_delete_elem(map, &tid);
	return 0;
}

/* It may be asleep since before that: what it waits for was not looked for then. */
static int java_thread(void *ctx, pid_t tgid, pid_t tid, uint64_t thread)
{
	struct unwinder_maps *m = ctx;
	int rc = thread_publish(m->maps.java_threads, tgid, tid, &thread);
	bool queued;

	if (!m->maps.late)
		return rc;
	queued = m->maps.resting >= 0 && !bpf_map_update_elem(m->maps.resting, NULL, &tid, BPF_ANY);
	atomic_fetch_or(m->maps.late, queued ? CAPTURE_LATE_QUEUED : CAPTURE_LATE_ALL);
	return rc;
}

/* The layout comes before its first carrier, so that what is looked up is there. */
static int carrier(void *ctx, pid_t tgid, pid_t tid, const struct gn_carrier *carrier,
		   const struct gn_vthreads *layout)
{
	struct unwinder_maps *m = ctx;
	int rc = 0;

	if (bpf_map_update_elem(m->maps.vthreads, &tgid, layout, BPF_NOEXIST) && errno != EEXIST)
		rc = -errno;
	if (!rc)
		rc = thread_publish(m->maps.carriers, tgid, tid, carrier);
	if (!rc)
		(*m->maps.ncarriers)++;
	return rc;
}

/* While there is no process that has any, the kernel side looks nothing up. */
static int contexts(void *ctx, pid_t tgid, const struct gn_ctx_places *places)
{
	struct unwinder_maps *m = ctx;

	if (!places->n) {
		places_drop(m, tgid);
		return 0;
	}
	if (!bpf_map_update_elem(m->maps.places, &tgid, places, BPF_NOEXIST)) {
		++*m->maps.ncontexts;
		return 0;
	}
	return bpf_map_update_elem(m->maps.places, &tgid, places, BPF_EXIST) ? -errno : 0;
}

static int locks(void *ctx, pid_t tgid, const struct gn_locks *locks)
{
	struct unwinder_maps *m = ctx;

	return bpf_map_update_elem(m->maps.locks, &tgid, locks, BPF_ANY) ? -errno : 0;
}

/* ---- BPF programs of the host ---- */

typedef int (*next_id_fn)(__u32 id, __u32 *next);

static int newest_id(next_id_fn next_id, uint32_t *id)
{
	__u32 next;
	int rc;

	while (!(rc = next_id(*id, &next)) && next > *id)
		*id = next;
	return rc == -ENOENT ? 0 : rc;
}

static int programs(void *ctx, uint32_t *program, uint32_t *link)
{
	int rc = newest_id(bpf_prog_get_next_id, program);

	return rc ? rc : newest_id(bpf_link_get_next_id, link);
}

/* ---- beginning and end ---- */

static const struct unwinder port = {
	.file_find = file_find,
	.file_add = file_add,
	.proc_set = proc_set,
	.proc_drop = proc_drop,
	.freed = freed,
	.jvm_set = jvm_set,
	.coders_met = coders_met,
	.java_thread = java_thread,
	.carrier = carrier,
	.contexts = contexts,
	.locks = locks,
	.programs = programs,
};

int unwinder_open(struct unwinder_maps **out, struct capture *c, struct error *e)
{
	struct unwinder_maps *m = calloc(1, sizeof(*m));
	const struct utable_sink sink = {
		.ctx = m,
		.rule = sink_rule,
		.file = sink_file,
		.file_drop = sink_file_drop,
		.proc = sink_proc,
		.proc_drop = sink_proc_drop,
	};
	int rc;

	if (!m)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	m->port = port;
	m->port.ctx = m;
	capture_tables(c, &m->maps);
	m->files.outer = m->maps.files;
	rc = utable_new(&m->utable, &sink);
	if (rc) {
		free(m);
		return error_set(e, rc, EXIT_KERNEL, "cannot fill the unwinder's tables: %s",
				 strerror(-rc));
	}
	*out = m;
	return 0;
}

void unwinder_close(struct unwinder_maps *m)
{
	if (!m)
		return;
	innermap_drop(&m->files);
	utable_free(m->utable);
	free(m);
}

const struct unwinder *unwinder_of(const struct unwinder_maps *m)
{
	return &m->port;
}
