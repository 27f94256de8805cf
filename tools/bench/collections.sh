#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/collections.sh [SECONDS [GC...]]        (60 Serial Parallel G1 Z; as root; JDKS as in tests/jvm)
#
# Collections as gnomon has them beside those of the JVM's own recording of the same run (CollectionsCheck.java), with
# each JDK and collector: a program that makes 300 MB of garbage a second in a heap of 100 MB and calls System.gc() every
# second or so. Then, with the serial collector, one that collects a hundred times a second.
#
# Of each: collections (of concurrent ones pauses) by the JVM, by gnomon one by one and by their number alone; the time
# of all in ms, the JVM's and gnomon's; of those seen one by one how far off start and duration are, us (the worst and
# the median), and how many causes are the same, another, or not told.
. "$(dirname "$0")/lib.sh"
. "$BENCH_DIR/../../tests/jvm/tree.sh"
need_gnomon record
SECS=${1:-60}
shift
GCS=${*:-Serial Parallel G1 Z}

# of WORD...: the line of $T/check that begins with WORD
of() { sed -n "s/^$1 //p" "$T/check"; }

classes
CLASSES=${CLASSES%%:*}
tree_make
JAVA_HOMES="$(jdks | tr '\n' ' ') $(tree_home 21)"

# where the JVM's own recording goes, and what it is called from outside: JDK 21 runs in the tree
INSIDE=/var/tmp/gnomon-collections-$$.jfr
REMOVE+=("$TREE$INSIDE")

# collected LABEL GC OPTIONS MB_PER_SECOND KEEP_MB GC_EACH_MS
collected() {
    local jvm seen unseen sum ours worst most median right wrong unknown dworst dmost dmedian

    local file=$T/jvms.jfr inside=$T/jvms.jfr

    [[ $JDK != "$T"/* ]] || { file=$TREE$INSIDE inside=$INSIDE; }
    rm -f "$T"/*.jfr "$file"
    JVM_OPTS="-XX:+Use$2GC -Xmx100m $3 -XX:StartFlightRecording:filename=$inside,settings=default" jvm_start Collect "${@:4}"
    "$GNOMON" record -q -p "$JVM_PID" -d "${SECS}s" --no-wall -o "$T/ours.jfr" >"$T/out" 2>&1 || fail "record: $(cat "$T/out")"
    jvm_end
    "$(jdk_newest)/bin/java" -cp "$CLASSES" CollectionsCheck "$T/ours.jfr" "$file" >"$T/check" || fail "CollectionsCheck"
    read -r jvm seen unseen < <(of pauses)
    read -r sum ours < <(of sum)
    read -r worst most median < <(of start)
    read -r dworst dmost dmedian < <(of duration)
    read -r right wrong unknown < <(of causes)
    printf '  %-22s %6d = %5d + %5d  %9.2f %9.2f ms  %+6.2f%%  start %7.1f %5.1f  duration %6.1f %5.1f us  causes %d %d %d\n' "$1" "$jvm" "$seen" \
        "$unseen" "$(calc "$sum / 1000")" "$(calc "$ours / 1000")" "$(calc "100 * ($ours - $sum) / $sum")" "$worst" "$median" "$dworst" \
        "$dmedian" "$right" "$wrong" "$unknown"
    [ -z "${DETAILS:-}" ] || grep -E '^(of|wrong|alone)' "$T/check" | sed 's/^/      /'
}

each() {
    local gc more version

    version=$(jdk_version "$JDK")
    for gc in $GCS; do
        more=
        [ $gc != Z ] || more="-Xmx150m"
        collected "$version $gc" "$gc" "$more" 300 10 1100
    done
    case " $GCS " in *" Serial "*) collected "$version Serial, 100/s" Serial "" 2000 0 0 ;; esac
}

machine | sed 's/^/  /'
for_each_jdk each
