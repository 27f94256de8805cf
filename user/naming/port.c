/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/port.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/beat.h"
#include "base/clock.h"
#include "wire/ask.h"
#include "wire/unwinder.h"

#define BEAT_MS	 50
#define FREED_NS 100000000ull /* it is asked for each target, and the same for all */

struct port {
	struct unwinder unwinder;
	int fd;
	uint64_t freed_ns; /* when ASK_FREED was asked last */
};

/* What follows an ask. */
struct part {
	const void *data;
	size_t n;
};

/* Capture has a thread for us that waits for nobody: it is slow only as the machine is. */
static int answer_read(struct port *p, struct answer *a)
{
	struct pollfd on = {.fd = p->fd, .events = POLLIN};

	while (!poll(&on, 1, BEAT_MS)) {
		beat_step();
		beat_ours();
	}
	return ask_bytes_read(p->fd, a, sizeof(*a));
}

static int ask_do(struct port *p, const struct ask *ask, const struct part *parts, size_t nparts,
		  struct answer *a)
{
	int rc = ask_bytes_write(p->fd, ask, sizeof(*ask));

	for (size_t i = 0; i < nparts && !rc; i++)
		rc = ask_bytes_write(p->fd, parts[i].data, parts[i].n);
	if (!rc)
		rc = answer_read(p, a);
	return rc ? -EPIPE : a->rc;
}

static int ask_alone(struct port *p, const struct ask *ask, struct answer *a)
{
	return ask_do(p, ask, NULL, 0, a);
}

/* ---- the unwinder ---- */

static struct ask ask_of_key(uint32_t kind, const void *key, size_t len)
{
	struct ask ask = {.kind = kind, .key_len = (uint32_t)len};

	if (len <= sizeof(ask.key))
		memcpy(ask.key, key, len);
	return ask;
}

static uint32_t file_find(void *ctx, const void *key, size_t len)
{
	struct ask ask = ask_of_key(ASK_FILE_FIND, key, len);
	struct answer a = {0};

	return ask_alone(ctx, &ask, &a) ? UNWIND_NO_FILE : a.file;
}

static int file_add(void *ctx, pid_t tgid, const void *key, size_t len,
		    const struct unwind_table *table, uint32_t *file, uint32_t *refused)
{
	struct ask ask = ask_of_key(ASK_FILE_ADD, key, len);
	const struct part parts[] = {
		{table->rules.rules, table->rules.n * sizeof(*table->rules.rules)},
		{table->rows, table->n * sizeof(*table->rows)},
	};
	struct answer a = {0};
	int rc;

	if (table->n > UNWIND_MAX_ROWS)
		return -E2BIG;
	ask.tgid = tgid;
	ask.nrules = table->rules.n;
	ask.nrows = (uint32_t)table->n;
	rc = ask_do(ctx, &ask, parts, 2, &a);
	*file = a.file;
	*refused = a.refused;
	return rc;
}

static int proc_set(void *ctx, pid_t tgid, struct unwind_mapping *v, size_t n, uint64_t now_ns)
{
	struct ask ask = {.kind = ASK_PROC_SET, .tgid = tgid, .nmappings = (uint32_t)n};
	const struct part part = {v, n * sizeof(*v)};
	struct answer a = {0};

	return n > ASK_MAPPINGS_MAX ? -E2BIG : ask_do(ctx, &ask, &part, 1, &a);
}

static void proc_drop(void *ctx, pid_t tgid, uint64_t now_ns)
{
	struct ask ask = {.kind = ASK_PROC_DROP, .tgid = tgid};
	struct answer a;

	ask_alone(ctx, &ask, &a);
}

static bool freed(void *ctx, uint64_t now_ns)
{
	struct ask ask = {.kind = ASK_FREED};
	struct port *p = ctx;
	struct answer a = {0};

	if (now_ns - p->freed_ns < FREED_NS)
		return false;
	p->freed_ns = now_ns;
	return !ask_alone(p, &ask, &a) && a.flag;
}

static int jvm_set(void *ctx, const struct gn_jvm *jvm)
{
	struct ask ask = {.kind = ASK_JVM_SET, .tgid = (int32_t)jvm->tgid};
	const struct part part = {jvm, sizeof(*jvm)};
	struct answer a = {0};

	return ask_do(ctx, &ask, &part, 1, &a);
}

static int coders_met(void *ctx, pid_t tgid)
{
	struct ask ask = {.kind = ASK_CODERS_MET, .tgid = tgid};
	struct answer a = {0};

	return ask_alone(ctx, &ask, &a);
}

static int java_thread(void *ctx, pid_t tgid, pid_t tid, uint64_t thread)
{
	struct ask ask = {.kind = ASK_JAVA_THREAD, .tgid = tgid, .tid = tid, .thread = thread};
	struct answer a = {0};

	return ask_alone(ctx, &ask, &a);
}

static int carrier(void *ctx, pid_t tgid, pid_t tid, const struct gn_carrier *carrier,
		   const struct gn_vthreads *layout)
{
	struct ask ask = {.kind = ASK_CARRIER, .tgid = tgid, .tid = tid, .carrier = *carrier};
	struct answer a = {0};

	ask.layout = *layout;
	return ask_alone(ctx, &ask, &a);
}

static int contexts(void *ctx, pid_t tgid, const struct gn_ctx_places *places)
{
	struct ask ask = {.kind = ASK_CONTEXTS, .tgid = tgid, .places = *places};
	struct answer a = {0};

	return ask_alone(ctx, &ask, &a);
}

static int locks(void *ctx, pid_t tgid, const struct gn_locks *locks)
{
	struct ask ask = {.kind = ASK_LOCKS, .tgid = tgid, .locks = *locks};
	struct answer a = {0};

	return ask_alone(ctx, &ask, &a);
}

static int programs(void *ctx, uint32_t *program, uint32_t *link)
{
	struct ask ask = {.kind = ASK_PROGRAMS, .program = *program, .link = *link};
	struct answer a = {0};
	int rc = ask_alone(ctx, &ask, &a);

	if (rc)
		return rc;
	*program = a.program;
	*link = a.link;
	return 0;
}

/* ---- what else naming says ---- */

static void on_epoch(void *ctx)
{
	struct ask ask = {.kind = ASK_EPOCH};
	struct answer a;

	ask_alone(ctx, &ask, &a);
}

static void on_tables(void *ctx)
{
	struct ask ask = {.kind = ASK_TABLES};
	struct answer a;

	ask_alone(ctx, &ask, &a);
}

static void on_chunk_end(void *ctx, pid_t tgid)
{
	struct ask ask = {.kind = ASK_CHUNK_END, .tgid = tgid};
	struct answer a;

	ask_alone(ctx, &ask, &a);
}

static bool wants_thread(void *ctx, pid_t tgid, pid_t tid, const char *name)
{
	struct ask ask = {.kind = ASK_THREAD, .tgid = tgid, .tid = tid};
	const struct part part = {name, strnlen(name, ASK_NAME_MAX - 1)};
	struct answer a = {0};

	ask.name_len = (uint32_t)part.n;
	return !ask_do(ctx, &ask, &part, 1, &a) && a.flag;
}

/* ---- life ---- */

static const struct unwinder asking = {
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

struct port *port_new(int fd)
{
	struct port *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->fd = fd;
	p->unwinder = asking;
	p->unwinder.ctx = p;
	return p;
}

const struct unwinder *port_unwinder(const struct port *p)
{
	return &p->unwinder;
}

void port_config(struct port *p, struct target_config *cfg)
{
	cfg->on_epoch = on_epoch;
	cfg->on_tables = on_tables;
	cfg->on_chunk_end = on_chunk_end;
	if (cfg->wants_thread)
		cfg->wants_thread = wants_thread;
	cfg->ctx = p;
}
