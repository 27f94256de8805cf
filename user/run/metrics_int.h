/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of run/metrics.h share. */
#ifndef GNOMON_RUN_METRICS_INT_H
#define GNOMON_RUN_METRICS_INT_H

#include "run/metrics.h"

void metrics_head(FILE *to, const char *name, const char *type, const char *help);

/* "name{pid="1",jvm="Main",container="host",user="root"", to be closed. */
void metrics_jvm_open(const char *name, const struct control_jvm *j, FILE *to);

/* The vitals of each JVM that has any (run/metrics_vitals.c). */
void metrics_vitals_write(const struct control_answer *a, FILE *to);

#endif
