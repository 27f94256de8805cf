/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series as Grafana Pyroscope takes them: POST /push.v1.PusherService/Push (api/push/v1/push.proto
 * of grafana/pyroscope), one series in a request, since of a request with a bad series the good
 * ones are stored and all is answered with an error. CPU time is process_cpu, wall time wall, time
 * off the CPU off_cpu, each with its own interval.
 */
#ifndef GNOMON_PUSH_PYROSCOPE_H
#define GNOMON_PUSH_PYROSCOPE_H

#include "push/parts.h"

extern const struct protocol pyroscope;
extern const struct protocol pyroscope_threads; /* a label for each thread, beside its group's */

#endif
