/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a daemon does, in the text format of Prometheus (version 0.0.4); each metric is in
 * gnomon-metrics(7). Names of JVMs come from the JVMs: they are escaped, and control characters
 * are not in them.
 */
#ifndef GNOMON_RUN_METRICS_H
#define GNOMON_RUN_METRICS_H

#include <stdio.h>

#include "run/control.h"

void metrics_write(const struct control_answer *a, FILE *to);

#endif
