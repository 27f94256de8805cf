# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of tools/bench and tools/accuracy (bash), over tests/jvm/lib.sh: the
# programs they need, profilers to start and stop, and figures. See README.md beside this file.
# shellcheck disable=SC2034
BENCH_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$BENCH_DIR/../../tests/jvm/lib.sh"
. "$BENCH_DIR/../stolen.sh"
. "$BENCH_DIR/verdict.sh"
# As it was given: the script that sources this, and its arguments.
COMMAND=${0#"$ROOT"/}${*:+ $*}

OUT=${BENCH_OUT:-$BUILD/bench}
METER=$BUILD/tools/bench/meter
CPU_MS=${CPU_MS:-10}
WALL_MS=${WALL_MS:-10}
mkdir -p "$OUT"

need_root
# Where its path is wrong one has to know before all else.
[ -z "${ASYNC_PROFILER:-}" ] || [ -f "$ASYNC_PROFILER" ] || {
    echo "ASYNC_PROFILER='$ASYNC_PROFILER': no such file: give the path of libasyncProfiler.so" >&2
    exit 2
}
[ -z "${ASYNC_PROFILER:-}" ] || ASYNC_PROFILER=$(realpath "$ASYNC_PROFILER")
# make names it from there where it lies below
[ -x "$METER" ] || make -s -C "$ROOT" BUILD="$BUILD" "${METER#"$ROOT"/}" || fail "'$METER' does not build"

# java_sources DIR NAME: compiled once into BUILD/NAME, which is added to the class path.
java_sources() {
    local home

    home=$(jdk_oldest)
    [ -n "$home" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"
    mkdir -p "$BUILD/$2"
    (
        flock 9
        [ -z "$(find "$1" -name '*.java' -newer "$BUILD/$2/.done" 2>&1)" ] && exit 0
        "$home/bin/javac" --release 17 -Xlint:all -Werror -cp "$CLASSES" -d "$BUILD/$2" \
            "$1"/*.java && touch "$BUILD/$2/.done"
    ) 9>"$BUILD/$2/.lock" || fail "the programs of '$1' do not compile"
    CLASSES=$CLASSES:$BUILD/$2
}

classes
# From here on CLASSES is a class path, with nothing left to compile for jvm_start and query.
classes() { :; }
java_sources "$BENCH_DIR/java" bench/java

# ---- the machine's limits ------------------------------------------------------------------

LIMITS_BEFORE=()
# room_for THREADS: the host's limits of threads and of mappings (a thread has three), raised where they
# do not suffice and set back at the end.
room_for() {
    limit_raise /proc/sys/kernel/pid_max $(($1 + 10000))
    limit_raise /proc/sys/kernel/threads-max $(($1 + 10000))
    limit_raise /proc/sys/vm/max_map_count $(($1 * 4 + 10000))
}

limit_raise() {
    local now

    now=$(cat "$1")
    [ "$now" -lt "$2" ] || return 0
    LIMITS_BEFORE+=("$1 $now")
    echo "$2" >"$1" || skip "$1 is $now and cannot be raised to $2"
    note "$1: $2 for this run, was $now"
}

limits_back() {
    local l

    for l in "${LIMITS_BEFORE[@]}"; do echo "${l#* }" >"${l% *}"; done
}
trap 'ENDED=$?; limits_back; (exit $ENDED); cleanup' EXIT

# ---- figures -------------------------------------------------------------------------------

# figure FILE KEY: what follows the key in lines "key value" (meter's, Tally's); nothing if absent.
figure() { awk -v k="$2" '$1 == k { print $2; exit }' "$1"; }

# per_core NS WALL_NS: percent of one core.
per_core() { awk -v a="$1" -v w="$2" 'BEGIN { printf "%.3f", w ? 100 * a / w : 0 }'; }

# median: of the numbers on standard input, one a line.
median() {
    sort -g | awk '{ v[NR] = $1 } END { if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

# BPF programs that run in the collector's own threads: their time is in that one's CPU time.
# shellcheck disable=SC2034
COLLECTORS='^(cpus_look|groups_look|ticker_start|lock_tick|remote_tick|(task|wall|resting|remote|switches)_scan|task_leave|wall_account|peer_find)$'

# programs METER_FILE [PRIMITIVES_FILE]: a line for each BPF program that ran.
programs() {
    local name ns runs wall

    wall=$(figure "$1" wall_ns)
    awk '$1 == "bpf_prog" && $4 { print $2, $3, $4 }' "$1" | while read -r name ns runs; do
        awk -v name="$name" -v ns="$ns" -v runs="$runs" -v w="$wall" -v times="$(
            [ -z "${2:-}" ] || times "$2" "$(awk -v ns="$ns" -v runs="$runs" 'BEGIN { print ns / runs }')"
        )" 'BEGIN { printf "  | BPF %-16s %9d runs, %8.1f ns each, %7.3f%% of a core%s\n",
            name, runs, ns / runs, 100 * ns / w, times }'
    done
}

# bench_program NAME: $T/NAME.run and $T/NAME.o, from NAME.c and NAME.bpf.c.
bench_program() {
    local machine

    machine=$(uname -m)
    [ "$machine" != x86_64 ] || machine=x86
    [ "$machine" != aarch64 ] || machine=arm64
    clang -target bpf -mcpu=v3 -O2 -g "-D__TARGET_ARCH_$machine" -I"$ROOT/kern" -I"$ROOT/vmlinux" -I"$ROOT" \
        -c "$BENCH_DIR/$1.bpf.c" -o "$T/$1.o" &&
        ${CC:-gcc} -O2 -o "$T/$1.run" "$BENCH_DIR/$1.c" -l:libbpf.a -lelf -lz
}

# primitives FILE: what this host takes for what BPF programs are made of, in lines "name ns"
# (primitives.c). Hosts differ in them: costs are told as multiples of these, too.
primitives() { bench_program primitives && "$T/primitives.run" "$T/primitives.o" >"$1"; }

# primitives_table FILE: the same in two lines for people.
primitives_table() {
    awk '{ v[$1] = $2 } END {
        printf "  the host, ns: program that does nothing %.0f; clock %.0f; look-up in an array %.0f, cold %.0f, in a hash %.0f, cold %.0f;\n",
            v["empty"], v["clock"], v["array_warm"], v["array_cold"], v["hash_warm"], v["hash_cold"]
        printf "    read of user memory, 16 B %.0f, cold %.0f, 1 KiB %.0f, cold %.0f\n",
            v["read_16_warm"], v["read_16_cold"], v["read_1024_warm"], v["read_1024_cold"] }' "$1"
}

# times FILE NS: as multiples of two of them: warm caches tell in the one, cold ones in the other.
times() {
    awk -v ns="$2" '{ v[$1] = $2 } END { if (v["read_1024_warm"] && v["hash_cold"])
        printf " = %.1f reads of 1 KiB, %.1f cold look-ups", ns / v["read_1024_warm"], ns / v["hash_cold"] }' "$1"
}

# ---- profilers -----------------------------------------------------------------------------

# The variants that can run here, against JDK (a home). What it is that is compared: see README.md.
variants() {
    local major

    major=$(jdk_version "$1")
    echo none gnomon gnomon-cpu jfr
    [ "$major" -ge 25 ] && echo jfr-cputime
    [ -n "${ASYNC_PROFILER:-}" ] && echo async async-both
    command -v perf >/dev/null && perf record -o /dev/null -e cpu-clock -- true >/dev/null 2>&1 &&
        echo perf
    command -v bpftrace >/dev/null && bpftrace -e 'BEGIN { exit(); }' >/dev/null 2>&1 &&
        echo bpftrace
    return 0
}

# gnomon_options VARIANT: `record`'s. GNOMON_OPTS is added to each.
gnomon_options() {
    case $1 in
    gnomon) echo "--cpu ${CPU_MS}ms --wall ${WALL_MS}ms" ;;
    gnomon-cpu) echo "--cpu ${CPU_MS}ms --no-wall" ;;
    gnomon-wall) echo "--no-cpu --wall ${WALL_MS}ms" ;;
    gnomon-thread) echo "--cpu ${CPU_MS}ms --wall ${WALL_MS}ms --cpu-engine thread" ;;
    gnomon-percpu) echo "--cpu ${CPU_MS}ms --wall ${WALL_MS}ms --cpu-engine cpu" ;;
    gnomon-scan) echo "--cpu ${CPU_MS}ms --wall ${WALL_MS}ms --wall-engine scan" ;;
    *) fail "unknown variant '$1'" ;;
    esac
}

# A JFR configuration with one event on, so that nothing else is compared.
jfr_settings() {
    local event='jdk.ExecutionSample' setting=period

    [ "$1" = jfr-cputime ] && event=jdk.CPUTimeSample setting=throttle
    cat >"$T/$1.jfc" <<-END
	<?xml version="1.0" encoding="UTF-8"?>
	<configuration version="2.0">
	  <event name="$event">
	    <setting name="enabled">true</setting>
	    <setting name="$setting">$CPU_MS ms</setting>
	  </event>
	</configuration>
	END
    echo "$T/$1.jfc"
}

# Its depth is what it takes by default; JFR's is an option of the JVM (workloads.sh). Its signals are SIGURG and,
# as by default, SIGVTALRM: its SIGPROF would stay installed, and jdk.CPUTimeSample refuses to share that one.
async_options() {
    local event

    case $1 in
    async) event="event=cpu,interval=${CPU_MS}ms" ;;
    async-wall) event="event=wall,interval=${WALL_MS}ms" ;;
    async-both) event="event=cpu,interval=${CPU_MS}ms,wall=${WALL_MS}ms" ;;
    *) fail "unknown variant '$1'" ;;
    esac
    echo "start,$event,jstackdepth=2048,signal=23/26,jfr,file=$2"
}

# agent_load PID LIBRARY OPTIONS: within quotes, or jcmd's parser ends the word at the first "=". It exits
# 0 whatever the agent says.
agent_load() {
    local said

    said=$("$JDK/bin/jcmd" "$1" JVMTI.agent_load "$2" "\"$3\"" 2>&1) && [[ $said == *"return code: 0"* ]] ||
        fail "'$2' does not take '$3': ${said//$'\n'/ }"
}

# Stacks, and how many were taken in which hundredth of a second since the start of the machine.
bpftrace_program() {
    echo "profile:ms:$CPU_MS /pid == $1/ { @[ustack] = count(); @at[nsecs / 10000000] = count(); }"
}

external_start() {
    "$@" </dev/null >"$T/profiler.out" 2>"$T/profiler.err" &
    PROFILER_PID=$!
    CHILDREN+=("$PROFILER_PID")
}

# profiler_start VARIANT PID FILE: attached, and sampling after BENCH_SETTLE seconds (1). Sets
# PROFILER_PID, empty where the profiler lives within the target.
profiler_start() {
    local jcmd=$JDK/bin/jcmd

    PROFILER_PID=
    rm -f "$3"
    case $1 in
    none) ;;
    floor) external_start "$T/floor.run" "$T/floor.o" ;; # after bench_program floor
    gnomon*)
        # shellcheck disable=SC2046,SC2086
        GN_SETTLE=0 gnomon_start "$3" -p "$2" $(gnomon_options "$1") ${GNOMON_OPTS:-}
        PROFILER_PID=$GN_PID
        ;;
    jfr | jfr-cputime)
        "$jcmd" "$2" JFR.start name=bench "settings=$(jfr_settings "$1")" >"$T/jcmd.out" 2>&1 ||
            fail "JFR.start: $(cat "$T/jcmd.out")"
        ;;
    async*) agent_load "$2" "$ASYNC_PROFILER" "$(async_options "$1" "$3")" ;;
    perf) external_start perf record -q -k CLOCK_REALTIME -e cpu-clock -c $((CPU_MS * 1000000)) \
        -g -p "$2" -o "$3" ;;
    bpftrace) external_start bpftrace -o "$3" -e "$(bpftrace_program "$2")" ;;
    *) fail "unknown variant '$1'" ;;
    esac
    sleep "${BENCH_SETTLE:-1}"
    [ -z "$PROFILER_PID" ] || ! pid_ended "$PROFILER_PID" ||
        fail "$1 ended at once: $(tail -n 3 "$T/profiler.err" "${GN_ERR:-/dev/null}" 2>&1)"
}

# profiler_stop VARIANT PID FILE: its file is complete afterwards; or it is one of STUCK.
STUCK=
profiler_stop() {
    local jcmd=$JDK/bin/jcmd

    case $1 in
    none) ;;
    gnomon*) gnomon_stop ;;
    jfr | jfr-cputime) "$jcmd" "$2" JFR.stop name=bench "filename=$3" >"$T/jcmd.out" 2>&1 ||
        fail "JFR.stop: $(cat "$T/jcmd.out")" ;;
    async*) agent_load "$2" "$ASYNC_PROFILER" "stop,jfr,file=$3" ;;
    *)
        kill -INT "$PROFILER_PID"
        # bpftrace names what it has at its end, which can take minutes
        if ! pid_gone "$PROFILER_PID" 30; then
            echo "$1 does not end: killed after 30 s, without a file; left out from now on" >&2
            kill -KILL "$PROFILER_PID"
            rm -f "$3"
            STUCK+=" $1 "
        fi
        wait "$PROFILER_PID"
        ;;
    esac
    PROFILER_PID=
    return 0
}

# tally FILE METER_FILE [CLASS]: java/Tally over meter's window.
tally() {
    timeout 300 "$(jdk_newest)/bin/java" -Xmx2g -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        -cp "$CLASSES" Tally "$1" "$(figure "$2" from_unix_ns)" "$(figure "$2" to_unix_ns)" \
        $((WALL_MS * 1000000)) ${3:+"$3"} 2>"$T/tally.err" ||
        fail "the JDK cannot read '$1': $(head -n 5 "$T/tally.err")"
}

# tally_perf FILE METER_FILE: the same of perf's, whose clock counts from 1970 (-k CLOCK_REALTIME).
tally_perf() {
    perf script -i "$1" -F time --ns --show-lost-events 2>"$T/tally.err" |
        awk -v from="$(figure "$2" from_unix_ns)" -v to="$(figure "$2" to_unix_ns)" '
            /LOST/ { for (i = 1; i < NF; i++) if ($i == "lost") lost += $(i + 1); next }
            $1 * 1e9 >= from && $1 * 1e9 < to { n++ }
            END { printf "cpu %d\nlost %d\n", n, lost }'
}

# tally_bpftrace FILE METER_FILE: by hundredths of a second (bpftrace_program), and so by that much inexact.
tally_bpftrace() {
    awk -v from="$(figure "$2" from_unix_ns)" -v to="$(figure "$2" to_unix_ns)" \
        -v boot="$(calc "$EPOCHREALTIME - $(cut -d' ' -f1 /proc/uptime)")" '
        match($0, /^@at\[[0-9]+\]: /) {
            at = (substr($0, 5) + 0.5) / 100 + boot
            if (at >= from / 1e9 && at < to / 1e9) n += $2
        }
        END { printf "cpu %d\n", n }' "$1"
}

# What a report has to say of the machine.
machine() {
    [ ! -f "$0" ] || echo "command: $COMMAND"
    echo "kernel: $(uname -sr), $(nproc) CPUs, $(awk '/MemTotal/ { print int($2 / 1048576) }' \
        /proc/meminfo) GB"
    echo "processor: $(awk -F': *' '/model name/ { print $2; exit }' /proc/cpuinfo)"
    echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
    machine_quiet
    echo "$("$GNOMON" --version 2>/dev/null | head -n 1), tree" \
        "$(git -C "$ROOT" describe --tags --always --dirty 2>/dev/null || echo unknown)"
}

# stolen_since MS SECONDS: in words.
stolen_since() {
    printf 'stolen by the host meanwhile: %.1f%% of the CPU time' "$(stolen_percent "$@")"
}

# machine_quiet: a warning where others' load makes the figures worthless.
machine_quiet() {
    awk '$1 >= 1 { exit 1 }' /proc/loadavg ||
        echo "warning: the machine was not quiet, load $(cut -d' ' -f1 /proc/loadavg): figures are noisy"
}
