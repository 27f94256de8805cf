#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/vitals.sh [SECONDS [ROUNDS [JVMS]]]        (10 4 100; as root)
#
# What vitals cost: a look at the counters of a JVM (vitals_poll.c), and the collector's CPU time and bytes of file with
# them and without, of two recordings of the same JVM at once, in ROUNDS windows of SECONDS: a program that
# collects once a second. Then the same of JVMS small ones that do nothing (0: not these). Medians, and in brackets
# the least and the most.
. "$(dirname "$0")/lib.sh"
need_gnomon record
SECS=${1:-10}
ROUNDS=${2:-4}
JVMS=${3:-100}
JDK=${JDK:-$(jdk_newest)}
POLL=$BUILD/tools/bench/vitals_poll
[ -x "$POLL" ] || make -s -C "$ROOT" BUILD="$BUILD" "${POLL#"$ROOT"/}" || fail "'$POLL' does not build"

# spread < FIGURES: median and range.
spread() { sort -g | awk '{ v[NR] = $1 } END { printf "%.4f (%.4f to %.4f)", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2, v[1], v[NR] }'; }

bytes_of() { find "$1" -name '*.jfr' -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }'; }

# both ARGS...: the two recordings, neither of which has anything to sample but CPU time.
both() {
    rm -rf "$T/with" "$T/without"
    mkdir "$T/with" "$T/without"
    gnomon_start "$T/with" --no-wall "$@"
    WITH=$GN_PID
    gnomon_start "$T/without" --no-wall --no-vitals "$@"
    WITHOUT=$GN_PID
}

# windows PID: percent of a core into T/with.cpu, T/without.cpu and T/more.cpu, bytes a minute into T/bytes.
windows() {
    local i before after a b

    : >"$T/with.cpu" >"$T/without.cpu" >"$T/more.cpu"
    sleep 8 # past the first seconds, in which names are looked at more often
    before=$(($(bytes_of "$T/with") - $(bytes_of "$T/without")))
    for ((i = 0; i < ROUNDS; i++)); do
        "$METER" -p "$1" -c "$WITHOUT" -o "$T/without.meter" -- sleep "$SECS" &
        "$METER" -p "$1" -c "$WITH" -o "$T/with.meter" -- sleep "$SECS"
        wait $!
        a=$(per_core "$(figure "$T/with.meter" profiler_cpu_ns)" "$(figure "$T/with.meter" wall_ns)")
        b=$(per_core "$(figure "$T/without.meter" profiler_cpu_ns)" "$(figure "$T/without.meter" wall_ns)")
        echo "$a" >>"$T/with.cpu"
        echo "$b" >>"$T/without.cpu"
        echo "$(calc "$a - $b")" >>"$T/more.cpu"
    done
    after=$(($(bytes_of "$T/with") - $(bytes_of "$T/without")))
    BYTES=$(calc "($after - $before) * 60 / ($SECS * $ROUNDS) / 1000")
}

stop_both() {
    local pid

    for pid in "$WITH" "$WITHOUT"; do
        kill -INT "$pid"
        wait "$pid"
    done
}

# told_of WHAT CORE KB: percent of a core and kB a minute that vitals may cost.
told_of() {
    note "$1, percent of a core: with vitals $(spread <"$T/with.cpu"), without $(spread <"$T/without.cpu"), more $(spread <"$T/more.cpu")"
    verdict "vitals of $1" "$(median <"$T/more.cpu")" "% core" '<=' "$2"
    verdict "their bytes, $1" "$BYTES" "kB/min" '<=' "$3"
}

small_ready() { [ "$(cat "$T"/small*.out | grep -c '^READY')" = "${#SMALL[@]}" ]; }

small_start() {
    local i

    own_jar Idle
    mkfifo "$T/hold"
    exec {HOLD}<>"$T/hold"
    SMALL=()
    for ((i = 0; i < JVMS; i++)); do
        "$JDK/bin/java" -Xmx16m -Xss256k -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto \
            -XX:ReservedCodeCacheSize=16m -jar "$OWN_JAR" 1 0 <"$T/hold" >"$T/small$i.out" 2>&1 &
        SMALL+=($!)
        CHILDREN+=($!)
        (((i + 1) % 10)) || until_true 300 small_ready || fail "they do not get ready"
    done
    until_true 300 small_ready || fail "they do not get ready"
}

machine | sed 's/^/  /'
JVM_OPTS="-XX:+UseSerialGC -Xmx100m" jvm_start Collect 25 # collects once a second
"$POLL" "$JVM_PID" >"$T/poll" || fail "vitals_poll"
note "CPU time of a look, us: $(awk '{ printf "%s %s, ", $1, $2 }' "$T/poll")"
verdict "a look at the collectors, cold caches" "$(figure "$T/poll" glance_cold)" us '<=' 20
note "as a multiple of the host's cold read of 8 bytes: $(calc "$(figure "$T/poll" glance_cold) / $(figure "$T/poll" host_read_cold)")," \
    "of all counters $(calc "$(figure "$T/poll" poll_cold) / $(figure "$T/poll" host_read_cold)")"
both -p "$JVM_PID"
windows "$JVM_PID"
stop_both
told_of "one JVM" 0.05 20
jvm_end
if [ "$JVMS" -gt 0 ]; then
    small_start
    both --name "$OWN_NAME.jar"
    windows "${SMALL[0]}"
    stop_both
    told_of "$JVMS JVMs" 1 $((20 * JVMS))
    kill "${SMALL[@]}"
fi
verdicts_end
