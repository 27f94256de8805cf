/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of every method as a table for other programs: self and total nanoseconds on the CPU,
 * in all (wall) and off the CPU. -ENOMEM is the only failure.
 *
 * CSV as in RFC 4180 with a header line; XML as
 *
 *	<profile duration_ns="..." threads="..." cpu_ns="..." wall_ns="..." off_ns="...">
 *	  <method name="..." cpu_self_ns="..." ... off_total_ns="..."/>
 *	</profile>
 */
#ifndef GNOMON_OUT_METHODS_H
#define GNOMON_OUT_METHODS_H

#include <stdio.h>

#include "out/profile.h"

int methods_csv(const struct profile *p, FILE *f, struct error *e);
int methods_xml(const struct profile *p, FILE *f, struct error *e);

#endif
