#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Attach and let go many times: nothing may grow in the target, and what a killed gnomon leaves
# must not be in the way of the next.
# in make check-all
# overlaps (long)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/agent.sh"

CYCLES=${CYCLES:-20}

fds() { find "/proc/$1/fd" -mindepth 1 | wc -l; }
threads() { find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l; }
# Not RSS: the heap moves by itself. What is mapped of the agent and of memfds.
agent_maps() { grep -c gnomon "/proc/$1/maps"; }

# Anonymous memory in kB, of a heap that is all there from the start. What the JVM compiles meanwhile is in it.
memory_kb() { awk '$1 == "Anonymous:" { print $2 }' "/proc/$1/smaps_rollup"; }
files() { find "/proc/$1/root/tmp" "/proc/$1/root/var/tmp" "/proc/$1/root/dev/shm" -maxdepth 1 \
    -name ".*$1*" ! -name '.java_pid*'; }

cycles() {
    local fds0 threads0 maps0 i kb0 kb least=1000000

    JVM_OPTS="-Xms32m -Xmx32m -XX:+AlwaysPreTouch -XX:+UseSerialGC" jvm_start AgentLoad plain
    # the first load, and what the allocator of the JVM's thread then keeps
    probe cycle "$JVM_PID" 20
    fds0=$(fds "$JVM_PID")
    threads0=$(threads "$JVM_PID")
    maps0=$(agent_maps "$JVM_PID")
    # a leak is in each batch, what is compiled in one or the other
    for i in 1 2 3; do
        kb0=$(memory_kb "$JVM_PID")
        probe cycle "$JVM_PID" "$CYCLES"
        kb=$(($(memory_kb "$JVM_PID") - kb0))
        [ $kb -gt $least ] || least=$kb
    done
    # a leak is one for each cycle; fewer may be open, since the JVM closes what it was reading at first
    assert_ge "open files allowed after $CYCLES cycles" "$(fds "$JVM_PID")" "$fds0"
    # the JVM starts and ends compiler threads as it likes
    assert_ge "threads allowed" "$(threads "$JVM_PID")" $((threads0 + 2))
    assert_eq "mappings" "$maps0" "$(agent_maps "$JVM_PID")"
    # a leak would be a page for each cycle
    assert_ge "kB that a batch may take" "$least" $((CYCLES * 2))
    assert_eq "files" "" "$(files "$JVM_PID")"
    nothing_left
    note "attach when loaded: $(sed -n 's/.*attach_ms=\([0-9.]*\).*/\1/p' "$T/probe.out") ms;" \
        "memory $least kB more in the best of 3 batches, open files $fds0, threads $threads0 -> $(threads "$JVM_PID")"
    jvm_unharmed
    jvm_end
}

# killed_at MS: kill -9 in the middle of an attach; quietly.
killed_at() {
    timeout -s KILL "$(calc "$1 / 1000")" "$PROBE" cycle "$JVM_PID" 1 >"$T/killed.out" 2>&1
} 2>/dev/null

# next_attach WHAT: works, and nothing of the killed one is left.
next_attach() {
    probe names "$JVM_PID" 100
    assert_match "the probe's output after $1" 'AgentLoad\.burn' "$T/probe.out"
    assert_match "the probe's output after $1" 'complete=1' "$T/probe.out"
    nothing_left
    jvm_unharmed
    file_has "$JVM_OUT" 'Full thread dump' && fail "$1: the JVM has dumped its threads"
    return 0
}

# One that dies without a word leaves its slot behind; there are eight. And in the middle of it:
# before the library is in it, and after.
killed() {
    local i

    jvm_start AgentLoad plain
    for i in {1..10}; do probe die "$JVM_PID"; done
    next_attach "ten that died"
    for ((i = 5; i <= 100; i += 10)); do
        killed_at "$(calc "$i / 10")"
        next_attach "kill -9 after 0.$i ms, loaded"
    done
    jvm_end
    for i in ${KILL_MS:-1 3 6 10 16 25}; do
        jvm_start AgentLoad plain
        killed_at "$i"
        next_attach "kill -9 after $i ms, not loaded"
        jvm_end
    done
    note "killed at 10 points of a second attach and ${i} ms of a first: the next one works"
}

# Two at a time: both see everything.
two() {
    jvm_start AgentLoad churn
    timeout 300 "$PROBE" names "$JVM_PID" 2000 >"$T/first.out" 2>&1 &
    sleep 0.7
    probe names "$JVM_PID" 500
    wait $!
    assert_match "the second's output" 'AgentLoad\.burn' "$T/probe.out"
    assert_match "the first's output" 'AgentLoad\.burn' "$T/first.out"
    assert_match "the first's output" '^stats .* bad=0 .*complete=1' "$T/first.out"
    jvm_unharmed
    jvm_end
}

# Both at once, where there is no listener yet: one signal, no thread dump.
at_once() {
    local i j

    for i in 0 0.002 0.008; do
        jvm_start AgentLoad plain
        timeout 300 "$PROBE" names "$JVM_PID" 200 >"$T/first.out" 2>&1 &
        j=$!
        sleep $i
        probe names "$JVM_PID" 200
        wait $j || fail "the first: $(cat "$T/first.out")"
        file_has "$JVM_OUT" 'Full thread dump' && fail "$i s apart: the JVM has dumped its threads"
        nothing_left
        jvm_unharmed
        jvm_end
    done
}

need_root
built "$PROBE"
for_one_jdk cycles
for t in killed two at_once; do for_any_jdk $t; done
