#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A thread that waits for nothing that has a name waits for who wakes it: LockSupport.park() without a blocker has the
# thread that calls unpark(), and where that one was; a wait whose time runs out has nobody, nor has one whose object is
# told. In WaitCause, in the tree and in the summary; with --no-causes, and where the kernel does not show it, there is none.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

CAUSE_EVENT=gnomon.WaitCause

# wakers_of JFR THREAD: "WAKER KIND CAUSE" of its waits
wakers_of() {
    query "$1" values $CAUSE_EVENT eventThread state waker kind cause | awk -v t="$2" '
        $1 == t && $2 != "STATE_QUEUED" { sub(/^[^ ]* [^ ]* /, ""); print }' | sort -u
}

parked() { weight "$1" "$2" "thread=$3" "state=$4"; }

shown() {
    local jfr=$1 all under

    "$GNOMON" render "$jfr" -f collapsed -D off --idle --causes >"$T/caused" || fail "render --causes"
    # it wakes the compiler, too
    all=$(grep -E 'Wakers\.park;.*\(wake-up\) by its own server' "$T/caused" | awk '{ n += $NF } END { printf "%.0f\n", n }')
    under=$(grep -E 'Wakers\.park;.*\(wake-up\) by its own server;\[server\];.*Wakers\.serve;Wakers\.handOver;' "$T/caused" |
        awk '{ n += $NF } END { printf "%.0f\n", n }')
    assert_eq "time that waited for handOver()" "$all" "$under"
    "$GNOMON" summary "$jfr" >"$T/summary" || fail "summary"
    tr -s ' \n' ' ' <"$T/summary" |
        grep -Eq "waiting for \(wake-up\) by its own server, most of it in Wakers\.park; 'server' did it for [0-9]+% of that, most of it in Wakers\.handOver" ||
        fail "summary does not say who wakes: $(cat "$T/summary")"
}

causes_wakers() {
    local version jfr all without

    version=$(jdk_version "$JDK")
    jfr=$T/wakers-$version.jfr
    jvm_start Wakers
    # beside it one without what shows wakers, which has as much time to find some
    GNOMON_WITHOUT=tp_btf/sched_waking "$GNOMON" record -q -p "$JVM_PID" -d 8s -o "$T/without-$version.jfr" </dev/null &
    without=$!
    CHILDREN+=("$without")
    "$GNOMON" record -q -p "$JVM_PID" -d 8s -o "$jfr" || fail "record"
    wait "$without" || fail "record without what shows wakers: exit code $?"
    assert_eq "who wakes 'parker'" "server wake-up by its own server" "$(wakers_of "$jfr" parker)"
    all=$(parked "$jfr" $WALL_EVENT parker STATE_PARKED)
    assert_ge "samples of 'parker'" 200 "$all"
    # the programs come when the recording has begun (on a busy machine seconds later), and a wait has a waker only when it is
    # over and its stack known
    assert_ge "of them with a waker" "$((all / 2))" "$(parked "$jfr" $CAUSE_EVENT parker STATE_PARKED)"
    assert_eq "who wakes 'napper'" "" "$(wakers_of "$jfr" napper | grep -v 'by its own compiler$')"
    # a thread may wait for a compiler for a moment, when what it runs is to be compiled
    assert_eq "wakers of 'taker', whose queue is told" "" "$(wakers_of "$jfr" taker | grep wake-up | grep -v 'by its own compiler$')"
    shown "$jfr"
    "$GNOMON" record -q -p "$JVM_PID" -d 1s --no-causes -o "$T/none-$version.jfr" || fail "record --no-causes"
    assert_eq "causes with --no-causes" 0 "$(weight "$T/none-$version.jfr" $CAUSE_EVENT)"
    assert_ge "samples of 'parker' where the kernel shows no wakers" 200 "$(parked "$T/without-$version.jfr" $WALL_EVENT parker STATE_PARKED)"
    assert_eq "wakers where the kernel shows none" "" "$(wakers_of "$T/without-$version.jfr" parker)"
    jvm_unharmed
    jvm_end
    jfr_readable "$jfr"
}

for_one_jdk causes_wakers
