/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/upkeep.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "naming/tables.h"
#include "sym/proc.h"

/* where code always changes tables are made anew once in so long */
#define WAIT_MAX_NS 1000000000u
/* at first the pause is so short, since a program that starts maps its libraries */
#define WAIT_MIN_NS 25000000u
#define DUTY	    20 /* the pause is at least so many times the CPU time that making them took */
#define REREADS_MAX 20
/* after REREADS_MAX rereads, the next ones come at most so often */
#define REREADS_NS 10000000000ull
#define EXPECT_NS  1000000000ull /* so long after an exec() a JVM has its code heaps */

/*
 * Sets the pause until the next time: twice as long each time, up to WAIT_MAX_NS, and longer if it
 * takes much CPU time. (Most of the elapsed time is the kernel's wait for programs that use the old
 * tables.)
 */
static void made(struct upkeep *u, uint64_t took)
{
	u->wait_ns = u->wait_ns ? u->wait_ns * 2 : WAIT_MIN_NS;
	if (u->wait_ns > WAIT_MAX_NS)
		u->wait_ns = WAIT_MAX_NS;
	if (u->wait_ns < took * DUTY)
		u->wait_ns = took * DUTY;
	u->stale = false;
	log_debug("unwind tables of process %d: %.1f ms", u->tgid, (double)took / 1e6);
}

/* Makes the tables of what is mapped now. True when they have changed. */
static bool make(struct upkeep *u, uint64_t now)
{
	struct symproc *native = resolver_native(u->names);
	struct tables *tables = u->env->tables;
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID), maps;
	int rc = 0;

	u->made_ns = now;
	symproc_refresh(native);
	maps = maps_generation(symproc_maps(native));
	if (maps != u->maps) {
		rc = tables_update(tables, u->tgid, native, resolver_vm(u->names), now);
		u->maps = rc < 0 || tables_unsettled(tables) ? 0 : maps;
		if (u->unread < tables_unread(tables))
			u->unread = tables_unread(tables);
		u->refused += tables_refused(tables);
	}
	made(u, clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
	if (rc < 0)
		log_info("no unwind tables for process %d: %s", u->tgid, strerror(-rc));
	return rc > 0;
}

void upkeep_renew(struct upkeep *u, uint64_t now)
{
	u->maps = 0;
	make(u, now);
}

static void tell_tables(const struct upkeep *u)
{
	u->env->cfg.on_tables(u->env->cfg.ctx);
}

/*
 * Looks whether other code was mapped. If so stack ids may mean other code now, and all stacks are
 * sent and named again.
 */
static void code_poll(struct upkeep *u, uint64_t now)
{
	struct symproc *native = resolver_native(u->names);

	if (!symproc_moved(native, now))
		return;
	symproc_changed(native);
	u->stale = true;
	u->env->cfg.on_epoch(u->env->cfg.ctx);
}

/*
 * Has stacks that were walked without the new tables taken again, but not too often if the tables
 * always change.
 */
static void reread(struct upkeep *u, uint64_t now)
{
	if (u->rereads >= REREADS_MAX && now - u->reread_ns < REREADS_NS)
		return;
	u->rereads++;
	u->reread_ns = now;
	tell_tables(u);
}

void upkeep_poll(struct upkeep *u, uint64_t now)
{
	struct tables *tables = u->env->tables;

	code_poll(u, now);
	if (!tables)
		return;
	if (tables_meet(tables, u->tgid, resolver_vm(u->names))) {
		u->env->expect_ns = 0;
		upkeep_renew(u, now);
		tell_tables(u);
	} else if (u->stale && now - u->made_ns > u->wait_ns && make(u, now)) {
		reread(u, now);
	}
	tables_follow(tables, u->tgid, resolver_vm(u->names), now);
}

/*
 * A user frame that no table knew means that something may have been mapped since. Its caller,
 * which may be of any kind, is marked as found by a frame pointer or guessed.
 */
void upkeep_stack(struct upkeep *u, const struct gn_stack *rec)
{
	const struct gn_frame *f = gn_stack_frames(rec) + rec->nkernel;

	u->stale |= rec->end == GN_END_NORULE || rec->end == GN_END_FP;
	for (int i = 0; i < rec->nuser && !u->stale; i++)
		u->stale = gn_frame_flags(&f[i]) & (GN_FF_FP | GN_FF_GUESSED);
}

/*
 * The record may come late: by now a JVM that was launched may have been found, and the tables may
 * be those of the new program already.
 */
void upkeep_exec(struct upkeep *u, bool other, uint64_t time_ns)
{
	u->wait_ns = 0;
	if (other)
		u->env->expect_ns = now_ns() + EXPECT_NS;
	if (!u->env->tables || (!other && u->made_ns > time_ns))
		return;
	tables_drop(u->env->tables, u->tgid, now_ns());
	upkeep_renew(u, now_ns());
	tell_tables(u); /* stacks of threads that have slept since then may not be whole */
}

void upkeep_end(struct upkeep *u)
{
	if (u->env->tables && !u->env->ending)
		tables_drop(u->env->tables, u->tgid, now_ns());
}
