/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the HotSpot step (kern/hotspot.h) has to know about one JVM: written by user space
 * (user/jvm/codecache.h) into a map by tgid, read by the walk. It changes seldom: code heaps are
 * given as reserved, not as committed, so that their growth changes nothing.
 */
#ifndef GNOMON_ABI_JVM_H
#define GNOMON_ABI_JVM_H

#include "abi.h"

#define GN_JVM_HEAPS 8 /* a power of two */

struct gn_code_heap {
	__u64 low, high; /* reserved range */
	__u64 segmap;	 /* its byte i tells of the segment at low + (i << log2_segment) */
	__u32 log2_segment;
	__u32 pad;
};

#define GN_JVM_KIND	0x01 /* CodeBlob::_kind exists (25); else blobs are told by size and name */
#define GN_JVM_ABSOLUTE 0x02 /* code and handlers are pointers in the header, else offsets */
#define GN_JVM_SHORTS	0x04 /* frame_complete is an int16 (25) */
#define GN_JVM_DEOPT	0x08 /* deopt, orig_pc are set */
#define GN_JVM_DEOPT_MH 0x10 /* deopt_mh is set */
#define GN_JVM_ANCHOR	0x20 /* anchor is set */
#define GN_JVM_INTERP	0x40 /* method_const, cm_size, interp_* are set */
#define GN_JVM_SPILLS	0x80 /* its barriers' slow paths move sp below the frame */
#define GN_JVM_SPILLING 0x100 /* and are taken so often that leaves are looked at for that, too */
#define GN_JVM_CODERS	0x200 /* `coders` has all threads that make code: see struct gn_coders */

#define GN_MAX_CODERS 16

/*
 * The threads of a JVM that make nmethods of Java methods: its compilers'. While none of them has
 * run, what a return address in such code was found to be in is what it is in (kern/hotspot.h,
 * hs_code_is()). Kept by kern/coders.bpf.h.
 */
struct gn_coders {
	__u64 made;		   /* another number, in all the recording, at each change */
	__u64 task[GN_MAX_CODERS]; /* address of the task_struct; 0 free */
	__u32 slots;		   /* a bit for each that was ever used */
	__u32 full;		   /* not all are here: there is no telling */
};

#define GN_UNLOADS_SPAN 512

/* Bytes from the beginning of a block of code in which all fields lie that struct gn_jvm has. */
#define GN_JVM_HEADER 400

struct gn_jvm {
	__u32 tgid; /* whose it is: the map's elements are used again while they are read */
	__u32 flags;
	__u32 nheaps;
	__u32 pad;
	__u64 low, high; /* all heaps lie in here */
	struct gn_code_heap heap[GN_JVM_HEAPS];
	__u64 interp_low, interp_high;
	__u64 enter_special;	   /* blob of Continuation.enterSpecial, 0 unknown */
	__u64 call_stub;	   /* where the call of Java code in it returns to, 0 unknown */
	__u64 cont_low, cont_high; /* stubs that a virtual thread's last frame returns to */
	__u64 name_vtable, name_adapter; /* CodeBlob::_name of these kinds, without GN_JVM_KIND */
	__u64 name_mh;
	/* Where unloaded classes are counted, before their memory is freed; 0 unknown. */
	__u64 unloads;

	/* Offsets in bytes, from the HeapBlock that precedes the blob. */
	__u16 blob;	       /* of the CodeBlob: sizeof(HeapBlock) */
	__u16 used;	       /* u8 */
	__u16 name;	       /* u64 */
	__u16 kind;	       /* u8, GN_JVM_KIND */
	__u16 size;	       /* s32 */
	__u16 header;	       /* s32: equals nmethod_header in nmethods, without GN_JVM_KIND */
	__u16 frame;	       /* s32, words */
	__u16 complete;	       /* s32 or s16, from the code's start */
	__u16 code;	       /* u64 or s32 from the blob */
	__u16 id;	       /* s32: compile id */
	__u16 level;	       /* s8: compilation level, 0 a native wrapper */
	__u16 orig_pc;	       /* s32: where a deoptimised frame keeps its pc, from its sp */
	__u16 deopt, deopt_mh; /* u64 or s32 from the blob */

	__u16 nmethod_header; /* sizeof(nmethod) */
	__u8 kind_nmethod, kind_vtable, kind_adapter, kind_mh;

	__u16 method_const; /* Method::_constMethod */
	__u16 cm_size;	    /* sizeof(ConstMethod): the bytecodes follow */

	__u16 anchor;	/* last Java sp, pc, fp in JavaThread::_anchor, three words */
	__u16 saved_pc; /* JavaThread::_saved_exception_pc, 0 unknown */
	/* The two counters, u64: from `unloads`, less than GN_UNLOADS_SPAN; one of them is 0. */
	__u16 unloads_at[2];
};

#define GN_OOP_NARROW	 0x1 /* references in objects are 32 bits: base + (n << shift) */
#define GN_OOP_ZGC	 0x2 /* generational ZGC's: the address begins above a bit out of 12-15 */
#define GN_OOP_ZMARKS	 0x4 /* older ZGC's: above its offset are colours, which may stay there */
#define GN_OOP_FORWARDED 0x8 /* Shenandoah's: what was moved says where to */

/* How references are read, and when objects move (kern/heap.bpf.h). Addresses are 0 if unknown. */
struct gn_heap {
	__u64 oop_base;
	__u64 active;	   /* address of a byte: not 0 while a collection has stopped all threads */
	__u64 collections; /* address of an u32: how many there were */
	/* ZGC: address of the mask of colours that say where an object is; for GN_OOP_ZMARKS of
	 * those that do not. */
	__u64 mask;
	__u64 offset_mask;
	/* of the young generation and the old one: what was moved from a granule of the heap */
	__u64 tables[2], granules[2];
	__u16 flags; /* GN_OOP_* */
	__u16 oop_shift;
	__u16 fw_start, fw_shift, fw_entries, fw_bytes; /* in a ZForwarding; its entries follow */
	__u32 pad;
};

/* How to tell a virtual thread and its name from its object. Offsets in bytes. */
struct gn_vthreads {
	struct gn_heap heap;
	__u64 klass; /* what the header of a java.lang.VirtualThread has at klass_at */
	__u16 klass_at, klass_shift;
	__u16 klass_bytes;   /* 4 or 8 */
	__u16 id, name;	     /* in java.lang.Thread */
	__u16 value, coder;  /* in java.lang.String */
	__u16 length, bytes; /* in a byte array */
	__u16 pad[3];
};

/*
 * A pointer of generational ZGC on x86 (JDK gc/z/zAddress.hpp): one of bits 12-15 is set and the
 * address begins right above it. 0: none.
 */
static inline __u64 gn_zgc_address(__u64 v)
{
	__u32 bits = v >> 12 & 15;

	/* 13 and the number of the lowest bit, without a branch that the verifier would follow */
	return bits ? v >> (13 + (0x0102010301020100ull >> (4 * bits) & 3)) : 0;
}

/* Tells where a ZGC forwarding table has an object, by its number on its page: zHash.inline.hpp. */
static inline __u32 gn_zgc_hash(__u32 key)
{
	key = ~key + (key << 15);
	key ^= key >> 12;
	key += key << 2;
	key ^= key >> 4;
	key *= 2057;
	return key ^ key >> 16;
}

#define GN_LOCK_IDS  0x1 /* monitors have ids of threads as owners (24), else addresses */
#define GN_LOCK_HELD 0x2 /* owner 1: who has the object in its lock stack */
#define GN_LOCK_HASH 0x4 /* ObjectMonitor::_metadata is the hash itself, not a header */

/*
 * How to get from a JavaThread to what it waits for and whose that is (user/jvm/monitors.h).
 * Offsets in bytes; 0: not known, and what needs it is not told.
 */
struct gn_locks {
	struct gn_heap heap;
	__u64 klass_base;
	__u64 ownable; /* the class AbstractOwnableSynchronizer; 0 not loaded yet */
	__u64 hash_mask;
	__u16 flags;		       /* GN_LOCK_* */
	__u16 klass_at, klass_bytes;   /* in an object */
	__u16 mark_shift, klass_shift; /* of the class within that word; of compressed ones */
	__u16 hash_shift;	       /* in an object's mark */
	__u16 pending, waiting;	       /* ObjectMonitors in JavaThread */
	__u16 current;		       /* the handle of Thread.currentThread() in JavaThread */
	__u16 object, owner,
		stack_locker; /* in ObjectMonitor, of which _metadata is the first word */
	__u16 blocker, id;    /* in java.lang.Thread */
	__u16 exclusive;      /* AbstractOwnableSynchronizer.exclusiveOwnerThread */
	__u16 super;	      /* in Klass: the class below Object that it is or extends */
	__u16 pad[3];
};

/* A thread that virtual threads are mounted on. */
struct gn_carrier {
	__u64 slot; /* the handle whose object is what Thread.currentThread() gives there */
	__u64 id;   /* the kernel side's: of the virtual thread that it was seen to run last */
};

#endif
