/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "out/findings_int.h"
#include "out/format.h"

#define WIDTH 98 /* of a line for terminals */

void find_add(struct find *x, const char *kind, const char *link, const char *fmt, ...)
{
	struct findings *out = x->out;
	struct finding f = {.kind = kind, .link = strdup(link)};
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&f.text, fmt, ap) < 0)
		f.text = NULL;
	va_end(ap);
	if (out->n == out->cap) {
		size_t cap = out->cap ? out->cap * 2 : 8;
		struct finding *v = reallocarray(out->v, cap, sizeof(*v));

		if (v) {
			out->v = v;
			out->cap = cap;
		}
	}
	if (!f.text || !f.link || out->n == out->cap) {
		free(f.text);
		free(f.link);
		x->failed = true;
		return;
	}
	out->v[out->n++] = f;
}

bool find_knows_threads(const struct find *x)
{
	return x->one && !x->p->facts.reservoir.n && x->recorded_ns >= FIND_LEAST_NS;
}

void find_encode(struct buffer *b, const char *text, bool exact)
{
	buffer_printf(b, "%s", exact ? "%5E" : "");
	for (; *text; text++) {
		uint8_t c = (uint8_t)*text;
		bool plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
			     c == '-' || c == '_';

		if (plain) {
			buffer_byte(b, c);
			continue;
		}
		if (exact && c < 0x80 && strchr("\\^$.*+?()[]{}|", c))
			buffer_printf(b, "%%5C");
		buffer_printf(b, "%%%02X", c);
	}
	buffer_printf(b, "%s", exact ? "%24" : "");
}

/* ---- what is known of threads ---- */

static void workers_mark(struct find *x)
{
	/* frames of every pool's worker, whether it waits for work or works */
	static const char *const known[] = {
		"java.util.concurrent.ThreadPoolExecutor$Worker.run",
		"java.util.concurrent.ForkJoinWorkerThread.run",
		"org.apache.tomcat.util.threads.ThreadPoolExecutor$Worker.run",
		"org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.run",
		"org.jboss.threads.EnhancedQueueExecutor$ThreadBody.run",
		"kotlinx.coroutines.scheduling.CoroutineScheduler$Worker.run",
	};
	const struct profile *p = x->p;

	for (uint32_t i = 1; i < p->nnodes; i++) {
		const char *name = profile_frame_name(p, p->nodes[i].frame);

		x->node[i] = x->node[p->nodes[i].parent];
		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]) && !x->node[i]; k++)
			if (!strcmp(name, known[k]))
				x->node[i] = FIND_WORKER;
	}
}

/* A lower bound where a thread waits now here, now there: its first place, or a longer one. */
static void lock_add(struct find_self *s, uint32_t place, uint64_t ns)
{
	s->lock_ns += ns;
	if (place == s->lock_place) {
		s->place_ns += ns;
	} else if (ns > s->place_ns) {
		s->lock_place = place;
		s->place_ns = ns;
	}
}

static void selves_fill(struct find *x)
{
	const struct profile *p = x->p;

	for (uint32_t i = 0; i < p->nselves; i++)
		x->selves[i].lock_place = NAME_NONE;
	for (uint32_t i = 0; i < p->nthreads; i++)
		x->selves[p->threads[i].self].thread = i;
	for (uint32_t i = 0; i < p->ncells; i++) {
		const struct prof_cell *c = &p->cells[i];
		struct find_self *s = &x->selves[p->threads[c->thread].self];
		uint32_t place = find_lock_place(p, c);

		s->samples += c->dims ? c->samples : 0;
		s->cpu_ns += c->dims & 1 << DIM_CPU ? c->ns : 0;
		s->pooled |= x->node[c->node] & FIND_WORKER;
		if (!(c->dims & 1 << DIM_WALL))
			continue;
		s->wall_ns += c->ns;
		s->idle_ns += c->state == x->idle ? c->ns : 0;
		if (place != NAME_NONE)
			lock_add(s, place, c->ns);
	}
}

/* ---- where the time went ---- */

static void states_say(struct buffer *b, const struct profile *p, uint32_t idle)
{
	uint64_t ns[16] = {0};
	uint32_t n = p->nstates < 16 ? p->nstates : 16;
	const char *sep = ": ";

	for (uint32_t i = 0; i < p->ncells; i++)
		if (p->cells[i].dims & 1 << DIM_OFF && p->cells[i].state < n &&
		    p->cells[i].state != idle)
			ns[p->cells[i].state] += p->cells[i].ns;
	for (int k = 0; k < 3; k++) {
		uint32_t most = 0;

		for (uint32_t i = 1; i < n; i++)
			if (ns[i] > ns[most])
				most = i;
		if (!n || !ns[most])
			return;
		buffer_printf(b, "%s%s %s", sep, names_get(&p->names, p->states[most].name),
			      format_ns(ns[most]).s);
		ns[most] = 0;
		sep = ", ";
	}
}

static void overview_make(struct find *x)
{
	const struct profile *p = x->p;
	uint64_t cpu = p->total_ns[0][DIM_CPU], off = p->total_ns[0][DIM_OFF], idle = 0;
	struct buffer b = BUFFER_INIT;

	for (uint32_t i = 0; i < p->ncells; i++)
		if (p->cells[i].dims & 1 << DIM_OFF && p->cells[i].state == x->idle)
			idle += p->cells[i].ns;
	buffer_printf(&b, "%s on the CPU", format_ns(cpu).s);
	if (x->recorded_ns)
		buffer_printf(&b, ", %.*f CPUs on average", cpu < x->recorded_ns ? 2 : 1,
			      find_share(cpu, x->recorded_ns));
	if (x->recorded_ns && p->facts.hw_threads)
		buffer_printf(&b, " of %llu", (unsigned long long)p->facts.hw_threads);
	buffer_printf(&b, "; %s off it", format_ns(off - idle).s);
	states_say(&b, p, x->idle);
	if (idle)
		buffer_printf(&b, "; %s idle, waiting for work", format_ns(idle).s);
	buffer_byte(&b, 0);
	x->out->overview = b.failed ? NULL : strdup((char *)b.data);
	x->failed |= !x->out->overview;
	buffer_free(&b);
}

/* ---- all ---- */

static bool is_whole(const struct profile_options *o)
{
	return !o->threads.n && !o->states.n && !o->endpoints.n && !o->traces.n && !o->spans.n &&
	       !o->slower_ns && !o->include.n && !o->exclude.n && !o->focus.n;
}

#define SEVERAL                                                                                    \
	"it is not looked at what a thread or a pool did throughout, nor at deadlocks and the "    \
	"heap: a page of one recording tells of them."

/* Silence says something only of what could have been seen. */
static const char *none_said(const struct find *x)
{
	if (!is_whole(&x->p->opt))
		return "A part of the recording was chosen: what stands out is told of whole ones "
		       "only.";
	if (!x->p->samples[JFR_SOURCE_WALL] && !x->one)
		return "Nothing stands out: no collector above 10% of the CPU time. Who waited, "
		       "and "
		       "for what, is not in the recordings: they have no wall samples. Of "
		       "several " SEVERAL;
	if (!x->p->samples[JFR_SOURCE_WALL])
		return "Nothing stands out: no thread on a CPU throughout, no collector above 10% "
		       "of the CPU time. Who waited, and for what, is not in the recording: it has "
		       "no wall samples.";
	if (!x->one)
		return "Nothing stands out: no hot lock, no wait for CPUs, no collector above 10% "
		       "of the CPU time. Of several recordings " SEVERAL;
	if (!find_knows_threads(x))
		return "Nothing stands out: no hot lock, no wait for CPUs, no collector above 10% "
		       "of the CPU time. What a thread did throughout is not known: threads were "
		       "sampled by turns, or for less than a second.";
	return "Nothing stands out: no thread blocked or on a CPU throughout, no hot lock, no "
	       "exhausted pool, no wait for CPUs, no collector above 10% of the CPU time.";
}

static void find_all(struct find *x)
{
	workers_mark(x);
	selves_fill(x);
	find_deadlocks(x);
	find_killed(x);
	find_blocked(x);
	find_starved(x);
	find_throttled(x);
	find_stolen(x);
	find_hot_lock(x);
	find_pools(x);
	find_causes(x);
	find_pauses(x);
	find_collections(x);
	find_full(x);
	find_live(x);
	find_bound(x);
	find_losses(x);
}

int findings_new(struct findings **out, const struct profile *p, struct error *e)
{
	struct find x = {.p = p, .recorded_ns = p->chosen_ns[0], .idle = profile_idle_state(p)};

	x.out = calloc(1, sizeof(*x.out));
	x.selves = calloc((size_t)p->nselves + 1, sizeof(*x.selves));
	x.node = calloc(p->nnodes, 1);
	x.one = p->lanes.recordings == 1;
	x.part = p->chosen_ns[0] < p->side_ns[0];
	x.failed = !x.out || !x.selves || !x.node;
	if (!x.failed) {
		x.out->none = none_said(&x);
		overview_make(&x);
		if (is_whole(&p->opt))
			find_all(&x);
	}
	free(x.selves);
	free(x.node);
	if (x.failed) {
		findings_free(x.out);
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	*out = x.out;
	return 0;
}

void findings_free(struct findings *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++) {
		free(f->v[i].text);
		free(f->v[i].link);
	}
	free(f->v);
	free(f->overview);
	free(f);
}

/* ---- for terminals ---- */

static void wrapped(const char *kind, const char *text, FILE *to)
{
	size_t at = (size_t)fprintf(to, "  %-9s", kind);
	const size_t indent = at;

	while (*text) {
		size_t n = strcspn(text, " ");

		if (at > indent && at + 1 + n > WIDTH)
			at = (size_t)fprintf(to, "\n%*s", (int)indent, "") - 1;
		at += (size_t)fprintf(to, " %.*s", (int)n, text);
		text += n + (text[n] == ' ');
	}
	fputc('\n', to);
}

void findings_print_kind(const struct findings *f, const char *kind, FILE *to)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].kind, kind))
			wrapped(f->v[i].kind, f->v[i].text, to);
}

void findings_print(const struct findings *f, FILE *to)
{
	if (!f->n)
		return;
	fprintf(to, "\nFindings\n");
	for (size_t i = 0; i < f->n; i++)
		wrapped(f->v[i].kind, f->v[i].text, to);
}
