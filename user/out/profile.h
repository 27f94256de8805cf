/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is rendered: the samples of one or more recordings as a tree of calls, with the time spent
 * per place, thread and state. Filled by profile_load(), closed by profile_finish(), then read
 * freely through its fields.
 *
 * Time comes from counts: samples x interval, each source with its own interval. A cell counts
 * towards one or several dimensions:
 *
 *	CPU   on a CPU
 *	OFF   off the CPU: waiting, blocked, sleeping, or queued for a CPU
 *	WALL  both: the thread was alive. Where a recording has wall samples of running threads
 *	      too (async-profiler), these alone make up the running part of WALL, so that nothing
 *	      counts twice.
 *
 * Where a recording sampled only part of its threads, times are scaled up to all of them, and
 * numbers of samples are of those taken.
 */
#ifndef GNOMON_OUT_PROFILE_H
#define GNOMON_OUT_PROFILE_H

#include "base/error.h"
#include "base/frame.h"
#include "jfr/read_sample.h"
#include "jfr/stretch.h"
#include "out/blame.h"
#include "out/nativefiles.h"
#include "out/names.h"
#include "out/lanes.h"
#include "base/pattern.h"
#include "out/vitals.h"

struct told;

enum dim {
	DIM_CPU = 0,
	DIM_WALL,
	DIM_OFF,
	DIMS,
};

extern const char *const dim_names[DIMS + 1]; /* "cpu", "wall", "off", NULL */

#define NODE_ROOT 0u
#define NODE_NONE UINT32_MAX

/*
 * A method is one frame, whether the interpreter runs it or either compiler's code does: its type
 * is PROF_JAVA. With split_tiers it is a frame of each type that it has in the recording.
 */
#define PROF_JAVA  7 /* beside those of enum frame_type */
#define PROF_CAUSE 9 /* what the frame that called it waited for; 8 is the page's own */
#define PROF_TYPES 10

enum prof_tier {
	TIER_INTERPRETED,
	TIER_C1,
	TIER_JIT, /* C2 or another top tier */
	TIER_INLINED,
	TIERS,
};

/* How a node's wall time, the CPU's with it, is shared by the tiers, in percent: 100 in all. */
struct prof_tiers {
	uint8_t percent[TIERS]; /* all 0 where no tier is known, as of native frames */
};

struct prof_frame {
	uint32_t name;
	uint8_t type;  /* enum frame_type, PROF_JAVA or PROF_CAUSE */
	uint8_t match; /* which patterns of the filter it matches, internal */
};

struct prof_node {
	uint32_t parent; /* always smaller than the node's own number */
	uint32_t frame;
};

/*
 * A thread under one of its names. What has another name later, or had none known before, is the
 * same thread: by its Java id, which no other thread of the JVM ever has, or where that is not
 * known by the kernel's. Virtual threads have no kernel's id: of several recordings, which may be
 * of several JVMs, one that has another name is another one.
 */
struct prof_thread {
	uint32_t name;
	uint32_t group; /* name with its digits replaced by '#' */
	int64_t os_id, java_id;
	bool is_virtual;
	uint32_t self; /* after profile_finish(): the same number for all names of one thread */
};

struct prof_cell {
	uint32_t node;	/* of the leaf */
	uint32_t below; /* with owners_aside: below a lock what its owner did; else as `node` */
	uint32_t thread;
	uint16_t state;
	uint8_t source; /* enum jfr_source */
	uint8_t side;	/* 0, or 1 for the other recording of a comparison */
	uint8_t dims;	/* 1 << enum dim; after profile_finish() */
	uint32_t link;	/* of profile.links; 0: no request */
	/* what each of its samples stands for, where these say so; 0: the file's settings do */
	uint64_t period_ns;
	uint64_t samples; /* taken */
	double pending;	  /* of this chunk, scaled up, whose interval is not yet known */
	uint64_t ns;
};

/* Which span of which trace: names of 16 and 32 lower-case hexadecimal digits, not all zero. */
struct prof_link {
	uint32_t trace, span;
};

/*
 * One sample or batch in time, for what shows time (`keep_times`). Of a long recording there would
 * be too many: then those of one cell within some milliseconds are one (profile_times.c).
 */
struct prof_time {
	int64_t start_ns; /* relative to profile.start_ns */
	uint64_t span_ns;
	uint32_t cell;
	uint32_t ticks;
	uint32_t request; /* with `told`: its number there + 1; 0: none of these */
};

struct prof_state {
	uint32_t name; /* without "STATE_" */
	bool waits;    /* for something that is not a CPU or a monitor: idle, perhaps */
	bool wanted;   /* passes the filter */
};

struct profile_options {
	uint64_t from_ns, to_ns; /* of profile_load(): since a file's start; to 0 = to its end */
	struct pattern_list threads, states, endpoints;
	struct pattern_list endpoint_rules;   /* requests are those of these rules (entered.h) */
	struct pattern_list traces, spans;    /* of requests, as gnomon.Context has them */
	uint64_t slower_ns;		      /* requests that took so long; 0: any */
	struct pattern_list include, exclude; /* samples with, without such a frame */
	struct pattern_list focus;	      /* the stack begins at the outermost such frame */
	struct pattern_list hide;	      /* such frames go, their time stays */
	bool lines;			      /* frames of different lines are different frames */
	bool split_tiers;  /* interpreted, C1, C2 and inlined are different frames */
	bool causes;	   /* what a wait waited for is called by the Java method that waits */
	bool owners;	   /* with these: below a lock who had it, and what that thread did */
	bool owners_aside; /* likewise, but in prof_cell.below, beside the stack without it */
	bool keep_times;
	bool no_facts;		 /* only samples count: facts, vitals and lanes stay empty */
	bool keep_links;	 /* samples of different spans are different cells */
	bool keep_files;	 /* in which files native frames lie, also with no_facts */
	const struct told *told; /* with keep_times: which request samples are of; NULL: any */
	/*
	 * A thread that waits for work is IDLE, by rules over its frames (out/idle.h), as those are
	 * that wait in native code. What is idle counts nowhere unless it is asked for.
	 */
	struct pattern_list idle_rules; /* beside those known */
	bool show_idle;
	enum jfr_unmounted unmounted; /* virtual threads that nobody ran count as a thread, too */
};

enum prof_quality_kind { QUALITY_CPU, QUALITY_WALL, QUALITY_OTHER, QUALITY_KINDS };

/* What the recording says about itself and its quality; zero or -1 where it does not. */
struct profile_facts {
	char jvm_version[256], java_args[512], os[256], cpu[128];
	int64_t pid;
	uint64_t hw_threads;
	uint64_t cpu_samples_lost; /* jdk.CPUTimeSamplesLost */
	uint64_t bytes_lost;	   /* jdk.DataLoss */
	uint64_t failed_stacks;	   /* jdk.CPUTimeSample with failed */
	uint64_t truncated_samples[JFR_SOURCES], no_stack_samples[JFR_SOURCES];
	uint64_t throttled_ns, throttled_slices, slices; /* jdk.ContainerCPUThrottling, latest */
	struct prof_quality { /* gnomon.StackQuality by its kind, added up */
		uint64_t samples, complete, guessed, truncated, bad_address, no_rule, failed,
			unnamed, in_heap;
	} quality[QUALITY_KINDS];
	struct prof_loss { /* gnomon.SamplesLost by kind and reason, the first few of these */
		char what[96];
		uint64_t count;
	} losses[24];
	uint32_t nlosses;
	/* gnomon.Overhead, added up */
	uint64_t collector_ns, bpf_ns, stolen_ns, overhead_period_ns;
	struct prof_cpus { /* gnomon.CPUUse, the latest; period_ns 0: not said */
		uint64_t period_ns, machine_ns, own_ns;
		struct prof_cpu_user {
			char name[64];
			int64_t pid;
			uint64_t count, ns;
		} others[5]; /* most first */
		uint32_t nothers;
	} cpus;
	struct { /* gnomon.UnmountedLook: sums; threads by the ns that they are of */
		uint64_t looks, period_ns, places, drawn, left_out, cpu_ns;
		double threads_ns, mounted_ns, unsettled_ns, unknown_ns, strange_ns;
	} unmounted;
	struct { /* gnomon.ThreadReservoir: sums over the choices that left threads out */
		uint64_t n, last; /* how many, and the number of the last one */
		uint64_t live, eligible, sampled;
	} reservoir;
};

/* How many events of a kind there were. */
struct prof_count {
	uint32_t name;
	uint64_t events, bytes;
};

struct profile {
	struct profile_options opt;
	struct names names;
	struct prof_frame *frames;
	struct prof_node *nodes;
	struct prof_tiers *tiers; /* by node; NULL with split_tiers */
	struct prof_thread *threads;
	struct prof_state *states;
	struct prof_cell *cells;
	struct prof_time *times;
	struct prof_link *links; /* link 0 is none */
	uint32_t nlinks;
	uint32_t nframes, nnodes, nthreads, nstates, ncells;
	uint32_t nselves; /* threads, whatever they were called; after profile_finish() */
	size_t ntimes;
	struct prof_count *counts;
	uint32_t ncounts;
	int64_t start_ns, end_ns;	 /* since 1970: of the first recording, of the last one */
	uint64_t from_ns, to_ns;	 /* what is shown, since start_ns; to 0 = to the end */
	uint64_t side_ns[2];		 /* recorded, per side: its files one after the other */
	uint64_t chosen_ns[2];		 /* what is shown of these */
	uint64_t period_ns[JFR_SOURCES]; /* where samples differ, the shortest */
	uint64_t samples[JFR_SOURCES];	 /* that passed the filter */
	uint64_t total_ns[2][DIMS];	 /* per side */
	uint64_t idle_ns[2];		 /* per side: idle, and left out of all else */
	bool period_assumed[JFR_SOURCES];
	bool execution_dropped[2]; /* per side: jdk.ExecutionSample beside jdk.CPUTimeSample */
	bool wall_runs[2];	   /* per side: wall samples of running threads are there */
	struct profile_facts facts;
	struct prof_vitals vitals[2]; /* per side */
	struct lanes lanes;	      /* with keep_times */
	struct blame blame;	      /* with causes */
	struct native_files files;    /* with keep_files */
	struct prof_index *index;     /* internal */
};

/* What all virtual threads that nobody ran are called as a thread. */
#define PROFILE_UNMOUNTED "virtual threads that nobody runs"

int profile_new(struct profile **p, const struct profile_options *o, struct error *e);
void profile_free(struct profile *p);

/*
 * Add a recording, or what was cut of it; the report of its reader goes to *rep when that is given
 * (without counts). Of chunks that lie behind the time wanted only samples are taken that were
 * before its end.
 */
int profile_load_stretch(struct profile *p, const struct stretch *s, int side,
			 struct jfr_report *rep, struct error *e);
/* The same of a file, of which opt.from_ns and opt.to_ns say what is wanted. */
int profile_load(struct profile *p, const char *path, int side, struct jfr_report *rep,
		 struct error *e);

/*
 * Decide what counts where, and the totals, and make one frame of each method. Nothing may be
 * loaded afterwards. -ENOMEM is the only failure.
 */
int profile_finish(struct profile *p, struct error *e);

/* A finished profile of one recording. If it fails, *p is freed, and NULL. */
int profile_take(struct profile **p, const struct profile_options *o, const struct stretch *s,
		 struct jfr_report *rep, struct error *e);

/* From its first chunk's start to its last's end; 0 where these make no sense. */
static inline uint64_t profile_recorded_ns(const struct profile *p)
{
	return p->end_ns > p->start_ns ? (uint64_t)p->end_ns - (uint64_t)p->start_ns : 0;
}

static inline const char *profile_frame_name(const struct profile *p, uint32_t frame)
{
	return names_get(&p->names, p->frames[frame].name);
}

/*
 * Self time of every node in `dim` of `side`, and the total below it (both nnodes long; either
 * may be NULL).
 */
void profile_weigh(const struct profile *p, enum dim dim, int side, uint64_t *self,
		   uint64_t *total);

#define PROF_ANY_STATE UINT32_MAX

/*
 * profile_weigh() of one state, or of all, by Java method: what a stack's innermost Java frame
 * does, or has done for it natively, is its own. What waits is told by that; below it lies the same
 * kernel for all. `causes`: what was waited for is told by itself.
 */
void profile_weigh_java(const struct profile *p, enum dim dim, int side, uint32_t state,
			bool causes, uint64_t *self, uint64_t *total);

/* The number of the state IDLE; NODE_NONE where nothing is idle. */
uint32_t profile_idle_state(const struct profile *p);

/*
 * In words, when only part of the threads was sampled: "64 of 2,000 threads". False, and nothing,
 * when all were.
 */
bool profile_sampled_threads(const struct profile *p, char *to, size_t size);

/* A method of Java, not native code, the VM or the kernel. */
bool profile_frame_is_java(const struct profile *p, uint32_t frame);
/* One of the program's: what the JDK does for it is the same for all. */
bool profile_frame_is_own(const struct profile *p, uint32_t frame);
/* The innermost Java frame of the stack that ends in `node`; NODE_ROOT where it has none. */
uint32_t profile_node_java(const struct profile *p, uint32_t node);
/* The name of its innermost method of the program's, or else of Java's; NAME_NONE: of neither. */
uint32_t profile_node_place(const struct profile *p, uint32_t node);

#endif
