/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent provider of Java names: loads the embedded JVMTI library into a JVM, follows its stream
 * and answers what lies at an address at a time. One thread uses a struct agent.
 */
#ifndef GNOMON_JVM_AGENT_H
#define GNOMON_JVM_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/frame.h"
#include "jvm/agentindex.h"

struct agent;

struct agent_config {
	size_t ring_bytes; /* in the JVM, 0 = 4 MiB */
	size_t max_bytes;  /* of names and tables here, 0 = 256 MiB */
	int timeout_ms;	   /* for attaching, 0 = 10 s */
	bool perfmap;	   /* also write /tmp/perf-PID.map inside the target, and keep it up */
	/* while it is not 0 there is no time to wait for the JVM; NULL: there always is */
	const _Atomic uint32_t *haste;
};

struct agent_stats {
	struct agentindex_stats index;
	uint64_t overtaken; /* times the ring was overwritten before it was read */
	uint64_t attach_ns; /* how long the last attaching took, all told */
	bool reused;	    /* the library was in the JVM already */
	bool complete;	    /* everything that existed at the attach has been read */
};

/*
 * Load the library (or wake the one that is there) and read all that exists. On JDK 21+ without
 * -XX:+EnableDynamicAgentLoading the JVM writes a warning to its stderr the first time (JEP 451);
 * attach_check() tells beforehand.
 */
int agent_start(struct agent **out, pid_t pid, const struct agent_config *cfg, struct error *e);

/*
 * Read what is new; call it at least every few seconds (the lease is 30 s) and more often while
 * much is compiled. Returns the number of bytes read, -ESRCH when the process has ended, -ESTALE
 * when the agent has given us up: then agent_resync().
 */
int64_t agent_poll(struct agent *a);

/*
 * Have everything that exists sent again: after losses, or -ESTALE. A failure leaves -ESTALE. Takes
 * as long as agent_start().
 */
int agent_resync(struct agent *a, struct error *e);

/*
 * Both: agent_poll(), and agent_resync() where that says -ESTALE or records were lost, less and
 * less often while that goes on. Returns what agent_poll() said.
 */
int64_t agent_follow(struct agent *a, uint64_t now_ns);

/* As agentindex_lookup(): innermost first; for a return address pass the address minus 1. */
int agent_lookup(struct agent *a, uint64_t pc, uint64_t time_ns, struct frame_name *out, int max);
bool agent_range(struct agent *a, uint64_t pc, uint64_t time_ns, uint64_t *start, uint32_t *size);

/*
 * Full Java names, NULL if unknown; valid until the next poll. tid as the host has it. A thread
 * that has ended keeps its name until another one has its number.
 */
const char *agent_thread_name(struct agent *a, pid_t tid);

void agent_stats(const struct agent *a, struct agent_stats *s);

/* Silence the agent (unless another gnomon listens) and free everything. NULL is fine. */
void agent_stop(struct agent *a);

/* Write /tmp/perf-PID.map of what is compiled now, inside the target; nothing stays switched on. */
int agent_write_perfmap(pid_t pid, int timeout_ms, struct error *e);

#endif
