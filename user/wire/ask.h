/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What naming asks of capture where it is a process of its own: struct unwinder's functions, and
 * what else it has to say, as messages over a stream socket. An ask is a fixed head and what its
 * kind and numbers say that follows; all amounts are bounded before memory is taken for them. Each
 * ask has one answer. Naming waits for it; capture's end has a thread of its own for this, which
 * waits for nobody but naming.
 */
#ifndef GNOMON_WIRE_ASK_H
#define GNOMON_WIRE_ASK_H

#include <stddef.h>
#include <stdint.h>

#include "wire/unwinder.h"

#define ASK_MAPPINGS_MAX (UW_MAX_MAPS * 4 + GN_JVM_HEAPS + 1)
#define ASK_NAME_MAX	 512 /* bytes of a thread's name, with the terminator */

enum ask_kind {
	ASK_FILE_FIND = 1,
	ASK_FILE_ADD, /* rules and rows follow */
	ASK_PROC_SET, /* mappings follow */
	ASK_PROC_DROP,
	ASK_FREED,
	ASK_JVM_SET, /* a struct gn_jvm follows */
	ASK_CODERS_MET,
	ASK_JAVA_THREAD,
	ASK_CARRIER,
	ASK_CONTEXTS,
	ASK_LOCKS,
	ASK_PROGRAMS, /* the newest BPF program and link, from those given on */
	ASK_EPOCH,    /* struct target_config's on_epoch, and so on */
	ASK_TABLES,
	ASK_CHUNK_END,
	ASK_THREAD, /* is it wanted? its name follows */
	ASK_KINDS,
};

struct ask {
	uint32_t kind;
	int32_t tgid, tid;
	uint32_t key_len;
	uint32_t nrules, nrows, nmappings, name_len;
	uint32_t program, link;
	uint64_t thread;
	uint8_t key[UNWIND_KEY_MAX];
	struct gn_carrier carrier;
	struct gn_vthreads layout;
	struct gn_ctx_places places;
	struct gn_locks locks;
};

struct answer {
	int32_t rc;
	uint32_t file, refused;
	uint32_t flag; /* of what is asked for a yes or no */
	uint32_t program, link;
};

/* An ask as it was received: what followed is in memory of its own, as much as was announced. */
struct ask_body {
	struct unwind_table table; /* ASK_FILE_ADD: rows and rules.rules */
	struct unwind_mapping *mappings;
	struct gn_jvm jvm;
	char name[ASK_NAME_MAX];
};

/* 0; -EPIPE: the other end is closed; -EBADMSG: no such ask, nothing more can be read; -ENOMEM. */
int ask_read(int fd, struct ask *ask, struct ask_body *body);
void ask_body_free(struct ask_body *body);

/* All of the bytes: 0, -EPIPE at the end, or -errno. SIGPIPE is not raised. */
int ask_bytes_read(int fd, void *to, size_t n);
int ask_bytes_write(int fd, const void *from, size_t n);

#endif
