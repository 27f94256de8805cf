/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of a few instructions, loaded into the kernel to see whether it takes it, and attached
 * for a moment. What the kernel says then counts, not its version.
 */
#ifndef GNOMON_CAPTURE_PROBE_H
#define GNOMON_CAPTURE_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/bpf.h>

struct btf;

enum probe_kind { PROBE_RAW_TP, PROBE_ITER, PROBE_PERF, PROBE_SYSCALL };

/* Where a program runs, as SEC() of kern/ has it. */
struct probe_place {
	enum probe_kind kind;
	const char *target; /* of PROBE_RAW_TP and PROBE_ITER */
	bool sleepable;
};

/* ---- instructions, as in Documentation/bpf/standardization/instruction-set.rst ---- */

#define PROBE_SET(to, value)                                                                       \
	((struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (to), .imm = (value)})
#define PROBE_MOVE(to, from)                                                                       \
	((struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (to), .src_reg = (from)})
#define PROBE_LOAD(to, from, at, size)                                                             \
	((struct bpf_insn){.code = BPF_LDX | BPF_MEM | (size),                                     \
			   .dst_reg = (to),                                                        \
			   .src_reg = (from),                                                      \
			   .off = (short)(at)})
#define PROBE_STORE(to, at, from)                                                                  \
	((struct bpf_insn){.code = BPF_STX | BPF_MEM | BPF_DW,                                     \
			   .dst_reg = (to),                                                        \
			   .src_reg = (from),                                                      \
			   .off = (short)(at)})
#define PROBE_ATOMIC(op, to, at, from)                                                             \
	((struct bpf_insn){.code = BPF_STX | BPF_ATOMIC | BPF_DW,                                  \
			   .dst_reg = (to),                                                        \
			   .src_reg = (from),                                                      \
			   .off = (short)(at),                                                     \
			   .imm = (op)})
#define PROBE_SKIP_IF_ZERO(reg, n)                                                                 \
	((struct bpf_insn){.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = (reg), .off = (short)(n)})
#define PROBE_CALL(helper) ((struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = (helper)})
#define PROBE_CALL_KFUNC(id)                                                                       \
	((struct bpf_insn){                                                                        \
		.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = (id)})
#define PROBE_EXIT ((struct bpf_insn){.code = BPF_JMP | BPF_EXIT})

/* ---- programs ---- */

/*
 * Load it. Its descriptor, or -errno and, where `log` is not NULL, the verifier's words. `kernel`
 * is the kernel's BTF, for the kinds that have a target; NULL: -ENOENT for those.
 */
int probe_load(const struct btf *kernel, const struct probe_place *at, const struct bpf_insn *insns,
	       size_t n, char *log, size_t log_size);

/* Attach it for a moment, or run it once. 0 or -errno. */
int probe_attach(const struct probe_place *at, int prog);

/* A CPU clock as capture/clocks.h opens them, which does not run. Its descriptor or -errno. */
int probe_clock(int pid, int cpu, bool inherit);

#endif
