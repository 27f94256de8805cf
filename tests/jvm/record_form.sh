#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What --cpu-event, --chunk-time and --chunk-size make of the file: the JDK's tools read the other
# CPU event and every chunk, and nothing is in the file twice.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

JDK=$(jdk_newest)
[ -n "$JDK" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"

events() { query "$1" types | awk -v t="$2" '$2 == t { n = $1 } END { print n + 0 }'; }
chunks() { jfr_summary "$1" | awk '$1 == "Chunks:" { print $2 }'; }

# chunk_ms FILE: what the header of its first chunk says of its length.
chunk_ms() { od -An -tu8 --endian=big -j40 -N8 "$1" | awk '{ print $1 / 1e6 }'; }

# form NAME SECONDS OPTIONS...: records an idle JVM with one busy thread
form() {
    local jfr=$T/$1.jfr seconds=$2 begun=$EPOCHREALTIME

    shift 2
    jvm_wake
    timeout 120 "$GNOMON" record -p "$JVM_PID" -d "${seconds}s" -o "$jfr" "$@" </dev/null >"$T/out" 2>"$T/err"
    assert_eq "exit code" 0 $? "$(cat "$T/err")"
    most=$(since "$begun")
    jvm_unharmed
    jvm_rest
    jfr_readable "$jfr"
}

bad() {
    "$GNOMON" record -p "$JVM_PID" -o "$T/bad.jfr" "$@" </dev/null >"$T/out" 2>"$T/err"
    assert_eq "exit code of $*" 2 $?
    [ ! -e "$T/bad.jfr" ] || fail "a file in spite of $*"
}

jvm_start Idle 5 1 30

form cputime 4 --cpu-event cputime --chunk-time 1s
jfr=$T/cputime.jfr
assert_eq "jdk.ExecutionSample" 0 "$(events "$jfr" jdk.ExecutionSample)"
assert_ge "jdk.CPUTimeSample" 10 "$(events "$jfr" jdk.CPUTimeSample)"
assert_ge "chunks of a second each" 3 "$(chunks "$jfr")"
assert_eq "period of CPU samples" "10 ms" "$(query "$jfr" setting jdk.CPUTimeSample period)"
if [ "$(jdk_version "$JDK")" -ge 25 ]; then
    jfr_silent "$JDK" view cpu-time-hot-methods "$jfr"
    assert_match "cpu-time-hot-methods" 'Harness\.' "$T/jfr.out"
    jfr_silent "$JDK" view cpu-time-statistics "$jfr"
fi
# Whichever event it is, the time of the busy thread is the same: all of the recording.
"$GNOMON" render "$jfr" -t busy-thread-number-1 -f csv >"$T/csv" || fail "render"
ms=$(awk -F, 'NR > 1 { if ($5 > n) n = $5 } END { print n / 1e6 }' "$T/csv")
chance=$(calc "4 * 20 * sqrt($most / 20) / 2") # as thread_ms_chance, of a thread that waits for a CPU half of the time
assert_between "ms of the busy thread" "$(calc "3600 - $chance")" "$(calc "$most * 1.1 + $chance")" "$ms"
strict assert_near "ms of the busy thread" 4000 "$ms" 400

# A chunk ends when it is due, not a flush later, and a sleeper's time (ticks of 20 ms) is in the
# chunk in which it passed. (The first and the last are shorter.)
mkdir "$T/parts"
jfr_silent "$JDK" disassemble --max-chunks 1 --output "$T/parts" "$jfr"
n=0
for part in $(find "$T/parts" -name '*.jfr' | sort | sed '$d' | sed -n '2,3p'); do
    ms=$(chunk_ms "$part")
    ticks=$(weight "$part" profiler.WallClockSample thread=idle-thread-number-1)
    assert_between "ms of a chunk" 1000 "$most" "$ms"
    strict assert_near "ms of a chunk" 1100 "$ms" 150
    strict assert_near "ticks of a sleeper in one chunk" "$(calc "$ms / 20")" "$ticks" 10
    n=$((n + 1))
done
# beside others it may be told of late, and be in a later chunk
ticks=0
for part in $(find "$T/parts" -name '*.jfr' | sort | sed 1d); do
    ticks=$((ticks + $(weight "$part" profiler.WallClockSample thread=idle-thread-number-1)))
done
assert_ge "ticks of a sleeper after the first chunk" 50 "$ticks"
assert_ge "chunks looked at" 1 $n # they are fewer and longer where others have the CPUs
strict assert_eq "chunks looked at" 2 $n

form size 3 --chunk-size 64k --cpu 100us --wall 1ms
assert_ge "chunks of 64 kB" 2 "$(chunks "$T/size.jfr")"
"$GNOMON" summary "$T/size.jfr" >"$T/summary" 2>"$T/err" || fail "summary"
assert_empty "what summary complains of" "$T/err"

form plain 1
assert_eq "chunks by default" 1 "$(chunks "$T/plain.jfr")"
assert_eq "jdk.CPUTimeSample" 0 "$(events "$T/plain.jfr" jdk.CPUTimeSample)"

# A sleeper's stack has some 15 frames beside the kernel's, of which the innermost are left.
form depth 1 --depth 9
"$GNOMON" render "$T/depth.jfr" -f collapsed --dim wall -t 'idle-thread-number-1' >"$T/stacks" || fail "render"
assert_eq "stacks of other than 9 frames" 0 "$(awk '{
        sub(/ [0-9]+$/, "")
        n = split($0, f, ";")
        user = 0
        for (i = 1; i <= n; i++)
            user += index(f[i], "(kernel).") != 1
        bad += user != 9
    }
    END { print NR ? bad + 0 : "none" }' "$T/stacks")"
"$GNOMON" summary "$T/depth.jfr" >"$T/summary" 2>"$T/err" || fail "summary"
assert_match "the summary" 'cut at the depth limit' "$T/summary"
assert_match "its settings" '9 frames' <(jfr_print "$T/depth.jfr" jdk.ActiveSetting)

bad --depth 7
bad --depth 1025
bad --cpu-event both
bad --chunk-size 1k
bad --chunk-size 2g
bad --chunk-time 1ms
jvm_wake
jvm_unharmed
jvm_end
softly_end
