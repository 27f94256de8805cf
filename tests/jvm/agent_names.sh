#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The agent in real JVMs: names, inlining, lines, threads old and new, code that comes and goes.
# overlaps (long)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/agent.sh"

# probe_stat FIELD: out of the probe's closing line.
probe_stat() { sed -n "s/^stats .*\\b$1=\\([0-9.]*\\).*/\\1/p" "$T/probe.out"; }

no_loss() {
    assert_eq "records lost" 0 "$(probe_stat lost)"
    assert_eq "bad records" 0 "$(probe_stat bad)"
    assert_eq "complete" 1 "$(probe_stat complete)"
}

plain() {
    jvm_start AgentLoad plain
    cpu_spent 1500 # by then all is compiled and inlined
    probe names "$JVM_PID" 300
    no_loss
    assert_match "the probe's output" 'AgentLoad\.burn\(I\)V' "$T/probe.out"
    assert_match "inlined code" 'AgentLoad\.step\(I\)I:[0-9-]*@[0-9-]*/2 AgentLoad\.burn\(I\)V:[0-9]+@[0-9]+/1' \
        "$T/probe.out"
    # the line of the loop, counted in the source
    line=$(grep -n 'i < n; i++' "$LIB_DIR/java/AgentLoad.java" | head -n 1 | cut -d: -f1)
    assert_match "the loop's line" "AgentLoad\\.burn\\(I\\)V:$line@" "$T/probe.out"
    # a thread that lived before the attach, by its tid; comm has its first 15 characters
    tid=$(awk '/^thread .* a-busy-thread-with-a-long-name$/ { print $2 }' "$T/probe.out")
    [ -n "$tid" ] || fail "the old thread has no name"
    assert_eq "its comm" a-busy-thread-w "$(cat "/proc/$JVM_PID/task/$tid/comm")"
    assert_match "threads" '^thread [0-9]+ main$' "$T/probe.out"
    note "attach: $(probe_stat attach_ms) ms, $(probe_stat codes) pieces of code"
    # again: the library is there
    probe names "$JVM_PID" 100
    no_loss
    assert_eq "reused" 1 "$(probe_stat reused)"
    assert_match "the probe's output" 'AgentLoad\.burn\(I\)V' "$T/probe.out"
    warnings
    nothing_left
    jvm_unharmed
    jvm_end
}

# JEP 451: three lines of warning at the first load, none after it, none before JDK 21.
warnings() {
    local want=0

    [ "$(jdk_version "$JDK")" -ge 21 ] && want=3
    assert_eq "lines of warning" $want "$(grep -c '^WARNING' "$JVM_ERR")"
}

allowed() {
    JVM_OPTS=-XX:+EnableDynamicAgentLoading jvm_start AgentLoad plain
    probe names "$JVM_PID" 100
    assert_empty "the JVM's stderr" "$JVM_ERR"
    jvm_end
}

churn() {
    jvm_start AgentLoad churn
    probe names "$JVM_PID" 1000
    no_loss
    n=$(probe_stat threads)
    note "threads seen in 1 s of churn: $n"
    assert_ge "threads" 20 "$n"
    jvm_unharmed
    jvm_end
}

VICTIM='AgentLoad[$]Victim[.]applyAsInt[(]I[)]I'
fresh() {
    JVM_OPTS="-Xmx64m -XX:MaxMetaspaceSize=64m" jvm_start AgentLoad fresh
    for _ in {1..10}; do
        probe names "$JVM_PID" 1000
        no_loss
        ! file_has "$T/probe.out" "$VICTIM" || break
    done
    note "records in 1 s of new classes: $(probe_stat records), codes kept $(probe_stat codes)"
    assert_match "the probe's output" "$VICTIM" "$T/probe.out"
    jvm_unharmed
    jvm_end
}

perfmap() {
    jvm_start AgentLoad plain
    cpu_spent 500
    probe perfmap "$JVM_PID"
    map=/tmp/perf-$JVM_PID.map
    assert_match "the perf map" '^[0-9a-f]+ [0-9a-f]+ AgentLoad\.burn$' "$map"
    assert_match "the perf map" ' Interpreter|interpreter' "$map"
    [ "$(awk '$1 !~ /^[0-9a-f]+$/ || $2 !~ /^[0-9a-f]+$/ || NF < 3' "$map" | wc -l)" = 0 ] ||
        fail "the perf map has other lines"
    rm -f "$map"
    nothing_left
    jvm_unharmed
    jvm_end
}

need_root
built "$PROBE"
for t in plain allowed churn fresh perfmap; do for_one_jdk $t; done
