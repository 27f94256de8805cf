/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vocabulary of named frames, shared by the symbolizers (sym/, jvm/), the model and the
 * writers.
 */
#ifndef GNOMON_BASE_FRAME_H
#define GNOMON_BASE_FRAME_H

#include <stddef.h>
#include <stdint.h>

/* The numbers are JFR frame type ids as converters expect them (JFR type jdk.types.FrameType). */
enum frame_type {
	FRAME_INTERPRETED = 0,
	FRAME_JIT = 1, /* C2 or another top tier */
	FRAME_INLINED = 2,
	FRAME_NATIVE = 3,
	FRAME_CPP = 4, /* native, demangled C++ */
	FRAME_KERNEL = 5,
	FRAME_C1 = 6,
};

#define FRAME_NAME_MAX 1024 /* longest class or method name kept, bytes with the terminator */

/*
 * The classes of code that has none. They are in round brackets: readers take a class whose name
 * begins with "[" for an array's, and JMC's stack views throw where it is no array's. What stands
 * for the name of a method is in square brackets: "(kernel)" has "[unknown]".
 */
#define KLASS_KERNEL  "(kernel)"
#define KLASS_BPF     "(bpf)"
#define KLASS_VDSO    "(vdso)"
#define KLASS_ANON    "(anon)"
#define KLASS_JVM     "(jvm)"
#define KLASS_STUB    "(stub)"
#define KLASS_GNOMON  "(gnomon)"
#define KLASS_UNKNOWN "(unknown)"

/*
 * One logical frame. Java: `klass` is dotted ("java.lang.String"), `method` bare ("indexOf"),
 * `sig` the JVM descriptor ("(II)I"). Native: klass is the library's base name ("libc.so.6",
 * "(kernel)"), method the symbol, sig "". Strings belong to the symbolizer that returned them and
 * live until its next call unless it says otherwise.
 */
struct frame_name {
	const char *klass;
	const char *method;
	const char *sig;
	int32_t line; /* -1 unknown */
	int32_t bci;  /* -1 unknown */
	uint8_t type; /* enum frame_type */
	uint8_t hidden;
	uint16_t modifiers; /* JVM access flags of the method, 0 for native */
	/*
	 * Not 0: frames with the same one, ever, are of the same class and method, with the same
	 * descriptor, modifiers and `hidden`, and of Java.
	 */
	uint64_t method_key;
};

/*
 * Makes a class name that somebody else chose one of the above form: "[heap]" becomes "(heap)", and
 * a "[" in front that nothing closes becomes "(" too. `len` bytes, which need no terminator.
 */
void frame_klass_round(char *klass, size_t len);

#endif
