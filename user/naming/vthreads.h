/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual threads of one target: what they are called, and as which thread of the file the
 * samples of a carrier are written that ran one. In the file such a thread has the carrier's OS
 * name and id and the virtual thread's Java name and id.
 */
#ifndef GNOMON_NAMING_VTHREADS_H
#define GNOMON_NAMING_VTHREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "jfr/write.h"
#include "model/roster.h"

#define VTHREAD_NAME_LEN 512

struct vthreads;

struct vthreads *vthreads_new(void);
void vthreads_free(struct vthreads *v);

/*
 * Virtual thread `id` has this name ("" for most); `cut`: only its beginning is given. True: there
 * were too many and others were forgotten, so their names have to be told again.
 */
bool vthreads_add(struct vthreads *v, uint64_t id, const char *name, bool cut);

bool vthreads_has(const struct vthreads *v, uint64_t id);

/*
 * The id of the thread in the file; a thread whose name is not known is written without one. 0: out
 * of memory.
 */
uint32_t vthreads_jfr(struct vthreads *v, struct jfrw *w, uint64_t id, const struct member *on);

#endif
