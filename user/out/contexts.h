/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which request each sample of a recording belongs to: its gnomon.Context events, which are written
 * behind the samples that they are about, so that the file is read for them first. A request is all
 * of one trace and one local root span, on whatever threads; where no local root span is told, of
 * one trace. Or requests are told by rules for endpoints (entered.h), and have no ids.
 */
#ifndef GNOMON_OUT_CONTEXTS_H
#define GNOMON_OUT_CONTEXTS_H

#include "jfr/read_sample.h"
#include "jfr/stretch.h"
#include "out/names.h"
#include "base/pattern.h"

#define CONTEXT_NONE UINT32_MAX

/* All texts are numbers in contexts.names; "" for what is not told. */
struct context {
	uint32_t trace, span, root, endpoint, operation;
	uint32_t request; /* CONTEXT_NONE: it has no ids */
};

struct request {
	uint32_t trace, root;
	uint32_t endpoint;	/* or what its outermost operation is called */
	int64_t from_ns, to_ns; /* since 1970: its first and last sample */
	uint64_t samples;
};

struct contexts {
	struct names names;
	struct context *contexts;
	struct request *requests;
	uint32_t ncontexts, nrequests;
	uint64_t lost;		      /* samples whose context was lost on its way */
	struct contexts_index *index; /* internal */
};

/*
 * Memory grows with the number of such events, with rules with that of samples; a file may have
 * none. EXIT_USAGE for "-", which can be read once only, and for what is no rule.
 */
int contexts_read(struct contexts **out, const struct stretch *s, const struct pattern_list *rules,
		  struct error *e);
/* That there are none: EXIT_INPUT. */
int contexts_missing(const struct stretch *s, const struct pattern_list *rules, struct error *e);
void contexts_free(struct contexts *x);

/* The number of the context of a sample of chunk `chunk`, or CONTEXT_NONE. */
uint32_t contexts_of(struct contexts *x, uint64_t chunk, const struct jfr_sample *s);

static inline uint64_t request_ns(const struct request *r)
{
	return (uint64_t)r->to_ns - (uint64_t)r->from_ns;
}

/* What is wanted; an empty list, or 0: any. */
struct context_filter {
	struct pattern_list endpoints, traces, spans; /* a local root span's is one, too */
	uint64_t slower_ns; /* from the request's first sample to its last */
};

bool contexts_pass(const struct contexts *x, uint32_t context, const struct context_filter *f);

#endif
