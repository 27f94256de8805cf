/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where several clerks (wire/clerk.h) ask the one unwinder: one after the other, in the order in
 * which they came, so that whoever has many questions does not keep others from theirs.
 */
#ifndef GNOMON_WIRE_DESK_H
#define GNOMON_WIRE_DESK_H

#include <stdbool.h>
#include <stdint.h>

struct desk;

struct desk *desk_new(void); /* NULL: no memory */
void desk_free(struct desk *d);

void desk_enter(struct desk *d);
void desk_leave(struct desk *d);

/*
 * Within: files that nobody has any more have left room, as struct unwinder's freed() says once;
 * here each clerk is told once. *seen: what it was told of last, 0 at first.
 */
bool desk_freed(struct desk *d, bool freed, uint64_t *seen);

#endif
