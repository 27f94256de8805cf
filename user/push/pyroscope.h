/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series as Grafana Pyroscope takes them: POST /push.v1.PusherService/Push (api/push/v1/push.proto
 * of grafana/pyroscope), one series in a request, since of a request with a bad series the good
 * ones are stored and all is answered with an error. CPU time is process_cpu, wall time wall, time
 * off the CPU off_cpu, each with its own interval.
 */
#ifndef GNOMON_PUSH_PYROSCOPE_H
#define GNOMON_PUSH_PYROSCOPE_H

#include "push/labels.h"
#include "push/series.h"
#include "spool/spool.h"

struct pyroscope {
	const struct profile *p;
	const struct labels *labels; /* service_name among them */
	bool threads;		     /* a label for each thread, beside its group's */
	struct spool *to;
	/* counted here */
	uint64_t payloads, samples, bytes;
	uint64_t too_large; /* samples that are no part of anything that a server takes */
};

/* A series_fn; ctx is a struct pyroscope. As many payloads as its limits make necessary. */
int pyroscope_take(void *ctx, const struct series *s);

/* A profile without samples, to hear what the server says. 0 or -errno. */
int pyroscope_probe(struct spool *to, const struct labels *labels);

#endif
