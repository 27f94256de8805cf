/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The unwinder's state, its reading seam and its loop: plain C, compiled three ways.
 *
 *   BPF, own context   (default under __bpf__)  memory by bpf_probe_read_user
 *   BPF, remote        (UW_REMOTE defined)      by remote_read.bpf.h; sleepable programs only
 *   user space         (no __bpf__)             by struct uw_env's functions: tests, fuzzers, tools
 *
 * A translation unit uses one of them. BPF units include vmlinux.h and bpf_helpers.h first and get
 * their tables from kern/unwind_maps.bpf.h; user space gets them from struct uw_env.
 *
 * Use:
 *	uw_begin(s, tgid, max_frames);		empties the state; s is in map memory or on the heap
 *	UW_REGS_FROM_PT(s, regs);		or set pc, sp, fp, reg[], leaf by hand
 *	s->flags = GN_FF_RETADDR;		only when the thread is inside a system call
 *	uw_walk(s, m);				frames[0..n), end
 *
 * uw_step() looks up what is mapped at pc and calls the step for that kind of code. A step
 *(native_step, hs_step)
 *	- records the frame it stands on with uw_push(),
 *	- finds the caller's pc, sp, fp and hands them to uw_caller(), which checks them,
 *	- or ends the walk with uw_end().
 * It returns what those returned: 0 to go on, 1 when the walk has ended (s->end says why).
 *
 * Termination: every step raises sp (strictly; a signal frame may change stacks and is counted),
 * and the loop runs at most max_frames times.
 */
#ifndef GNOMON_UNWIND_H
#define GNOMON_UNWIND_H

#include "abi.h"

#if defined(__TARGET_ARCH_arm64) || defined(UW_ARM64) || (!defined(__bpf__) && defined(__aarch64__))
#include "unwind_arm64.h"
#else
#include "unwind_x86.h"
#endif

#if !defined(UW_REMOTE) || defined(REMOTE_BY_PID)
#define UW_MEMO 1 /* kern/memo.h */
#endif

#define UW_WINDOW      2048	    /* bytes of stack held; a power of two */
#define UW_SCRATCH     512	    /* bytes */
#define UW_STEP_WORDS  16	    /* of uw_state.step */
#define UW_MAX_FRAME   (8ULL << 20) /* a larger frame is taken for a mistake, bytes */
#define UW_MAX_SIGNALS 8	    /* signal frames in one stack */
#define UW_MAX_MAPS    1024	    /* executable mappings known per process */
#define UW_ADDR_MAX    (1ULL << 47) /* user addresses are below */

/* ---- tables, written by user space (user/capture/utable.h) ---- */

enum uw_map_kind {
	UW_MAP_NONE = 0,
	UW_MAP_FILE = 1,    /* ELF code with an unwind table: arg = file number */
	UW_MAP_HOTSPOT = 2, /* a HotSpot code heap: arg = what kern/hotspot.h says */
	UW_MAP_FP = 3,	    /* code without a table: by frame pointer */
};

#define UW_NO_START (1ULL << 62)

struct uw_mapping {
	__u64 end;  /* first address after it; it starts at uw_proc.start[i] */
	__u64 bias; /* pc - bias is the key of the file's table (below 4 GiB) */
	__u32 arg;
	__u32 kind; /* enum uw_map_kind */
};

/*
 * What one process has mapped, sorted. Published as a whole: an inner map is filled and then put
 * into the outer one, so a reader has either the old or the new table, and the kernel frees the old
 * one after its readers.
 */
struct uw_proc {
	__u32 tgid;
	__u32 n;
	__u64 start[UW_MAX_MAPS]; /* unused: UW_NO_START */
	struct uw_mapping map[UW_MAX_MAPS];
};

/*
 * A node of a file's table: a tree of pages, page 0 its root. `key` is sorted, unused slots are ~0,
 * the first key of the root's leftmost path is 0; what applies to a pc is the last key <= pc. In
 * inner pages `val` is a page number of the file, in leaves a rule number.
 */
#define UW_PAGE_ROWS 512
struct uw_page {
	__u32 key[UW_PAGE_ROWS];
	__u16 val[UW_PAGE_ROWS];
	__u32 height; /* 0 leaf */
	__u32 pad;
};
#define UW_MAX_HEIGHT 2 /* root height: 512^3 rows */

/* A rule: how to find the caller. Numbers of registers are DWARF's (enum uw_reg). */
enum uw_cfa_kind {
	UW_CFA_NONE = 0,   /* no rule */
	UW_CFA_STOP = 1,   /* return address undefined: the thread's start */
	UW_CFA_REG = 2,	   /* reg + off */
	UW_CFA_DEREF = 3,  /* *(reg + off) + add */
	UW_CFA_PLT = 4,	   /* sp + 8 + ((pc & 15) >= off ? 8 : 0): the psABI's lazy PLT stubs */
	UW_CFA_SIGNAL = 5, /* the kernel's rt_sigframe: all registers come from it */
};

enum uw_where {
	UW_SAME = 0,  /* unchanged (for the return address: still in the link register) */
	UW_CFA = 1,   /* saved at CFA + off */
	UW_INREG = 2, /* in register off (return address in the leaf: vfork) */
	UW_AT = 3,    /* saved at frame pointer + off */
	UW_LOST = 4,  /* cannot be told (frame pointer only) */
};

struct uw_rule {
	__u8 cfa;     /* enum uw_cfa_kind */
	__u8 cfa_reg; /* enum uw_reg */
	__u8 ra;      /* enum uw_where */
	__u8 fp;      /* enum uw_where */
	__s32 cfa_off;
	__s32 cfa_add;
	__s32 ra_off;
	__s32 fp_off;
	__s32 kept_off; /* UW_REG_KEPT is saved at CFA + this; 0: unchanged, UW_KEPT_LOST */
};

#define UW_KEPT_LOST 1

/*
 * File numbers are not used twice: the low bits say where the table is, the others are a
 * generation. 0 is none.
 */
#define UW_MAX_FILES	   4096
#define UW_FILE_SLOT(file) ((file) & (UW_MAX_FILES - 1))

#define UW_RULE_NONE 0 /* rule numbers with a fixed meaning */
#define UW_RULE_STOP 1
#define UW_MAX_RULES 16384

enum { UW_KEPT_UNKNOWN = 0, UW_KEPT_IN_REG = 1 }; /* uw_state.kept_at, else an address */

/*
 * How a step went from a frame to its caller, for kern/memo.h: by the return address in the word
 * below the caller's sp, and nothing else but what is said here.
 */
enum uw_how {
	UW_HOW_CALLER = 0x01, /* it did; else all other bits mean nothing */
	UW_HOW_JAVA = 0x02,   /* it is a JVM's code */
	UW_HOW_EPOCH = 0x04,  /* and compiled: for as long as no compiler has run */
	UW_HOW_INTERP = 0x08, /* and interpreted: words at fp name method, bytecode, caller's sp */
	UW_HOW_FP = 0x10,     /* where the caller's sp is goes by fp */
#define UW_HOW_SAVED(how)                                                                          \
	((how) >> 5 & 31)   /* words from there down to the caller's fp; 0: as it is */
#define UW_HOW_END	 31 /* in place of that: it is the thread's start */
#define UW_HOW_KEPT(how) ((how) >> 10 & 15) /* 1 + words to its UW_REG_KEPT; 0: not known */
#define UW_HOW_KEPT_SAME 1		    /* as it is */
	UW_HOW_LOOK_BIT = 14,
	UW_HOW_LOOK = 0x4000, /* in a step: its code is looked at in each walk */
	UW_HOW_NEAR_BIT = 62,
	UW_HOW_NEAR = 0x4000, /* in a mark: fp lies where the stack does */
	UW_HOW_PLAIN_BIT = 63,
	UW_HOW_PLAIN = 0x8000, /* before the step: no interrupted leaf, no doubt */
};
#define UW_HOW_MAKE(bits, saved, kept) ((bits) | (saved) << 5 | (kept) << 10)

/* ---- state ---- */

#define UW_CACHE 256 /* a power of two */

struct uw_cached {
	__u64 key; /* file << 32 | offset; 0 free */
	struct uw_rule rule;
};

#define UW_TAILED 32 /* a power of two */

/* How a leaf's function ends at its pc (kern/native_tail.h). */
struct uw_tailed {
	__u64 key; /* as above */
	__u64 tail;
};

#define UW_PLACES      128 /* a power of two */
#define UW_PLACE_SHIFT 20

#define UW_CODES 128 /* a power of two */

/* Where a call in a JVM's compiled code returns to, as a walk has found it (kern/hotspot.h). */
struct uw_code {
	__u64 key;	  /* 0 free */
	__u64 data;	  /* its frame's */
	__u64 gen;	  /* for which that holds */
	__s32 size;	  /* of the blob, bytes */
	__u32 frame : 31; /* bytes */
	__u32 native : 1; /* it calls native code */
};

struct uw_state {
	/* the frame the next step looks at */
	__u64 pc, sp, fp;
	/*
	 * All registers, by enum uw_reg; only while `leaf`. HotSpot's leaf needs r13 (bcp) and r15
	 * (JavaThread *): reg[UW_R13], reg[UW_R15].
	 */
	__u64 reg[UW_NREG + 1];
	/*
	 * Where this frame's UW_REG_KEPT is, a callee-saved register that a few rules are based on
	 * (_dl_runtime_resolve): only noted, and read when such a rule comes.
	 */
	__u64 kept_at;
	__u8 leaf;    /* reg[] is valid: the interrupted frame, or one below a signal frame */
	__u8 flags;   /* GN_FF_* of the frame at pc; GN_FF_RETADDR: look tables up at pc - 1 */
	__u8 signals; /* signal frames passed */
	__u8 end;     /* enum gn_walk_end, 0 while walking */
	__u8 blind;   /* passed code of which nothing is known: tables made later may know it */
	__u8 called;  /* what the frame was left for was the leaf: reg[] is as that had it */
	__u16 how;    /* the last step went (enum uw_how) */
	__u32 tgid;
	__u32 tid; /* the caller's: for what is known of the thread; 0 unknown */
	__u32 n;   /* frames recorded; start above 0 to keep what is before (kernel frames) */
	__u32 max; /* cap of n, <= GN_MAX_FRAMES */

	__u64 map_start; /* the mapping found last */
	struct uw_mapping map;
	/* By address: where in a table a mapping was found, kept from walk to walk. A guess. */
	__u16 place[UW_PLACES];

	__u64 win_base; /* stack window: win[0..win_len) holds memory at win_base; 8-aligned */
	__u64 win_len;
	__u8 win[UW_WINDOW] __attribute__((aligned(8)));

	/*
	 * Rules found lately, by file number and offset; kept from walk to walk, so the state is
	 * zeroed when it is made. A file's number does not come again. Here are the rules
	 * themselves, since each in its table would be a page that nothing else has touched.
	 */
	struct uw_cached cache[UW_CACHE];
	struct uw_tailed tails[UW_TAILED];

	/* Likewise of compiled code, which may be other code in another generation. */
	struct uw_code code[UW_CODES];
	/*
	 * Threads that all stood still before any of these walks began, from outside: what keeps
	 * code and classes as they are while they are on a stack is read once for all. 0: others.
	 */
	__u64 visit;
	__u64 unloads, unloads_visit;  /* uw_memo.unloads of this process, as read in that visit */
	__u64 looked[4], looked_visit; /* uw_code.key of those whose block is what it was in it */
	__u32 unloads_tgid;
	__u64 walks; /* so many began */
	__u64 gen;   /* what is found out of code holds in it: odd, or even in this walk alone */

	__u64 hs[8];		   /* kern/hotspot.h's, zeroed by uw_begin, kept over the walk */
	__u64 step[UW_STEP_WORDS]; /* its, of one step: here it takes no BPF stack, of which there
				      is little */
	__u64 scratch[UW_SCRATCH / 8]; /* a step's, for what is too large for the BPF stack */

	__u64 hash;   /* over the frames recorded; start it with what tells processes apart */
	__u64 power;  /* by which the next frame goes into it */
	__u64 before; /* over those before the user part */
	__u64 same;   /* the outer frames were not made: they have been sent (kern/memo.h) */
	struct gn_stack rec; /* the caller's: frames follow it as in the record */
	struct gn_frame frames[GN_MAX_FRAMES];
};

/* ---- memory ---- */

/*
 * uw_mem: whose memory is read. It goes through every function beside the state, since a BPF
 * program may not keep a task pointer in a map. uw_read(): len bytes at addr, all or nothing; 0 or
 * negative. In BPF dst is on the stack or in map memory.
 */
#if !defined(__bpf__)

struct uw_env {
	void *ctx;
	int (*read)(void *ctx, __u64 addr, void *dst, __u32 len); /* 0 or negative */
	const struct uw_proc *proc;
	const struct uw_page *(*page)(void *ctx, __u32 file, __u32 page); /* NULL: no such */
	const struct uw_rule *(*rule)(void *ctx, __u32 rule);
	const struct gn_jvm *jvm; /* kern/hotspot.h; NULL: none */
	__u64 changes;		  /* of all of these; odd while they change */
	__u64 code_gen;		  /* odd: no compiler has run since it was another; 0 unknown */
};
typedef const struct uw_env *uw_mem;

#define uw_fn	      static inline __attribute__((unused))
#define uw_barrier(x) ((void)0)

uw_fn int uw_read(uw_mem m, void *dst, __u32 len, __u64 addr)
{
	return m->read(m->ctx, addr, dst, len);
}

#else

#define uw_fn	      static __attribute__((always_inline, unused))
/* Keeps clang from turning arithmetic on x into branches, which the verifier explores one by one.
 */
#define uw_barrier(x) asm volatile("" : "+r"(x))

#ifdef UW_REMOTE
typedef struct task_struct *uw_mem;
#define uw_read(m, dst, len, addr) remote_read(m, dst, len, addr)
#else
typedef const void *uw_mem; /* NULL */
#define uw_read(m, dst, len, addr) bpf_probe_read_user(dst, len, (const void *)(addr))
#endif

#endif

/*
 * fn(i, ctx) for each i below n, until one returns 1 and not 0. In BPF by a helper: of a loop of
 * its own the verifier would follow each round, in each program that walks stacks. fn has to check
 * i: the verifier does not know how far it goes.
 */
#ifdef __bpf__
#define uw_each(n, fn, ctx) bpf_loop(n, fn, ctx, 0)
#else
#define uw_each(n, fn, ctx)                                                                        \
	do {                                                                                       \
		for (__u32 each = 0; each < (n); each++)                                           \
			if (fn(each, ctx))                                                         \
				break;                                                             \
	} while (0)
#endif

/* Other memory of the target than its stack: a macro, so that BPF sees a constant len. */
#define uw_copy(s, m, addr, dst, len) uw_read(m, dst, len, addr)

/* Bring the window to addr, from where a walk goes up. 0 or negative. */
uw_fn int uw_refill(struct uw_state *s, uw_mem m, __u64 addr)
{
	/* slots of one frame are not read in order: keep what is just below, down to sp */
	__u64 base = addr - s->sp < UW_WINDOW / 2 ? s->sp & ~7ULL : addr - 64;

	s->win_base = base;
	s->win_len = 0;
	if (uw_read(m, s->win, UW_WINDOW, base)) {
		/* runs past the end of the mapping, perhaps: what is on addr's page is all or
		 * nothing */
		base = addr & ~(__u64)(UW_WINDOW - 1);
		if (uw_read(m, s->win, UW_WINDOW, base))
			return -14; /* EFAULT */
		s->win_base = base;
	}
	s->win_len = UW_WINDOW;
	return 0;
}

/*
 * A function of its own: where that can be in BPF, the verifier follows it once, and not at each
 * call, in each case that led there. It has a state and whose memory (UW_OWN; UW_OWN_MEM inside),
 * numbers, and pointers to structs, all of which it has to compare with NULL.
 */
#if defined(__bpf__) && !defined(UW_REMOTE)
#define uw_own(name)		 __attribute__((noinline, weak)) int name##_own
#define UW_OWN			 struct uw_state *s
#define UW_OWN_MEM		 ((uw_mem)0)
#define uw_call(name, s, m, ...) name##_own(s, ##__VA_ARGS__)
#elif defined(REMOTE_BY_PID)
#define uw_own(name)		 __noinline int name##_of
#define UW_OWN			 struct uw_state *s, struct task_struct *task remote_task
#define UW_OWN_MEM		 task
#define uw_call(name, s, m, ...) name##_of(s, m, ##__VA_ARGS__)
#else
#define uw_own(name)		 uw_fn int name##_own
#define UW_OWN			 struct uw_state *s, uw_mem whose
#define UW_OWN_MEM		 whose
#define uw_call(name, s, m, ...) name##_own(s, m, ##__VA_ARGS__)
#endif

uw_own(uw_refill)(UW_OWN, __u64 addr)
{
	return s ? uw_refill(s, UW_OWN_MEM, addr) : -14;
}
#define uw_fill(s, m, addr) uw_call(uw_refill, s, m, addr)

/* A word of the stack, 8-aligned. 0, or negative when it cannot be read. */
uw_fn int uw_word(struct uw_state *s, uw_mem m, __u64 addr, __u64 *val)
{
	__u64 off;

	if (addr & 7 || addr >= UW_ADDR_MAX)
		return -14;
	off = addr - s->win_base;
	if (off >= s->win_len) {
		if (uw_fill(s, m, addr))
			return -14;
		off = addr - s->win_base;
	}
	*val = *(__u64 *)(s->win + (off & (UW_WINDOW - 8)));
	return 0;
}

/* ---- the walk ---- */

uw_fn void uw_begin(struct uw_state *s, __u32 tgid, __u32 max)
{
	s->walks++;
	s->gen = s->walks << 1;
	s->leaf = 0;
	s->kept_at = UW_KEPT_UNKNOWN;
	s->flags = 0;
	s->signals = 0;
	s->blind = 0;
	s->called = 0;
	s->how = 0;
	s->end = GN_END_NONE;
	s->tgid = tgid;
	s->tid = 0;
	s->n = 0;
	s->hash = tgid;
	s->power = 1;
	s->before = 0;
	s->same = 0;
	s->max = max < GN_MAX_FRAMES ? max : GN_MAX_FRAMES;
	s->map_start = 0;
	s->map.end = 0;
	s->map.kind = UW_MAP_NONE;
	s->win_base = 0;
	s->win_len = 0;
	for (int i = 0; i < 8; i++)
		s->hs[i] = 0;
}

/*
 * What walks have found out of code in a generation holds for this one. 0: there is no telling.
 * Without branches: the verifier would follow the walk once for each case.
 */
uw_fn void uw_code_begin(struct uw_state *s, __u64 gen)
{
	__u64 known = 0 - (gen & 1);

	uw_barrier(known);
	s->gen = (s->gen & ~known) | (gen & known);
}

/* With a memo, what has to be done now: a step; nothing, the walk has ended; this again;
 * uw_check_tell(). */
enum uw_next { UW_STEP = 0, UW_ENDED = 1, UW_AGAIN = 2, UW_CHECK = 3 };

/* At most so many frames more. */
uw_fn void uw_limit(struct uw_state *s, __u32 frames)
{
	__u32 max = s->n + frames;

	s->max = max < GN_MAX_FRAMES ? max : GN_MAX_FRAMES;
}

uw_fn int uw_end(struct uw_state *s, enum gn_walk_end why)
{
	s->end = why;
	return 1;
}

/* Would tables made later show no more of it? */
uw_fn int uw_is_whole(const struct uw_state *s)
{
	return gn_end_is_final(s->end) && !s->blind;
}

uw_fn __u64 uw_mix(__u64 h, __u64 v)
{
	h = (h ^ v) * 0x9ddfea08eb382d69ULL;
	return h ^ h >> 29;
}

/*
 * A stack's hash is the sum of its frames' by powers of UW_HASH_BASE, the innermost by power 0:
 * that of its outer part, which is known from another walk, can be added (kern/memo.h).
 */
#define UW_HASH_BASE 0xd1342543de82ef95ULL

uw_fn __u64 uw_frame_hash(__u64 pc, __u64 data)
{
	return uw_mix(pc, data * 0xd6e8feb86659fd93ULL);
}

/* Of what is found by the hashes over its kernel and its user part: the stack's id. */
uw_fn __u64 uw_stack_id(__u64 before, __u64 hash, int whole)
{
	__u64 id = uw_mix(before, hash) & ~(__u64)GN_STACK_WHOLE;

	if (whole)
		id |= GN_STACK_WHOLE;
	return id ? id : 2; /* 0 is none */
}

/*
 * Record the frame stood on: `addr` is pc or a Method*, by kind (abi.h); the state's flags and
 * `flags` are both noted.
 */
uw_fn int uw_push(struct uw_state *s, __u64 addr, __u32 kind, __u32 flags, __u64 data)
{
	__u64 pc = GN_FRAME(addr, kind, s->flags | flags);
	__u32 n = s->n;

	if (n >= s->max)
		return uw_end(s, GN_END_DEPTH);
	s->hash += s->power * uw_frame_hash(pc, data);
	s->power *= UW_HASH_BASE;
	s->frames[n & (GN_MAX_FRAMES - 1)].pc = pc;
	s->frames[n & (GN_MAX_FRAMES - 1)].data = data;
	s->n = n + 1;
	return 0;
}

/*
 * Go to the caller. `flags`: GN_FF_RETADDR for every ordinary caller, and GN_FF_GUESSED or
 * GN_FF_FP when a heuristic or a frame pointer led there. Ends the walk when pc is 0 (the thread's
 * start), or when pc, sp or the size of the frame left is implausible. fp is not checked here: it
 * may be any value in code that uses it as a general register.
 */
uw_fn int uw_caller(struct uw_state *s, __u64 pc, __u64 sp, __u64 fp, __u32 flags)
{
	pc = UW_CODE_ADDR(pc);
	if (!pc)
		return uw_end(s, GN_END_COMPLETE);
	if (pc >= UW_ADDR_MAX || sp & (UW_STACK_ALIGN - 1))
		return uw_end(s, GN_END_NORULE);
	/* a leaf may have no frame left: the return address is in a register, or was just popped */
	if (sp - s->sp > UW_MAX_FRAME || (sp == s->sp && !s->leaf))
		return uw_end(s, GN_END_NORULE);
	s->pc = pc;
	s->sp = sp;
	s->fp = fp;
	s->kept_at = UW_KEPT_UNKNOWN;
	s->called = s->leaf;
	s->leaf = 0;
	s->flags = flags;
	return 0;
}

#endif
