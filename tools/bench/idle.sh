#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/idle.sh [IDLE_THREADS [SECONDS]]       (10000 60; as root)
#
# What threads that do nothing cost: IDLE_THREADS of them and 2 busy ones, recorded with
# --cpu 10ms --wall 10ms. First a recording of IDLE_SETTLE (10) and SECONDS: its bytes per idle thread (by
# another without any), its samples. Then one for the steady state: the collector's CPU, BPF time in a
# window of its own, switches of the idle threads. Long sleepers are accounted for every 1,000 ticks or
# 6 ms for each of them (60 s at most), whichever is the longer: windows must have their share of
# that.
. "$(dirname "$0")/lib.sh"
need_gnomon record
N=${1:-10000}
D=${2:-60}
BPF_S=$((N > 10000 ? N / 500 : 20))
BYTES=175 # of an idle thread: its name and its samples, and its wait (jdk.ThreadPark, gnomon.WaitCause: some 35 each)
JDK=${JDK:-$(jdk_newest)}

# record NAME THREADS: the target, gnomon, and its steady state in T/NAME.meter; the file is of that alone.
record() {
    local jfr=$T/$1.jfr began attach

    JVM_READY=120 JVM_OPTS="-Xss256k -Xmx1g" jvm_start Idle "$2" 2
    # What they do by themselves, from before the attach to its end.
    "$METER" -p "$JVM_PID" -t 'idle-thread*' -o "$T/$1.attach" -- sleep 3 &
    attach=$!
    sleep 1
    began=$EPOCHREALTIME
    recorder_start "$jfr"
    note "$2 idle threads: recording began after $(calc "$EPOCHREALTIME - $began") s"
    wait "$attach"
    sleep "${IDLE_SETTLE:-10}"
    "$METER" -p "$JVM_PID" -c "$GN_PID" -t 'idle-thread*' -o "$T/$1.meter" -- sleep "$D"
    gnomon_stop
    sed 's/^/  | /' "$GN_ERR"
}

recorder_start() {
    # shellcheck disable=SC2046
    GN_SETTLE=0 gnomon_start "$1" -p "$JVM_PID" $(gnomon_options gnomon) ${GNOMON_OPTS:-}
}

# The steady state, in a recording of its own: past the first accounting, when the names of all threads
# are known. T/NAME.steady, and BPF programs in T/NAME.bpf.
record_steady() {
    recorder_start "$T/steady.jfr"
    sleep $((BPF_S + 5))
    "$METER" -p "$JVM_PID" -c "$GN_PID" -t 'idle-thread*' -o "$T/$1.steady" -- sleep "$D"
    "$METER" -b -p "$JVM_PID" -c "$GN_PID" -o "$T/$1.bpf" -- sleep "$BPF_S"
    gnomon_stop
    rm "$T/steady.jfr"
}

target_end() {
    jvm_unharmed
    jvm_end 120
}

machine | sed 's/^/  /'
primitives "$T/primitives" || fail "the host's primitives cannot be measured"
primitives_table "$T/primitives"
room_for "$N"
record with "$N"
record_steady with
target_end
m=$T/with.meter
verdict "collector CPU, $N idle threads" \
    "$(per_core "$(figure "$T/with.steady" profiler_cpu_ns)" "$(figure "$T/with.steady" wall_ns)")" "% core" '<' 0.5
note "in the first $D s, when their names are read: $(per_core "$(figure "$m" profiler_cpu_ns)" "$(figure "$m" wall_ns)")%"
b=$T/with.bpf
programs "$b" "$T/primitives"
verdict "BPF time" "$(per_core "$(figure "$b" bpf_ns)" "$(figure "$b" wall_ns)")" "% core" '<' 0.2
switches=$(awk '/^matched_(in)?voluntary/ { n += $2 } END { print n + 0 }' "$m" "$T/with.steady")
verdict "context switches of $(figure "$m" matched_threads) idle threads" "$switches" "in $((2 * D)) s" \
    '<=' 0
awk '/^matched_(in)?voluntary/ { n += $2 }
    END { print "        while gnomon started: " n + 0 " switches of idle threads" }' "$T/with.attach"
bytes=$(stat -c %s "$T/with.jfr")
if [ "$bytes" -ge $((BYTES * N)) ]; then
    record without 0
    target_end
    bytes=$((bytes - $(stat -c %s "$T/without.jfr")))
    note "the same without idle threads: $(stat -c %s "$T/without.jfr") bytes"
fi
verdict "recording, the idle threads' part" "$bytes" bytes '<=' $((BYTES * N))
tally "$T/with.jfr" "$m" >"$T/tally"
note "CPU samples: $(figure "$T/tally" cpu) of $(calc "$(figure "$m" target_cpu_ns) / $CPU_MS / 1e6")"
want=$(calc "$N * $(figure "$m" wall_ns) / $WALL_MS / 1e6")
got=$(awk '$1 == "thread" && $3 != "cpu" && $5 ~ /^idle-thread/ { n += $4 } END { print n + 0 }' \
    "$T/tally")
verdict "wall samples of idle threads, off by" "$(awk -v w="$want" -v g="$got" \
    'BEGIN { d = 100 * (g - w) / w; print d < 0 ? -d : d }')" % '<=' 2
verdict "duplicate wall records" "$(figure "$T/tally" twice)" "" '<=' 0
note "memory: $(awk '/^profiler_rss_peak|^bpf_map/ { printf "%s %.1f MB  ", $1, $2 / 1e6 }' "$m")"
verdicts_end
