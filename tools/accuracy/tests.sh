#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/tests.sh NAME...                          (as root)
#
# End-to-end tests (tests/jvm/NAME.sh) that hold figures against the truth, as lines of the table: they
# tell them by `told` (tests/jvm/lib.sh). What else they find is shown where one fails.
. "$(dirname "$0")/lib.sh"
[ "$PROFILER" = gnomon ] || skip "of gnomon only"

# test NAME: JAVA_HOMES and GNOMON_TREES say on which JDKs it runs.
tested() {
    local rc case what expected measured unit se bound rel

    FIGURES=$T/figures "$ROOT/tests/jvm/$1.sh" >"$T/tested" 2>&1
    rc=$?
    while IFS='|' read -r case what expected measured unit se bound rel; do
        row "$case" "$what" "$expected" "$measured" "$unit" "$se" "$bound" "$rel"
    done <"$T/figures"
    rm -f "$T/figures"
    case $rc in
    0) ;;
    77) note "$1: $(tail -n 1 "$T/tested")" ;;
    *)
        grep -v '^  ' "$T/tested" | sed 's/^/        | /'
        note "$1: failed"
        VERDICTS=1
        ;;
    esac
}

heading
for name; do
    : >"$T/figures"
    tested "$name"
done
verdicts_end
