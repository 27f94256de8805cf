/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that triggers run: the words of a configuration, as a user of its choice, with nothing
 * of ours: no descriptor, no group, no shell. One that has not ended after a minute is killed.
 */
#ifndef GNOMON_RUN_COMMAND_H
#define GNOMON_RUN_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define COMMANDS_MAX 8 /* at a time */

struct commands {
	struct command {
		pid_t pid; /* 0: none */
		uint64_t until_ns;
	} v[COMMANDS_MAX];
};

/* What the command is told, in its environment: GNOMON_TRIGGER, GNOMON_PID and so on. */
struct command_facts {
	const char *trigger;
	pid_t pid;
	const char *name,
		*container; /* as the JVM has them: who reads them must not believe them */
	const char *dir;    /* of its recordings */
	const char *words;  /* why */
	const char *file;   /* what was kept; "": nothing */
};

/*
 * 0, -EAGAIN: too many run already; -EINVAL: nobody said as whom; or another negative errno.
 * `now_ns`: CLOCK_MONOTONIC.
 */
int command_start(struct commands *c, char *const argv[], uint32_t uid, uint32_t gid,
		  const struct command_facts *facts, uint64_t now_ns);

/* Now and then: those that have ended are forgotten, and those that take too long killed. */
void commands_look(struct commands *c, uint64_t now_ns);
bool commands_are_done(const struct commands *c);

#endif
