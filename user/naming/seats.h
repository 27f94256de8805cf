/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of processes and the crews that name them (naming/crew.h). The session's thread writes;
 * any thread may look.
 */
#ifndef GNOMON_NAMING_SEATS_H
#define GNOMON_NAMING_SEATS_H

#include <stdint.h>
#include <sys/types.h>

struct seats;

struct seats *seats_new(void); /* NULL: no memory */
void seats_free(struct seats *s);

/* The crew (not 0) names the process from now on, until another one takes it. 0 or -ENOMEM. */
int seats_put(struct seats *s, pid_t tgid, uint32_t crew);

/* Returns the process's crew, also when the process has ended; 0: it has none. */
uint32_t seats_of(struct seats *s, pid_t tgid);

/* The processes of that crew have none from now on. */
void seats_clear(struct seats *s, uint32_t crew);

#endif
