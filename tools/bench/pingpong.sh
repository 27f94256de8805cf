#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/pingpong.sh [SECONDS [ROUNDS]]         (5 7; as root)
#
# A target that does little but switch: PAIRS pairs of threads (one per CPU) hand an object back and
# forth, more often than any real program. Throughput with `--cpu 10ms --wall 10ms` beside none, for each
# engine, and with programs that do next to nothing (floor.bpf.c), in interleaved windows of one process;
# then, in windows of their own since timing costs, the mean of a run of the sched_switch program, the
# share of switches with a stack taken, and CPU samples beside CPU time / interval.
. "$(dirname "$0")/lib.sh"
need_gnomon record
D=${1:-5}
ROUNDS=${2:-7}
PAIRS=${PAIRS:-$(nproc)}
JDK=${JDK:-$(jdk_newest)}
ENGINES="gnomon gnomon-thread gnomon-percpu"
"$GNOMON" record --help | grep -q -- --wall-engine && ENGINES+=" gnomon-scan"

mark() {
    local n

    n=$(grep -c '^MARK' "$JVM_OUT")
    echo mark >&"$JVM_FD"
    until_true 20 mark_after "$n" || fail "the workload does not answer"
    awk '$1 == "MARK" { m = $0 } END { print m }' "$JVM_OUT"
}
mark_after() { [ "$(grep -c '^MARK' "$JVM_OUT")" -gt "$1" ]; }

# window VARIANT METER-OPTIONS...: TRIPS is round trips per second. (Not in a subshell, which would
# keep to itself what is to be ended at the end.)
window() {
    local v=$1

    shift
    profiler_start "$v" "$JVM_PID" "$T/$v.jfr"
    mark >/dev/null
    "$METER" -p "$JVM_PID" ${PROFILER_PID:+-c "$PROFILER_PID"} -t '*' -o "$T/$v.meter" "$@" -- sleep "$D"
    TRIPS=$(mark | awk '{ print $3 / $2 }')
    profiler_stop "$v" "$JVM_PID" "$T/$v.jfr"
}

throughput() {
    local r v

    for ((r = 1; r <= ROUNDS; r++)); do
        for v in none floor $ENGINES; do
            window "$v"
            echo "$r $v $TRIPS" >>"$T/rounds"
            echo "  | round $r: $v $TRIPS/s"
        done
    done
}

# loss VARIANT: the median of the rounds' losses, percent; and their range on standard error.
loss() {
    awk -v v="$1" '$2 == "none" { base[$1] = $3 } $2 == v { got[$1] = $3 }
        END { for (r in got) print 100 * (1 - got[r] / base[r]) }' "$T/rounds" | sort -g >"$T/losses"
    note "$1: losses $(xargs printf '%.1f%% ' <"$T/losses")" >&2
    median <"$T/losses"
}

# program METER_FILE: mean ns of the sched_switch program with the most runs.
program() {
    awk '$1 == "bpf_prog" && $2 ~ /switch/ && $4 > runs { runs = $4; mean = $3 / $4 }
        END { printf "%.1f", mean }' "$1"
}

# quality ENGINE: figures that need the statistics on or the recording read.
quality() {
    local v=$1 m=$T/$1.meter off captured seen

    window "$v" -b
    programs "$m" "$T/primitives"
    grep -E 'switches seen|CPU samples|engine' "$T/gnomon$GN_N.err" | sed 's/^/  | /'
    verdict "$v: mean of the sched_switch program" "$(program "$m")" ns '<=' 100
    captured=$(sed -n 's/.* seen, \([0-9.]*\)% with a stack.*/\1/p' "$T/gnomon$GN_N.err")
    [ -z "$captured" ] || verdict "$v: switches with a stack taken" "$captured" % '<' 1
    tally "$T/$v.jfr" "$m" >"$T/tally"
    off=$(off_percent "$(figure "$T/tally" cpu)" "$(calc "$(figure "$m" target_cpu_ns) / $CPU_MS / 1e6")")
    verdict "$v: CPU samples off by (over ${D} s, of $(figure "$T/tally" cpu))" "$off" % '<=' 2
    seen=$(awk '/^matched_(in)?voluntary/ { n += $2 } END { print n }' "$m")
    note "switches: $(calc "$seen / $(figure "$m" wall_ns) * 1e9")/s with BPF timed"
}

machine | sed 's/^/  /'
primitives "$T/primitives" || fail "the host's primitives cannot be measured"
primitives_table "$T/primitives"
bench_program floor || fail "the programs that do nothing cannot be compiled"
jvm_start Work pingpong "$PAIRS"
sleep 5
throughput
note "without a profiler: $(awk '/^matched_(in)?voluntary/ { n += $2 } $1 == "wall_ns" { w = $2 }
    END { printf "%.0f", n / w * 1e9 }' "$T/none.meter") switches/s"
# Only what is chosen by default is judged: the others are there to be compared with.
verdict "gnomon: throughput lost" "$(loss gnomon)" % '<=' 5
for v in floor ${ENGINES#gnomon }; do
    note "$v: throughput lost: $(loss "$v")%"
done
for v in $ENGINES; do
    quality "$v"
done
jvm_unharmed
jvm_end
verdicts_end
