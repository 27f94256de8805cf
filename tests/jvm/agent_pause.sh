#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What attaching does to a JVM with 20,000 compiled methods: the longest gap of a thread that
# wakes every millisecond, against the same without attaching.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/agent.sh"

# each class has one method that every JDK compiles here; JDK 17 compiles the constructors as well
CLASSES_N=${CLASSES_N:-20000}
# Here only what would be a mistake; the figure itself is for a quiet machine.
LIMIT_MS=${LIMIT_MS:-400}

# round I COMMAND...: the gap of that round, in ns; COMMAND runs half a second into it.
round() {
    local i=$1

    shift
    jvm_go
    sleep 0.5
    "$@"
    until_true 10 file_has "$JVM_OUT" "^TRUTH gap$i " || fail "the heartbeat does not end"
}

least() { for i in "$@"; do truth "gap$i" 3; done | sort -n | head -n 1; }

# Rounds without and with an attach take turns; the least gap of each kind is the one that the
# rest of the machine had no part in.
pause() {
    local quiet attached limit i

    JVM_READY=90
    JVM_OPTS="-Xmx512m -XX:ReservedCodeCacheSize=240m -Xcomp -XX:TieredStopAtLevel=1
        -XX:CompileCommand=quiet -XX:CompileCommand=compileonly,AgentLoad*::*"
    jvm_start AgentLoad many "$CLASSES_N"
    for i in 1 3 5; do
        round $i true
        round $((i + 1)) probe cycle "$JVM_PID" 1
        note "$(tail -n 1 "$T/probe.out")"
    done
    quiet=$(least 1 3 5)
    attached=$(least 2 4 6)
    note "longest gap, ms, best of 3: $(calc "$quiet / 1e6") quiet, $(calc "$attached / 1e6") with"
    assert_ge "pieces of code" $CLASSES_N \
        "$(sed -n 's/.* codes=\([0-9]*\).*/\1/p' "$T/probe.out")"
    assert_match "the probe's output" ' lost=0 bad=0 .*complete=1' "$T/probe.out"
    limit=$((LIMIT_MS * 1000000 + quiet))
    assert_ge "the bound in ns, against the gap with attaching" "$attached" "$limit"
    jvm_unharmed
    jvm_end
}

need_root
probe_build
JDK=$(jdk_newest)
pause
