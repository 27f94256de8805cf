/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program of a recording is called, as far as the recording says it. The first of:
 *
 *	service.name of its process context (OTEL_CTX)
 *	OTEL_SERVICE_NAME, or service.name in OTEL_RESOURCE_ATTRIBUTES, of its environment
 *	-Dotel.service.name=NAME
 *	-Dspring.application.name=NAME, or --spring.application.name=NAME of the program's arguments
 *	the main class, or the jar's name without folder and ".jar"
 *
 * Nothing else of a command line is looked at.
 */
#ifndef GNOMON_PUSH_SERVICE_H
#define GNOMON_PUSH_SERVICE_H

#include <stdbool.h>

#include "base/error.h"
#include "jfr/stretch.h"
#include "push/labels.h"

#define SERVICE_LEN 256

/*
 * Where nothing says it: "". *more gets what else it is called (container_id, k8s_pod_uid ...), as
 * target/attributes.h knows it, and which process it is and what runs it, as labels of its run.
 */
int service_of_recording(const struct stretch *s, char to[static SERVICE_LEN], struct labels *more,
			 struct error *e);

/*
 * Pure parts: the value of `key` among words ("-Dkey=value", words apart by spaces), and among
 * OTEL_RESOURCE_ATTRIBUTES ("k=v,k=v", percent-encoded). False, and nothing, where it is not there.
 */
bool service_of_words(const char *words, const char *key, char to[static SERVICE_LEN]);
bool service_of_attributes(const char *attributes, char to[static SERVICE_LEN]);

#endif
