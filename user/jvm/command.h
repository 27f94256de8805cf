/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a running JVM says that it runs and with which options, from its performance counters
 * (sun.rt.javaCommand, java.rt.vmArgs): for a command line that leaves it to a file.
 */
#ifndef GNOMON_JVM_COMMAND_H
#define GNOMON_JVM_COMMAND_H

#include <sys/types.h>

#include "target/javacmd.h"

/*
 * Sets main class and flags of `cmd`. What the JVM does not say (it is starting, or has no
 * counters) is left as it was. For jvm_command_ask().
 */
void jvm_command_tell(pid_t pid, struct java_cmd *cmd);

#endif
