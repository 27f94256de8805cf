#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/tick_cost.sh [SECONDS [ROUNDS [GNOMON...]]]        (4; 5; the one that was built; as root)
#
# What the tick thread's BPF programs cost, each time that they run: THREADS (40) threads that nap for 0.3 ms over
# and over, so that all are to be looked at after each tick and hardly one rests; and as many that wait for two locks.
# CPU and wall time at 10 ms; of several binaries in turns, a line for each round and program, then the medians.
# BPF is timed by the kernel meanwhile, which costs each run of a program two looks at the clock, for all alike.
. "$(dirname "$0")/lib.sh"
need_gnomon record

seconds=${1:-4} rounds=${2:-5}
shift $(($# < 2 ? $# : 2))
BINARIES=()
for b in "${@:-$GNOMON}"; do BINARIES+=("$(realpath "$b")"); done
THREADS=${THREADS:-40} JDK=${JDK:-$(jdk_newest)}
machine | sed 's/^/  /'
primitives "$T/primitives" || fail "the host's primitives cannot be measured"
primitives_table "$T/primitives"

# window CASE BINARY-NUMBER
window() {
    local m=$T/meter

    GNOMON=${BINARIES[$2]} GN_SETTLE=0 gnomon_start "$T/x.jfr" --force -p "$JVM_PID" --cpu 10ms --wall 10ms
    sleep 1.5 # it has chosen its clocks
    "$METER" -p "$JVM_PID" -c "$GN_PID" -b -o "$m" -- sleep "$seconds"
    gnomon_stop
    awk -v c="$1" -v b="$2" '$1 == "bpf_prog" && $4 && $2 ~ /^(remote_tick|lock_tick|groups_look|ticker_at)$/ {
            ns[$2] += $3; runs[$2] += $4 }
        END { for (p in ns) print c, p, b, ns[p] / runs[p], runs[p] }' "$m" >"$T/window"
    awk '$2 ~ /^(remote_tick|ticker_at)$/ { found = 1 } END { exit !found }' "$T/window" || fail "no tick was looked at"
    cat "$T/window" >>"$T/windows"
    sort "$T/window" | awk '{ printf "  %-6s %-12s binary %d %9.0f ns a run, %d runs\n", $1, $2, $3 + 1, $4, $5 }'
}

# rounds_of CASE
rounds_of() {
    local i b

    jvm_start Rests "$1" "$THREADS"
    sleep 3 # its code is compiled
    for ((i = 0; i < rounds; i++)); do
        for b in "${!BINARIES[@]}"; do window "$1" "$b"; done
    done
    jvm_end
}

medians() {
    local c p b mid

    echo "  medians"
    cut -d' ' -f1,2,3 "$T/windows" | sort -u | while read -r c p b; do
        mid=$(awk -v c="$c" -v p="$p" -v b="$b" '$1 == c && $2 == p && $3 == b { print $4 }' "$T/windows" | median)
        printf '  %-6s %-12s binary %d %9.0f ns a run%s\n' "$c" "$p" $((b + 1)) "$mid" "$(times "$T/primitives" "$mid")"
    done
}

rounds_of naps
rounds_of locks
medians
echo "  load after: $(cut -d' ' -f1-3 /proc/loadavg)"
