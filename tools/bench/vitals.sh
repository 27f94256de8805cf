#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/vitals.sh [SECONDS [ROUNDS [JVMS]]]        (10 4 100; as root)
#
# What vitals cost: a look at the counters of a JVM (vitals_poll.c), and the collector's CPU time and bytes of file with
# them and without, of two recordings of the same JVM at once, in ROUNDS windows of SECONDS: a program that
# collects once a second. Then the same of JVMS small ones that do nothing (0: not these). Medians, and in brackets
# the least and the most.
. "$(dirname "$0")/lib.sh"
. "$BENCH_DIR/pair.sh"
. "$ROOT/tests/jvm/small.sh"
need_gnomon record
SECS=${1:-10}
ROUNDS=${2:-4}
JVMS=${3:-100}
JDK=${JDK:-$(jdk_newest)}
POLL=$BUILD/tools/bench/vitals_poll
[ -x "$POLL" ] || make -s -C "$ROOT" BUILD="$BUILD" "${POLL#"$ROOT"/}" || fail "'$POLL' does not build"

bytes_of() { find "$1" -name '*.jfr' -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }'; }

# cost_of PID: of a pair of recordings; BYTES: of file a minute, kB, that vitals add.
cost_of() {
    local before after

    before=$(($(bytes_of "$T/with") - $(bytes_of "$T/without")))
    pair_windows "$1" "$SECS" "$ROUNDS"
    after=$(($(bytes_of "$T/with") - $(bytes_of "$T/without")))
    BYTES=$(calc "($after - $before) * 60 / ($SECS * $ROUNDS) / 1000")
    pair_stop
}

# told_of WHAT CORE KB: percent of a core and kB a minute that vitals may cost.
told_of() {
    note "$1, percent of a core: with vitals $(spread <"$T/with.cpu"), without $(spread <"$T/without.cpu"), more $(spread <"$T/more.cpu")"
    verdict "vitals of $1" "$(median <"$T/more.cpu")" "% core" '<=' "$2"
    verdict "their bytes, $1" "$BYTES" "kB/min" '<=' "$3"
}

machine | sed 's/^/  /'
JVM_OPTS="-XX:+UseSerialGC -Xmx100m" jvm_start Collect 25 # collects once a second
"$POLL" "$JVM_PID" >"$T/poll" || fail "vitals_poll"
note "CPU time of a look, us: $(awk '{ printf "%s %s, ", $1, $2 }' "$T/poll")"
verdict "a look at the collectors, cold caches" "$(figure "$T/poll" glance_cold)" us '<=' 20
note "as a multiple of the host's cold read of 8 bytes: $(calc "$(figure "$T/poll" glance_cold) / $(figure "$T/poll" host_read_cold)")," \
    "of all counters $(calc "$(figure "$T/poll" poll_cold) / $(figure "$T/poll" host_read_cold)")"
# neither has anything to sample but CPU time
pair_start "" --no-vitals --no-wall -p "$JVM_PID"
cost_of "$JVM_PID"
told_of "one JVM" 0.05 20
jvm_end
if [ "$JVMS" -gt 0 ]; then
    small_start "$JVMS"
    pair_start "" --no-vitals --no-wall --name "$OWN_NAME.jar"
    cost_of "${SMALL[0]}"
    told_of "$JVMS JVMs" 1 $((20 * JVMS))
    kill "${SMALL[@]}"
fi
verdicts_end
