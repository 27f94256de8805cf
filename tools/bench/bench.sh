#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/bench.sh [-w WORKLOADS] [-v VARIANTS] [-r ROUNDS] [-s SECONDS] [-j JDK_HOME]
#
# What profilers cost a JVM, and what they get: interleaved windows of the same process, each with
# another profiler, in an order that turns with each round (`make bench`; BENCH=full for the long
# run). Writes bench.csv, bench.txt and bench.svg to BUILD/bench. As root. Environment:
#   CPU_MS, WALL_MS (10)  intervals     GNOMON_OPTS  more options of `gnomon record`
#   ASYNC_PROFILER        path of libasyncProfiler.so, to compare with it
#   WARM_UP               seconds before the first window; BENCH_OUT: another directory for what is written
# See README.md beside this file for how to read the table.
. "$(dirname "$0")/lib.sh"
. "$BENCH_DIR/workloads.sh"
need_gnomon record

SIZE=${BENCH:-ci}
if [ "$SIZE" = full ]; then
    ROUNDS=7 SECONDS_EACH=15 WARM_UP=${WARM_UP:-20}
    WORKLOADS="idle-100 idle-1000 idle-10000 idle-30000 pingpong compute deep-100 deep-1000 alloc"
    NATIVE_ON=*
else
    ROUNDS=3 SECONDS_EACH=2 WARM_UP=${WARM_UP:-4}
    WORKLOADS="idle-10000 pingpong compute deep-1000 alloc"
    NATIVE_ON="pingpong compute tomcat" # perf and bpftrace name no Java frame: a few rows do
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
    *) sed -n '3,13s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done

# refuse WHAT: a bad argument.
refuse() {
    echo "bench: $1" >&2
    exit 2
}

arguments_check() {
    local v w

    [[ $ROUNDS =~ ^[0-9]+$ ]] || refuse "-r '$ROUNDS' is no number of rounds"
    [[ $SECONDS_EACH =~ ^[0-9]+([.][0-9]+)?$ ]] || refuse "-s '$SECONDS_EACH' is no number of seconds"
    for v in $VARIANTS; do
        case $v in
        none | gnomon | gnomon-cpu | gnomon-wall | gnomon-thread | gnomon-percpu | gnomon-scan) ;;
        jfr | jfr-cputime | perf | bpftrace) ;;
        async | async-both | async-wall)
            [ -n "${ASYNC_PROFILER:-}" ] || refuse "variant '$v' needs ASYNC_PROFILER=, the path of libasyncProfiler.so"
            ;;
        *) refuse "unknown variant '$v': README.md has their names" ;;
        esac
    done
    for w in $WORKLOADS; do
        [[ $w =~ ^((idle|deep|pingpong)-[0-9]+|pingpong|compute|alloc|tomcat|h2|ant)$ ]] ||
            refuse "unknown workload '$w': idle-N, deep-N, pingpong, compute, alloc, tomcat, h2, ant"
    done
}
[ -x "$JDK/bin/java" ] || refuse "-j '$JDK' is no JDK: it has no bin/java"
: "${VARIANTS:=$(variants "$JDK" | xargs)}"
arguments_check
CSV=$OUT/bench.csv

columns=workload,variant,round,seconds,operations,p50_ns,p99_ns,p999_ns,target_cpu_ns,wall_ns,\
profiler_cpu_ns,profiler_rss,bpf_map_bytes,bpf_ns,bpf_runs,target_rss,file_bytes,recorded_s,start_s,\
idle_threads,idle_switches,cpu_expected,cpu_taken,wall_taken,lost,nostack,complete,switches,wall_expected

# function_of WORKLOAD WHAT: the function that does it; the programs of java/ share theirs.
function_of() {
    local name=${1%%-*}_$2

    declare -F "$name" >/dev/null || name=work_$2
    echo "$name"
}

# sum FILE PATTERN: of the figures whose keys match; nothing if there is none.
sum() { awk -v p="$2" '$1 ~ p { n += $2; any = 1 } END { if (any) print n }' "$1"; }

# wall_expected VARIANT METER_FILE: the ticks of all threads, of which gnomon's wall samples are those without a
# CPU and async-profiler's are all.
wall_expected() {
    case $1 in
    gnomon-cpu | async) ;;
    gnomon* | async-*) awk -v v="$1" -v ms="$WALL_MS" '
        { f[$1] = $2 }
        END { ns = f["target_threads"] * f["wall_ns"] - (v ~ /^gnomon/ ? f["target_cpu_ns"] : 0)
            if (ns > 0) printf "%.0f", ns / ms / 1e6 }' "$2" ;;
    esac
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
    line+=,$(figure "$m" matched_threads),$(sum "$m" '^matched_(in)?voluntary')
    line+=,$(awk -v ms="$CPU_MS" '$1 == "target_cpu_ns" { printf "%.0f", $2 / ms / 1e6 }' "$m")
    # A sample that failed (jdk.CPUTimeSample without a stack) is a lost one.
    [[ $v == *-wall ]] && line+=, || line+=,$(figure "$t" cpu)
    line+=,$(figure "$t" wall),$(sum "$t" '^(lost|failed)$')
    line+=,$(figure "$t" nostack),$(figure "$t" complete)
    line+=,$(sum "$m" '^switches_'),$(wall_expected "$v" "$m")
    echo "$line" >>"$CSV"
}

# quality VARIANT FILE METER_FILE: what there is in a recording of the window.
quality() {
    case $1 in
    gnomon* | jfr* | async*) tally "$2" "$3" ;;
    perf) [ ! -s "$2" ] || tally_perf "$2" "$3" ;;
    bpftrace) [ ! -s "$2" ] || tally_bpftrace "$2" "$3" ;;
    esac
}

# async_named VARIANT TALLY: which async-profiler it is, once among the facts about the machine.
async_named() {
    local by

    [[ $1 == async || $1 == async-both ]] && by=$(sed -n 's/^by //p' "$2") && [ -n "$by" ] || return 0
    grep -q '^# async-profiler: ' "$CSV" || sed -i "/^# JDK/a # async-profiler: ${by% *}, CPU samples by ${by##* }" "$CSV"
}

# window WORKLOAD VARIANT ROUND: round 0 is that of quality: BPF is timed, which costs, and the
# recording is read; its throughput does not count.
window() {
    local w=$1 v=$2 r=$3 file=$T/$2.jfr m=$T/meter opts=() text began started stopped
    local settle=${BENCH_SETTLE:-1}

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
    [ "$r" != 0 ] || quality "$v" "$file" "$m" >"$T/tally"
    async_named "$v" "$T/tally"
    row "$w" "$v" "$r" "$text" "$m" "$T/tally" "$file" \
        "$(calc "$stopped - $started")" "$(calc "$started - $began")"
}

# tells WORKLOAD VARIANT ROUND: whether that window tells anything. Round 0 reads recordings and times BPF.
tells() {
    [[ $STUCK != *" $2 "* ]] || return 1
    case $2:$3 in
    none:0) return 1 ;;
    perf:* | bpftrace:*) [[ $NATIVE_ON = '*' || " $NATIVE_ON " == *" $1 "* ]] ;;
    esac
}

# Each round begins with another variant.
order() {
    local list=($VARIANTS) i

    for ((i = 0; i < ${#list[@]}; i++)); do
        echo "${list[$(((i + $1) % ${#list[@]}))]}"
    done
}

# A line that the next overwrites; nothing where standard error is a file.
progress() { [ ! -t 2 ] || printf '\r\033[K%s' "$*" >&2; }

windows() {
    local w=$1 v r number

    [[ $w == *-* ]] && number=${w#*-}
    "${w%%-*}_start" ${number:+"$number"}
    sleep "$WARM_UP"
    for ((r = 0; r <= ROUNDS; r++)); do
        for v in $(order "$r"); do
            tells "$w" "$v" "$r" || continue
            progress "$w: round $r of $ROUNDS, $v"
            window "$w" "$v" "$r"
        done
    done
    "$(function_of "$w" stop)"
}

# A program that ends: each run is a process of its own. Here, too, recordings are read in round 0, before
# which the files are in the page cache.
batch() {
    local w=$1 v r text file

    "${w}_start"
    "${w}_run" none - "$T/meter" >/dev/null
    for ((r = 0; r <= ROUNDS; r++)); do
        for v in $(order "$r"); do
            tells "$w" "$v" "$r" || continue
            progress "$w: round $r of $ROUNDS, $v"
            file=$T/$v.jfr
            rm -f "$file"
            text=$("${w}_run" "$v" "$file" "$T/meter") || continue
            : >"$T/tally"
            [ "$r" != 0 ] || quality "$v" "$file" "$T/meter" >"$T/tally"
            async_named "$v" "$T/tally"
            row "$w" "$v" "$r" "$text" "$T/meter" "$T/tally" "$file" "${text%% *}"
        done
    done
}

{
    echo "# $(date -u +%Y-%m-%d), BENCH=$SIZE: CPU_MS=$CPU_MS WALL_MS=$WALL_MS" \
        "rounds=$ROUNDS seconds=$SECONDS_EACH GNOMON_OPTS='${GNOMON_OPTS:-}'"
    machine | sed 's/^/# /'
    [ -n "${ASYNC_PROFILER:-}" ] || echo "# without async-profiler (ASYNC_PROFILER= was not given)"
    echo "# JDK: $(sed -n 's/^JAVA_RUNTIME_VERSION="\(.*\)"/\1/p' "$JDK/release")"
    echo "$columns"
} >"$CSV"
machine_quiet >&2
stolen=$(stolen_ms) stolen_at=$SECONDS
for w in $WORKLOADS; do
    workload_there "$w" || continue
    began=$EPOCHREALTIME
    STUCK=
    case $w in
    ant) batch "$w" ;;
    *) windows "$w" ;;
    esac
    progress
    printf '%s: %.0f s\n' "$w" "$(calc "$EPOCHREALTIME - $began")" >&2
done
progress
sed -i "/^workload,/i # $(stolen_since "$stolen" $((SECONDS - stolen_at)))" "$CSV"
awk -f "$BENCH_DIR/report.awk" "$CSV" | tee "$OUT/bench.txt"
awk -f "$BENCH_DIR/chart.awk" "$CSV" >"$OUT/bench.svg"
echo "written: $CSV, bench.txt and bench.svg beside it"
