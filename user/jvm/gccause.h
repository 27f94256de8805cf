/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a JVM collects, by the number that it has of it (gc/shared/gcCause.hpp), which differs by
 * release. The tables are read off the code of GCCause::to_string() in OpenJDK's builds of those
 * releases that get updates for years; of others numbers are learned (collections.c).
 */
#ifndef GNOMON_JVM_GCCAUSE_H
#define GNOMON_JVM_GCCAUSE_H

/* In the words of the counters and of the JDK's events; NULL: not known of this release. */
const char *gccause_text(int release, int number);

#endif
