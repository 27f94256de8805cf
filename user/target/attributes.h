/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program says of itself to those who sort telemetry, by the names of OpenTelemetry's
 * semantic conventions: "service.name", "k8s.pod.name" ...
 */
#ifndef GNOMON_TARGET_ATTRIBUTES_H
#define GNOMON_TARGET_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>

#define ATTRIBUTE_KEY	64
#define ATTRIBUTE_VALUE 256

struct attribute {
	char key[ATTRIBUTE_KEY], value[ATTRIBUTE_VALUE];
};

/*
 * The next pair of OTEL_RESOURCE_ATTRIBUTES, "key=value,key=value" with values percent-encoded. One
 * that is too long or empty is left out. False at the end.
 */
bool attribute_next(const char **text, struct attribute *a);

/* *a is a copy of those bytes. False: they are too long, empty, or have a NUL. */
bool attribute_copy(struct attribute *a, const char *key, size_t nkey, const char *value,
		    size_t nvalue);

/*
 * Does the key say which service, deployment, container or pod it is? Others may be anything, also
 * what is nobody's business: they are neither recorded nor sent.
 */
bool attribute_is_known(const char *key);

#endif
