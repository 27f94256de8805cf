/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process that names may say to capture once somebody else has taken it over: any bytes, as
 * asks. What reaches the tables has been looked at, and is what capture/utable.c takes.
 */
// FUZZ-LINK: user/wire/ask.c user/wire/clerk.c user/wire/desk.c user/wire/scrutiny.c user/wire/rules.c user/capture/utable.c user/base/thread.c
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "capture/utable.h"
#include "wire/ask.h"
#include "wire/clerk.h"

/* What is refused is no news here. */
void log_warn(const char *fmt, ...)
{
}

static int sink_rule(void *ctx, uint32_t id, const struct uw_rule *rule)
{
	return 0;
}

static int sink_file(void *ctx, uint32_t slot, const struct uw_page *pages, uint32_t n)
{
	return 0;
}

static int sink_drop(void *ctx, uint32_t n)
{
	return 0;
}

static int sink_proc(void *ctx, uint32_t tgid, const struct uw_proc *proc)
{
	return 0;
}

static uint32_t file_find(void *ctx, const void *key, size_t len)
{
	return utable_file_find(ctx, key, len);
}

static int file_add(void *ctx, pid_t tgid, const void *key, size_t len,
		    const struct unwind_table *table, uint32_t *file, uint32_t *refused)
{
	utable_owner(ctx, (uint32_t)tgid);
	*refused = 0;
	return utable_file_add(ctx, key, len, table, file);
}

static int proc_set(void *ctx, pid_t tgid, struct unwind_mapping *v, size_t n, uint64_t now_ns)
{
	return utable_proc_set(ctx, (uint32_t)tgid, v, n, now_ns);
}

static void proc_drop(void *ctx, pid_t tgid, uint64_t now_ns)
{
	utable_proc_drop(ctx, (uint32_t)tgid, now_ns);
}

static bool freed(void *ctx, uint64_t now_ns)
{
	return false;
}

static int jvm_set(void *ctx, const struct gn_jvm *jvm)
{
	if (jvm->nheaps > GN_JVM_HEAPS)
		abort();
	return 0;
}

static int coders_met(void *ctx, pid_t tgid)
{
	return 0;
}

static int java_thread(void *ctx, pid_t tgid, pid_t tid, uint64_t thread)
{
	return 0;
}

static int carrier(void *ctx, pid_t tgid, pid_t tid, const struct gn_carrier *carrier,
		   const struct gn_vthreads *layout)
{
	return 0;
}

static int contexts(void *ctx, pid_t tgid, const struct gn_ctx_places *places)
{
	if (places->n > CTX_PLACE_MAX)
		abort();
	return 0;
}

static int locks(void *ctx, pid_t tgid, const struct gn_locks *locks)
{
	if (locks->mark_shift > 63 || locks->klass_shift > 63 || locks->hash_shift > 63)
		abort();
	return 0;
}

static int programs(void *ctx, uint32_t *program, uint32_t *link)
{
	return 0;
}

static void nothing(void *ctx)
{
}

static void nothing_of(void *ctx, pid_t tgid)
{
}

static bool wants(void *ctx, pid_t tgid, pid_t tid, const char *name)
{
	return strlen(name) < ASK_NAME_MAX;
}

static bool is_recorded(void *whose, pid_t tgid)
{
	return tgid != 2;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct utable_sink sink = {
		.rule = sink_rule,
		.file = sink_file,
		.file_drop = sink_drop,
		.proc = sink_proc,
		.proc_drop = sink_drop,
	};
	const struct clerk_duties duties = {
		.on_epoch = nothing,
		.on_tables = nothing,
		.on_chunk_end = nothing_of,
		.wants_thread = wants,
		.is_recorded = is_recorded,
	};
	struct unwinder u = {
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
	struct utable *t;
	int ends[2];

	if (len > 60000 || utable_new(&t, &sink) || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 0;
	u.ctx = t;
	if (write(ends[1], data, len) == (ssize_t)len) {
		shutdown(ends[1], SHUT_WR);
		clerk_serve(ends[0], &u, &duties);
	}
	close(ends[0]);
	close(ends[1]);
	utable_free(t);
	return 0;
}
