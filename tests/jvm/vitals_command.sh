#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gnomon vitals: its figures are those of the JDK's own tools and the kernel's files; a JVM that shares its counters
# with nobody has them all the same, and one without any is told of.
# overlaps (long)
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon vitals

# figure NAME FILE: of the last line of JSON.
figure() { tail -n 1 "$2" | tr ',{}' '\n' | sed -n "s/^\"$1\"://p"; }

# by_jstat FILE, by_jcmd FILE: the counters looked at here, as the JDK's tools have them: read from the file that the JVM
# shares, and told by the JVM
COUNTERS='^(java\.(threads|cls)|sun\.gc\.(generation|metaspace))\.'
by_jstat() {
    "$JDK/bin/jstat" -J-Djstat.showUnsupported=true -snap "$JVM_PID" 2>"$T/err" | grep -E "$COUNTERS" | sort >"$1"
}
by_jcmd() { "$JDK/bin/jcmd" "$JVM_PID" PerfCounter.print 2>"$T/err" | grep -E "$COUNTERS" | sort >"$1"; }

# between TOOL: gnomon's look lies between two of the tool's that found the same
between() {
    $1 "$T/before"
    "$GNOMON" vitals "$JVM_PID" -n 1 -i 100ms --json >"$T/json" || fail "vitals"
    $1 "$T/after"
    [ -s "$T/before" ] && cmp -s "$T/before" "$T/after"
}

# counted REGEX: these counters together
counted() { awk -F= -v r="^$1\$" '$1 ~ r { n += $2 } END { printf "%.0f\n", n }' "$T/before"; }

# A JVM that does nothing: what the tools and gnomon see at the same time is the same.
at_rest() {
    local tool used

    JVM_OPTS=-Xmx64m jvm_start Idle 2 0
    for tool in by_jstat by_jcmd; do
        # to be asked for the first time makes a thread, and classes are loaded
        until_true 2 between $tool || fail "the JVM does not come to rest: $(diff "$T/before" "$T/after")"
        assert_eq "$tool: threads" "$(counted 'java.threads.live')" "$(figure threads "$T/json")"
        assert_eq "$tool: classes" $(($(counted 'java.cls.(sharedL|l)oadedClasses') - $(counted 'java.cls.(sharedU|u)nloadedClasses'))) \
            "$(figure classes "$T/json")"
        assert_eq "$tool: heap" "$(counted 'sun.gc.generation.[0-9].space.[0-9].used')" "$(figure heap "$T/json")"
        assert_eq "$tool: committed" "$(counted 'sun.gc.generation.[0-9].capacity')" "$(figure heapCommitted "$T/json")"
        assert_eq "$tool: old" "$(counted 'sun.gc.generation.1.space.[0-9].used')" "$(figure old "$T/json")"
        assert_eq "$tool: metaspace" "$(counted 'sun.gc.metaspace.used')" "$(figure metaspace "$T/json")"
    done
    # what the collector says of itself; its counters are of whole regions
    used=$("$JDK/bin/jcmd" "$JVM_PID" GC.heap_info | sed -n 's/.*used \([0-9]*\)K.*/\1/p' | head -n 1)
    assert_near "heap, MB" "$(calc "$used * 1024 / 1e6")" "$(calc "$(figure heap "$T/json") / 1e6")" 4
    jvm_end
}

# values [OPTION]
values() {
    JVM_OPTS="-XX:+UseSerialGC -Xmx64m ${1:-}" jvm_start Collect 60 10 300
    # a starved machine may have it collect nothing in a line's second
    for _ in 1 2 3 4 5 6 7 8; do
        "$GNOMON" vitals "$JVM_PID" -n 2 -i 1s --json >"$T/json" 2>"$T/err" || fail "vitals: $(cat "$T/err")"
        assert_empty "what is said of it" "$T/err"
        assert_eq "lines" 2 "$(wc -l <"$T/json")"
        [ "$(figure collections "$T/json")" = 0 ] || break
    done
    assert_between "heap" 1 $((64 << 20)) "$(figure heap "$T/json")"
    assert_ge "collections" 1 "$(figure collections "$T/json")"
    # the first of them may have begun before
    assert_between "time of collections, ns" 1 "$(($(figure period "$T/json") + $(figure gcLongest "$T/json")))" \
        "$(figure gcTime "$T/json")"
    # they are part of what is stopped for, which has a little beside them
    assert_ge "time stopped, ns" "$(calc "$(figure gcTime "$T/json") * 0.5")" "$(figure stopped "$T/json")"
    assert_near "resident memory, MB" "$(awk '/^VmRSS/ { print $2 / 1000 }' "/proc/$JVM_PID/status")" \
        "$(calc "$(figure rss "$T/json") / 1e6")" 30
    "$GNOMON" vitals "$JVM_PID" -n 2 -i 200ms --csv >"$T/csv" || fail "csv"
    assert_eq "lines" 3 "$(wc -l <"$T/csv")"
    assert_eq "columns" "$(head -n 1 "$T/csv" | tr -dc , | wc -c)" "$(tail -n 1 "$T/csv" | tr -dc , | wc -c)"
    # who reads may go away
    "$GNOMON" vitals "$JVM_PID" -i 100ms 2>"$T/err" | head -n 1 >"$T/text"
    assert_eq "exit code with nobody to read" 6 "${PIPESTATUS[0]}" "$(cat "$T/err")"
    assert_match "the heading" 'heap MB.*GC ms' "$T/text"
    assert_empty "what is said where nobody reads" "$T/err"
    "$GNOMON" vitals "$JVM_PID" -i 100ms -n 1 >/dev/full 2>"$T/err"
    assert_eq "exit code where nothing can be written" 6 $? "$(cat "$T/err")"
    assert_eq "what is said of it" 1 "$(grep -c 'cannot write to stdout' "$T/err")"
    jvm_end
    # and so may the JVM
    "$GNOMON" vitals "$JVM_PID" -n 1 2>"$T/err" && fail "vitals of a JVM that has ended"
    assert_match "what is said of it" "no such process|has ended" "$T/err"
}

# What a person sees: as many columns as the terminal has room for, all of the time that was asked for, and the JVM's end.
seen() {
    local width pid

    JVM_OPTS="-XX:+UseSerialGC -Xmx64m" jvm_start Collect 60 10 300
    for width in 20 80 100 200; do
        script -qec "stty cols $width; '$GNOMON' vitals $JVM_PID -n 2 -i 100ms" /dev/null </dev/null | tr -d '\r' >"$T/text"
        assert_eq "lines at $width columns" 3 "$(wc -l <"$T/text")" "$(cat "$T/text")"
        assert_match "$width columns" 'heap MB' "$T/text"
        awk -v w=$width 'length($0) > w { exit 1 }' "$T/text" || fail "lines at $width columns: $(cat "$T/text")"
    done
    assert_match "200 columns" 'cause of the longest' "$T/text"
    "$GNOMON" vitals "$JVM_PID" -d 250ms -i 200ms --json >"$T/json" || fail "vitals -d"
    assert_eq "lines of 250 ms" 2 "$(wc -l <"$T/json")"
    assert_ge "time of them, ns" 250000000 "$(figure time "$T/json")"
    emptied "$T/text"
    "$GNOMON" vitals "$JVM_PID" -i 100ms >"$T/text" 2>"$T/err" &
    pid=$!
    CHILDREN+=("$pid")
    until_true 60 file_has "$T/text" '[0-9]' || fail "no line: $(cat "$T/err")"
    jvm_end
    wait "$pid" || fail "exit code at the JVM's end: $?"
    assert_match "what is said of the JVM's end" "process $JVM_PID has ended" "$T/err"
}

none() {
    JVM_OPTS=-XX:-UsePerfData jvm_start Idle 2 1
    "$GNOMON" vitals "$JVM_PID" -n 1 -i 100ms --json >"$T/json" 2>"$T/err" || fail "vitals: $(cat "$T/err")"
    assert_match "what is said of it" 'UsePerfData' "$T/err"
    assert_eq "the heap" null "$(figure heap "$T/json")"
    assert_ge "resident memory" 1000000 "$(figure rss "$T/json")"
    "$GNOMON" record -q -p "$JVM_PID" -d 1s -o "$T/none.jfr" || fail "record"
    jfr_print "$T/none.jfr" jdk.ActiveSetting >"$T/settings"
    assert_match "what a recording says of it" 'no performance counters: .*UsePerfData' "$T/settings"
    jfr_print "$T/none.jfr" gnomon.Vitals,jdk.CPULoad >"$T/rest"
    assert_match "what is left" 'has = "process' "$T/rest"
    jvm_end
    rm -f "$T/none.jfr"
}

for_one_jdk at_rest
for_one_jdk values
# the JDK's own tools read no others than those that are shared
for_one_jdk values -XX:+PerfDisableSharedMem
for_any_jdk none
for_any_jdk seen
