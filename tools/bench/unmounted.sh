#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/unmounted.sh [THREADS [SECONDS [ROUNDS]]]        (1000000 10 4; as root; JDK 21 or later)
#
# What virtual threads that nobody runs cost: ms of CPU time a second of the collector with them and without
# (--no-unmounted), of two recordings of the same JVM at once, in ROUNDS windows of SECONDS; and how many were looked at.
. "$(dirname "$0")/lib.sh"
. "$BENCH_DIR/pair.sh"
need_gnomon record
THREADS=${1:-1000000}
SECS=${2:-10}
ROUNDS=${3:-4}
JDK=${JDK:-$(jdk_newest)}
[ "$(jdk_version "$JDK")" -ge 21 ] || skip "needs JDK 21 or later"

# ms: of CPU time a second, of figures that are percents of a core
ms() { awk '{ print 10 * $1 }' "$1"; }

measured() {
    local jfr

    JVM_OPTS="-Xmx8g -XX:+Use$1GC" jvm_start Unmounted "$THREADS"
    pair_start "" --no-unmounted -p "$JVM_PID"
    pair_windows "$JVM_PID" "$SECS" "$ROUNDS"
    pair_stop
    jfr=$(find "$T/with" -name '*.jfr')
    note "$1, ms of CPU time a second: with them $(ms "$T/with.cpu" | spread), without $(ms "$T/without.cpu" | spread)"
    note "$1: $(jfr_print "$jfr" gnomon.UnmountedLook |
        awk '$1 == "drawn" { n += $3; looks++ } $1 == "cpuTime" { ms += $3 * ($4 == "us" ? 0.001 : $4 == "s" ? 1000 : 1) }
            END { printf "%d looks at %d places, %.1f ms of CPU time each", looks, n, ms / (looks + !looks) }')"
    "$GNOMON" summary "$jfr" | sed -n '/^Virtual threads/,/^$/p'
    verdict "$THREADS virtual threads, $1" "$(ms "$T/more.cpu" | median)" "ms/s" '<=' 50
    jvm_end
}

machine | sed 's/^/  /'
measured G1
measured Z
verdicts_end
