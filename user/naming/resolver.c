/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/resolver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uthash.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "jvm/agent.h"
#include "jvm/codecache.h"
#include "jvm/method.h"
#include "jvm/threads.h"
#include "jvm/unloads.h"
#include "jvm/vmstructs.h"
#include "kern/unwind.h"
#include "sym/cache.h"
#include "sym/ksyms.h"
#include "sym/proc.h"
#include "target/jvmproc.h"
#include "target/procfs.h"

#define RETRY_NS     1500000ull	  /* between two looks for a JVM that is starting */
#define LIST_THREADS 128	  /* with more Java threads than these a list of them is kept */
#define LIST_NS	     200000000ull /* the list is made anew at most so often */
#define LIST_SHARE   20		  /* and takes at most one part in so many of the time */
#define INLINE_MAX   VM_INLINE_MAX
/*
 * The kernel's symbols are read anew at most so often, and more seldom if the last time did not
 * help.
 */
#define KERNEL_NS     10000000000ull
#define KERNEL_MAX_NS 600000000000ull

struct resolver_shared {
	struct ksyms *kernel; /* NULL: not asked for yet, or they cannot be read */
	bool kernel_asked;
	uint64_t kernel_ns;   /* when they were read anew; 0: only once so far */
	uint64_t kernel_wait; /* how long they are not read again */
	struct image_cache *images;
	const _Atomic uint32_t *haste;
};

/*
 * A Java thread of the last list. Its name is not in it, since names change: it is read when it is
 * asked for.
 */
struct listed_thread {
	pid_t tid; /* as the JVM knows it */
	uint64_t thread;
	UT_hash_handle hh;
};

struct resolver {
	struct resolver_shared *shared;
	struct listed_thread *listed;
	unsigned int nlisted;
	uint64_t listed_ns, listing_ns;	  /* when the list was made, and the CPU time that took */
	struct vm_threads_mark list_mark; /* as it was read, */
	bool list_whole;		  /* and then there were no others */
	pid_t tgid;
	/* it is in a PID namespace of its own, and knows its threads by other numbers */
	bool nested;
	enum resolver_mode mode;
	struct symproc *native;
	struct vm *vm;	     /* NULL: no JVM yet, or not wanted */
	struct agent *agent; /* NULL: not attached */
	bool agent_tried;
	uint64_t tried_ns; /* last look for a JVM */
	uint64_t vm_ns;	   /* when the look began that found it */
	uint64_t now_ns;
	struct arena strings; /* of the stack that was named last */
	bool guessed;	      /* a heuristic found a frame of that stack */
	bool copies_all;      /* of methods, too: what is kept of them was dropped meanwhile */
	bool unnamed;	      /* a frame of that stack is of code or a class that was unloaded */
	char lacks[120];      /* fields of VM structures that this JVM does not have */
	char source[320];
};

/* ---- shared ---- */

int resolver_shared_open(struct resolver_shared **out, const _Atomic uint32_t *haste,
			 struct error *e)
{
	struct resolver_shared *s = calloc(1, sizeof(*s));

	if (!s)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	s->haste = haste;
	s->images = image_cache_new(0);
	if (!s->images) {
		free(s);
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	*out = s;
	return 0;
}

void resolver_shared_close(struct resolver_shared *s)
{
	if (!s)
		return;
	ksyms_free(s->kernel);
	image_cache_free(s->images);
	free(s);
}

/* ---- the JVM ---- */

static void on_missing(void *arg, const char *name, enum vm_feature f)
{
	struct resolver *r = arg;
	size_t len = strlen(r->lacks);

	log_info("this JVM has no '%s': no %s", name, vm_feature_name(f));
	if (len + strlen(name) + 3 < sizeof(r->lacks))
		snprintf(r->lacks + len, sizeof(r->lacks) - len, "%s%s", len ? ", " : "", name);
}

static bool vm_suffices(const struct vm *vm)
{
	return vm_has(vm, VM_NAMES) && vm_has(vm, VM_CODE) && vm_has(vm, VM_NMETHOD) &&
	       vm_has(vm, VM_SCOPES) && vm_has(vm, VM_INTERP);
}

static bool agent_wanted(const struct resolver *r)
{
	if (r->agent || r->agent_tried)
		return false;
	return r->mode == RESOLVE_AGENT ||
	       (r->mode == RESOLVE_AUTO && (!r->vm || !vm_suffices(r->vm)));
}

static void source_describe(struct resolver *r, const char *why)
{
	if (r->agent && r->vm)
		snprintf(r->source, sizeof(r->source), "agent, and the JVM's memory");
	else if (r->agent)
		snprintf(r->source, sizeof(r->source), "agent");
	else if (r->vm)
		snprintf(r->source, sizeof(r->source), "the JVM's memory (vmstructs)%s%s%s%s",
			 r->lacks[0] ? " without " : "", r->lacks, why ? "; no agent: " : "",
			 why ? why : "");
	else
		snprintf(r->source, sizeof(r->source), "none for Java%s%s", why ? ": " : "",
			 why ? why : "");
}

static void agent_load(struct resolver *r)
{
	const struct agent_config cfg = {.haste = r->shared->haste};
	struct error why = {0};

	r->agent_tried = true;
	if (agent_start(&r->agent, r->tgid, &cfg, &why)) {
		log_warn("no agent in process %d: %s%s%s", r->tgid, why.msg,
			 why.hint[0] ? "; " : "", why.hint);
		source_describe(r, why.msg);
		return;
	}
	source_describe(r, NULL);
}

/* True when a JVM was found. One that has just been started is found a little later. */
static bool jvm_look(struct resolver *r, uint64_t now)
{
	struct error why = {0};

	if (r->mode == RESOLVE_NONE || (r->tried_ns && now - r->tried_ns < RETRY_NS))
		return false;
	r->tried_ns = now;
	if (!r->vm) {
		if (vm_open(r->tgid, &r->vm, &why)) {
			source_describe(r, why.msg);
			return false;
		}
		r->vm_ns = now;
		r->lacks[0] = '\0';
		vm_missing(r->vm, on_missing, r);
		source_describe(r, NULL);
	}
	if (agent_wanted(r))
		agent_load(r);
	return true;
}

static void listed_free(struct resolver *r);

static void jvm_forget(struct resolver *r)
{
	agent_stop(r->agent);
	vm_close(r->vm);
	listed_free(r);
	r->listed_ns = 0;
	r->agent = NULL;
	r->vm = NULL;
	r->agent_tried = false;
	r->tried_ns = 0;
	source_describe(r, NULL);
}

/* ---- life ---- */

static bool is_nested(pid_t tgid)
{
	struct proc_status st;

	return !proc_status_read(tgid, 0, &st) && st.nspid_n > 1;
}

int resolver_open(struct resolver **out, struct resolver_shared *shared, pid_t tgid,
		  enum resolver_mode mode, struct error *e)
{
	struct resolver *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	r->shared = shared;
	r->tgid = tgid;
	r->nested = is_nested(tgid);
	r->mode = mode;
	rc = symproc_open(&r->native, tgid, shared->images, e);
	if (rc) {
		free(r);
		return rc;
	}
	source_describe(r, mode == RESOLVE_NONE ? "not asked for" : NULL);
	*out = r;
	return 0;
}

void resolver_close(struct resolver *r)
{
	if (!r)
		return;
	jvm_forget(r);
	symproc_close(r->native);
	arena_free(&r->strings);
	free(r);
}

bool resolver_poll(struct resolver *r, uint64_t now_ns)
{
	bool changed = false;

	r->now_ns = now_ns;
	if (!r->vm || agent_wanted(r))
		changed = jvm_look(r, now_ns);
	if (r->vm) {
		changed |= vm_refresh(r->vm);
		vm_names_age(r->vm, now_ns);
	}
	if (r->agent)
		changed |= agent_follow(r->agent, now_ns) > 0;
	return changed;
}

bool resolver_exec(struct resolver *r, uint64_t time_ns)
{
	struct symproc *native = NULL;

	if (r->vm && r->vm_ns > time_ns)
		return false;
	jvm_forget(r);
	/*
	 * Nothing that was known of the old program holds for the new one. If the process is gone
	 * already the old names stay.
	 */
	if (!symproc_open(&native, r->tgid, r->shared->images, NULL)) {
		symproc_close(r->native);
		r->native = native;
	}
	return true;
}

struct vm *resolver_vm(struct resolver *r)
{
	return r->vm;
}

struct symproc *resolver_native(struct resolver *r)
{
	return r->native;
}

/* ---- frames ---- */

/*
 * The functions by which the kernel calls our programs: frames up to and including these are not
 * the target's.
 */
static const char *const own_frames[] = {
	"__traceiter_sched_switch", "__bpf_trace_sched_switch", "bpf_trace_run4", "bpf_prog_",
	"__traceiter_sched_waking", "__bpf_trace_sched_wakeup", "bpf_trace_run1"};

/*
 * A stack that is taken at a switch has these, too, and one that is read of a sleeping thread has
 * not. They are left out, so that a place to wait at is one stack, whichever way it was taken.
 */
static const char *const switch_frames[] = {"__schedule", "schedule", "preempt_schedule"};

static bool begins_with(const char *name, const char *const *any, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(name, any[i], strlen(any[i])))
			return true;
	return false;
}

/*
 * Reads the symbols when the first kernel frame is to be named. By then our own programs are
 * loaded, and nobody waits for the tens of milliseconds that it takes. NULL: they cannot be read.
 */
static struct ksyms *kernel_symbols(struct resolver_shared *s)
{
	struct error why = {0};

	if (!s->kernel_asked && ksyms_open(&s->kernel, &why))
		log_warn("kernel frames without names: %s%s%s", why.msg, why.hint[0] ? "; " : "",
			 why.hint);
	s->kernel_asked = true;
	return s->kernel;
}

/*
 * Reads the symbols anew, since modules and BPF programs come and go, which ends what was looked up
 * in the ones before. False: they were read a short while ago.
 */
static bool kernel_reload(struct resolver_shared *s, uint64_t now_ns)
{
	struct ksyms *fresh;
	struct error why = {0};

	if (s->kernel_ns && now_ns - s->kernel_ns < s->kernel_wait)
		return false;
	s->kernel_ns = now_ns;
	s->kernel_wait = KERNEL_NS;
	if (ksyms_open(&fresh, &why))
		return false;
	ksyms_free(s->kernel);
	s->kernel = fresh;
	return true;
}

/*
 * Names a kernel address, and reads the symbols anew for it if that is worth it: it takes as long
 * as a second's naming. The symbols give a BPF program that was loaded since the name of the one
 * that lies before it; `any_bpf`: that is good enough, since it only matters that it is one.
 */
static void kernel_look_up(struct resolver *r, uint64_t addr, bool any_bpf, struct frame_name *out)
{
	static const struct frame_name unknown = {KLASS_KERNEL, "[unknown]",  "", -1,
						  -1,		FRAME_KERNEL, 0,  0};
	struct resolver_shared *s = r->shared;
	uint64_t waited = s->kernel_wait;
	int rc;

	*out = unknown;
	if (!kernel_symbols(s))
		return;
	rc = ksyms_lookup(s->kernel, addr, out);
	if (!rc && (any_bpf || strcmp(out->klass, KLASS_BPF) || !ksyms_bpf_changed(s->kernel)))
		return;
	if (!kernel_reload(s, r->now_ns))
		return;
	*out = unknown;
	if (ksyms_lookup(s->kernel, addr, out) && waited)
		s->kernel_wait = waited * 2 < KERNEL_MAX_NS ? waited * 2 : KERNEL_MAX_NS;
}

static void kernel_name(struct resolver *r, uint64_t addr, struct frame_name *out)
{
	kernel_look_up(r, addr, false, out);
}

static int agent_names(struct resolver *r, uint64_t addr, struct frame_name *out, int max)
{
	return r->agent ? agent_lookup(r->agent, addr, r->now_ns, out, max) : 0;
}

/* Whether the process has libjvm.so mapped while nothing else is known of its JVM yet. */
static bool jvm_begins(const struct resolver *r)
{
	const struct maps *maps = symproc_maps(r->native);

	if (r->vm || r->mode == RESOLVE_NONE)
		return false;
	for (size_t i = 0; i < maps_count(maps); i++) {
		const char *base = strrchr(maps_path(maps, maps_at(maps, i)), '/');

		if (base && !strcmp(base, "/libjvm.so"))
			return true;
	}
	return false;
}

/*
 * A frame in a JVM's code that was walked before the code heaps were known. Which method it was is
 * not in the record.
 */
static const struct frame_name early_code = {KLASS_JVM, "[code not known yet]", "", -1,
					     -1,	FRAME_NATIVE,		0,  0};

static int user_names(struct resolver *r, uint64_t addr, struct frame_name *out, int max)
{
	int n = agent_names(r, addr, out, max);

	if (n > 0)
		return n;
	symproc_lookup(r->native, addr, out);
	if (!strcmp(out->klass, KLASS_ANON) &&
	    (r->vm ? codecache_may_have(r->vm, addr) : jvm_begins(r)))
		*out = early_code;
	return 1;
}

static int heap_names(struct resolver *r, const struct gn_frame *f, uint64_t addr,
		      struct frame_name *out, int max)
{
	return r->vm ? vm_name(r->vm, f, out, max) : user_names(r, addr, out, max);
}

/* Whether compiled code can be named from the JVM's memory. */
static bool compiled_told(const struct resolver *r)
{
	return r->vm && vm_has(r->vm, VM_NMETHOD) && vm_has(r->vm, VM_SCOPES);
}

/*
 * Names a compiled method's frames. The JVM's memory tells which compilation the code belongs to.
 * An agent knows only what was last said to be at the address (in a known call tree 1 of 4,000
 * names was another method's), so it is asked only if the memory cannot tell.
 */
static int compiled_names(struct resolver *r, const struct gn_frame *f, uint64_t addr,
			  struct frame_name *out, int max)
{
	int n = compiled_told(r) ? 0 : agent_names(r, addr, out, max);

	return n > 0 ? n : heap_names(r, f, addr, out, max);
}

/* Names the frames of a compiled method that is unlocking a monitor. */
static int unlocker_names(struct resolver *r, const struct gn_frame *f, struct frame_name *out,
			  int max)
{
	return compiled_told(r) ? vm_name_unlocker(r->vm, f, out, max)
				: compiled_names(r, f, gn_frame_addr(f) - 1, out, max);
}

/* The logical frames of one physical frame, innermost first. */
static int frame_names(struct resolver *r, const struct gn_frame *f, struct frame_name *out,
		       int max)
{
	uint64_t addr = gn_frame_addr(f);

	if (gn_frame_flags(f) & GN_FF_RETADDR)
		addr--;
	switch (gn_frame_kind(f)) {
	case GN_FRAME_KERNEL:
		kernel_name(r, addr, out);
		return 1;
	case GN_FRAME_NMETHOD:
		return compiled_names(r, f, addr, out, max);
	case GN_FRAME_INTERP:
	case GN_FRAME_STUB:
		return heap_names(r, f, addr, out, max);
	default:
		return user_names(r, addr, out, max);
	}
}

/*
 * Copies the frame's strings, since those of a symbolizer live only until its next call; those of
 * methods live longer (jvm/method.h).
 */
static void frame_keep(struct resolver *r, struct frame_name *f)
{
	if (f->method_key && !r->copies_all)
		return;
	f->klass = arena_string(&r->strings, f->klass);
	f->method = arena_string(&r->strings, f->method);
	f->sig = arena_string(&r->strings, f->sig);
}

static size_t skip(struct resolver *r, const struct gn_frame *frames, size_t i, size_t n,
		   const char *const *any, size_t nany)
{
	struct frame_name name;

	for (; i < n; i++) {
		kernel_look_up(r, gn_frame_addr(&frames[i]) - 1, true, &name);
		if (!begins_with(name.method, any, nany))
			break;
	}
	return i;
}

static size_t kernel_skip(struct resolver *r, const struct gn_frame *frames, size_t n)
{
	size_t i = skip(r, frames, 0, n, own_frames, sizeof(own_frames) / sizeof(*own_frames));

	return i ? skip(r, frames, i, n, switch_frames,
			sizeof(switch_frames) / sizeof(*switch_frames))
		 : 0;
}

/* Marks a guessed frame in the recording: it is a frame of its own below the guessed one. */
static const struct frame_name guessed_mark = {KLASS_GNOMON, "[caller guessed]", "", -1,
					       -1,	     FRAME_NATIVE,	 0,  0};

/*
 * The base of a virtual thread's stack: nothing has called what it runs, or its callers are still
 * in the heap.
 */
static const struct frame_name virtual_mark = {
	KLASS_GNOMON, "[base of a virtual thread]", "", -1, -1, FRAME_NATIVE, 0, 0};
static const struct frame_name heap_mark = {
	KLASS_GNOMON, "[callers in the Java heap]", "", -1, -1, FRAME_NATIVE, 0, 0};

/*
 * The JVM replaces a deoptimised frame by interpreted ones, which it lays out empty and then fills
 * in (Deoptimization::unpack_frames, runtime/deoptimization.cpp). Until that function returns they
 * may hold what lay there before.
 */
static bool unpacks(const struct frame_name *name)
{
	return !strcmp(name->method, "DeoptimizationBlob") ||
	       !strcmp(name->method, "UncommonTrapBlob");
}

/*
 * Whether the function is the slow path of unlocking: C2's
 * (SharedRuntime::complete_monitor_unlocking_C) or C1's (its stubs Runtime1::monitorexit and
 * monitorexit_nofpu).
 */
static bool unlocks(uint32_t kind, const struct frame_name *name)
{
	return (kind == GN_FRAME_USER && strstr(name->method, "complete_monitor_unlocking")) ||
	       (kind == GN_FRAME_STUB && strstr(name->method, "monitorexit"));
}

static size_t stack_name(struct resolver *r, const struct gn_stack *stack, struct frame_name *out,
			 size_t max, bool *cut)
{
	const struct gn_frame *frames = gn_stack_frames(stack);
	size_t n = (size_t)stack->nkernel + stack->nuser, at = 0;
	struct frame_name names[INLINE_MAX];
	bool unpacked = false, unlocked = false, guessed;

	arena_reset(&r->strings);
	*cut = r->guessed = r->unnamed = false;
	if (r->vm)
		vm_at(r->vm, stack->h.time);
	for (size_t i = kernel_skip(r, frames, stack->nkernel); i < n; i++) {
		uint32_t kind = gn_frame_kind(&frames[i]);
		int k = unlocked && kind == GN_FRAME_NMETHOD
				? unlocker_names(r, &frames[i], names, INLINE_MAX)
				: frame_names(r, &frames[i], names, INLINE_MAX);

		unlocked = unlocks(kind, &names[0]);
		unpacked = unpacked && kind == GN_FRAME_INTERP;
		guessed = unpacked || gn_frame_flags(&frames[i]) & GN_FF_GUESSED;
		r->guessed |= guessed;
		if (guessed && at < max)
			out[at++] = guessed_mark;
		unpacked |= kind == GN_FRAME_STUB && unpacks(&names[0]);
		for (int j = 0; j < k; j++) {
			if (at == max) {
				*cut = true;
				return at;
			}
			r->unnamed |= vm_is_unloaded(&names[j]);
			frame_keep(r, &names[j]);
			out[at++] = names[j];
		}
	}
	if (stack->end == GN_END_CONT && at < max)
		out[at++] = virtual_mark;
	if (stack->end == GN_END_HEAP && at < max)
		out[at++] = heap_mark;
	return at;
}

size_t resolver_stack(struct resolver *r, const struct gn_stack *stack, struct frame_name *out,
		      size_t max, bool *cut)
{
	unsigned int drops = r->vm ? vm_names_drops(r->vm) : 0;
	size_t n = stack_name(r, stack, out, max, cut);

	if (!r->vm || vm_names_drops(r->vm) == drops)
		return n;
	r->copies_all = true;
	n = stack_name(r, stack, out, max, cut);
	r->copies_all = false;
	return n;
}

bool resolver_guessed(const struct resolver *r)
{
	return r->guessed;
}

bool resolver_unnamed(const struct resolver *r)
{
	return r->unnamed;
}

bool resolver_in_doubt(const struct resolver *r)
{
	return r->vm && vm_in_doubt(r->vm);
}

void resolver_notice(struct resolver *r, const struct gn_stack *stack)
{
	const struct gn_frame *f = gn_stack_frames(stack) + stack->nkernel;
	bool any = false;

	for (int i = 0; i < stack->nuser && r->vm; i++) {
		if (gn_frame_kind(&f[i]) != GN_FRAME_INTERP)
			continue;
		if (!any)
			vm_at(r->vm, stack->h.time);
		any = true;
		vm_notice(r->vm, &f[i]);
	}
}

static uint64_t text_mix(uint64_t h, const char *text)
{
	unsigned int v;

	HASH_VALUE(text, strlen(text), v);
	return uw_mix(h, v);
}

uint64_t resolver_interpreted(struct resolver *r, const struct gn_stack *stack)
{
	const struct gn_frame *f = gn_stack_frames(stack) + stack->nkernel;
	struct frame_name name[INLINE_MAX];
	uint64_t h = 1;

	if (!r->vm)
		return 0;
	vm_at(r->vm, stack->h.time);
	for (int i = 0; i < stack->nuser; i++) {
		if (gn_frame_kind(&f[i]) != GN_FRAME_INTERP)
			continue;
		if (vm_name(r->vm, &f[i], name, INLINE_MAX) != 1 || vm_is_unloaded(name))
			return 0;
		h = text_mix(text_mix(h, name->klass), name->method);
		h = text_mix(h, name->sig);
	}
	return h ? h : 1;
}

struct resolver_span resolver_span(const struct resolver *r)
{
	struct unloads_span span = {0};

	if (r->vm)
		span = unloads_span(r->vm);
	return (struct resolver_span){span.count, span.since_ns};
}

bool resolver_spans(struct resolver *r, const struct resolver_span *span, uint64_t time)
{
	struct unloads_span of = {span->count, span->since_ns};

	return !r->vm || unloads_spans(r->vm, &of, time);
}

/* ---- threads ---- */

/*
 * The tid by which the JVM knows the thread; 0: the thread has ended, so that cannot be found out
 * any more.
 */
static pid_t tid_inside(const struct resolver *r, pid_t tid)
{
	struct proc_status st;

	if (!r->nested)
		return tid;
	return proc_status_read(r->tgid, tid, &st) ? 0 : proc_status_inner(&st);
}

static void listed_free(struct resolver *r)
{
	struct listed_thread *l, *tmp;

	HASH_ITER(hh, r->listed, l, tmp) {
		HASH_DEL(r->listed, l);
		free(l);
	}
	r->nlisted = 0;
	r->list_whole = false;
}

static int on_listed(void *arg, uint64_t thread, pid_t tid)
{
	struct resolver *r = arg;
	struct listed_thread *l;

	r->nlisted++;
	HASH_FIND_INT(r->listed, &tid, l);
	if (l)
		return 0;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->tid = tid;
	l->thread = thread;
	HASH_ADD_INT(r->listed, tid, l);
	return 0;
}

static bool list_due(const struct resolver *r, uint64_t now)
{
	uint64_t age = now - r->listed_ns;

	return r->nlisted <= LIST_THREADS || (age >= LIST_NS && age >= r->listing_ns * LIST_SHARE);
}

/* Is each Java thread of now in the list? With thousands of threads that is long in the making. */
static bool threads_are_listed(const struct resolver *r)
{
	struct vm_threads_mark now;

	return r->list_whole && !vm_threads_mark(r->vm, &now) && now.list == r->list_mark.list &&
	       now.started == r->list_mark.started;
}

/* Lists all Java threads. False: they were listed a short while ago. */
static bool threads_list(struct resolver *r)
{
	uint64_t begin;
	bool marked;

	if (!list_due(r, now_ns()))
		return false;
	begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	listed_free(r);
	marked = !vm_threads_mark(r->vm, &r->list_mark);
	r->list_whole = !vm_threads(r->vm, on_listed, r) && marked;
	r->listed_ns = now_ns();
	r->listing_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	return true;
}

/* 0; -ENOENT: it is none of those listed, or has no name; -EAGAIN: its name cannot be read now. */
static int listed_read(struct resolver *r, pid_t inner, uint64_t since, struct java_thread *out)
{
	const struct listed_thread *l;
	int rc;

	HASH_FIND_INT(r->listed, &inner, l);
	rc = l ? vm_thread_read(r->vm, l->thread, inner, since, out) : -ENOENT;
	if (rc)
		return rc == -EAGAIN ? rc : -ENOENT;
	return out->name[0] ? 0 : -ENOENT;
}

/*
 * 0, -ENOENT, or -EAGAIN: objects move, or it is none of the threads listed last, which was a short
 * while ago.
 */
static int thread_in_vm(struct resolver *r, pid_t inner, uint64_t since,
			struct resolved_thread *out)
{
	struct java_thread now;
	int rc = listed_read(r, inner, since, &now);

	if (rc == -ENOENT) {
		if (threads_are_listed(r))
			return rc;
		if (!threads_list(r))
			return -EAGAIN;
		rc = listed_read(r, inner, since, &now);
	}
	if (!rc || rc == -EAGAIN)
		out->thread = now.thread;
	if (rc)
		return rc;
	out->java_id = now.id;
	out->carrier = now.carrier;
	snprintf(out->name, sizeof(out->name), "%s", now.name);
	memcpy(out->groups, now.groups, sizeof(out->groups));
	return 0;
}

int resolver_thread(struct resolver *r, pid_t tid, uint64_t since, struct resolved_thread *out)
{
	pid_t inner = tid_inside(r, tid);
	int rc = -ENOENT;
	const char *name;

	*out = (struct resolved_thread){0};
	if (r->vm && inner)
		rc = thread_in_vm(r, inner, since, out);
	if (!rc)
		return 0;
	name = r->agent ? agent_thread_name(r->agent, tid) : NULL;
	if (!name)
		return rc;
	snprintf(out->name, sizeof(out->name), "%s", name);
	return 0;
}

const char *resolver_source(const struct resolver *r)
{
	return r->source;
}
