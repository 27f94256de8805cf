#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Why threads are queued for a CPU: two busy threads and a busy process of another container on one CPU, by both
# engines; then a group whose CPU limit leaves them next to nothing, or half a CPU. Each sample of a thread that was queued has a cause,
# among them the ones that must be, and none that cannot be. The shares are those of the scheduler's own account.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cgroup.sh"
need_root
need_gnomon record
need_cmd taskset

CAUSE_EVENT=gnomon.WaitCause
BUSY=busy-thread-number-
CPU=$(($(nproc) - 1))

# hog_start: a process that is called gnomon-hog, in a container of its own where version 2 of control groups is.
hog_start() {
    cp "$(command -v bash)" "$T/gnomon-hog" 2>/dev/null # it may be there
    taskset -c "$CPU" "$T/gnomon-hog" -c 'while :; do :; done' &
    HOG=$!
    CHILDREN+=("$HOG")
    HOG_NAMED=gnomon-hog
    [ -n "$HOG_GROUP" ] && echo "$HOG" >"$HOG_GROUP/cgroup.procs" || return
    HOG_NAMED='gnomon-hog of docker container 000000000000'
}

# groups: the JVM's (OWN), and the hog's
groups() {
    local v2

    group_make
    OWN=("${GROUPS_MADE[@]}")
    v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    HOG_GROUP=$v2/docker/$(printf '%064x' $(($$ + 10000000)))
    [ -n "$v2" ] && mkdir -p "$HOG_GROUP" && GROUPS_MADE+=("$HOG_GROUP") || HOG_GROUP=
}

# stands WHAT: "NAME NS" of the scheduler's account
stands() {
    threads_cpu "$JVM_PID" | awk '{ print $3, $2 }' | grep "^${BUSY:0:15}" | awk '{ print "cpu" NR, $2 }'
    [ -z "${HOG:-}" ] || echo "hog $(cut -d' ' -f1 "/proc/$HOG/schedstat")"
    echo "limited $(flat "$GROUP_CPU/cpu.stat" $([ $GROUP_V = 2 ] && echo throttled_usec || echo throttled_time))"
    echo "time ${EPOCHREALTIME/./}000"
}

# causes_of JFR: "SAMPLES CAUSE" of the busy threads' queueing
causes_of() {
    query "$1" values $CAUSE_EVENT eventThread state samples kind cause | awk -v t="$BUSY" '
        index($1, t) == 1 && $2 == "STATE_QUEUED" {
            n = $3
            sub(/^[^ ]* [^ ]* [^ ]* /, "")
            sum[$0] += n
        }
        END { for (c in sum) print sum[c], c }' | sort -rn >"$T/causes"
}

# samples_of CAUSE
samples_of() { awk -v c="$1" '{ n = $1; sub(/^[^ ]* /, ""); if ($0 == c) sum += n } END { print sum + 0 }' "$T/causes"; }

# recorded ENGINE: what the scheduler gave in two seconds of it is in `before` and `after`
recorded() {
    JFR=$T/$1.jfr
    jvm_wake
    gnomon_start "$JFR" -p "$JVM_PID" --wall 5ms --wall-engine="$1" --force
    stands >"$T/before"
    sleep 2
    stands >"$T/after"
    gnomon_stop
    jvm_rest
    [ -z "$HOG" ] || process_stop "$HOG"
    causes_of "$JFR"
    sed 's/^/  /' "$T/causes" | head -8
    QUEUED=$(weight "$JFR" $WALL_EVENT "thread=$BUSY.*" state=STATE_QUEUED)
    assert_ge "samples of queueing" 50 "$QUEUED"
    assert_eq "of them with a cause" "$QUEUED" "$(awk '{ n += $1 } END { print n + 0 }' "$T/causes")"
    assert_eq "threads that never run are blamed" "" "$(grep -E 'its own (main|Reference|Signal|Finalizer)' "$T/causes")"
    strict assert_between "not seen, %" 0 5 "$(calc "100 * $(samples_of 'CPU not seen') / $QUEUED")"
}

# given NAME: ns that the scheduler says
given() { awk -v n="$1" '$1 == n { print $2 - before[n] } FNR == NR { before[$1] = $2 }' "$T/before" "$T/after" | tail -n 1; }

# queued_ns: how long both busy threads had no CPU
queued_ns() { calc "2 * $(given time) - $(given cpu1) - $(given cpu2)"; }

# shares CASE WHAT NS CAUSE: the cause's, of all queueing
shares() {
    assert_ge "samples for which $2 is to blame" 1 "$(samples_of "$4")"
    strict share_near "$1" "$2" "$(calc "100 * $3 / $(queued_ns)")" "$(calc "100 * $(samples_of "$4") / $QUEUED")" "$QUEUED"
}

# While the hog or the other thread has the CPU a busy thread is queued.
hog_shares() {
    shares "$1" hog "$(calc "2 * $(given hog)")" "CPU $HOG_NAMED"
    shares "$1" own "$(calc "$(given cpu1) + $(given cpu2)")" "CPU its own $BUSY#"
}

# Both are kept off the CPU while their group is.
limit_shares() {
    shares "$1" limit "$(calc "2 * $(given limited) * $([ $GROUP_V = 2 ] && echo 1000 || echo 1)")" \
        "CPU limit docker container 000000000000"
}

with_engine() {
    recorded "$1"
    hog_shares "causes_cpu $1"
    jfr_readable "$T/$1.jfr"
    kill -CONT "$HOG"
}

with_limit() {
    group_limits "$1" -1 2>/dev/null
    recorded switch
    limit_shares "causes_cpu limit of $(($1 / 1000))%"
}

causes_cpu() {
    local g

    jvm_start Idle 0 2
    for g in "${OWN[@]}"; do echo "$JVM_PID" >"$g/cgroup.procs" || fail "the JVM is not let in"; done
    taskset -a -p -c "$CPU" "$JVM_PID" >/dev/null || fail "cannot bind the target to a CPU"
    HOG=
    hog_start
    some_of 1 with_engine switch scan
    kill "$HOG"
    HOG=
    some_of 1 with_limit 3000 50000
    group_limits -1 -1 2>/dev/null
    jvm_wake
    jvm_unharmed
    jvm_end
}

groups
for_any_jdk causes_cpu
