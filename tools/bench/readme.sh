#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/readme.sh [README.md]
#
# The table of figures in README.md beside this file, from what all.sh left in BUILD; with that file's
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

# csv PROGRAM [ARGS...]: awk over bench.csv's rows with the columns' numbers in at[].
csv() {
    local program=$1

    shift
    awk -F, "$@" '/^#/ { next } !header { header = 1; for (i = 1; i <= NF; i++) at[$i] = i; next }
        function median(v, n,    i, k, t) {
            for (i = 2; i <= n; i++) for (k = i; k > 1 && v[k] < v[k - 1]; k--) { t = v[k]; v[k] = v[k - 1]; v[k - 1] = t }
            return (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2
        }'"$program" "$csv" 2>/dev/null
}

# sample_cost same|other: least to most of the JDKs' warm rows of stack_cost.sh.
sample_cost() {
    sed -n "/ cold stack/d; s/.* $1 .*frames: *\([0-9]*\) ns a sample.*/\1/p" "$BUILD/bench/stack.txt" 2>/dev/null | sort -g | awk '
        NR == 1 { a = $1 } { b = $1 }
        END { x = sprintf("%.1f", a / 1000); y = sprintf("%.1f", b / 1000); printf "%s us", !NR ? "not measured" : x == y ? x : x " to " y }'
}

# named VARIANT: as the table calls it.
named() {
    case $1 in
    gnomon) echo "gnomon (CPU and wall)" ;;
    gnomon-cpu) echo "gnomon (CPU alone)" ;;
    jfr) echo "the JDK's sampler" ;;
    jfr-cputime) echo "its CPU-time profiler" ;;
    async) echo "async-profiler (CPU)" ;;
    async-both) echo "async-profiler (both)" ;;
    esac
}

# each FUNCTION ARGS...: what it says of each variant of which it says something, by name.
each() {
    local v said text=

    for v in gnomon gnomon-cpu jfr jfr-cputime async async-both; do
        said=$("$@" "$v")
        [ -z "$said" ] || text+=${text:+, }"$(named $v) $said"
    done
    echo "$text"
}

# samples WORKLOAD VARIANT: "N of N (share)"
samples() {
    csv '$at["workload"] == w && $at["variant"] == v && $at["round"] == 0 && $at["cpu_expected"] > 0 && $at["cpu_taken"] != "" {
        printf "%d of %d (%.0f%%)", $at["cpu_taken"], $at["cpu_expected"], 100 * $at["cpu_taken"] / $at["cpu_expected"] }' \
        -v "w=$1" -v "v=$2"
}

# complete WORKLOAD VARIANT
complete() {
    csv '$at["workload"] == w && $at["variant"] == v && $at["round"] == 0 && $at["cpu_taken"] + $at["wall_taken"] > 0 {
        x = 100 * $at["complete"] / ($at["cpu_taken"] + $at["wall_taken"]); printf((x < 1 || (x > 99 && x < 99.95)) ? "%.1f%%" : "%.0f%%", x) }' \
        -v "w=$1" -v "v=$2"
}

# starts VARIANT: of all its windows.
starts() {
    csv '$at["variant"] == v && $at["start_s"] > 0 { x[++n] = $at["start_s"] + 0 }
        END { if (n) { m = median(x, n); printf "%.1f to %.1f s (median %.1f)", x[1], x[n], m } }' -v "v=$1"
}

# lost VARIANT: throughput of the ping-pong of `make bench`, beside none: median and range.
lost() {
    csv '$at["workload"] == "pingpong" && $at["round"] > 0 && $at["seconds"] > 0 {
            rate[$at["variant"], $at["round"]] = $at["operations"] / $at["seconds"]; if ($at["round"] > rounds) rounds = $at["round"] }
        END { for (r = 1; r <= rounds; r++)
                if (rate["none", r] > 0 && rate[v, r] > 0) x[++n] = 100 * (1 - rate[v, r] / rate["none", r])
            if (n) { m = median(x, n); printf "%.1f%% (%.1f to %.1f)", m, x[1], x[n] } }' -v "v=$1"
}

# memory: of the longest run that there is of: an hour of make soak, idle.sh.
memory() {
    local f soak=$BUILD/bench/soak.txt

    if grep -q 'resident memory: growth (mean' "$soak" 2>/dev/null; then
        awk '/growth \(mean/ { match($0, /mean [0-9.]+/); m[++n] = substr($0, RSTART + 5, RLENGTH - 5) }
            END { printf "%.0f MB and %.0f MB of BPF maps, mean of an hour", m[1], m[2] }' "$soak"
        return
    fi
    for f in "$BUILD"/bench/idle-{30000,10000}.txt; do
        awk -v f="$(basename "$f" .txt)" '/memory: profiler_rss_peak_bytes/ {
            printf "%.0f MB and %.0f MB of BPF maps, %d idle threads for over a minute", $3, $6, substr(f, 6); found = 1 }
            END { exit !found }' "$f" 2>/dev/null && return
    done
}

# truths: figures of make accuracy, and of the peers, which are not judged.
truths() {
    awk '/^[0-9]+ of [0-9]+ figures within their bounds/ { ours = $1 " of " $3 " figures within their bounds" }
        /^\((ok|--)\)  / { all++; good += /^\(ok\)/ }
        END { if (ours) printf "%s%s", ours, all ? sprintf("; %d of the peers\047 %d are, and why is told in RESULTS.md", good, all) : "" }' \
        "$BUILD/accuracy/accuracy.txt" 2>/dev/null
}

# peers: who was compared, and beside how many programs in all.
peers() {
    local async

    async=$(sed -n 's/^# async-profiler: \([^,]*\),.*/async-profiler \1/p' "$csv")
    csv '$at["variant"] !~ /^(none|gnomon)/ { name[$at["variant"]]; seen[$at["workload"], $at["variant"]] }
        END { for (k in seen) n++; printf "%d pairs of a program and a profiler: JFR%s%s", n, "perf" in name ? ", perf" : "", "bpftrace" in name ? ", bpftrace" : "" }'
    [ -n "$async" ] && echo ", $async" || echo "; async-profiler was not compared (\`ASYNC_PROFILER=\` was not given)"
}

row() { printf '| %s | %s | `%s` |\n' "$1" "${2:-not measured}" "$3"; }

table() {
    local idle=$BUILD/bench/idle-10000.txt switches=$BUILD/bench/pingpong.txt often

    often=$(sed -n 's/.*without a profiler: \([0-9]*\)[0-9]\{4\} .*/\10,000/p' "$switches" 2>/dev/null)
    printf '| | | measured by |\n|---|---|---|\n'
    row "10,000 idle threads, CPU and wall each 10 ms, in the steady state" "$([ ! -s "$idle" ] || echo "collector \
$(value "$idle" 'collector CPU')% of a core, BPF $(value "$idle" 'BPF time')%; switches of theirs: $(value "$idle" 'context switches')")" "tools/bench/idle.sh 10000 60"
    row "throughput lost by a program that only switches, ${often:-so many} times a second" \
        "$([ ! -s "$switches" ] || echo "$(value "$switches" ' gnomon: throughput lost')%, CPU and wall")" "tools/bench/pingpong.sh 3 5"
    row "the same in three short rounds beside others, median and range" "$(each lost)" "make bench"
    row "a CPU sample with a stack of some 45 frames" "$(sample_cost same) if the stack is a repeated one, $(sample_cost other) if not" "tools/bench/stack_cost.sh 4"
    row "CPU samples of H2 in a window, of those that its CPU time is worth" "$(each samples h2)" "make bench"
    row "complete stacks of 1,000 frames (JFR told to go 2,048 deep; it ends at 64 by default)" "$(each complete deep-1000)" "make bench"
    row "programs whose answer is known" "$(truths)" "make accuracy"
    row "until it records, all windows of all workloads" "$(each starts)" "make bench"
    row "memory after the longest run" "$(memory)" "$([ -s "$BUILD/bench/soak.txt" ] && echo make soak || echo tools/bench/idle.sh)"
    row "beside whom" "$(peers)" "make bench"
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
