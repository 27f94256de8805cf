/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel's measuring of BPF programs says of one that does nothing: of two looks at the
 * clock (bpf_prog_run, include/linux/filter.h) that much is in each run that is measured, and in no
 * other one.
 */
#ifndef GNOMON_CAPTURE_RUNPRICE_H
#define GNOMON_CAPTURE_RUNPRICE_H

#include <stdint.h>

/* ns a run, with warm caches: the least that it may be. Measured anew; 0: not known. */
uint64_t runprice_measure(void);

#endif
