/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel side of wire/unwinder.h: what naming tells of targets goes into the unwinder's BPF
 * maps, by capture/utable.h where it is of files and mappings.
 */
#ifndef GNOMON_CAPTURE_UNWINDER_H
#define GNOMON_CAPTURE_UNWINDER_H

#include "base/error.h"
#include "wire/unwinder.h"

struct capture;
struct unwinder_maps;

/* The maps are those of `c`, which must outlive it. 0, or EXIT_KERNEL, EXIT_INTERNAL. */
int unwinder_open(struct unwinder_maps **out, struct capture *c, struct error *e);
void unwinder_close(struct unwinder_maps *m); /* NULL is fine; the maps are left as they are */

/* For the naming thread, which is the only one that may use it. */
const struct unwinder *unwinder_of(const struct unwinder_maps *m);

#endif
