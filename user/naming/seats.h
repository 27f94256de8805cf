/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes are named by which crew (naming/crew.h). The session's thread writes; any may
 * look.
 */
#ifndef GNOMON_NAMING_SEATS_H
#define GNOMON_NAMING_SEATS_H

#include <stdint.h>
#include <sys/types.h>

struct seats;

struct seats *seats_new(void); /* NULL: no memory */
void seats_free(struct seats *s);

/* From now on that crew's (not 0), as long as no other one takes it. 0 or -ENOMEM. */
int seats_put(struct seats *s, pid_t tgid, uint32_t crew);

/* Whose it is, also when it has ended; 0: nobody's. */
uint32_t seats_of(struct seats *s, pid_t tgid);

/* Nobody's are from now on all that are that crew's. */
void seats_clear(struct seats *s, uint32_t crew);

#endif
