/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of stacks as they came from the kernel: to explain one that is wrong. */
#ifndef GNOMON_NAMING_STACKLOG_H
#define GNOMON_NAMING_STACKLOG_H

#include "kern/abi.h"

/*
 * Nothing without -vvv. With it a line on stderr for each stack that is new:
 *
 *   stack TIME tid TID WAY END ID KIND[FLAGS]:ADDR[:DATA] ...
 *
 * TIME is UTC, WAY clock, switch or remote (enum gn_stack_way), END enum gn_walk_end; frames follow
 * leaf first, KIND one of k(ernel), u(ser), i(nterpreted), n(method), s(tub), FLAGS r(eturn
 * address), g(uessed), f(rame pointer); ADDR and DATA as kern/abi.h has them, in hexadecimal.
 */
void stacklog(const struct gn_stack *s);

#endif
