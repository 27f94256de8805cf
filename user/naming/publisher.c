// SPDX-License-Identifier: Apache-2.0
#include "naming/publisher.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "context/place.h"
#include "context/process.h"
#include "jvm/mem.h"
#include "naming/tables.h"
#include "sym/proc.h"

#define LOOK_NS 1000000000ull /* so often at most, but where a key is not known */
#define SOON_NS 100000000ull
#define DUTY	50 /* the pause is at least so many times as long as the look */
/*
 * So many looks at new mappings: the first may have come before the dynamic linker had filled the
 * library's slots.
 */
#define LOOKS 2
/* So many times mappings are read anew for a process context that is not there; then rarely. */
#define SEARCHES  10
#define RARELY_NS 30000000000ull

#ifdef __aarch64__
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

struct publisher {
	pid_t tgid;
	struct mem *mem;     /* NULL: not open */
	uint64_t generation; /* of the mappings that were looked at */
	unsigned int looks;  /* that are still to be made at them */
	uint64_t next_ns;    /* before which nothing is looked at */
	struct gn_ctx_places places;
	struct ctx_process *process; /* NULL: none was found */
	uint64_t process_at;	     /* where; 0: not known */
	unsigned int searches;
	uint64_t searched_ns;
	bool stale; /* a key was met that it does not know */
};

struct publisher *publisher_new(pid_t tgid)
{
	struct publisher *p = calloc(1, sizeof(*p));

	if (p)
		p->tgid = tgid;
	return p;
}

/* All that was found is forgotten, but not what the kernel side was told. */
static void forget(struct publisher *p)
{
	mem_close(p->mem);
	free(p->process);
	p->mem = NULL;
	p->process = NULL;
	p->process_at = 0;
	p->generation = 0;
	p->searches = 0;
	p->searched_ns = 0;
}

void publisher_free(struct publisher *p)
{
	if (!p)
		return;
	forget(p);
	free(p);
}

void publisher_exec(struct publisher *p)
{
	forget(p);
	p->places.n = 0; /* tables_drop() has taken them from the kernel side */
	p->next_ns = 0;
}

static int read_memory(void *arg, uint64_t addr, void *dst, size_t len)
{
	return mem_read(arg, addr, dst, len);
}

/* ---- the records ---- */

static void places_look(struct publisher *p, struct symproc *native, struct tables *tables)
{
	const struct ctx_memory m = {read_memory, p->mem};
	struct gn_ctx_places now = {0};
	unsigned int omitted;
	int rc = 0;

	now.n = ctx_places_find(symproc_maps(native), &m, MACHINE, now.at, &omitted);
	if (!memcmp(&now, &p->places, sizeof(now)))
		return;
	log_info("process %d publishes contexts at %u places%s", p->tgid, now.n,
		 omitted ? ", and at others that are not looked at" : "");
	p->places = now;
	if (tables)
		rc = tables_contexts(tables, p->tgid, &now);
	if (rc)
		log_warn("the contexts of process %d cannot be told: %s", p->tgid, strerror(-rc));
}

/* ---- the process context ---- */

/* A mapping gets its name without code being mapped: the mappings are read anew for it. */
static void process_search(struct publisher *p, struct symproc *native, uint64_t now)
{
	p->process_at = ctx_process_find(symproc_maps(native));
	if (p->process_at || (p->searches >= SEARCHES && now - p->searched_ns < RARELY_NS))
		return;
	p->searches++;
	p->searched_ns = now;
	if (!symproc_refresh(native))
		p->process_at = ctx_process_find(symproc_maps(native));
}

static void process_look(struct publisher *p, struct symproc *native, uint64_t now)
{
	const struct ctx_memory m = {read_memory, p->mem};
	uint32_t version = 0;
	int rc;

	if (!p->process_at)
		process_search(p, native, now);
	if (!p->process_at)
		return;
	if (!p->process)
		p->process = calloc(1, sizeof(*p->process));
	if (!p->process)
		return;
	rc = ctx_process_read(p->process, &m, p->process_at, &version);
	if (rc >= 0)
		return;
	log_info("no process context at %#llx of process %d: %s, version %u",
		 (unsigned long long)p->process_at, p->tgid, strerror(-rc), version);
	p->process_at = 0;
}

/* ---- looks ---- */

static void look(struct publisher *p, struct symproc *native, struct tables *tables, uint64_t now)
{
	uint64_t generation = maps_generation(symproc_maps(native));

	if (generation != p->generation) {
		p->generation = generation;
		p->looks = LOOKS;
	}
	if (!p->looks && !p->places.n)
		return;
	if (p->mem && mem_is_gone(p->mem))
		forget(p);
	if (!p->mem)
		p->mem = mem_open(p->tgid);
	if (!p->mem)
		return;
	mem_flush(p->mem);
	if (p->looks) {
		p->looks--;
		places_look(p, native, tables);
	}
	if (p->places.n) {
		process_look(p, native, now);
	} else {
		mem_close(p->mem);
		p->mem = NULL;
	}
	p->stale = false;
}

void publisher_look(struct publisher *p, struct symproc *native, struct tables *tables,
		    uint64_t now)
{
	uint64_t begin = now_ns();

	p->generation = 0;
	look(p, native, tables, now);
	p->next_ns = now + LOOK_NS + (now_ns() - begin) * DUTY;
}

void publisher_poll(struct publisher *p, struct symproc *native, struct tables *tables,
		    uint64_t now)
{
	uint64_t begin = now_ns();

	if (now + (p->stale ? LOOK_NS - SOON_NS : 0) < p->next_ns)
		return;
	look(p, native, tables, now);
	p->next_ns = now + LOOK_NS + (now_ns() - begin) * DUTY;
}

/* ---- for others ---- */

bool publisher_is_there(const struct publisher *p)
{
	return p->places.n != 0;
}

bool publisher_key(struct publisher *p, uint8_t key, struct ctx_text *name)
{
	if (!p->process || key >= p->process->nkeys) {
		p->stale = true;
		return false;
	}
	*name = p->process->keys[key];
	return true;
}

static bool ends_with(struct ctx_text t, const char *ending)
{
	size_t n = strlen(ending);

	return t.len >= n && !memcmp(t.p + t.len - n, ending, n);
}

bool publisher_has_key(const struct publisher *p, const char *ending)
{
	for (uint32_t i = 0; p->process && i < p->process->nkeys; i++)
		if (ends_with(p->process->keys[i], ending))
			return true;
	return false;
}
