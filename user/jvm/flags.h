/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The -XX flags of a running JVM: their values now and who set them, from the JVM's own table (JDK
 * runtime/flags/jvmFlag.hpp, JDK 17 and later), as the JDK's own recordings have them
 * (`jcmd VM.flags -all` leaves out those that are constants of a product build).
 */
#ifndef GNOMON_JVM_FLAGS_H
#define GNOMON_JVM_FLAGS_H

#include <stdbool.h>
#include <stdint.h>

struct vm;

#define FLAG_NAME_MAX 128
#define FLAG_TEXT_MAX 4096

enum flag_type { /* JVMFlag::FlagType */
		 FLAG_BOOL,
		 FLAG_INT,
		 FLAG_UINT,
		 FLAG_INTX,
		 FLAG_UINTX,
		 FLAG_UINT64,
		 FLAG_SIZE,
		 FLAG_DOUBLE,
		 FLAG_STRING,
		 FLAG_STRINGS, /* several, a line each */
		 FLAG_TYPES
};

struct flag {
	char name[FLAG_NAME_MAX];
	enum flag_type type;
	const char *origin; /* in the JDK's words: "Default", "Command line", "Ergonomic" */
	uint64_t bits;	    /* of a number; a negative one is extended to 64 bits */
	double real;
	char text[FLAG_TEXT_MAX]; /* "" also for none */
};

typedef void (*flag_fn)(void *ctx, const struct flag *f);

/* Calls fn for each that is not locked. -ENOENT: this JVM's table cannot be read; or -EFAULT in the
 * middle of it. */
int flags_each(struct vm *vm, flag_fn fn, void *ctx);

/*
 * Tells how references are compressed, in the JDK's words (CompressedOops::mode_to_string()); NULL:
 * they are not, or it is not known.
 */
const char *vm_oop_mode(struct vm *vm);

#endif
