/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of an unmounted virtual thread: they lie in a jdk.internal.vm.StackChunk, as
 * they lay on the carrier's stack (JDK runtime/continuationFreezeThaw.cpp,
 * runtime/stackChunkFrameStream.inline.hpp, cpu/x86/stackChunkFrameStream_x86.inline.hpp). Compiled
 * frames are as large as their code says. An interpreted frame has in place of addresses of its
 * stack their distances in words: of the caller's fp from the slot where it is saved, of the others
 * from fp. For the modules of jvm/ only.
 */
#ifndef GNOMON_JVM_CHUNK_H
#define GNOMON_JVM_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "kern/abi.h"

struct vm;

#define CHUNK_BELOW 2 /* words below sp that belong to the innermost frame: its fp and its pc */

/*
 * A copy of a chunk's stack: words[CHUNK_BELOW] is at its sp, words[n] would be its bottom. Of a
 * very deep one only the first `have` words are here.
 */
struct chunk {
	const uint64_t *words;
	uint32_t n, have;
};

#define CHUNK_CODES 512

/* What code is at an address, for as long as nothing can have come to lie elsewhere. */
struct chunk_codes {
	struct chunk_code {
		uint64_t pc;
		uint64_t data;	/* struct gn_frame's */
		uint64_t deopt; /* the addresses of its deopt handlers, 0 none */
		uint64_t deopt_mh;
		uint32_t size;	  /* of its frame, words; 0: no code whose frames lie in chunks */
		uint32_t orig_pc; /* bytes from its sp */
		bool nmethod;
	} of[CHUNK_CODES];
};

/*
 * Writes the frames, innermost first, behind the *n there are in out[max]. 0, 1: there was no more
 * room, or there are no more words, or -EBADMSG: this is no stack of whole frames.
 */
int chunk_frames(struct vm *vm, struct chunk_codes *codes, const struct chunk *c,
		 struct gn_frame *out, uint32_t max, uint32_t *n);

#endif
