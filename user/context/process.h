/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process context (OpenTelemetry OTEP 4719): a mapping named OTEL_CTX whose header points to a
 * protobuf message ProcessContext {1: Resource, 2: repeated KeyValue}. What is taken from it: the
 * resource's string attributes and what the thread context's keys are called
 * (threadlocal.attribute_key_map). Everything else is skipped.
 *
 * The header (version 2, host byte order): "OTEL_CTX", u32 version, u32 payload size, u64 time of
 * publishing (CLOCK_BOOTTIME, ns; 0 while it is being changed), u64 address of the payload.
 */
#ifndef GNOMON_CONTEXT_PROCESS_H
#define GNOMON_CONTEXT_PROCESS_H

#include "context/memory.h"

#include <stdbool.h>

#define CTX_PROCESS_MAX	 65536 /* bytes of a payload; the proposal expects some thousands */
#define CTX_PROCESS_TRY	 3     /* readings of one that changes meanwhile */
#define CTX_KEYS_MAX	 256   /* names of keys: a key is one byte */
#define CTX_RESOURCE_MAX 64    /* attributes of the resource that are kept */

/* Bytes of the message, of any content: no NUL follows, and they need not be UTF-8. */
struct ctx_text {
	const char *p;
	uint32_t len;
};

struct ctx_attribute {
	struct ctx_text key, value;
};

struct ctx_process {
	uint64_t published;	/* CLOCK_BOOTTIME, ns; never 0 */
	struct ctx_text schema; /* threadlocal.schema_version; len 0: none */
	struct ctx_text keys[CTX_KEYS_MAX];
	struct ctx_attribute resource[CTX_RESOURCE_MAX];
	uint32_t nkeys, nresource;
	uint32_t omitted; /* attributes and keys beyond those bounds */
	uint32_t len;
	uint8_t payload[CTX_PROCESS_MAX]; /* what the texts point into */
};

struct maps;

/* The mapping that is named so, the first of them: its address, or 0. */
uint64_t ctx_process_find(const struct maps *maps);

/*
 * Read it anew from the header at `addr`. 0: *p is what is published now; 1: it is as *p has it
 * already (the same time of publishing), nothing was read but the header. -ENOENT: no such header
 * there; -EPROTO: another version, which is for *version; -EAGAIN: it was being changed at each
 * reading; -E2BIG; -EBADMSG: no such message; or the memory's error. On error *p is as it was but
 * for -EBADMSG, which leaves an empty one. Set p->published to 0 before the first time.
 */
int ctx_process_read(struct ctx_process *p, const struct ctx_memory *m, uint64_t addr,
		     uint32_t *version);

/* The same from a payload that stands in p->payload[0..p->len): what ctx_process_read() does behind
 * the reading. */
int ctx_process_parse(struct ctx_process *p);

bool ctx_text_is(struct ctx_text t, const char *s);

#endif
