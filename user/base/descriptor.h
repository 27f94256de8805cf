/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of methods, "(ILjava/lang/String;)V" (JVMS 4.3.3). A class file may have one of
 * 65,535 bytes; we keep those that fit in FRAME_NAME_MAX, and of longer ones what tells overloads
 * apart.
 */
#ifndef GNOMON_BASE_DESCRIPTOR_H
#define GNOMON_BASE_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/frame.h"

#define DESCRIPTOR_MAX 65536 /* bytes with the terminator */

/* Tools that show methods parse it without checking: one that has no ")" ends `jfr print`. */
bool descriptor_valid(const char *s);

/*
 * `s` as it is if it fits. Else a valid one: its first types as far as there is room, then a class
 * "cut_" and 16 hexadecimal digits, which are a digest of the whole: the same in every recording,
 * others for another descriptor. Then its own return type, if that is short. What was no descriptor
 * becomes one too.
 */
void descriptor_fit(char out[static FRAME_NAME_MAX], const char *s);

#endif
