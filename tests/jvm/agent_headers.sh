#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The agent's own declarations of JVMTI and JNI against every JDK's headers.
# overlaps
. "$(dirname "$0")/lib.sh"

headers() {
    "${CC:-gcc}" -I"$JDK/include" -I"$JDK/include/linux" -I"$ROOT/user" -o "$T/headers" \
        "$LIB_DIR/agent_headers.c" || fail "vm.h and the JDK's headers differ"
    "$T/headers" || fail "the bits of the capabilities differ"
}

for_each_jdk headers
