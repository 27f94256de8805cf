/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that open: workers that take what is asked from one socket, whoever is free, and
 * their parent, which makes another one in place of each that was given up. All of them end when
 * whoever made them has ended.
 */
#ifndef GNOMON_BROKER_WORKERS_H
#define GNOMON_BROKER_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "broker/opening.h"

struct workers;

int workers_start(struct workers **out); /* 0 or -errno */
void workers_stop(struct workers *w);

/*
 * Hands over what is asked, with two descriptors: the directory, and the socket for the answer
 * (struct opening_answer, and bytes). 0, -EAGAIN: nobody takes anything, or another negative errno.
 */
int workers_ask(struct workers *w, const struct opening_ask *ask, int at, int answer);

/* Who does it: a process, or 0 when nobody has taken it yet. */
pid_t workers_who(const struct workers *w, uint64_t id);

/* Gives up who does it, and has another one made. */
void workers_give_up(struct workers *w, uint64_t id);

/* A descriptor to go with what is asked without a directory. */
int workers_asks(const struct workers *w);

size_t workers_descriptors(const struct workers *w, int fds[2]);

uint64_t workers_cpu_ns(const struct workers *w);

#endif
