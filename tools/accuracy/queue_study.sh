#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/queue_study.sh [SECONDS [INTERVAL_MS...]]  (10, 1 2 5 10 20; as root)
#
# The worst case of JDK 25's queue study (JEP 509): on every CPU a thread that is in native code all
# the time, 100 Java frames deep. Samples lost at each interval, within 1%. Then the collector is
# held up for 2 s: what the buffers could not take has to be counted, and samples + losses be all
# there were.
. "$(dirname "$0")/lib.sh"
D=${1:-10}
shift
[ $# -gt 0 ] || set -- 1 2 5 10 20
SPIN=$T/libspin.so
"${CC:-cc}" -O1 -shared -fPIC -o "$SPIN" "$ACCURACY_DIR/spin.c" || fail "spin.c does not build"
chmod 755 "$SPIN"

# samples NAME WITH-LOST: CPU samples of the busy threads beside their CPU time / interval.
samples() {
    awk -v ms="$CPU_MS" -v with="$2" '
        FILENAME ~ /meter$/ && $1 == "thread" && /queue-busy/ { want += $3 / ms / 1e6; mine[$2] = 1 }
        FILENAME ~ /tally$/ && $1 == "thread" && $3 == "cpu" && ($2 in mine) { got += $4 }
        FILENAME ~ /tally$/ && $1 == "lost" { lost = $2 }
        END { printf "%s|%.1f|%d|samples|-\n", with ? "samples and counted losses" : "samples", \
            want, got + (with ? lost : 0) }' "$T/$1.meter" "$T/$1.tally"
}

own_cost() { [ "$PROFILER" != gnomon ] || grep -E 'lost  |own cost|rings' "$GN_ERR" | sed 's/^/        | /'; }

# bound NAME: 1%, or a sample for each busy thread where that is more.
bound() { samples "$1" 0 | awk -F'|' -v n="$(nproc)" '{ b = $2 ? 100 * n / $2 : 100; printf "%.1f", b < 1 ? 1 : b }'; }

interval() {
    CPU_MS=$1
    measured "every-$1ms" "$D" Queue --cpu "$1ms" --no-wall
    rows "every $1 ms" "$(bound "every-$1ms")" percent < <(samples "every-$1ms" 0)
    note "deepest stack $(figure "$T/every-$1ms.tally" deepest), complete" \
        "$(figure "$T/every-$1ms.tally" complete) of $(figure "$T/every-$1ms.tally" cpu)"
    own_cost
}

# held_up: SIGSTOP for 2 s in the middle of the window, at an interval that fills small buffers.
held_up() {
    CPU_MS=0.2
    gnomon_start "$T/held.jfr" -p "$JVM_PID" --cpu 200us --no-wall
    (
        sleep 2
        kill -STOP "$GN_PID"
        sleep 2
        kill -CONT "$GN_PID"
    ) &
    "$METER" -e -p "$JVM_PID" -c "$GN_PID" -o "$T/held.meter" -- sleep 8
    gnomon_stop
    tally "$T/held.jfr" "$T/held.meter" Queue >"$T/held.tally"
    rows "held up 2 s" 2 percent < <(samples held 1)
    note "samples alone: $(samples held 0)"
    own_cost
}

heading
jvm_start Queue "$SPIN" 100
for ms; do
    interval "$ms"
done
[ "$PROFILER" != gnomon ] || held_up
jvm_unharmed
jvm_end
verdicts_end
