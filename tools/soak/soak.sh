#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/soak/soak.sh (as root; `make soak`)
#
# One gnomon records every JVM of a kind for SOAK_SECONDS (3600) while they start and end threads,
# load and unload classes (java/Soak.java), and are themselves ended and started; now and then gnomon
# is stopped for 2 s. Then: its memory, its BPF maps and its descriptors have not grown, every file can
# be read, and of the JVM that was there all the time no CPU sample is missing without being counted.
#
# SOAK_RESTART (20): seconds a JVM lives. SOAK_STALL (60): seconds between two stops. SOAK_JVM: --jvm.
# SOAK_WARMUP: seconds that do not count (half, at most 600). See README.md beside this file.
# shellcheck source=tools/bench/lib.sh
. "$(dirname "$0")/../bench/lib.sh"
need_gnomon record
java_sources "$(dirname "$0")/java" soak/java

SECONDS_ALL=${SOAK_SECONDS:-3600}
RESTART=${SOAK_RESTART:-20}
STALL=${SOAK_STALL:-60}
STEP=5
WARMUP=${SOAK_WARMUP:-$((SECONDS_ALL / 2 < 600 ? SECONDS_ALL / 2 : 600))}
THREADS=30 LOADS=20 # a second, of each JVM
SERIES=$BUILD/soak/soak.csv
FILES=$T/files
mkdir -p "$BUILD/soak" "$FILES"
mapfile -t HOMES < <(jdks)

# jvm_begin HOME: one more of the JVMs that are recorded; JVM_PID, JVM_FD.
jvm_begin() {
    JDK=$1 JVM_READY=60 JVM_OPTS="-Xmx128m -XX:+UseSerialGC" jvm_start Soak $THREADS $LOADS
    echo "$JVM_PID" >>"$T/pids"
}

# The oldest of those that come and go ends, another takes its place, on another JDK.
GENERATION=0
restart() {
    local fd=${OTHERS_FD[0]} pid=${OTHERS_PID[0]}

    echo end >&"$fd"
    exec {fd}>&-
    pid_gone "$pid" 30 || fail "a JVM does not end"
    OTHERS_FD=("${OTHERS_FD[@]:1}")
    OTHERS_PID=("${OTHERS_PID[@]:1}")
    other_begin
}

other_begin() {
    jvm_begin "${HOMES[$((GENERATION++ % ${#HOMES[@]}))]}"
    OTHERS_FD+=("$JVM_FD")
    OTHERS_PID+=("$JVM_PID")
}

stall() {
    kill -STOP "$GN_PID"
    sleep 2
    kill -CONT "$GN_PID"
}

# One line of the series: what gnomon holds now.
sample() {
    local m=$T/held

    "$METER" -c "$GN_PID" -o "$m" -- true
    echo "$1,$(figure "$m" profiler_rss_bytes),$(figure "$m" bpf_map_bytes),$(ls "/proc/$GN_PID/fd" |
        wc -l),$(figure "$m" profiler_threads),$(figure "$m" profiler_rss_peak_bytes)" >>"$SERIES"
}

# churn: what happens until the time is up.
churn() {
    local now next_restart=$RESTART next_stall=$STALL next=0 began=$EPOCHREALTIME

    while now=$(calc "$EPOCHREALTIME - $began") && now=${now%.*} && ((now < SECONDS_ALL)); do
        # not so late that the new one is not found any more
        if ((now >= next_restart && now < SECONDS_ALL - 5)); then
            restart
            next_restart=$((next_restart + RESTART))
        fi
        if ((now >= next_stall)); then
            stall
            next_stall=$((next_stall + STALL))
        fi
        if ((now >= next)); then
            sample "$now"
            next=$((next + STEP))
        fi
        pid_ended "$GN_PID" && fail "gnomon ended: $(tail -n 5 "$GN_ERR")"
        sleep 0.5
    done
}

# growth COLUMN: "mean growth": by the line of least squares through what is past the warm-up, from its
# first sample to its last.
growth() {
    awk -F, -v c="$1" -v from="$WARMUP" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == c) c = i; next }
        $1 >= from { n++; x += $1; y += $c; xx += $1 * $1; xy += $1 * $c; last = $1; if (n == 1) first = $1 }
        END {
            d = n * xx - x * x
            printf "%.1f %.1f\n", n ? y / n : 0, d ? (n * xy - x * y) / d * (last - first) : 0
        }' "$SERIES"
}

# flat WHAT COLUMN UNIT DIVISOR BOUND: growth within BOUND of UNIT.
flat() {
    local mean grown

    read -r mean grown < <(growth "$2")
    verdict "$1: growth (mean $(calc "$mean / $4" | sed 's/\.\(..\).*/.\1/'))" "$(calc "$grown / $4")" "$3" '<=' "$5"
}

# Nothing is said but that a JVM ended before it was sampled.
file_readable() {
    "$GNOMON" summary "$1" >"$T/out" 2>"$T/err" &&
        ! grep -v 'no samples in the recording' "$T/err" &&
        "$(jdk_newest)/bin/jfr" summary "$1" >"$T/out" 2>"$T/err" && [ ! -s "$T/err" ]
}

# Files of all JVMs that were ready, each readable by us and by the JDK.
files_check() {
    local f bad=0 missing=0 pid n=0

    for f in "$FILES"/*; do
        n=$((n + 1))
        file_readable "$f" || { bad=$((bad + 1)) && note "$f: $(head -n 2 "$T/err")"; }
    done
    while read -r pid; do
        compgen -G "$FILES/*-$pid*.jfr" >/dev/null || missing=$((missing + 1))
    done <"$T/pids"
    note "$n files, $(du -sh "$FILES" | cut -f1), of $(wc -l <"$T/pids") JVMs"
    verdict "files that cannot be read" $bad "" '<=' 0
    verdict "JVMs without a file" $missing "" '<=' 0
}

# The JVM that lived through all of it: samples and counted losses beside CPU time / interval, within 2%
# or, where there are few, three standard errors of as many random samples.
samples_check() {
    local m=$T/steady.meter off

    tally "$FILES/Soak-$1.jfr" "$m" >"$T/tally"
    off=$(off_percent "$(calc "0$(figure "$T/tally" cpu) + 0$(figure "$T/tally" lost)")" "$(calc "$(figure "$m" target_cpu_ns) / $CPU_MS / 1e6")")
    note "CPU samples of the steady JVM: $(figure "$T/tally" cpu), counted as lost: $(figure "$T/tally" lost)," \
        "expected $(calc "$(figure "$m" target_cpu_ns) / $CPU_MS / 1e6")"
    verdict "CPU samples and losses, off by" "$off" % '<=' \
        "$(awk -v n="$(figure "$T/tally" cpu)" 'BEGIN { b = n ? 300 / sqrt(n) : 100; printf "%.1f", b < 2 ? 2 : b }')"
    verdict "wall records twice" "$(figure "$T/tally" twice)" "" '<=' 0
}

machine | sed 's/^/  /'
note "$SECONDS_ALL s, a JVM restarted each $RESTART s, gnomon stopped for 2 s each $STALL s"
OTHERS_FD=() OTHERS_PID=()
jvm_begin "$(jdk_newest)"
steady=$JVM_PID steady_fd=$JVM_FD
other_begin
other_begin
echo seconds,rss,maps,fds,threads,rss_peak >"$SERIES"
gnomon_start "$FILES" --name Soak --cpu ${CPU_MS}ms --wall 20ms --chunk-time 60s ${SOAK_JVM:+--jvm "$SOAK_JVM"}
# The truth of the steady one's CPU time: a meter whose command ends when we say so.
mkfifo "$T/until"
"$METER" -p "$steady" -o "$T/steady.meter" -- head -n 1 "$T/until" >/dev/null &
meter=$!
churn
echo over >"$T/until"
wait $meter
kill -INT "$GN_PID"
gnomon_end 120 # at the lowest priority of a busy machine, as hours of it are
assert_eq "exit code" 0 "$GN_RC" "$(tail -n 5 "$GN_ERR")"
sed 's/^/  | /' "$GN_ERR" | tail -n 12
pid_ended "$steady" && fail "the steady JVM died: $(tail -n 5 "$T/jvm1.err")"
WALL_MS=20
awk -F, 'NR > 1 { printf "%s,%.1f,%.2f,%d,%d\n", $1, $2 / 1e6, $3 / 1e6, $4, $5 }' "$SERIES" |
    awk -F, -v n="$(wc -l <"$SERIES")" 'NR % int(n / 10 + 1) == 1 { printf "  | %6d s: RSS %6.1f MB, maps %6.2f MB, %3d descriptors, %2d threads\n", $1, $2, $3, $4, $5 }'
flat "resident memory" rss MB 1e6 "${SOAK_RSS_MB:-4}"
flat "BPF maps" maps MB 1e6 1
flat "descriptors" fds "" 1 3
flat "threads" threads "" 1 1
files_check
samples_check "$steady"
verdicts_end
