#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Collections as we see them from outside, beside those of the JVM's own recording of the same run: their number and
# time together, when each began and how long it took, and why. A tenth of a second is long for a collector: those
# that come more often are counted.
# overlaps (long)
# in make check-all
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

PREEMPTED=$([ -n "${QUIET:-}" ] && echo 0 || echo 20000) # us for which a thread may have no CPU between two of the JVM's looks at the clock

# beside CASE: the JVM has ended, so its recording is there, and ours is $T/ours.jfr.
beside() {
    local jvm seen unseen sum ours worst most median right wrong unknown exact alone=0

    served "$(jdk_newest)" main CollectionsCheck "$T/ours.jfr" "$T/jvms.jfr" || fail "CollectionsCheck: $(cat "$SERVED.err")"
    cp "$SERVED.out" "$T/check"
    read -r jvm seen unseen < <(of pauses)
    read -r right wrong unknown < <(of causes)
    exact=$(of exact)
    note "$1: $(tr '\n' ';' <"$T/check")"
    softly assert_ge "$1: seen one by one" $SEEN $((right + wrong + unknown))
    # one at either end may be on the other side
    softly assert_near "$1: number" "$jvm" $((seen + unseen)) 2
    # the same words of the JVM's memory, however busy the machine is: of all but G1's full ones, of what came before
    # they were found, and of what another one followed while they were read
    [[ $1 != *G1* ]] || alone=$(awk '$1 == "of" && $2 == "G1Full" { n = $4 } END { print n + 0 }' "$T/check")
    softly assert_ge "$1: durations that are the JVM's own" "$(calc "int(0.8 * ($seen - $alone)) - 3")" "$exact"
    # what the others took is told by the counters, which are written some us earlier or later, or as much as a thread
    # loses its CPU for
    read -r sum ours < <(of unseen)
    softly assert_between "$1: time of those not seen, us" "$(calc "$sum / 2 - 100 - $unseen * 5 - $PREEMPTED")" \
        "$(calc "$sum * 2 + 1000 + $unseen * 50 + $PREEMPTED")" "$ours"
    read -r sum ours < <(of sum)
    strict assert_near "$1: time together, us" "$sum" "$ours" "$(calc "$sum * 0.02 + $unseen * 5")"
    softly assert_eq "$1: without a pause of the JVM's" 0 "$(of alone)"
    read -r worst most median < <(of start)
    softly assert_between "$1: median of starts, us" 0 1000 "$median"
    strict assert_between "$1: worst start, us" 0 1000 "$worst"
    read -r worst most median < <(of duration)
    strict assert_between "$1: 95 of 100 durations, us" 0 50 "$most"
    softly assert_eq "$1: wrong causes" 0 "$wrong" "$(grep '^wrong' "$T/check")"
    # where looks come late, what would tell the causes of those before the last is written over
    softly assert_ge "$1: right causes" 1 "$right"
    strict assert_ge "$1: right causes, beside unknown ones" "$unknown" "$right"
    told vitals_collections "$1, durations" 0 "$most" us 0 50
}

# of WORD: the line of $T/check that begins with it
of() { sed -n "s/^$1 //p" "$T/check"; }

# so many have been seen one by one: on a busy machine that takes longer
SEEN=5
seen_enough() {
    "$GNOMON" summary "$T/ours.jfr" 2>"$T/err" | tr -d , | awk -v want=$((2 * SEEN)) '
        $1 == "GC" { for (i = 2; i <= NF; i++) if ($i ~ /^pause/) n = $(i - 1) }
        / of these came between / { n -= $1 }
        END { exit !(n >= want) }'
}

# collected GC MB_PER_SECOND KEEP_MB GC_EACH_MS
collected() {
    local gc=$1

    shift
    rm -f "$T"/*.jfr
    JVM_OPTS="-XX:+Use${gc}GC -Xmx100m -XX:StartFlightRecording=filename=$T/jvms.jfr,settings=default" jvm_start Collect "$@"
    gnomon_start "$T/ours.jfr" -p "$JVM_PID"
    sleep 4
    until_true 100 seen_enough || fail "they are not seen: $("$GNOMON" summary "$T/ours.jfr"; cat "$GN_ERR")"
    gnomon_stop
    jvm_end
    beside "JDK $(jdk_version "$JDK"), $gc, $1 MB/s"
}

collectors() {
    local gc

    for gc in Serial Parallel G1 Z; do collected $gc 60 20 700; done
}
often() {
    collected Serial 2000 0 0 # a hundred times a second
    # what the JVM's recording is said to be of: ours of a quiet JVM has none
    grep -q "^pauses 0 0 0" "$T/check" && fail "nothing was compared"
}
for_one_jdk collectors
for_any_jdk often

# Without vitals there is nothing of them, not even their types.
jvm_start Collect 60
"$GNOMON" record -q -p "$JVM_PID" -d 1s --no-vitals -o "$T/without.jfr" || fail "record"
jfr_summary "$T/without.jfr" >"$T/summary"
assert_match "what is left" '^ profiler.WallClockSample' "$T/summary"
grep -Eq 'gnomon.Vitals|jdk.GarbageCollection|jdk.CPULoad|jdk.ThreadSleep|jdk.BooleanFlag' "$T/summary" && fail "vitals: $(cat "$T/summary")"
jvm_end
softly_end
