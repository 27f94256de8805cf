#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The one library in processes of either C library, against a made-up JVM.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/agent.sh"

AGENT=$BUILD/agent/libgnomon-agent.so

# record types: names of the two threads and itself (5), method names of outer and inner (1), code
# (2), the mark (7); then a thread start; then nothing, and the memory is given back
host() {
    "$@" -w -D_GNU_SOURCE -I"$ROOT" -I"$ROOT/user" -o "$T/host" "$LIB_DIR/agent_host.c" ||
        fail "agent_host.c does not compile with $1"
    timeout 300 "$T/host" "$AGENT" >"$T/host.out" || fail "$1: $(cat "$T/host.out")"
    assert_match "the ring" '^5 5 5 1 1 2 7 state 1 dropped 0$' "$T/host.out"
    assert_match "the ring" '^5 5 5 1 1 2 7 5 state 1 dropped 0$' "$T/host.out"
    assert_match "the ring" '^state 0 dropped 0$' "$T/host.out"
    note "$1: runs"
}

built "$AGENT"
nm -D --undefined-only "$AGENT" | grep . && fail "the library needs symbols"
readelf -d "$AGENT" | grep NEEDED && fail "the library needs libraries"
readelf -lW "$AGENT" | grep GNU_STACK | grep -q ' RW ' || fail "the library wants an executable stack"
host "${CC:-gcc}"
need_cmd musl-gcc
host musl-gcc
