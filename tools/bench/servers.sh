#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/servers.sh [SECONDS [ROUNDS [GNOMON...]]]            (5; 5; as root)
#
# What a busy server pays for being recorded, CPU and wall time at 10 ms, with each of these binaries in turns: of a core what the
# collector and its BPF programs take, and throughput beside that of a window without any. SERVERS (tomcat h2): which. OPTIONS: more
# options of `gnomon record`. Medians of all rounds; with several binaries what each takes beside the first. The kernel times
# BPF programs in every second window, of which throughput is not looked at. `floor`: programs that do next to nothing at the same
# events (floor.bpf.c).
. "$(dirname "$0")/lib.sh"
. "$BENCH_DIR/workloads.sh"
need_gnomon record

SECONDS_EACH=${1:-5} rounds=${2:-5} WARM_UP=${WARM_UP:-10}
shift $(($# < 2 ? $# : 2))
BINARIES=("$@")
[ $# -gt 0 ] || BINARIES=("$GNOMON")
JDK=${JDK:-$(jdk_newest)}
machine | sed 's/^/  /'
primitives "$T/primitives" || fail "the host's primitives cannot be measured"
primitives_table "$T/primitives"
bench_program floor || fail "the programs that do nothing cannot be compiled"

# ops MARK...: operations a second, by "seconds operations ..."
ops() { awk '{ print $2 / $1 }' <<<"$*"; }

# measured SERVER NAME PID: a line "SERVER NAME collector% BPF% operations"
measured() {
    local m=$T/meter quick

    "$1_window" -p "$TARGET" -c "$3" -b -o "$m" >/dev/null
    quick=$("$1_window" -p "$TARGET" -o /dev/null)
    awk -v s="$1" -v n="$2" -v o="$(ops "$quick")" -v own="$COLLECTORS" '
        $1 == "wall_ns" { wall = $2 } $1 == "profiler_cpu_ns" { c = $2 } $1 == "bpf_prog" && $2 !~ own { b += $3 }
        END { print s, n, 100 * c / wall, 100 * b / wall, o }' "$m" >>"$T/windows"
}

# window SERVER BINARY-NUMBER
window() {
    GNOMON=${BINARIES[$2]} gnomon_start "$T/x.jfr" --force -p "$TARGET" --cpu 10ms --wall 10ms ${OPTIONS:-}
    # under load it chooses its clocks, loads what busy targets need, and comes to know most stacks; an isolated one reads its targets
    SECONDS_EACH=6 "$1_window" -p "$TARGET" -o /dev/null >/dev/null
    measured "$1" "$2" "$GN_PID"
    gnomon_stop
}

floor() {
    profiler_start floor "$TARGET" "$T/x.floor"
    measured "$1" floor "$PROFILER_PID"
    profiler_stop floor "$TARGET" "$T/x.floor"
}

alone() { echo "$1 none 0 0 $(ops "$("$1_window" -p "$TARGET" -o /dev/null)")" >>"$T/windows"; }

rounds_of() {
    local i n

    "$1_start"
    for ((i = 0; i < rounds; i++)); do
        alone "$1"
        floor "$1"
        for n in "${!BINARIES[@]}"; do window "$1" "$n"; done
    done
    "$1_stop"
}

# mid SERVER NUMBER COLUMN
mid() { awk -v s="$1" -v n="$2" -v c="$3" '$1 == s && $2 == n { print $c }' "$T/windows" | median; }
sum() { calc "$(mid "$1" "$2" 3) + $(mid "$1" "$2" 4)"; }

# line SERVER NUMBER NAME
line() {
    printf '  %-7s %-40s collector %6.2f%%, BPF %6.2f%% of a core; throughput %.3f of none\n' "$1" "$3" \
        "$(mid "$1" "$2" 3)" "$(mid "$1" "$2" 4)" "$(calc "$(mid "$1" "$2" 5) / $(mid "$1" none 5)")"
}

told() {
    local n

    line "$1" floor floor
    for n in "${!BINARIES[@]}"; do
        line "$1" "$n" "${BINARIES[$n]}"
        [ "$n" = 0 ] || printf '  %-7s %-40s together %.3f of the first\n' "$1" "" "$(calc "$(sum "$1" "$n") / $(sum "$1" 0)")"
    done
}

for s in ${SERVERS:-tomcat h2}; do
    workload_there "$s" || continue
    rounds_of "$s"
    told "$s"
done
echo "  load after: $(cut -d' ' -f1-3 /proc/loadavg)"
