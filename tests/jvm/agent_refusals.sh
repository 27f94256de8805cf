#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# JVMs that cannot be attached to: a clear word, soon, no thread dump in their output, no harm.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/agent.sh"

no_dump() {
    nap 0.3
    file_has "$JVM_OUT" 'Full thread dump' && fail "the JVM has dumped its threads"
    return 0
}

disabled_by_flag() {
    JVM_OPTS=-XX:+DisableAttachMechanism jvm_start AgentLoad plain
    probe_fails 3 'DisableAttachMechanism' names "$JVM_PID" 100
    probe check "$JVM_PID"
    assert_match "check" '^no 4' "$T/probe.out"
    no_dump
    jvm_unharmed
    jvm_end
}

# Not on the command line: only the JVM's own hsperfdata tells.
disabled_by_file() {
    echo -XX:+DisableAttachMechanism >"$T/flags"
    JVM_OPTS="-XX:+UnlockDiagnosticVMOptions -XX:VMOptionsFile=$T/flags" jvm_start AgentLoad plain
    probe_fails 3 'attaching is disabled' names "$JVM_PID" 100
    no_dump
    jvm_unharmed
    jvm_end
}

stopped() {
    jvm_start AgentLoad plain
    process_stop "$JVM_PID"
    probe_fails 3 'is stopped' names "$JVM_PID" 100
    kill -CONT "$JVM_PID"
    # with its listener up, too
    probe names "$JVM_PID" 50
    process_stop "$JVM_PID"
    probe_fails 3 'is stopped' names "$JVM_PID" 100
    kill -CONT "$JVM_PID"
    no_dump
    jvm_unharmed
    jvm_end
}

dynamic_agents_off() {
    [ "$(jdk_version "$JDK")" -ge 9 ] || return 0
    JVM_OPTS=-XX:-EnableDynamicAgentLoading jvm_start AgentLoad plain
    probe_fails 3 'Dynamic agent loading is not enabled|did not load' names "$JVM_PID" 100
    nothing_left
    jvm_unharmed
    jvm_end
}

not_a_jvm() {
    sleep 60 &
    CHILDREN+=($!)
    probe_fails 3 'libjvm' names $! 100
    kill -0 $! || fail "it is gone"
    probe_fails 3 'does not exist' names 4194303 100
}

# It dies while we attach; whatever is said, it is said soon.
dies() {
    local i

    for i in 0 2 5; do
        jvm_start AgentLoad plain
        (sleep 0.0$i && kill -KILL "$JVM_PID") &
        timeout 300 "$PROBE" names "$JVM_PID" 300 >"$T/probe.out" 2>"$T/probe.err"
        [ $? -le 3 ] || fail "the probe: $(cat "$T/probe.err")"
        rm -f "/tmp/.java_pid$JVM_PID"
        exec {JVM_FD}>&-
    done
    nothing_left
}

# From its very first millisecond on: never killed, never a dump.
young() {
    local i pid

    classes
    for i in 0 1 3 10 40; do
        "$JDK/bin/java" -cp "$CLASSES" AgentLoad plain </dev/null >"$T/young.out" 2>"$T/young.err" &
        pid=$!
        CHILDREN+=("$pid")
        sleep "$(calc "$i / 1000")"
        timeout 300 "$PROBE" cycle "$pid" 1 >"$T/probe.out" 2>"$T/probe.err"
        # standard input is at its end, so it ends by itself, with 0
        wait "$pid" || fail "the JVM ended with $?"
        file_has "$T/young.out" 'Full thread dump' && fail "the JVM has dumped its threads"
    done
    return 0
}

need_root
built "$PROBE"
not_a_jvm
for t in disabled_by_flag disabled_by_file stopped dynamic_agents_off dies young; do
    for_one_jdk $t
done
