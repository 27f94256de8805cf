#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: stacks_unload.sh [MS JVM-OPTION...]
#
# Classes that run for some milliseconds and are unloaded, and others that come to lie where they were:
# no frame has the name of another generation's method. What is not certain has no name.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

unload() {
    local jfr=$T/unload.jfr ms=$1

    shift
    JVM_OPTS="-Xmx64m $*" jvm_start Unload "$ms"
    recorded_for 800 "$UNLOAD_SECONDS" "$jfr" -p "$JVM_PID" --cpu 1ms --wall 5ms --force
    jvm_unharmed
    jvm_end
    assert_match "what was recorded" 'with a method unloaded before it had a name' "$GN_ERR"
    "$GNOMON" summary "$jfr" >"$T/summary" || fail "summary"
    assert_match "the summary" 'with methods unloaded before they had a name' "$T/summary"
    "$(jdk_newest)/bin/java" -Xshare:auto -cp "$CLASSES" UnloadCheck "$jfr" >"$T/check.out" 2>&1 ||
        softly fail "wrong names: $(head -c 3000 "$T/check.out")"
    note "$(tail -n 1 "$T/check.out")"
    RIGHT=$(sed -n 's/.* right \([0-9]*\) .*/\1/p' "$T/check.out")
}

# named MS JVM-OPTION...: on a busy machine nothing that lives so short has a name in time; then longer ones have to.
named() {
    local ms=$1

    shift
    for ms in "$ms" $((4 * ms)) $((16 * ms)); do
        unload "$ms" "$@"
        [ "${RIGHT:-0}" -lt 100 ] || return 0
    done
    fail "frames with a name: ${RIGHT:-0}, want 100"
}

UNLOAD_SECONDS=${UNLOAD_SECONDS:-2}
if [ $# -gt 0 ]; then
    for_each_jdk named "$@"
else
    for_one_jdk named 8 -Xint -XX:+UseSerialGC
    JDK=$(jdk_newest) named 8 -XX:+UseG1GC -XX:-UsePerfData
fi
softly_end
