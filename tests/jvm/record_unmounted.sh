#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Virtual threads that nobody runs, JDK 21 and later: 100,000 of them at three places in known shares, in the root container
# and in an executor, are told by place, within 3 points; while others move and objects do, too. No stack is one
# that the program cannot have. Without virtual threads, and with --no-unmounted, there is nothing.
# overlaps (long)
# in make check-all
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tree.sh"
need_root
need_gnomon record
classes
THREADS=100000
SEEN=6000 # of these, what chance does to a share of 50% is 0.65 points

# looked FIELD FILE: its sum over all looks
looked() { jfr_print "$2" gnomon.UnmountedLook | awk -v f="$1" '$1 == f { n += $3 } END { printf "%d\n", n }'; }
seen_in() { jfr_print "$1" gnomon.UnmountedThreads | awk '$1 == "seen" { n += $3 } END { print n + 0 }'; }

# Stacks (collapsed) with one of the program's methods have its callers; wrong ones are printed.
judge() {
    awk -v base="(gnomon).[base of a virtual thread]" '
        function wrong(why) { print why ": " $0; bad = 1 }
        {
            n = split($0, f, ";")
            sub(/ [0-9]+$/, "", f[n])
            for (i = 1; i <= n; i++) {
                if (f[i] !~ /^Unmounted\.[a-e]$/) continue
                seen++
                by = "Unmounted.via" toupper(substr(f[i], 11))
                if (f[i - 1] != by) wrong("not called by " by)
                if (f[1] != base) wrong("not at the base of a virtual thread")
                if (f[i + 1] !~ /LockSupport|Thread\.sleep|ReentrantLock/) wrong("calls something else")
            }
        }
        END { print seen + 0 " stacks"; exit bad || !seen }' "$1"
}

# place FILE METHOD: its percentage
place() { awk -v m="Unmounted.$2" '$NF == m { sub("%", "", $1); n += $1 } END { print n + 0 }' "$1"; }

# recorded LABEL: JVM_PID has them, and is ended.
recorded() {
    local jfr=$T/unmounted.jfr seconds=10 whole ns

    while :; do
        "$GNOMON" record -p "$JVM_PID" -d "${seconds}s" --force -o "$jfr" </dev/null >"$T/out" 2>"$T/err" ||
            fail "gnomon: $(cat "$T/err")"
        [ "$(seen_in "$jfr")" -ge $SEEN ] && break
        [ $seconds -lt 160 ] || fail "$1: of 100,000 threads only $(seen_in "$jfr") were looked at in $seconds s"
        seconds=$((seconds * 2))
    done
    jvm_unharmed
    jvm_end
    "$GNOMON" summary "$jfr" >"$T/summary" || fail "summary"
    sed -n '/^Virtual threads/,/^$/p' "$T/summary"
    softly assert_near "$1: percent in a" 50 "$(place "$T/summary" a)" 3
    softly assert_near "$1: percent in b" 30 "$(place "$T/summary" b)" 3
    softly assert_near "$1: percent in c" 20 "$(place "$T/summary" c)" 3
    whole=$(awk '/^Virtual threads that nobody runs/ { gsub(",", ""); print $6 }' "$T/summary")
    softly assert_near "$1: threads" $THREADS "$whole" $((THREADS / 10))
    "$GNOMON" render "$jfr" --unmounted -t 'virtual threads that*' --idle -f collapsed -D wall >"$T/collapsed" ||
        fail "render"
    judge "$T/collapsed" >"$T/judged" || fail "$1: $(head -c 3000 "$T/judged")"
    ns=$(awk '{ n += $NF } END { printf "%d\n", n / 1e9 }' "$T/collapsed")
    note "$1: $(cat "$T/judged"), $(seen_in "$jfr") seen, $ns s of $((THREADS * seconds))"
    softly assert_near "$1: seconds of all" $((THREADS * seconds)) "$ns" $((THREADS * seconds / 6))
    "$GNOMON" render "$jfr" -f collapsed -D wall >"$T/without" || fail "render"
    softly assert_eq "$1: places in what is rendered without" 0 "$(grep -c 'Unmounted\.[abc];' "$T/without")"
    jfr_readable "$jfr"
}

# many OPTIONS: of this JDK, with collections meanwhile.
many() {
    local label

    label="JDK $(jdk_version "$JDK") $*"
    JVM_OPTS="-Xmx700m $*" jvm_start Unmounted $THREADS gc
    recorded "$label"
}

nothing() {
    JVM_OPTS= jvm_start Unmounted 100
    "$GNOMON" record -p "$JVM_PID" -d 2s --no-unmounted --force -o "$T/none.jfr" </dev/null >"$T/out" 2>"$T/err" ||
        fail "gnomon: $(cat "$T/err")"
    assert_eq "events with --no-unmounted" 0 "$(jfr_print "$T/none.jfr" gnomon.UnmountedThreads,gnomon.UnmountedLook | grep -c startTime)"
    jvm_end
    jvm_start Idle 5 0
    "$GNOMON" record -p "$JVM_PID" -d 2s --force -o "$T/none.jfr" </dev/null >"$T/out" 2>"$T/err" ||
        fail "gnomon: $(cat "$T/err")"
    assert_eq "events of a JVM without virtual threads" 0 \
        "$(jfr_print "$T/none.jfr" gnomon.UnmountedThreads,gnomon.UnmountedLook | grep -c startTime)"
    jvm_end
}

each() {
    [ "$(jdk_version "$JDK")" -ge 21 ] || return 0
    TURN=$((TURN + 1))
    case $(jdk_version "$JDK") in
    21) any_of many "-XX:+UseZGC" "-XX:+UseZGC -XX:+ZGenerational" ;;
    *) some_of 1 many "-XX:+UseG1GC" "-XX:+UseZGC" "$(any_of echo -XX:+UseParallelGC -XX:+UseSerialGC)" ;;
    esac
    nothing
}

if [ -d "$TREE" ]; then
    jdk21=$(tree_home 21)
    JAVA_HOMES="$(jdks | tr '\n' ' ') $jdk21"
    export JAVA_HOMES
else
    note "without JDK 21: no '$TREE'"
fi
for_each_jdk each
softly_end
