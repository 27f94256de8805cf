#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/patterns.sh [SECONDS [PATTERN...]]        (20, all; as root)
#
# Threads whose time has a known pattern (java/Patterns.java): shares of wall time within 2 points
# of the scheduler's figures, the sum of all samples x interval within 2% of the window, less than
# 1% of samples without a stack, no record twice. PROFILER=jfr-cputime, async-both ...: another one's
# figures.
. "$(dirname "$0")/lib.sh"
# Short enough that the bounds are 3 standard errors and more.
CPU_MS=${PATTERN_MS:-2}
WALL_MS=$CPU_MS
D=${1:-20}
shift
[ $# -gt 0 ] || set -- short long uneven convoy pingpong instep

# methods CASE: of the threads' waiting time, the share by method, where the program sets it.
methods() {
    awk 'NR == FNR { if ($1 == "thread" && $5 ~ /^pattern-/) mine[$2] = 1; next }
        $1 == "method" && $3 == "wall" && ($2 in mine) { n[$5] += $4; all += $4 }
        END { for (m in n) if (m ~ /nap|rest/) printf "in %s|%s|%.3f|%%|%.4f\n", m, \
            m ~ /nap/ ? 30 : 70, 100 * n[m] / all, 100 * sqrt(0.21 / all) }' \
        "$T/$1.tally" "$T/$1.tally"
}

quality() {
    local t=$T/$1.tally

    row "$1" "samples without a stack" 0 "$(awk '$1 == "nostack" { n = $2 }
        $1 == "cpu" || $1 == "wall" { all += $2 } END { print all ? 100 * n / all : "none" }' "$t")" % - 1
    row "$1" "records twice" 0 "$(figure "$t" twice)" "" - 0
    [ "$PROFILER" != gnomon ] || grep '^ *lost  ' "$GN_ERR" | grep -v nothing | sed 's/^/        | /'
}

pattern() {
    jvm_start Patterns "$1" $WALL_MS
    measured "$1" "$D" Patterns --cpu ${CPU_MS}ms --wall ${WALL_MS}ms
    jvm_end
    # shellcheck disable=SC2046
    rows "$1" 2 < <(shares "$1" '^pattern-' $(kinds))
    [[ $1 != uneven || $(kinds) != *waiting* ]] || rows "$1" 2 < <(methods "$1")
    quality "$1"
}

heading
for p; do
    pattern "$p"
done
verdicts_end
