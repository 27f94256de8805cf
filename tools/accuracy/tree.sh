#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/tree.sh SECONDS [NAME...]                 (as root)
#
# calltree.sh with NAME..., and what it says as lines of the table: wrong stacks, of which there must be
# none, and shares within the issue's targets. With PROFILER another profiler's stacks on the newest
# JDK, held against the tree by the same checker: how many are impossible, of how many.
. "$(dirname "$0")/lib.sh"
D=${1:-5}
shift
tree=$BUILD/calltree-1-4000

# tree_rows: of calltree.sh's lines, one for each configuration and clock.
tree_rows() {
    awk '
        # the number before `unit`, the first or, if `last`, after "; of"; nothing where there is none, which is no figure
        function before(unit, last,    s) {
            s = $0
            if (last) sub(/.*; of/, "", s)
            return match(s, "[0-9.]+" unit) ? substr(s, RSTART, RLENGTH) + 0 : ""
        }
        / in the tree: / {
            c = "tree " $1 ($2 == "default" ? "" : " " $2) " " $3
            bound = $3 == "cpu" ? 1 : 0.5
            printf "%s|impossible stacks|0|%s|stacks|-|0\n", c, before(" wrong")
            printf "%s|stacks complete|100|%s|%%|-|%s\n", c, before("% complete"), bound
            printf "%s|stacks guessed|0|%s|%%|-|0.5\n", c, before("% guessed")
            printf "%s|samples with a complete stack|100|%s|%%|-|%s\n", c, before("% complete", 1), bound
        }' "$1"
}

of_gnomon() {
    local case what expected measured unit se bound

    QUIET=1 TREE_SECONDS=$D "$ACCURACY_DIR/calltree.sh" "$@" >"$T/calltree" 2>&1 || VERDICTS=1
    cat "$T/calltree"
    heading
    while IFS='|' read -r case what expected measured unit se bound; do
        row "$case" "$what" "$expected" "$measured" "$unit" "$se" "$bound"
    done < <(tree_rows "$T/calltree")
}

# A profiler that shows no frames of C has nothing between a native method and the Java method that it
# calls, which the checker takes for a gap ("UPCALL"): not counted.
of_other() {
    local n

    [ -f "$tree/done" ] || skip "no '$tree': run without PROFILER first"
    jvm_pipes
    "$JDK/bin/java" -Xmx512m --enable-native-access=ALL-UNNAMED -cp "$tree/classes" tree.Rt "$tree" \
        <"$JVM_IN" >"$JVM_OUT" 2>"$JVM_ERR" {JVM_FD}>&- &
    JVM_PID=$!
    CHILDREN+=("$JVM_PID")
    until_true 30 file_has "$JVM_OUT" '^READY' || fail "the program does not start: $(cat "$JVM_ERR")"
    sleep 2
    CPU_MS=${TREE_MS:-10}
    profiler_start "$PROFILER" "$JVM_PID" "$T/tree.jfr"
    sleep "$D"
    profiler_stop "$PROFILER" "$JVM_PID" "$T/tree.jfr"
    jvm_unharmed
    "$(jdk_newest)/bin/java" -Xshare:auto -cp "$tree/check" TreeCheck "$tree/tree.txt" "$T/tree.jfr" 3 \
        >"$T/check" 2>&1
    [ $? -le 1 ] || fail "the checker: $(tail -n 5 "$T/check")"
    n=$(awk '$1 == "cpu" { for (i = 2; i < NF; i += 2) if ($i == "wrong") n += $(i + 1) }
        $1 == "reason" && /\(UPCALL\)/ { n -= $2 } END { print n + 0 }' "$T/check")
    heading
    row tree "impossible stacks" 0 "$n" stacks - 0
    note "$(awk '$1 == "cpu"' "$T/check")"
    grep '^reason' "$T/check" | grep -v 'truncated$' | sed 's/^/        | /'
}

case $PROFILER in
gnomon) of_gnomon "$@" ;;
jfr | async) of_other ;; # the checker reads jdk.ExecutionSample
*) skip "$PROFILER records no jdk.ExecutionSample" ;;
esac
verdicts_end
