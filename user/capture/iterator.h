/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BPF iterators over tasks. Where descriptors are used up those of reserve.h are spent on them.
 */
#ifndef GNOMON_CAPTURE_ITERATOR_H
#define GNOMON_CAPTURE_ITERATOR_H

#include <stddef.h>
#include <sys/types.h>

#include <bpf/libbpf.h>

/* An iterator program over the tasks of a process, or over all (tgid 0): its file, or -errno. */
int iterator_open(struct bpf_program *prog, pid_t tgid, struct bpf_link **link);
void iterator_close(int fd, struct bpf_link **link);

/* Runs it until it has put out `most` bytes. 1: there may be more; 0: it is at its end; -errno. */
int iterator_run(int fd, size_t most);

/* All of this, over the tasks of a process, or over all (tgid 0). 0 or -errno. */
int iterator_of(struct bpf_program *prog, pid_t tgid);
int iterator_all(struct bpf_program *prog);

/* Likewise, and adds to `out` what it puts out; without memory for that it runs all the same. */
struct buffer;
int iterator_collect(struct bpf_program *prog, pid_t tgid, struct buffer *out);

#endif
