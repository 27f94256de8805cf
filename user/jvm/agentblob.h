/* SPDX-License-Identifier: Apache-2.0 */
/* The agent library, embedded (agentblob.S). */
#ifndef GNOMON_JVM_AGENTBLOB_H
#define GNOMON_JVM_AGENTBLOB_H

#include <stdint.h>

extern const uint8_t agent_blob[];
extern const uint8_t agent_blob_end[];

#endif
