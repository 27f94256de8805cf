/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose the other ends are of TCP connections within this machine that threads wait for. What is
 * known of one is kept, since the kernel side tells each cause anew in each epoch.
 */
#ifndef GNOMON_CAPTURE_PEERS_H
#define GNOMON_CAPTURE_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kern/abi.h"

struct peers;

/* `map`: peers_wanted of kern/peers.bpf.c. NULL: no memory. */
struct peers *peers_new(int map);
void peers_free(struct peers *p);

/* A cause was told. If it is such a connection, its other end is to be found out. */
void peers_note(struct peers *p, const struct gn_cause_rec *rec, uint64_t now_ns);

/* The end at the other side, as that side has it. False: it is no connection within this machine.
 */
bool peers_key(const struct gn_cause *c, struct gn_peer_key *out);

/* Puts into the map whom to ask for. False: nobody, and nothing has to be looked at. */
bool peers_ask(struct peers *p, uint64_t now_ns);

/*
 * Takes what was found out of the map, and calls `fn` for each cause of which something is known
 * that was told since the last call: as it was, with the process's number and name.
 */
void peers_tell(struct peers *p, uint64_t now_ns, void (*fn)(void *ctx, const struct gn_rec *rec),
		void *ctx);

#endif
