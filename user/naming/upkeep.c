/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/upkeep.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "naming/tables.h"
#include "sym/proc.h"

#define WAIT_MAX_NS 1000000000u /* tables are made anew at most so often */
#define WAIT_MIN_NS 25000000u	/* or so at first: a program that starts maps its libraries */
#define DUTY	    20		/* so many times what it took of a CPU */
#define REREADS_MAX 20
#define REREADS_NS  10000000000ull /* between two after those */
#define EXPECT_NS   1000000000ull  /* after an exec(): a JVM has its code heaps by then */

/*
 * Ever more seldom, down to WAIT_MAX_NS, and to a part of a core where a look costs much. (Most of
 * the time it takes is the kernel's wait for those that use the old ones.)
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

/* Of what is mapped now. True when they became others. */
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

/* Ids may mean other code now: all stacks are sent and named again. */
static void code_poll(struct upkeep *u, uint64_t now)
{
	struct symproc *native = resolver_native(u->names);

	if (!symproc_moved(native, now))
		return;
	symproc_changed(native);
	u->stale = true;
	u->env->cfg.on_epoch(u->env->cfg.ctx);
}

/* Stacks that were walked without them are taken again: not too often where they change always. */
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
 * A user frame that no table knew, by which its caller was found: something was mapped since,
 * perhaps. The caller may be of any kind.
 */
void upkeep_stack(struct upkeep *u, const struct gn_stack *rec)
{
	const struct gn_frame *f = gn_stack_frames(rec) + rec->nkernel;

	u->stale |= rec->end == GN_END_NORULE || rec->end == GN_END_FP;
	for (int i = 0; i < rec->nuser && !u->stale; i++)
		u->stale = gn_frame_flags(&f[i]) & (GN_FF_FP | GN_FF_GUESSED);
}

/*
 * The record comes late: a JVM that was launched may have been found meanwhile, and the tables made
 * of the program that the process is now.
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
	tell_tables(u); /* who sleeps since has no whole stack */
}

void upkeep_end(struct upkeep *u)
{
	if (u->env->tables && !u->env->ending)
		tables_drop(u->env->tables, u->tgid, now_ns());
}
