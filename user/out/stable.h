/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JVM numbers the classes that it makes itself in the order in which it happens to make them,
 *or by their address. Such a number says nothing, and is another one in the next run of the same
 * program: a method would be two in a comparison.
 *
 *	a.B$$Lambda$14/0x0000000800c03000.run	      a.B$$Lambda.run
 *	java.lang.invoke.LambdaForm$MH/0x7f01.invoke  java.lang.invoke.LambdaForm$MH.invoke
 *	jdk.internal.reflect.GeneratedMethodAccessor7.invoke, and constructors' accessors
 *	jdk.proxy2.$Proxy14.get			      jdk.proxy.$Proxy.get
 */
#ifndef GNOMON_OUT_STABLE_H
#define GNOMON_OUT_STABLE_H

#include "base/buffer.h"

/* Take such numbers out of a method's name, which is class, dot and method, not NUL ended. */
void stable_name(struct buffer *b);

#endif
