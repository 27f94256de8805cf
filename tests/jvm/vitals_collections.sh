#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Collections as we see them from outside, beside those of the JVM's own recording of the same run: their number and
# time together, when each began and how long it took, and why. A tenth of a second is long for a collector: those
# that come more often are counted.
# overlaps (long)
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

# beside CASE: the JVM has ended, so its recording is there, and ours is $T/ours.jfr.
beside() {
    local jvm seen unseen sum ours worst most median right wrong unknown

    "$(jdk_newest)/bin/java" -cp "$CLASSES" CollectionsCheck "$T/ours.jfr" "$T/jvms.jfr" >"$T/check" || fail "CollectionsCheck"
    read -r jvm seen unseen < <(sed -n 's/^pauses //p' "$T/check")
    read -r sum ours < <(sed -n 's/^sum //p' "$T/check")
    read -r right wrong unknown < <(sed -n 's/^causes //p' "$T/check")
    note "$1: $(tr '\n' ';' <"$T/check")"
    softly assert_ge "$1: seen one by one" 5 $((right + wrong + unknown))
    # one at either end may be on the other side
    softly assert_near "$1: number" "$jvm" $((seen + unseen)) 2
    # where the JVM's own times are not found the counters' are taken, which differ by up to 100 us, more on a busy machine
    softly assert_near "$1: time together, us" "$sum" "$ours" "$(calc "$sum * 0.03 + $jvm * 150")"
    strict assert_near "$1: time together, us" "$sum" "$ours" "$(calc "$sum * 0.01 + $jvm * 10")"
    softly assert_eq "$1: without a pause of the JVM's" 0 "$(sed -n 's/^alone //p' "$T/check")"
    read -r worst most median < <(sed -n 's/^start //p' "$T/check")
    softly assert_between "$1: median of starts, us" 0 1000 "$median"
    strict assert_between "$1: worst start, us" 0 1000 "$worst"
    read -r worst most median < <(sed -n 's/^duration //p' "$T/check")
    # these two are the same words of the JVM's memory, however busy the machine is
    [[ $1 =~ Serial|Parallel ]] && softly assert_between "$1: median of durations, us" 0 1 "$median"
    strict assert_between "$1: 95 of 100 durations, us" 0 50 "$most"
    softly assert_eq "$1: wrong causes" 0 "$wrong" "$(grep '^wrong' "$T/check")"
    softly assert_ge "$1: right causes" "$unknown" "$right"
    told vitals_collections "$1, durations" 0 "$most" us 0 50
}

# collected GC MB_PER_SECOND KEEP_MB GC_EACH_MS
collected() {
    local gc=$1

    shift
    rm -f "$T"/*.jfr
    JVM_OPTS="-XX:+Use${gc}GC -Xmx100m -XX:StartFlightRecording=filename=$T/jvms.jfr,settings=default" jvm_start Collect "$@"
    "$GNOMON" record -q -p "$JVM_PID" -d 5s -o "$T/ours.jfr" >"$T/out" 2>&1 || fail "record: $(cat "$T/out")"
    jvm_end
    beside "JDK $(jdk_version "$JDK"), $gc, $1 MB/s"
}

collectors() {
    local gc

    for gc in Serial Parallel G1 Z; do collected $gc 60 20 700; done
    collected Serial 2000 0 0 # a hundred times a second
    # what the JVM's recording is said to be of: ours of a quiet JVM has none
    grep -q "^pauses 0 0 0" "$T/check" && fail "nothing was compared"
}
for_each_jdk collectors

# Without vitals there is nothing of them, not even their types.
jvm_start Collect 60
"$GNOMON" record -q -p "$JVM_PID" -d 1s --no-vitals -o "$T/without.jfr" || fail "record"
jfr_summary "$T/without.jfr" >"$T/summary"
assert_match "what is left" '^ profiler.WallClockSample' "$T/summary"
grep -Eq 'gnomon.Vitals|jdk.GarbageCollection|jdk.CPULoad|jdk.ThreadSleep|jdk.BooleanFlag' "$T/summary" && fail "vitals: $(cat "$T/summary")"
jvm_end
softly_end
