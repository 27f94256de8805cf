#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A loss tells its remedy, an option: given as it stands there, the same recording loses nothing for that reason. At the
# end of the recording and in `summary` alike.
# in make check-all
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
JDK=$(jdk_newest)
[ -n "$JDK" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"

# held NAME OPTIONS...: a recording during which gnomon itself is stopped, until the busy thread has run for 1 s
held() {
    gnomon_start "$T/$1.jfr" -p "$JVM_PID" "${@:2}"
    cpu_spent 200
    process_stop "$GN_PID"
    cpu_spent 1000
    kill -CONT "$GN_PID"
    cpu_spent 200
    gnomon_stop
    jfr_readable "$T/$1.jfr"
}

# remedy OF REGEX: the option that the recording's end names, into OPTION; `summary` says the same
remedy() {
    OPTION=$(sed -n "s/^ *remedy: .*: \(--$2 [^ ;]*\).*/\1/p" "$GN_ERR")
    [ -n "$OPTION" ] || fail "$1: no remedy --$2 in: $(cat "$GN_ERR")"
    note "$1: $(sed -n 's/^  lost  *//p' "$GN_ERR"): $OPTION"
    "$GNOMON" summary "$T/$1.jfr" >"$T/summary" || fail "gnomon summary"
    [ "$2" = depth ] || assert_match "summary of $1" "remedy: .*$OPTION" "$T/summary"
}

jvm_start Idle 50 1

# ---- rings ----
held rings --no-wall --ring-size 4k --cpu 200us
grep -Eq '^  lost .*ring buffer full' "$GN_ERR" || fail "no loss with rings of 4 kB: $(cat "$GN_ERR")"
remedy rings ring-size
# shellcheck disable=SC2086
held rings-remedied --no-wall $OPTION --cpu 200us
grep -Eq 'ring buffer full|buffer full' "$GN_ERR" && softly fail "$OPTION is no remedy: $(cat "$GN_ERR")"
grep -q 'remedy' "$GN_ERR" && softly fail "a remedy for nothing: $(cat "$GN_ERR")"

# ---- fewer samples, which is the other remedy ----
held often --cpu 100us
grep -Eq '^  lost .*ring buffer full' "$GN_ERR" || fail "no loss by samples of 100us: $(cat "$GN_ERR")"
grep -q 'remedy: .* or a longer --cpu and --wall' "$GN_ERR" || softly fail "no remedy in: $(cat "$GN_ERR")"
held seldom --no-wall --cpu 10ms
grep -q 'buffer full' "$GN_ERR" && softly fail "--cpu 10ms is no remedy: $(cat "$GN_ERR")"

# ---- the queue ----
held queue --no-wall --ring-size 16m --queue-size 64k --cpu 200us
grep -Eq '^  lost .*naming too slow' "$GN_ERR" || fail "no loss with a queue of 64 kB: $(cat "$GN_ERR")"
remedy queue queue-size
# shellcheck disable=SC2086
held queue-remedied --no-wall --ring-size 16m $OPTION --cpu 200us
grep -q 'naming too slow' "$GN_ERR" && softly fail "$OPTION is no remedy: $(cat "$GN_ERR")"

# ---- deep stacks ----
recorded_for 300 0 "$T/deep.jfr" -p "$JVM_PID" --depth 8
assert_match "stacks of 8 frames" '% depth cap' "$GN_ERR"
remedy deep depth
assert_match "summary of stacks of 8 frames" 'cut at the depth limit .record --depth: up to 1024' "$T/summary"
# shellcheck disable=SC2086
recorded_for 300 0 "$T/whole.jfr" -p "$JVM_PID" $OPTION
grep -Eq 'depth cap|remedy' "$GN_ERR" && softly fail "$OPTION is no remedy: $(cat "$GN_ERR")"
jvm_end
softly_end
