#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/pause.sh                                  (as root)
#
# What a recording's begin does to a JVM with 20,000 compiled methods: the longest gap of a thread
# that wakes every millisecond, and the slowest requests of a client, with an agent attached, with
# the JVM's memory read, and with another JVM recorded, which takes CPUs just so; in turns. ROUNDS of
# each (3), and KINDS for a closer look (also "quiet": nothing is recorded): a median of 15 rounds
# tells a millisecond from chance.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/jvm/agent.sh"
[ "$PROFILER" = gnomon ] || skip "of gnomon only"

# each class has one method that every JDK compiles here; JDK 17 compiles the constructors as well
CLASSES_N=${CLASSES_N:-20000}
ROUNDS=${ROUNDS:-3}
KINDS=${KINDS:-other vmstructs attach agent}
LIMIT_MS=${LIMIT_MS:-50}

# round KIND COMMAND...: COMMAND runs half a second into it.
ROUND=0
declare -A OF
round() {
    local kind=$1

    shift
    ROUND=$((ROUND + 1))
    OF[$kind]+=" $ROUND"
    jvm_go
    sleep 0.5
    "$@"
    until_true 10 file_has "$JVM_OUT" "^TRUTH gap$ROUND " || fail "the heartbeat does not end"
    note "$kind: longest gap $(ms "gap$ROUND") ms ($(ms "halt$ROUND") without waits for a CPU), requests: p99 $(ms "p99-$ROUND") ms, \
slowest $(ms "slowest-$ROUND") ms"
}

ms() { calc "$(truth "$1" 3) / 1e6"; }

record() {
    timeout 60 "$GNOMON" record -q --force -p "$JVM_PID" --jvm "$1" -d 1s -o "$T/pause.jfr" \
        2>"$T/record.err" || fail "record: exit code $?: $(cat "$T/record.err")"
}

# least KIND FIELD: of that kind's rounds, that of which the rest of the machine had no part.
least() {
    local i

    for i in ${OF[$1]}; do truth "$2$i" 3; done | sort -n | head -n 1
}
# at_most WHAT NS MS: a line of the table.
at_most() { row "pause $(jdk_version "$JDK")" "$1" 0 "$(calc "$2 / 1e6")" ms - "$3"; }

# bounded KIND MS: neither the heartbeat nor the slowest request of its best round is beyond.
bounded() {
    at_most "$1: longest gap" "$(least "$1" gap)" "$2"
    at_most "$1: slowest request" "$(least "$1" slowest-)" "$2"
}

# median KIND FIELD: in ms
median() {
    local i

    for i in ${OF[$1]}; do truth "$2$i" 3; done | sort -n |
        awk '{ v[NR] = $1 } END { printf "%.2f", v[int((NR + 1) / 2)] / 1e6 }'
}

kind_quiet() { round quiet true; }
kind_vmstructs() { round vmstructs record vmstructs; }
# the control: what recording does to a JVM that is not recorded, by its use of the CPUs
kind_other() { JVM_PID=$OTHER round other record vmstructs; }
kind_agent() { round agent record agent; }
kind_attach() {
    round attach probe cycle "$JVM_PID" 1
    note "$(tail -n 1 "$T/probe.out")"
}

pause() {
    local i kind

    ROUND=0
    OF=()
    if [[ $KINDS == *other* ]]; then
        JVM_OPTS=-Xmx64m jvm_start Idle 8 0
        OTHER=$JVM_PID
    fi
    JVM_READY=300
    JVM_OPTS="-Xmx512m -XX:ReservedCodeCacheSize=240m -Xcomp -XX:TieredStopAtLevel=1
        -XX:CompileCommand=quiet -XX:CompileCommand=compileonly,AgentLoad*::*"
    jvm_start AgentLoad many "$CLASSES_N" $((5 * ROUNDS))
    for ((i = 0; i < ROUNDS; i++)); do
        for kind in $KINDS; do "kind_$kind"; done
    done
    for kind in $KINDS; do
        note "$kind, medians: gap $(median "$kind" gap) ms, halt $(median "$kind" halt) ms, \
p99 $(median "$kind" p99-) ms, slowest $(median "$kind" slowest-) ms"
    done
    [[ $KINDS == *other*vmstructs*attach*agent* ]] || { jvm_end && return; }
    assert_ge "pieces of code" "$CLASSES_N" \
        "$(sed -n 's/.* codes=\([0-9]*\).*/\1/p' "$T/probe.out")"
    assert_match "the probe's output" ' lost=0 bad=0 .*complete=1' "$T/probe.out"
    bounded attach "$LIMIT_MS"
    bounded agent "$LIMIT_MS"
    # nothing stops the JVM there: it is as if another were recorded
    at_most "vmstructs: halt, beyond another's" \
        "$(calc "($(least vmstructs halt) > $(least other halt) ? $(least vmstructs halt) - $(least other halt) : 0)")" 3
    jvm_unharmed
    jvm_end
}

probe_build
heading
for_each_jdk pause
verdicts_end
