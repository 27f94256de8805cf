/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process is called by those who sort telemetry, as gnomon.Resource: of its process context
 * (OTEL_CTX), of OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES in its environment, and of its
 * control group. Of these only what target/attributes.h knows.
 */
#ifndef GNOMON_NAMING_RESOURCE_H
#define GNOMON_NAMING_RESOURCE_H

#include <stdint.h>
#include <sys/types.h>

struct jfrw;
struct maps;

/* `maps` are those of the process. */
void resource_write(struct jfrw *out, pid_t tgid, const struct maps *maps, uint64_t time);

#endif
