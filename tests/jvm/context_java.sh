#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a Java program publishes by gnomon-context.jar is read as it says itself: at each moment a thread within a scope has that
# scope's context and nobody else's, outside of all it has none; virtual threads take it from carrier to carrier.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/context.sh"
. "$(dirname "$0")/tree.sh"

need_root
context_classes ContextLoad

# load platform|virtual: 300 readings of all threads against the marks
load() {
    jvm_start ContextLoad "$1" 24
    "$PROBE" "$JVM_PID" "$CLASSES/marks" 300 >"$T/counts" || fail "$1: $(cat "$T/counts" "$JVM_ERR")"
    note "$(jdk_version "$JDK") $1: $(cat "$T/counts")"
    read -r _ inside _ outside _ <"$T/counts"
    [ "$inside" -gt 100 ] && [ "$outside" -gt 10 ] || fail "$1: too little was seen: $(cat "$T/counts")"
    jvm_unharmed
    jvm_end
}

still() {
    jvm_start ContextLoad still
    "$PROBE" "$JVM_PID" >"$T/said" || fail "the probe fails: $(cat "$JVM_ERR")"
    grep -q '^process schema tlsdesc_v1_dev keys gnomon.endpoint gnomon.operation gnomon.local_root_span_id$' "$T/said" &&
        grep -q '^resource service.name=shop$' "$T/said" || fail "the process context: $(cat "$T/said")"
    sed -n 's/^thread [0-9]* //p' "$T/said" | sed 's/\(2\{16\}\) [0-9a-f]\{16\}/\1 SPAN/' | sort >"$T/threads"
    diff - "$T/threads" <<END || fail "the threads"
00000000000000000000000000000000 0000000000000000 0=ids
00000000000000008448eb211c803190 0000000000000000 0=ids
00000000000000010000000000000002 0000000000000003 0=GET /cart 2=b7ad6b7169203331 1=SELECT ü
0af7651916cd43dd0000000000000000 0000000000000000 0=ids
0af7651916cd43dd0000000000000000 0000000000000000 0=ids
0af7651916cd43dd8448eb211c80319c abcdefabcdef0123 0=ids
0af7651916cd43dd8448eb211c80319c b7ad6b7169203331 0=GET /cart
11111111111111112222222222222222 SPAN 0=GET /shop
END
    jvm_end
}

every() {
    load platform
    [ "$(jdk_version "$JDK")" -lt 21 ] || load virtual
    still
}

tree_make
JAVA_HOMES="$(jdks | tr '\n' ' ') $(tree_home 21)"
export JAVA_HOMES
for_one_jdk every
