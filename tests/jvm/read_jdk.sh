#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Recordings of the JDK's own recorder, with everything of profile.jfc on, and each allocation and
# exception: gnomon counts every kind of event as `jfr summary` does, has the stacks of `jfr print`,
# and of a file cut in its last bytes loses what lay there. Needs no root.
# overlaps
. "$(dirname "$0")/lib.sh"
need_gnomon render

# "NAME COUNT BYTES" per line; the two kinds that make up the file are the tools' own business.
jfr_counts() {
    served_to "jfr summary" "$JDK" jfr summary "$1" |
        awk '$1 ~ /\./ && $2 > 0 && $1 !~ /^jdk.(Metadata|Check[Pp]oint)$/ { print $1, $2, $3 }' | sort
}

our_counts() {
    "$GNOMON" summary --events "$1" |
        awk '/ Count .*Event/ { on = 1; next } on { print $3, $1, $2 }' | sort
}

# "outer;...;leaf COUNT" per line.
jfr_stacks() {
    served_to "jfr print" "$JDK" jfr print --stack-depth 2048 --events jdk.ExecutionSample "$1" | awk '
        /stackTrace = \[/ { in_stack = 1; s = ""; next }
        in_stack && /^ *\]/ { in_stack = 0; n[s]++; next }
        in_stack && !/^ *\.\.\.$/ { sub(/^ */, ""); sub(/\(.*/, ""); s = $0 (s == "" ? "" : ";" s) }
        END { for (s in n) print s, n[s] }' | LC_ALL=C sort
}

# profile.jfc samples every 10 ms.
our_stacks() {
    "$GNOMON" render "$1" -f collapsed --dim cpu |
        awk '{ t = $NF; sub(/ [0-9]*$/, ""); n[$0] += t } END { for (s in n) printf "%s %d\n", s, n[s] / 1e7 }' |
        LC_ALL=C sort
}

ALL=jdk.JavaExceptionThrow#enabled=true,jdk.ObjectAllocationInNewTLAB#enabled=true
events_of() {
    "$GNOMON" summary "$1" 2>/dev/null | sed -n 's/.* \([0-9,]*\) events of.*/\1/p' | tr -d ,
}

compare() {
    local f=$T/jdk.jfr n cut kind left

    rm -f "$f"
    JVM_OPTS="-Xmx64m -XX:StartFlightRecording=filename=$f,settings=profile,$ALL" jvm_start Litter 2000
    jvm_go
    jvm_done
    jvm_end
    jfr_counts "$f" >"$T/theirs"
    our_counts "$f" >"$T/ours"
    [ "$(wc -l <"$T/theirs")" -gt 30 ] || fail "the recording has few kinds of events"
    for kind in GarbageCollection ObjectAllocationInNewTLAB JavaExceptionThrow; do
        assert_match "the recording" "^jdk.$kind [0-9]" "$T/theirs"
    done
    diff "$T/theirs" "$T/ours" >"$T/diff" || fail "counts differ: $(head -n 5 "$T/diff")"
    jfr_stacks "$f" >"$T/theirs"
    our_stacks "$f" >"$T/ours"
    [ -s "$T/theirs" ] || fail "the recording has no execution samples"
    diff "$T/theirs" "$T/ours" >"$T/diff" || fail "stacks differ: $(head -n 5 "$T/diff")"
    n=$(events_of "$f")
    assert_ge "events" 1000 "${n:-0}"
    # a file may end with events, of at least 8 bytes, or with constants: only the former are missed
    for cut in 1 2 10 67 68 69 500 4096; do
        head -c -$cut "$f" >"$T/cut.jfr"
        left=$(events_of "$T/cut.jfr")
        [ -n "$left" ] || fail "how many of $n events are left is not said when $cut bytes are cut off"
        [ $(((n - left) * 8)) -le $cut ] ||
            fail "$left of $n events are left when $cut bytes are cut off"
    done
    note "$n events, $(awk '{ n += $NF } END { print n }' "$T/ours") execution samples"
}

for_one_jdk compare
