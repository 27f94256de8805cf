#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What stands out of a JVM's heap and collections is said where it is so, by gnomon's recording and by the JVM's own of
# the same run, and nowhere else: a heap in which ever more lives, and one whose cache fills and then stays; one near its
# limit, and one that fills and is emptied.
# overlaps (long)
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

LABELS=() PIDS=() FDS=()

# heap LABEL GC STEPS UNTIL KEEP GARBAGE PAUSE [OPTION...]: one more JVM
heap() {
    JVM_OPTS="-XX:+Use$2GC -Xmx100m -XX:TieredStopAtLevel=1 ${*:8}" \
        jvm_start -jar "$OWN_JAR" "${@:3:5}"
    LABELS+=("$1")
    PIDS+=("$JVM_PID")
    FDS+=("$JVM_FD")
}

# All of them at once, in one session; each has its own time, from the same beginning to its end.
record_all() {
    local i fd

    gnomon_start "$T/%p.jfr" --name "$OWN_NAME.jar" --no-wall
    for fd in "${FDS[@]}"; do echo go >&"$fd"; done
    for i in "${!PIDS[@]}"; do pid_gone "${PIDS[i]}" 300 || fail "the JVM '${LABELS[i]}' does not end"; done
    gnomon_stop
    for i in "${!PIDS[@]}"; do
        mv "$T/${PIDS[i]}.jfr" "$T/${LABELS[i]}.jfr" || fail "no recording of '${LABELS[i]}': $(cat "$GN_ERR")"
    done
}

# found FILE: its findings, each on one line, into $T/found
found() {
    "$GNOMON" summary "$1" >"$T/summary" 2>"$T/err" || fail "summary: $(cat "$T/err")"
    awk '/^Findings$/ { on = 1; next } !on { next } /^$/ { exit } /^  [^ ]/ && n++ { print "" }
        { gsub(/ +/, " "); printf "%s", $0 } END { if (n) print "" }' "$T/summary" >"$T/found"
}

# says FILE REGEX
says() {
    found "$T/$1"
    softly assert_match "findings of $1" "$2" "$T/found"
    note "$1:$(grep -Eo "$2.{0,90}" "$T/found" | head -n 1)"
}

# says_not FILE REGEX
says_not() {
    found "$T/$1"
    grep -Eq "$2" "$T/found" || return 0
    echo . >>"$SOFT"
    note "FAIL: $1 says$(grep -E "$2" "$T/found")"
}

own_jar Heap
JDK=$(jdk_newest)
# of collections that come while gnomon does not have the CPU only the last is seen one by one: there are more than needed
heap leak-serial Serial 20 20 2 20 600
heap leak-g1 G1 20 20 2 30 600
heap cache-g1 G1 14 5 8 30 300
heap cache-serial Serial 14 5 8 20 300
heap near-parallel Parallel 6 1 61 10 300 -XX:StartFlightRecording=filename="$T/near-jvms.jfr"
heap saw-parallel Parallel 12 0 0 200 100 -XX:StartFlightRecording=filename="$T/saw-jvms.jfr"
heap leak-z Z 14 14 3 60 300
# once it goes all of its time is spent in collections: enough of them for what it waits before that
heap busy-serial Serial 300 1 30 0 0
record_all
for l in leak-serial leak-g1; do says $l.jfr ' live set What old collections leave grew all the time: from'; done
for f in near-parallel.jfr near-jvms.jfr; do
    says $f ' heap The heap is near its limit: [67][0-9.]* MB of the [67][0-9.]* MB that may live in the old generation'
done
says busy-serial.jfr ' pauses Collections stopped the JVM for'
for l in cache-serial cache-g1 saw-parallel saw-jvms near-parallel near-jvms busy-serial; do
    says_not $l.jfr '^ live set'
done
for l in leak-g1 cache-serial cache-g1 saw-parallel saw-jvms busy-serial; do says_not $l.jfr '^ heap'; done
# what its pauses show is no collection's end
says_not leak-z.jfr '^ (live set|heap)'
softly_end
