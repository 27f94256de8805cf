/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one target may make gnomon do. A process chooses its stacks, names, files and unwind rules;
 * what it chooses beyond all use costs its own recording, which says so, and nobody else's.
 */
#include "naming/target_int.h"

#include <time.h>

#include "base/bucket.h"
#include "base/clock.h"
#include "sym/proc.h"

/*
 * New stacks cost memory for their names and frames, about as many bytes as in the file, and CPU
 * time to name them: so much of both at once, and so much a second. A JVM that starts, sampled each
 * millisecond on two CPUs, takes 2 MB and 0.2 s in its first seconds.
 */
static const struct bucket_size stack_bytes = {.at_once = 32u << 20, .second = 2u << 20};
static const struct bucket_size stack_cpu_ns = {.at_once = 1000000000, .second = 100000000};

/* ---- stacks ---- */

void target_stack_add(struct target *t, const struct gn_stack *rec)
{
	uint64_t now = now_ns(), begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	size_t before = jfrw_constants(t->out), after;
	struct budget *b = &t->budget;

	if (target_is_blind(t)) {
		b->addresses++;
		t->totals.stacks += stacks_add_addresses(t->stacks, rec);
		return;
	}
	if (!bucket_has(&b->bytes, &stack_bytes, now) ||
	    !bucket_has(&b->cpu_ns, &stack_cpu_ns, now)) {
		b->stacks++;
		t->totals.stacks += stacks_add_unnamed(t->stacks, rec);
		return;
	}
	t->totals.stacks += stacks_add(t->stacks, rec);
	after = jfrw_constants(t->out);
	bucket_take(&b->bytes, &stack_bytes, now, after > before ? after - before : 0);
	bucket_take(&b->cpu_ns, &stack_cpu_ns, now, clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
}

/* ---- bytes ---- */

void target_bytes_note(struct target *t, uint64_t bytes)
{
	struct target_env *env = t->env;

	env->file_bytes += bytes - t->totals.file_bytes;
	t->totals.file_bytes = bytes;
	if (env->cfg.total_max_bytes && env->file_bytes >= env->cfg.total_max_bytes)
		jfrw_full(t->out);
}

/* ---- telling ---- */

static void tell(struct target *t, uint64_t now, unsigned int reason, uint64_t is, uint64_t *told)
{
	if (is > *told)
		target_lost(t, now, 0, reason, is - *told);
	*told = is; /* less after an exec: what is counted begins anew */
}

void target_budget_tell(struct target *t, uint64_t now)
{
	struct budget *b = &t->budget;
	uint64_t none = 0;

	tell(t, now, LOSS_STACKS, b->stacks, &none);
	b->stacks = 0;
	none = 0;
	tell(t, now, t->untried ? LOSS_UNTRIED : LOSS_HASTE, b->addresses, &none);
	b->addresses = 0;
	tell(t, now, LOSS_UNREAD, symproc_unread(resolver_native(t->names)) + t->tables.unread,
	     &b->unread);
	tell(t, now, LOSS_RULES, t->tables.refused, &b->rules);
}
