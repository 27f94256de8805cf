#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/startup.sh [ROUNDS [GNOMON...]]        (10; the one that was built; as root)
#
# What beginning and ending cost, of one gnomon or several in turns (CPU and wall): from the command to a
# recording's first instant (`begins`), all of a recording but its duration (`around`), the collector's CPU time for a
# recording of 300 ms, and how long a JVM that only says its version takes with and without a recording
# around it. On the machine as it is, then beside STARTUP_BUSY (4) busy loops, if any. STARTUP_ANT=N: so many times an ant
# build of some seconds (workloads.sh), too. Median, and in brackets the least and the most.
. "$(dirname "$0")/lib.sh"
. "$BENCH_DIR/workloads.sh"
need_gnomon record
ROUNDS=${1:-10}
shift
BINARIES=()
for b in "${@:-$GNOMON}"; do BINARIES+=("$(realpath "$b")"); done
JDK=${JDK:-$(jdk_newest)}
SIZE=ci
TIMEFORMAT='%R %U %S'
BUSY=() BUSY_LOOPS=${STARTUP_BUSY:-4}

# row NAME UNIT < figures: median and range.
row() {
    sort -n | awk -v name="$1" -v unit="$2" '{ v[NR] = $1 } END {
        m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2
        printf "  %-44s %8.3f %s  (%.3f to %.3f)\n", name, m, unit, v[1], v[NR] }'
}

# Seconds from $1 to the beginning of a recording: of its first chunk, by the file's header.
begins() {
    local ns

    ns=$((16#$(od -An -tx1 -j32 -N8 "$2" | tr -d ' \n')))
    awk -v a="$1" -v ns="$ns" 'BEGIN { printf "%.3f\n", ns / 1e9 - a }'
}

# timed FILE COMMAND...: "WALL USER SYS" into FILE.
timed() {
    local file=$1

    shift
    { time "$@" >"$T/out" 2>"$T/err" </dev/null; } 2>"$file"
}

# one LABEL GNOMON: a recording of the JVM, and one around a short JVM.
one() {
    local began

    began=$EPOCHREALTIME
    timed "$T/time" "$2" record -q --force -p "$JVM_PID" -d 300ms -o "$T/x.jfr" || fail "gnomon: $(cat "$T/err")"
    begins "$began" "$T/x.jfr" >>"$T/$1.begins"
    awk '{ printf "%.3f\n", $1 - 0.3 }' "$T/time" >>"$T/$1.around"
    awk '{ printf "%.3f\n", $2 + $3 }' "$T/time" >>"$T/$1.cpu"
    timed "$T/time" "$2" record -q --force -o "$T/x.jfr" -- "$JDK/bin/java" -version || fail "gnomon: $(cat "$T/err")"
    cut -d' ' -f1 "$T/time" >>"$T/$1.java"
}

none() {
    timed "$T/time" "$JDK/bin/java" -version
    cut -d' ' -f1 "$T/time" >>"$T/none.java"
}

ant_once() {
    local s

    s=$(GNOMON=$2 ant_run "$3" "$T/ant.jfr" "$T/meter") || fail "ant: $s"
    echo "${s%% *}" >>"$T/$1.ant"
}

rounds() {
    local i b

    rm -f "$T"/*.begins "$T"/*.around "$T"/*.cpu "$T"/*.java "$T"/*.ant
    for ((i = 0; i < ROUNDS; i++)); do
        none
        for b in "${!BINARIES[@]}"; do one "$b" "${BINARIES[b]}"; done
    done
    for ((i = 0; i < ${STARTUP_ANT:-0}; i++)); do
        ant_start
        ant_once none - none
        for b in "${!BINARIES[@]}"; do ant_once "$b" "${BINARIES[b]}" gnomon; done
    done
}

table() {
    local b

    echo "$1"
    row "java -version" s <"$T/none.java"
    [ ! -f "$T/none.ant" ] || row "ant" s <"$T/none.ant"
    for b in "${!BINARIES[@]}"; do
        echo " ${BINARIES[b]} ($("${BINARIES[b]}" --version))"
        row "record -p: until it begins" s <"$T/$b.begins"
        row "record -p: all but the duration" s <"$T/$b.around"
        row "record -p: the collector's CPU time" s <"$T/$b.cpu"
        row "record -- java -version" s <"$T/$b.java"
        [ ! --force "$T/$b.ant" ] || row "record -- ant" s <"$T/$b.ant"
    done
}

busy_start() {
    local i

    for ((i = 0; i < BUSY_LOOPS; i++)); do
        while :; do :; done &
        BUSY+=($!)
        CHILDREN+=($!)
    done
}

machine | sed 's/^/  /'
jvm_start Idle 5 0
rounds
table "On the machine as it is:"
if [ "$BUSY_LOOPS" -gt 0 ]; then
    busy_start
    rounds
    table "Beside $BUSY_LOOPS busy loops:"
    kill "${BUSY[@]}"
fi
jvm_end
