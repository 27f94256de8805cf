# SPDX-License-Identifier: Apache-2.0
# Sourced (bash): figures, and whether they hold.
# shellcheck disable=SC2034

VERDICTS=0

# verdict WHAT VALUE UNIT OP BOUND: the figure and whether `VALUE OP BOUND` holds (OP: < or <=).
# The script's exit code is that of verdicts_end.
verdict() {
    local word=pass

    if ! awk -v v="$2" -v b="$5" -v o="$4" 'BEGIN { exit !(o == "<" ? v < b : v <= b) }'; then
        word=FAIL
        VERDICTS=1
    fi
    printf '%-4s  %-58s %12s %-8s bound %s %s\n' $word "$1" "$2" "$3" "$4" "$5"
    [ -z "${RESULTS:-}" ] || echo "$(basename "$0" .sh),$1,$2,$3,$4,$5,$word" >>"$RESULTS"
}
# off_by VALUE TRUE: how far apart they are, in their unit; off_percent: in percent of the true one
off_by() { awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; printf "%.2f", d < 0 ? -d : d }'; }
off_percent() { awk -v a="$1" -v b="$2" 'BEGIN { d = b ? 100 * (a - b) / b : 0; printf "%.2f", d < 0 ? -d : d }'; }
verdicts_end() { exit $VERDICTS; }
