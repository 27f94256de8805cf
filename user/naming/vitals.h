/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JVM's pulse in its recording: ten times a second its performance counters are looked at for
 * collections, once a second for the rest (less often where there are many JVMs or threads:
 * vitals_interval()), and the kernel's files about the process, its control group and the machine
 * (jfr/vitals.h: what is written; gnomon-jfr(5): what each is made of). Used from the naming
 * thread.
 */
#ifndef GNOMON_NAMING_VITALS_H
#define GNOMON_NAMING_VITALS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cause_place;
struct jfrw;
struct pulse;
struct vitals;
struct vitals_host;
struct vm;

/* What all targets share: the machine is looked at once for all of them. NULL: no memory. */
struct vitals_host *vitals_host_new(void);
void vitals_host_free(struct vitals_host *h);

/* `environment`: its variables are wanted, too. NULL: no memory. */
struct vitals *vitals_new(pid_t pid, struct jfrw *out, struct vitals_host *host, bool environment);
void vitals_free(struct vitals *v); /* NULL is fine */

/* ns between two looks at what comes each second, of one of so many JVMs that has so many threads.
 */
uint64_t vitals_interval(size_t jvms, uint64_t threads);

/*
 * Look at what is due at `now`, and write it. `vm` is the JVM as it can be read now, or NULL; it is
 * not kept. `last`: the recording ends, so all is due.
 */
void vitals_poll(struct vitals *v, struct vm *vm, uint64_t now, bool last);

/* Reads the figures of the last look. */
void vitals_pulse(const struct vitals *v, struct pulse *out);

/* The recording ends, or has ended, then: what began later is not in it. */
void vitals_stop(struct vitals *v, uint64_t stop_ns);

/* The process has become another program. */
void vitals_exec(struct vitals *v);

/*
 * Tells whether threads' CPU times are due (each ten seconds), since when, and the machine's CPU
 * time since then (idle, too), of which they are shares.
 */
bool vitals_threads_due(struct vitals *v, uint64_t now, uint64_t *machine_ns);

/*
 * A wait of 10 ms or more, as its JDK event where the state has one, or for what it waited for in
 * IO: of `ticks` wall ticks `wall_ns` apart, the first at time_ns, and as long as span_ns.
 */
void vitals_wait_io(struct jfrw *out, uint32_t thread, uint32_t stack,
		    const struct cause_place *place, uint64_t time_ns, uint32_t ticks,
		    uint64_t wall_ns, uint64_t span_ns);
void vitals_wait(struct jfrw *out, uint32_t thread, uint32_t stack, uint32_t state,
		 uint64_t time_ns, uint32_t ticks, uint64_t wall_ns, uint64_t span_ns);

#endif
