#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/soak/surge.sh (as root; `make soak-surge`)
#
# A daemon with a budget of 1% records a JVM whose load rises tenfold SURGES (10) times, each SURGE_SECONDS (15) after it
# fell, at intervals that the budget has no room for (CPU 1 ms, wall 5 ms). Held: for how long what it took was above 1.5
# times the budget; that it changed rates at all; and the shares of CPU time and of time of three methods through all
# steps, beside what the program measured itself (tests/jvm/java/Surge.java).
# shellcheck source=tests/jvm/lib.sh
. "$(dirname "$0")/../../tests/jvm/lib.sh"
# shellcheck source=tests/jvm/daemon.sh
. "$(dirname "$0")/../../tests/jvm/daemon.sh"
# shellcheck source=tools/bench/verdict.sh
. "$(dirname "$0")/../bench/verdict.sh"
need_root
need_gnomon status

BUDGET=${DAEMON_BUDGET:-1}
REC=$T/recordings
SOCK=$T/gnomon.sock
SERIES=$BUILD/soak/surge.csv
mkdir -p "$BUILD/soak"

metric() { ask status --metrics 2>/dev/null | awk -v name="$1" 'index($0, name "{") == 1 || $1 == name { print $NF; exit }'; }
recorded() { [ -n "$(metric gnomon_jvm_budget_step)" ]; }

watch() {
    local began=$EPOCHREALTIME

    echo seconds,ratio,step >"$SERIES"
    until file_has "$JVM_OUT" '^DONE'; do
        pid_ended "$DAEMON" && fail "it has ended: $(tail -n 5 "$T/daemon.err")"
        echo "$(calc "$EPOCHREALTIME - $began"),$(metric gnomon_cost_ratio),$(metric gnomon_jvm_budget_step)" >>"$SERIES"
        nap 1
    done
}

# The longest time for which the cost was above 1.5 x the budget.
longest_over() {
    awk -F, -v b="$BUDGET" '
        NR > 1 {
            if ($2 * 100 > 1.5 * b) { if (!over) { over = 1; from = last } } else over = 0
            if (over && $1 - from > most) most = $1 - from
            last = $1
        }
        END { printf "%.1f\n", most }' "$SERIES"
}

# shares DIM WORD: of the three methods, told and true
shares() {
    "$GNOMON" render "$REC"/*/ -f collapsed -D "$1" --idle 2>"$T/err" | awk -v word="$2" -v truth="$JVM_OUT" '
        { if (match($0, /Surge\.(half|third|fifth)[; ]/)) { m = substr($0, RSTART + 6, RLENGTH - 7); v[m] += $NF; all += $NF } }
        END {
            while ((getline line < truth) > 0) {
                split(line, f, " ")
                if (f[1] == word) printf "%s %.3f %.3f\n", f[2], f[3], all ? 100 * v[f[2]] / all : 0
            }
        }'
}

own_jar Surge
JDK=$(jdk_newest)
JVM_OPTS="-Xmx128m"
jvm_start -jar "$OWN_JAR" 20 "${SURGES:-10}" "${SURGE_SECONDS:-15}"
printf '%s\n' "directory = $REC" "socket = $SOCK" "min-free = 0" "budget = $BUDGET%" "record = no" \
    "[mine]" "name = $OWN_NAME.jar" "cpu = 1ms" "wall = 5ms" >"$CONF"
daemon_run
until_true 120 recorded || fail "it is not recorded: $(cat "$T/daemon.err")"
sleep 12 # it has begun, which costs
jvm_go
watch
ask status | sed 's/^/  | /'
daemon_stop
note "steps of the budget: $(grep -c '(step ' "$T/daemon.err"), from $(awk -F, 'NR > 1 && (!n++ || $3 < least) { least = $3 } END { print least }' "$SERIES") to $(awk -F, 'NR > 1 && $3 > most { most = $3 } END { print most }' "$SERIES")"
verdict "changes of rates, at least (negative)" "-$(grep -c '(step ' "$T/daemon.err")" changes '<=' -4
verdict "longest above 1.5 x the budget" "$(longest_over)" s '<=' 3
for what in "cpu TRUTH CPU" "wall WALL all"; do
    read -r dim word name <<<"$what"
    shares "$dim" "$word" >"$T/shares"
    [ "$(wc -l <"$T/shares")" = 3 ] || fail "no shares of $name: $(cat "$T/err")"
    while read -r method want got; do
        note "$method: $want% of $name time by the program, $got% told"
        verdict "$method, share of $name time, off by" "$(off_by "$got" "$want")" points '<=' 2
    done <"$T/shares"
done
jvm_unharmed
verdicts_end
