/* SPDX-License-Identifier: Apache-2.0 */
/* Who had the CPU for which a thread queued, who woke it, or who served what it waited for, in
 * words. */
#ifndef GNOMON_NAMING_HOLDERS_H
#define GNOMON_NAMING_HOLDERS_H

#include <stdbool.h>

#include "naming/causewords.h"

/* Is it such a cause? */
bool holders_are(const struct gn_cause_rec *rec);

/*
 * Of a thread of its own (GN_CAUSE_THREAD, GN_WAKER_THREAD, GN_CAUSE_SERVED) the JVM may know
 * more than the kernel tells: what that thread is called goes into `path`, `java`: by the JVM, and
 * not by the kernel alone.
 */
void holders_name(struct gn_cause_rec *rec, const char *name, bool java);

/* As cause_words(), of such a cause; `path` is the group's, in one piece. */
void holders_words(const struct gn_cause_rec *rec, const char *path, struct cause_words *out);

/* As cause_words(), of a GN_CAUSE_WAKER. */
void wakers_words(const struct gn_cause_rec *rec, struct cause_words *out);

/* Of a GN_CAUSE_SERVED: `cause` is the process at the other end, `detail` its thread. */
void servers_words(const struct gn_cause_rec *rec, struct cause_words *out);

#endif
