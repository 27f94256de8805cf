#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/tests.sh NAME...                          (as root)
#
# End-to-end tests (tests/jvm/NAME.sh) with what only a quiet machine can hold (QUIET: `strict` of tests/jvm/lib.sh),
# and their figures as lines of the table: they tell them by `told`. What else they find is shown where one fails,
# which is a failure of its own.
. "$(dirname "$0")/lib.sh"
[ "$PROFILER" = gnomon ] || skip "of gnomon only"

# test NAME: JAVA_HOMES and GNOMON_TREES say on which JDKs it runs.
tested() {
    local rc case what expected measured unit se bound rel

    QUIET=1 FIGURES=$T/figures "$ROOT/tests/jvm/$1.sh" >"$T/tested" 2>&1
    rc=$?
    while IFS='|' read -r case what expected measured unit se bound rel; do
        row "$case" "$what" "$expected" "$measured" "$unit" "$se" "$bound" "$rel"
    done <"$T/figures"
    rm -f "$T/figures"
    case $rc in
    0) ;;
    77)
        note "$1: $(tail -n 1 "$T/tested")"
        [ "${CI:-}" = true ] || return
        ;;
    *)
        grep -v '^  ' "$T/tested" | sed 's/^/        | /'
        note "$1: failed"
        ;;
    esac
    row "$1" "exit code" 0 $rc "" - 0
}

heading
for name; do
    : >"$T/figures"
    tested "$name"
done
verdicts_end
