#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/unmounted.sh [THREADS [SECONDS [ROUNDS]]]        (1000000 10 4; as root; JDK 21 or later)
#
# What virtual threads that nobody runs cost: ms of CPU time a second of the collector with them and without
# (--no-unmounted), of two recordings of the same JVM at once, in ROUNDS windows of SECONDS; and how many were looked at.
. "$(dirname "$0")/lib.sh"
need_gnomon record
THREADS=${1:-1000000}
SECS=${2:-10}
ROUNDS=${3:-4}
JDK=${JDK:-$(jdk_newest)}
[ "$(jdk_version "$JDK")" -ge 21 ] || skip "needs JDK 21 or later"

# ms_of METER_FILE: of CPU time a second
ms_of() { calc "10 * $(per_core "$(figure "$1" profiler_cpu_ns)" "$(figure "$1" wall_ns)")"; }

measured() {
    local i with without a b

    JVM_OPTS="-Xmx8g -XX:+Use$1GC" jvm_start Unmounted "$THREADS"
    gnomon_start "$T/with.jfr" --force -p "$JVM_PID"
    with=$GN_PID
    gnomon_start "$T/without.jfr" --force --no-unmounted -p "$JVM_PID"
    without=$GN_PID
    : >"$T/more"
    sleep 5
    for ((i = 0; i < ROUNDS; i++)); do
        "$METER" -p "$JVM_PID" -c "$without" -o "$T/without.meter" -- sleep "$SECS" &
        "$METER" -p "$JVM_PID" -c "$with" -o "$T/with.meter" -- sleep "$SECS"
        wait $!
        a=$(ms_of "$T/with.meter") b=$(ms_of "$T/without.meter")
        note "$1: with them $a ms of CPU time a second, without $b"
        echo "$(calc "$a - $b")" >>"$T/more"
    done
    for GN_PID in "$with" "$without"; do gnomon_stop; done
    note "$1: $(jfr_print "$T/with.jfr" gnomon.UnmountedLook |
        awk '$1 == "drawn" { n += $3; looks++ } $1 == "cpuTime" { ms += $3 * ($4 == "us" ? 0.001 : $4 == "s" ? 1000 : 1) }
            END { printf "%d looks at %d places, %.1f ms of CPU time each", looks, n, ms / (looks + !looks) }')"
    "$GNOMON" summary "$T/with.jfr" | sed -n '/^Virtual threads/,/^$/p'
    verdict "$THREADS virtual threads, $1" "$(median <"$T/more")" "ms/s" '<=' 50
    jvm_end
}

machine | sed 's/^/  /'
measured G1
measured Z
verdicts_end
