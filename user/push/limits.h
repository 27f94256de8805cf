/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Pyroscope server takes by its defaults (pkg/validation/limits.go of
 * grafana/pyroscope, 2.2, and as it answered when tried). What is beyond is not sent so: it is cut
 * into smaller parts.
 */
#ifndef GNOMON_PUSH_LIMITS_H
#define GNOMON_PUSH_LIMITS_H

/* Bytes of a profile before compression: the burst of the rate limit, 2 MB; above it the answer is
 * 429 for ever. */
#define PYROSCOPE_BYTES	       1900000
#define PYROSCOPE_SAMPLES      16000
#define PYROSCOPE_LABELS       30 /* of a series, with those of its samples */
#define PYROSCOPE_LABEL_NAME   1024
#define PYROSCOPE_LABEL_VALUE  2048
#define PYROSCOPE_BYTES_SECOND 2000000 /* half of what a tenant may send */
#define PYROSCOPE_AGE_NS       3600000000000ull

#endif
