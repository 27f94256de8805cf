/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A running JVM's performance counters, read as often as one likes: nothing in the JVM runs for it,
 * and nothing is locked or written. Where they lie its VM structures tell (PerfMemory::_start),
 * also with -XX:+PerfDisableSharedMem, which leaves them in anonymous memory; without structures
 * the mapping of its hsperfdata file does, whatever the container. Where that is a file it is
 * opened for reading and read as a file, which costs less than memory, and holds nobody up whatever
 * the JVM does to its mappings; after the JVM's end it has what was last written there.
 *
 * The entries are looked at once, and again when there are more of them; after that a poll reads
 * the values alone, a few kB in some pieces, and a glance those of the heap and its collectors,
 * mostly one piece (tools/bench/vitals.sh tells what that costs). What they say is hostile until it
 * is checked: numbers may be anything, texts hold no control characters and end.
 */
#ifndef GNOMON_JVM_COUNTERS_H
#define GNOMON_JVM_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "jvm/gctimer.h"
#include "jvm/mem.h"

struct counters;
struct vm;

#define COUNTERS_COLLECTORS 4 /* sun.gc.collector.N: young, full, concurrent cycle */
#define COUNTERS_GENS	    2
#define COUNTERS_SPACES	    4

/* Those that are read. Times are ticks of CTR_HZ a second unless they say otherwise. */
enum counter {
	CTR_HZ,		/* sun.os.hrt.frequency */
	CTR_TICKS,	/* sun.os.hrt.ticks: the VM's clock, as of its last sampling (50 ms) */
	CTR_BEGIN_MS,	/* sun.rt.createVmBeginTime: ms since 1970, some us after tick 0 */
	CTR_CAUSE,	/* text: of the collection under way, "No GC" */
	CTR_LAST_CAUSE, /* text: of the last one that has ended */
	CTR_THREADS_LIVE,
	CTR_THREADS_PEAK,
	CTR_THREADS_DAEMON,
	CTR_THREADS_STARTED,
	CTR_LOADED,
	CTR_LOADED_SHARED,
	CTR_UNLOADED,
	CTR_UNLOADED_SHARED,
	CTR_SAFEPOINTS,
	CTR_SAFEPOINT_TIME, /* once all threads had stopped, until they went on */
	CTR_SAFEPOINT_SYNC, /* before that: until all had stopped */
	CTR_META_USED,	    /* bytes */
	CTR_META_CAPACITY,
	CTR_META_MAX,
	CTR_CLASS_USED, /* of these: compressed class space */
	CTR_CLASS_CAPACITY,
	CTR_CLASS_MAX,
	CTR_TLAB_ALLOC, /* bytes */
	/* then, for each collector, generation and space; the functions below name them */
	CTR_COLLECTOR,
	CTR_GEN = CTR_COLLECTOR + COUNTERS_COLLECTORS * 5,
	CTR_SPACE = CTR_GEN + COUNTERS_GENS * 3,
	COUNTERS = CTR_SPACE + COUNTERS_GENS * COUNTERS_SPACES * 2
};

enum counter_collector {
	COLLECTOR_NAME,	       /* text */
	COLLECTOR_INVOCATIONS, /* begun */
	COLLECTOR_TIME,	       /* of all that have ended */
	COLLECTOR_ENTRY,       /* when the last one began and ended */
	COLLECTOR_EXIT,
};

enum counter_gen { GEN_CAPACITY, GEN_MAX, GEN_NAME /* text */ };
enum counter_space { SPACE_USED, SPACE_CAPACITY };

static inline unsigned int ctr_collector(unsigned int n, enum counter_collector what)
{
	return CTR_COLLECTOR + n * 5 + what;
}

static inline unsigned int ctr_gen(unsigned int g, enum counter_gen what)
{
	return CTR_GEN + g * 3 + what;
}

static inline unsigned int ctr_space(unsigned int g, unsigned int space, enum counter_space what)
{
	return CTR_SPACE + (g * COUNTERS_SPACES + space) * 2 + what;
}

/*
 * `vm` may be NULL, and is not kept. What is opened stays with this program image: after its end,
 * or an exec, polls fail or find the last values. 0, or -ENODATA	there are none:
 * -XX:-UsePerfData -EAGAIN	not yet: the JVM is starting
 * -ENOENT	they cannot be found: neither structures nor a hsperfdata file that is mapped
 * -ESTALE	they are a mapping of a file system that may not answer (FUSE, network): not touched
 * or another negative errno: -ESRCH, -EACCES, -ENOMEM. Only with 0 is *out set.
 */
int counters_open(struct counters **out, pid_t pid, struct vm *vm);

/* The same over given memory, which stays the caller's; they begin at `start`. NULL: no memory. */
struct counters *counters_new(struct mem *mem, uint64_t start);

/* What counters_place() is to say, for one that was made so. */
void counters_place_set(struct counters *c, uint64_t statics, uint64_t heap, int release);

void counters_close(struct counters *c); /* NULL is fine */

/*
 * Read all values. 0; -EAGAIN: they are still being made; -EBADMSG: damaged; -EFAULT: gone. After
 * an error the values are those of before.
 */
int counters_poll(struct counters *c);

/* The same, of the heap and its collectors alone: ids from CTR_COLLECTOR on. */
int counters_glance(struct counters *c);

/* What else can be read of this JVM; what was not found is 0. */
struct gctimer_place counters_place(const struct counters *c);

/* As last polled. False: this JVM has no such counter, or it is not of this kind. */
bool counter_number(const struct counters *c, unsigned int id, uint64_t *v);
bool counter_text(const struct counters *c, unsigned int id, char *buf, size_t cap);

/* 0 where there is none. */
uint64_t counter_value(const struct counters *c, unsigned int id);

/*
 * Every text whose name begins with `prefix`, read anew: for what is read once, such as
 * "java.property.". The name comes without the prefix.
 */
typedef void (*counters_text_fn)(void *ctx, const char *name, const char *value);
int counters_texts(struct counters *c, const char *prefix, counters_text_fn fn, void *ctx);

/* Tells what errors of counters_open() mean, in words for a person. */
const char *counters_why(int rc);

#endif
