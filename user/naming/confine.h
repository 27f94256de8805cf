/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that names gives up all it does not need, for good, before it has read anything of a
 * target: whoever takes it over by what he wrote can spoil his own recording, and little else.
 * gnomon-overhead(7) has a table of what is left.
 *
 * - It is uid and gid nobody, or the caller's where that is not root, without groups and without
 *   capabilities.
 * - It opens files for reading alone (seccomp), and only below /proc and /sys, as anybody may
 *   (Landlock, Linux 5.13; before that the kernel's permissions alone keep it from others). What
 *   takes more comes by descriptors.
 * - Of system calls it has those of a list: no program, no other process, no signal, no socket to
 *   others, no trace (seccomp).
 * - Its address space is bounded.
 */
#ifndef GNOMON_NAMING_CONFINE_H
#define GNOMON_NAMING_CONFINE_H

/*
 * First, in the process of which others are made (naming/mould.h): all but the system calls. 0, or
 * -errno: what the kernel has, and what could not be given up.
 */
int confine_mould(void);

/* Then, in the copy that names: the system calls. Likewise. */
int confine_calls(void);

#endif
