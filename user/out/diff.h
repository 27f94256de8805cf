/* SPDX-License-Identifier: Apache-2.0 */
/* Two recordings side by side: sides 0 and 1 of one profile. */
#ifndef GNOMON_OUT_DIFF_H
#define GNOMON_OUT_DIFF_H

#include <stdio.h>

#include "out/profile.h"

/*
 * The methods whose share of `dim` changed most, by self time. Shares, since recordings differ in
 * length and load. Of wall and off-CPU time a row is a method in a state, and the innermost Java
 * method has what it calls natively. A change of CPU time that chance explains is marked.
 */
int diff_table(const struct profile *p, enum dim dim, unsigned int top, FILE *f, struct error *e);

#endif
