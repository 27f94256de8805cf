#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/readme.sh [README.md]
#
# The table of figures in the README's second screen, from what all.sh left in BUILD; with the README's
# name it takes the place of the one there. A figure that was not measured is "not measured".
root=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=${BUILD:-$root/build}
case $BUILD in /*) ;; *) BUILD=$root/$BUILD ;; esac
csv=$BUILD/bench/bench.csv

# value FILE PATTERN: of a verdict line, without needless digits.
value() {
    awk -v p="$2" 'index($0, p) && match($0, /  +-?[0-9.]+ .*bound/) {
        split(substr($0, RSTART), f, " "); printf "%.2g", f[1]; exit }' "$1" 2>/dev/null
}

# of_csv WHAT VARIANTS [WORKLOAD]: a number for each row of theirs; VARIANTS is a pattern.
of_csv() {
    awk -F, -v what="$1" -v v="$2" -v w="${3:-}" '
        /^#/ { next }
        !at["round"] { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["variant"] !~ "^(" v ")$" || (w && $at["workload"] != w) { next }
        what == "taken" && $at["round"] == 0 && $at["cpu_expected"] > 0 { x = 100 * $at["cpu_taken"] / $at["cpu_expected"] }
        what == "complete" && $at["round"] == 0 { x = 100 * $at["complete"] / ($at["cpu_taken"] + $at["wall_taken"]) }
        what ~ /taken|complete/ { if (x != "") print x; x = "" }
        what == "start" && $at["round"] > 0 && $at["start_s"] > 0 { print $at["workload"], $at["start_s"] }
        what == "rss" && $at["profiler_rss"] > 0 { print $at["profiler_rss"] / 1e6 }
        what == "maps" && $at["bpf_map_bytes"] > 0 { print $at["bpf_map_bytes"] / 1e6 }' "$csv" 2>/dev/null
}

# The medians of workloads, from the least to the most.
starts() {
    of_csv start "$1" | sort -k1,1 -k2,2g | awk '
        function done() { m = v[int((n + 1) / 2)]; if (!lo || m < lo) lo = m; if (m > hi) hi = m }
        $1 != w { if (n) done(); n = 0; w = $1 }
        { v[++n] = $2 }
        END { if (n) { done(); printf "%.1f to %.1f s", lo, hi } }'
}

most() { sort -g | tail -n 1 | awk '{ printf "%.0f", $1 }'; }
percent() { awk '{ printf $1 < 1 ? "%.1f%%" : "%.0f%%", $1 }'; }

row() { printf '| %s | %s | `%s` |\n' "$1" "${2:-not measured}" "$3"; }

table() {
    local idle=$BUILD/bench/idle-10000.txt switches=$BUILD/bench/pingpong.txt stack=$BUILD/bench/stack.txt

    printf '| | | measured by |\n|---|---|---|\n'
    row "10,000 idle threads, CPU and wall each 10 ms" "collector $(value "$idle" 'collector CPU')% of a core, BPF \
$(value "$idle" 'BPF time')%; switches of theirs: $(value "$idle" 'context switches')" "tools/bench/idle.sh 10000 60"
    row "a program that only switches, $(sed -n 's/.*without a profiler: \([0-9]*\)[0-9]\{4\} .*/\10,000/p' "$switches" 2>/dev/null) times a second" \
        "$(value "$switches" ' gnomon: throughput lost')% of its throughput" "tools/bench/pingpong.sh 3 5"
    row "a CPU sample with a stack of some 45 frames" "$(sed -n 's/.*frames: *\([0-9]*\) ns a sample.*/\1/p' "$stack" 2>/dev/null | sort -g |
        awk 'NR == 1 { a = $1 } { b = $1 } END { if (NR) printf "%.1f to %.1f us", a / 1000, b / 1000 }')" "tools/bench/stack_cost.sh 4"
    row "of the CPU samples that H2's CPU time is worth" "gnomon $(of_csv taken gnomon h2 | percent) (with wall time) and \
$(of_csv taken gnomon-cpu h2 | percent), the JDK's sampler $(of_csv taken jfr h2 | percent), its CPU-time profiler \
$(of_csv taken jfr-cputime h2 | percent)" "make bench"
    row "stacks of 1,000 frames that are complete" "gnomon $(of_csv complete gnomon deep-1000 | percent), the JDK's \
$(of_csv complete jfr deep-1000 | percent) (64 frames by default)" "make bench"
    row "programs whose answer is known" "$(sed -n 's/^\([0-9]* of [0-9]* figures within their bounds\).*/\1/p' \
        "$BUILD/accuracy/accuracy.txt" 2>/dev/null)" "make accuracy"
    row "until it records, by workload" "$(starts 'gnomon|gnomon-cpu'), the JDK's $(starts 'jfr|jfr-cputime')" "make bench"
    row "memory" "$(of_csv rss 'gnomon' | most) MB and $(of_csv maps 'gnomon' | most) MB of BPF maps" "make bench"
}

[ -s "$csv" ] || { echo "readme: no '$csv': run make results" >&2; exit 1; }
if [ $# = 0 ]; then
    table
    exit
fi
new=$(mktemp)
trap 'rm -f "$new"' EXIT
grep -q '^| | | measured by |$' "$1" || { echo "readme: '$1' has no table of figures" >&2; exit 2; }
table | awk -v readme="$1" '
    { text = text $0 "\n" }
    END {
        while ((getline line < readme) > 0) {
            if (line == "| | | measured by |") { printf "%s", text; skip = 1 }
            if (line !~ /^\|/) skip = 0
            if (!skip) print line
        }
    }' >"$new" && cat "$new" >"$1"
