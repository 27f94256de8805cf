/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the running kernel can do, of all that a recording asks of it. `record` chooses its way by
 * this, and `doctor` tells it. Each is tried for real: mostly a program of a few instructions is
 * loaded. Nothing goes by the kernel's version, since distributions carry what is newer to kernels
 * of older numbers, nor by what its BTF names alone: a function that is there may still be refused
 * to a kind of program.
 *
 * What was tried is remembered, since a kernel does not change. From any thread.
 *
 * For tests: GNOMON_WITHOUT, names separated by commas, has the kernel be without those features.
 */
#ifndef GNOMON_CAPTURE_FEATURES_H
#define GNOMON_CAPTURE_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "capture/trials.h"

/*
 * 0: the kernel has it. -EOPNOTSUPP: it has it not, or its verifier refuses it. -EPERM: we may not
 * try. -EMFILE, -ENFILE, -ENOMEM: it could not be tried now, and is the next time.
 */
int feature_try(int f);
bool feature_has(enum feature f);

/* For what finds out as it goes: whether GNOMON_WITHOUT takes it away. */
bool feature_is_taken(int f);

#define FEATURE_ALL 1000

/* Try the first n: they take less in a row. FEATURE_OPTIONAL: those without which there is a way.
 */
void features_try(int n);

/* Tells whether we may load programs at all: 0, -EPERM, or -EMFILE and its like. */
int features_permitted(void);

/* Does it have all that wall samples by switches take? */
bool features_can_switch(void);

/* The first of the needed features that is missing, -1 none. `wall`: those of wall samples, too. */
int features_missing(bool wall);

/* Does GNOMON_WITHOUT take away any of those? */
bool features_taken(bool wall);

/* EXIT_USAGE where GNOMON_WITHOUT has a name that is none. 0 or -errno. */
int features_check(struct error *e);

/* For tests that change GNOMON_WITHOUT: nothing has been tried. */
void features_forget(void);

#endif
