/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Series as OpenTelemetry's collector and whoever speaks its protocol take them: POST
 * /v1development/profiles with an ExportProfilesServiceRequest of opentelemetry-proto 1.11, package
 * profiles.v1development. That is not stable: all that is known of it stands in otlp.c.
 *
 * CPU time is samples/count, each with its time and without a value, of a period of
 * cpu/nanoseconds; time off the CPU is off_cpu/nanoseconds, without a period. There is no kind for
 * wall time.
 */
#ifndef GNOMON_PUSH_OTLP_H
#define GNOMON_PUSH_OTLP_H

#include "push/parts.h"

extern const struct protocol otlp;

#endif
