#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Attach and let go many times: nothing may grow in the target, and what a killed gnomon leaves
# must not be in the way of the next.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/agent.sh"

CYCLES=${CYCLES:-20}

fds() { find "/proc/$1/fd" -mindepth 1 | wc -l; }
threads() { find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l; }
# Not RSS: the heap moves by itself. What is mapped of the agent and of memfds.
agent_maps() { grep -c gnomon "/proc/$1/maps"; }

cycles() {
    local fds0 threads0 maps0

    jvm_start AgentLoad plain
    probe cycle "$JVM_PID" 1
    sleep 0.5
    fds0=$(fds "$JVM_PID")
    threads0=$(threads "$JVM_PID")
    maps0=$(agent_maps "$JVM_PID")
    probe cycle "$JVM_PID" "$CYCLES"
    sleep 0.5
    assert_eq "open files after $CYCLES cycles" "$fds0" "$(fds "$JVM_PID")"
    # the JVM starts and ends compiler threads as it likes
    assert_ge "threads allowed" "$(threads "$JVM_PID")" $((threads0 + 2))
    assert_eq "mappings" "$maps0" "$(agent_maps "$JVM_PID")"
    nothing_left
    note "attach when loaded: $(sed -n 's/.*attach_ms=\([0-9.]*\).*/\1/p' "$T/probe.out") ms"
    jvm_unharmed
    jvm_end
}

# One that dies without a word leaves its slot behind; there are eight.
killed() {
    local i

    jvm_start AgentLoad plain
    for i in {1..10}; do probe die "$JVM_PID"; done
    probe names "$JVM_PID" 100
    assert_match "the probe's output" 'AgentLoad\.burn' "$T/probe.out"
    # and in the middle of it
    for i in 0.001 0.002 0.003 0.005 0.01; do
        timeout -s KILL $i "$PROBE" cycle "$JVM_PID" 1 >"$T/killed.out" 2>&1
    done
    probe names "$JVM_PID" 100
    nothing_left
    jvm_unharmed
    jvm_end
}

# Two at a time: both see everything.
two() {
    jvm_start AgentLoad churn
    timeout 60 "$PROBE" names "$JVM_PID" 2000 >"$T/first.out" 2>&1 &
    sleep 0.7
    probe names "$JVM_PID" 500
    wait $!
    assert_match "the second's output" 'AgentLoad\.burn' "$T/probe.out"
    assert_match "the first's output" 'AgentLoad\.burn' "$T/first.out"
    assert_match "the first's output" '^stats .* bad=0 .*complete=1' "$T/first.out"
    jvm_unharmed
    jvm_end
}

need_root
probe_build
for t in cycles killed two; do for_each_jdk $t; done
