/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a process publishes of its requests: where a thread's record lies, the record as it lies in
 * memory, and what the kernel side tells of it. Include it after kern/abi.h.
 */
#ifndef GNOMON_ABI_CONTEXT_H
#define GNOMON_ABI_CONTEXT_H

#include "abi.h"

#define CTX_PLACE_MAX 4	  /* of one process */
#define CTX_ATTRS_MAX 612 /* the proposal advises 640 bytes for the whole record */

enum ctx_place_kind {
	CTX_PLACE_STATIC = 1, /* at a distance from the thread pointer that all threads have */
	CTX_PLACE_DYNAMIC,    /* in a block that each thread has of its own, or has not */
};

enum ctx_format {
	CTX_FORMAT_OTEP = 0, /* struct ctx_head and attributes */
	CTX_FORMAT_ELASTIC,  /* struct ctx_elastic; its transaction stands for the attributes */
	CTX_FORMATS
};

/* All that it takes to find the variable of a thread: user/context/README.md says how. */
struct ctx_place {
	__u32 kind;
	__s32 dtv_at;	   /* of the pointer to the dtv from the thread pointer, bytes */
	__s32 capacity_at; /* of the highest module number that the dtv has, from the dtv, bytes */
	__u16 dtv_shift;   /* an entry of the dtv has 1 << dtv_shift bytes */
	__u16 format;	   /* enum ctx_format: of the record that it points to */
	__u64 module;	   /* number of the library's TLS block */
	__u64 generation;  /* the dtv's first word must not be below; 0: is not asked */
	__s64 offset;	   /* from the thread pointer, or in the block, bytes */
};

struct gn_ctx_places {
	__u32 n, pad;
	struct ctx_place at[CTX_PLACE_MAX];
};

/* As it lies in memory, packed, host byte order, perhaps at an odd multiple of two. */
struct ctx_head {
	__u8 trace_id[16];
	__u8 span_id[8];
	__u8 valid; /* 1: it is */
	__u8 trace_flags;
	__u16 attrs_size; /* bytes of attributes that follow */
} __attribute__((packed));

struct ctx_record {
	struct ctx_head head;
	__u16 attrs_len; /* bytes of `attrs`: less than head.attrs_size where that is over the
			    bound */
	__u16 format;	 /* enum ctx_format */
	__u8 attrs[CTX_ATTRS_MAX];
};

/* Elastic's (its universal profiling integration), as it lies in memory. */
struct ctx_elastic {
	__u16 minor; /* version */
	__u8 valid, has_trace, trace_flags;
	__u8 trace_id[16];
	__u8 span_id[8];
	__u8 transaction_id[8]; /* the local root span's */
} __attribute__((packed));

/* Sent before the first sample with this id. `of` is cut behind its last attribute. */
struct gn_context_rec {
	struct gn_rec h;
	__u64 id;
	struct ctx_record of;
	__u32 pad[3];
};
#define GN_CONTEXT_BEFORE 64 /* bytes before the attributes */

/* The bytes of such a record with so many of attributes: a multiple of 8. */
static inline __u32 gn_context_size(__u32 attrs_len)
{
	return (GN_CONTEXT_BEFORE + attrs_len + 7) & ~7U;
}

#endif
