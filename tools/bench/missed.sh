#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/missed.sh [SECONDS [ROUNDS [GNOMON...]]]       (8; 5; the one that was built; as root)
#
# Wall samples without a stack, and what it costs that there are few: web servers that CLIENTS (24) keep-alive
# connections keep busy, at `--cpu 10ms --wall 10ms`: Tomcat under `ab -k` and under wrk, and the JDK's own HTTP
# server under wrk. Of several binaries in turns, with a line for each round and the median of the rounds. BPF is
# timed by the kernel meanwhile, which costs each run of a program two looks at the clock, for all alike.
. "$(dirname "$0")/lib.sh"
. "$BENCH_DIR/workloads.sh"
need_gnomon record
need_cmd ab
need_cmd wrk
workload_there tomcat || exit 77

seconds=${1:-8} rounds=${2:-5}
shift $(($# < 2 ? $# : 2))
BINARIES=()
for b in "${@:-$GNOMON}"; do BINARIES+=("$(realpath "$b")"); done
CLIENTS=${CLIENTS:-24} JDK=${JDK:-$(jdk_newest)} WARM_UP=${WARM_UP:-8}
SERVE_PORT=${SERVE_PORT:-18090}
TOMCAT_URL=http://127.0.0.1:$TOMCAT_PORT/examples/servlets/servlet/HelloWorldExample
machine | sed 's/^/  /'

ab_load() { ab -q -k -c "$CLIENTS" -t "$1" -n 100000000 "$2" >"$T/load.out" 2>&1; }
wrk_load() { wrk -t1 -c"$CLIENTS" "-d${1}s" "$2" >"$T/load.out" 2>&1; }
# Instead of that of workloads.sh: its warm-up, in which requests may fail.
wrk_window() { wrk_load "$1" "$TOMCAT_URL"; }
per_second() { awk '/^Requests per second:/ { print $4 } /^Requests\/sec:/ { print $2 }' "$T/load.out"; }

# stat: the first number after WORD in gnomon's own words
stat() { sed -n "s/.*$1 *\([0-9,]*\).*/\1/p" "$GN_ERR" | head -n 1 | tr -d ,; }
missed() { sed -n 's/.*[ :]\([0-9,]*\) wall samples without a stack.*/\1/p' "$GN_ERR" | tr -d ,; }
taken() { sed -n 's/.* seen, \([0-9.]*\)% with a stack.*/\1/p' "$GN_ERR"; }

# bpf METER_FILE: percent of a core of all programs that others run; ns a run of wall_switch; percent of a core of remote_tick.
bpf() {
    awk -v own="$COLLECTORS" '$1 == "wall_ns" { w = $2 }
        $1 == "bpf_prog" && $2 !~ own { all += $3 }
        $1 == "bpf_prog" && $2 == "wall_switch" && $4 { s = $3 / $4 }
        $1 == "bpf_prog" && $2 == "remote_tick" { t = $3 }
        END { printf "%.2f %.0f %.2f", 100 * all / w, s, 100 * t / w }' "$1"
}

# one CASE LOAD URL BINARY ROUND
one() {
    local m=$T/meter all

    "$2" $((seconds + 6)) "$3" &
    local load=$!

    CHILDREN+=("$load")
    sleep 1
    GNOMON=$4 GN_SETTLE=0 gnomon_start "$T/x.jfr" --force -p "$TARGET" --cpu 10ms --wall 10ms
    sleep 1.5 # it has chosen its clocks
    "$METER" -p "$TARGET" -c "$GN_PID" -t '*' -b -o "$m" -- sleep "$seconds"
    gnomon_stop
    wait "$load"
    all=$(stat 'wall samples')
    # shellcheck disable=SC2046
    printf '%s %s %s %s %s %s %s %s %s %s %s\n' "$1" "$5" "$4" \
        "$(awk '/^matched_(in)?voluntary/ { n += $2 } $1 == "wall_ns" { w = $2 } END { printf "%.0f", n / w * 1e9 }' "$m")" \
        "$(awk -v n="$(missed)" -v a="$all" 'BEGIN { printf "%.3f", 100 * n / a }')" "$(taken)" \
        $(bpf "$m") "$(per_core "$(figure "$m" profiler_cpu_ns)" "$(figure "$m" wall_ns)")" "$(per_second)" |
        tee -a "$T/rounds" | row
}

FORMAT='  %-10s %-5s %-28s %10s %8s %7s %7s %12s %12s %10s %11s\n'
head_row() {
    # shellcheck disable=SC2059
    printf "$FORMAT" case round binary switches/s 'no stack' taken BPF wall_switch remote_tick collector requests/s
    # shellcheck disable=SC2059
    printf "$FORMAT" '' '' '' '' '%' '%' '% core' 'ns a run' '% core' '% core' ''
}
row() {
    while read -r c r b rest; do
        # shellcheck disable=SC2059,SC2086
        printf "$FORMAT" "$c" "$r" "$(name "$b")" $rest
    done
}
# name BINARY: as it calls itself
name() { "$1" --version | awk '{ print $2; exit }'; }

# rounds CASE LOAD URL
rounds() {
    local r b

    for ((r = 1; r <= rounds; r++)); do
        for b in "${BINARIES[@]}"; do one "$1" "$2" "$3" "$b" "$r"; done
    done
}

medians() {
    local c b k

    for c in $(cut -d' ' -f1 "$T/rounds" | uniq); do
        for b in "${BINARIES[@]}"; do
            printf '%s median %s' "$c" "$b"
            for k in 4 5 6 7 8 9 10 11; do
                printf ' %s' "$(awk -v c="$c" -v b="$b" -v k=$k '$1 == c && $3 == b { print $k }' "$T/rounds" | median)"
            done
            echo
        done
    done | row
}

serve_start() {
    server_start 'Server startup' "$JDK/bin/java" -Xmx512m -cp "$CLASSES" Serve "$SERVE_PORT" "$CLIENTS"
    wrk_load "$WARM_UP" "http://127.0.0.1:$SERVE_PORT/"
}

tomcat_start
head_row
rounds tomcat-ab ab_load "$TOMCAT_URL"
rounds tomcat-wrk wrk_load "$TOMCAT_URL"
server_stop
serve_start
rounds jdk-wrk wrk_load "http://127.0.0.1:$SERVE_PORT/"
server_stop
echo "  medians"
medians
echo "  load after: $(cut -d' ' -f1-3 /proc/loadavg)"
