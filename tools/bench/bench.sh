#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/bench.sh [-w WORKLOADS] [-v VARIANTS] [-r ROUNDS] [-s SECONDS] [-j JDK_HOME]
#
# What profilers cost a JVM, and what they get: interleaved windows of the same process, each with
# another profiler, in an order that turns with each round (`make bench`; BENCH=full for the long
# run). Writes bench.csv, bench.txt and bench.svg to BUILD/bench. As root. Environment:
#   CPU_MS, WALL_MS (10)  intervals     GNOMON_OPTS  more options of `gnomon record`
#   ASYNC_PROFILER        path of libasyncProfiler.so, to compare with it
# See README.md beside this file for how to read the table.
. "$(dirname "$0")/lib.sh"
. "$BENCH_DIR/workloads.sh"
need_gnomon record

SIZE=${BENCH:-ci}
if [ "$SIZE" = full ]; then
    ROUNDS=7 SECONDS_EACH=15 WARM_UP=20
    WORKLOADS="idle-100 idle-1000 idle-10000 idle-30000 pingpong compute deep-100 deep-1000 alloc"
else
    ROUNDS=3 SECONDS_EACH=2 WARM_UP=4
    WORKLOADS="idle-1000 idle-10000 pingpong compute deep-100 deep-1000 alloc"
fi
WORKLOADS+=" tomcat h2 ant"
JDK=$(jdk_newest)
VARIANTS=
while getopts w:v:r:s:j: o; do
    case $o in
    w) WORKLOADS=$OPTARG ;;
    v) VARIANTS=$OPTARG ;;
    r) ROUNDS=$OPTARG ;;
    s) SECONDS_EACH=$OPTARG ;;
    j) JDK=$OPTARG ;;
    *) sed -n '3,11s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
: "${VARIANTS:=$(variants "$JDK" | xargs)}"
CSV=$OUT/bench.csv

columns=workload,variant,round,seconds,operations,p50_ns,p99_ns,p999_ns,target_cpu_ns,wall_ns,\
profiler_cpu_ns,profiler_rss,bpf_map_bytes,bpf_ns,bpf_runs,target_rss,file_bytes,recorded_s,start_s,\
idle_threads,idle_switches,cpu_expected,cpu_taken,wall_taken,lost,nostack,complete

# function_of WORKLOAD WHAT: the function that does it; the programs of java/ share theirs.
function_of() {
    local name=${1%%-*}_$2

    declare -F "$name" >/dev/null || name=work_$2
    echo "$name"
}

# row WORKLOAD VARIANT ROUND MARK METER_FILE TALLY FILE RECORDED_S [START_S]
row() {
    local w=$1 v=$2 r=$3 m=$5 t=$6 file=$7 line key

    line=$w,$v,$r,$(tr ' ' , <<<"$4")
    for key in target_cpu_ns wall_ns profiler_cpu_ns profiler_rss_peak_bytes bpf_map_bytes bpf_ns \
        bpf_runs target_rss_bytes; do
        line+=,$(figure "$m" $key)
    done
    line+=,$(stat -c %s "$file" 2>/dev/null),$8,${9:-}
    line+=,$(figure "$m" matched_threads)
    line+=,$(awk '/^matched_(in)?voluntary/ { n += $2 } END { if (NR) print n }' "$m")
    line+=,$(awk -v ms="$CPU_MS" '$1 == "target_cpu_ns" { printf "%.0f", $2 / ms / 1e6 }' "$m")
    for key in cpu wall lost nostack complete; do line+=,$(figure "$t" $key); done
    echo "$line" >>"$CSV"
}

# window WORKLOAD VARIANT ROUND: round 0 is that of quality: BPF is timed, which costs, and the
# recording is read; its throughput does not count.
window() {
    local w=$1 v=$2 r=$3 file=$T/$2.rec m=$T/meter opts=() text began started stopped
    local settle=${BENCH_SETTLE:-1.5}

    opts=(-p "$TARGET" -o "$m" -t 'idle-*')
    began=$EPOCHREALTIME
    profiler_start "$v" "$TARGET" "$file"
    started=$(calc "$EPOCHREALTIME - $settle")
    [ -z "$PROFILER_PID" ] || opts+=(-c "$PROFILER_PID")
    [ "$r" != 0 ] || opts+=(-b)
    text=$("$(function_of "$w" window)" "${opts[@]}") || exit
    profiler_stop "$v" "$TARGET" "$file"
    stopped=$EPOCHREALTIME
    : >"$T/tally"
    case $r:$v in
    0:gnomon* | 0:jfr* | 0:async*) tally "$file" "$m" >"$T/tally" ;;
    esac
    row "$w" "$v" "$r" "$text" "$m" "$T/tally" "$file" \
        "$(calc "$stopped - $started")" "$(calc "$started - $began")"
}

# Each round begins with another variant.
order() {
    local list=($VARIANTS) i

    for ((i = 0; i < ${#list[@]}; i++)); do
        echo "${list[$(((i + $1) % ${#list[@]}))]}"
    done
}

windows() {
    local w=$1 v r number

    [[ $w == *-* ]] && number=${w#*-}
    "${w%%-*}_start" ${number:+"$number"}
    sleep "$WARM_UP"
    for ((r = 0; r <= ROUNDS; r++)); do
        for v in $(order "$r"); do
            printf '\r\033[K%s: round %d of %d, %s' "$w" "$r" "$ROUNDS" "$v" >&2
            window "$w" "$v" "$r"
        done
    done
    "$(function_of "$w" stop)"
}

# A program that ends: each run is a process of its own.
batch() {
    local w=$1 v r text rounds=$ROUNDS

    "${w}_start"
    [ "$SIZE" = full ] || rounds=2
    for ((r = 1; r <= rounds; r++)); do
        for v in $(order $((r - 1))); do
            printf '\r\033[K%s: round %d of %d, %s' "$w" "$r" "$rounds" "$v" >&2
            rm -f "$T/$v.rec"
            text=$("${w}_run" "$v" "$T/$v.rec" "$T/meter") || continue
            row "$w" "$v" "$r" "$text" "$T/meter" /dev/null "$T/$v.rec" "${text%% *}"
        done
    done
}

{
    echo "# $(date -u +%Y-%m-%d) $0 (BENCH=$SIZE): CPU_MS=$CPU_MS WALL_MS=$WALL_MS" \
        "rounds=$ROUNDS seconds=$SECONDS_EACH GNOMON_OPTS='${GNOMON_OPTS:-}'"
    machine | sed 's/^/# /'
    echo "# JDK: $(sed -n 's/^JAVA_RUNTIME_VERSION="\(.*\)"/\1/p' "$JDK/release")"
    echo "$columns"
} >"$CSV"
machine_quiet
for w in $WORKLOADS; do
    workload_there "$w" || continue
    case $w in
    ant) batch "$w" ;;
    *) windows "$w" ;;
    esac
done
printf '\r\033[K' >&2
awk -f "$BENCH_DIR/report.awk" "$CSV" | tee "$OUT/bench.txt"
awk -f "$BENCH_DIR/chart.awk" "$CSV" >"$OUT/bench.svg"
echo "written: $CSV, bench.txt and bench.svg beside it"
