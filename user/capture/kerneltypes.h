/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's types that the BPF programs name, as a small BTF file in memory. For each structure
 * that a program names libbpf looks through all types of the kernel, 150,000 of them, in each
 * object anew (bpf_core_add_cands() in its libbpf.c); in this file there are some hundreds.
 */
#ifndef GNOMON_CAPTURE_KERNELTYPES_H
#define GNOMON_CAPTURE_KERNELTYPES_H

#include <bpf/btf.h>
#include <stdint.h>

/*
 * All structures, unions and enumerations of `kernel` that have the name of one in `program`, with
 * what they consist of. What a pointer leads to is left out: libbpf compares pointers only by being
 * some. Ids are other ones than the kernel's: not for what asks for those
 * (bpf_core_type_id_kernel()). NULL with errno.
 */
struct btf *kerneltypes_select(const struct btf *kernel, const struct btf *program);

#define KERNELTYPES_PATH 32

/*
 * The same from this machine's kernel, for the programs of the skeleton. The descriptor that holds
 * the file, -errno; `path`, by which libbpf reads it, is good as long as that is open. `task`: the
 * kernel's own id of struct task_struct, 0 where it is not known.
 */
int kerneltypes_open(char path[KERNELTYPES_PATH], uint32_t *task);

#endif
