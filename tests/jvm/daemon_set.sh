#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Intervals change while a daemon records, of one JVM, by its section and by `gnomon set`: over ten changes a busy thread's
# CPU time is the kernel's own account of it, and an idle one's time what passed, to 2%, in all readers; each change is in
# the file, with who wanted it.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
need_root
need_gnomon set
need_cmd protoc

REC=$T/recordings
SOCK=$T/run/gnomon.sock
set_to() { ask set "$PID" "$@" >"$T/out" 2>"$T/err" || fail "set $*: $(cat "$T/err" "$T/daemon.err")"; }
is_recorded() { ask status --json 2>/dev/null | grep -q "\"pid\": $PID,"; }
# rate FIELD: of the JVM, as the status has it.
rate() { ask status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["jvms"][0][sys.argv[1]])' "$1"; }
rate_is() { [ "$(rate "$1")" = "$2" ]; }
started() { until_true 120 file_has "$JVM_OUT" '^STARTED' || fail "its threads do not start"; }
# total DIM THREAD: ms, as render has it.
total() {
    "$GNOMON" render "$DIR" -f collapsed -D "$1" -t "$2" 2>"$T/err" |
        awk '{ sum += $NF } END { printf "%d\n", sum / 1000000 }'
}
# pprof_total DIM THREAD: the same, as pprof has it: the second value of each sample, in ns.
pprof_total() {
    "$GNOMON" render "$DIR" -t "$2" -D "$1" --force -o "$T/x.pb.gz" -f pprof 2>"$T/err" || fail "pprof: $(cat "$T/err")"
    zcat "$T/x.pb.gz" | protoc --decode=perftools.profiles.Profile -I"$ROOT/tests/data" pprof.proto |
        awk '/^sample {/ { n = 0 } /^ *value:/ && ++n == 2 { sum += $2 } END { printf "%d\n", sum / 1000000 }'
}
# summary_cpu THREAD: the same of its CPU time, as summary has it, to 10 ms; nothing if there is no such row.
summary_cpu() {
    "$GNOMON" summary "$DIR" 2>"$T/err" | awk -v t="$1" '$1 == t && $4 ~ /^m?s$/ { print $4 == "s" ? 1000 * $3 : $3 }'
}
near() { # WHAT WANT GOT SLACK: within 2% and what ends of intervals leave open
    assert_ge "$1 in ms, at least" "$(calc "int($2 * 0.98 - $4)")" "$3"
    assert_ge "$1 in ms, at most" "$3" "$(calc "int($2 * 1.02 + $4)")"
}

printf '%s\n' "directory = $REC" "socket = $SOCK" "chunk-time = 1s" "min-free = 0" "no-vitals = yes" "cpu = 2ms" \
    "record = no" "[mine]" "name = Metered-*.jar" "cpu = 1ms" "wall = 10ms" >"$T/gnomon.conf"
own_jar Metered
JDK=$(jdk_newest)
JVM_OPTS="-Xshare:auto -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m"
jvm_start -jar "$OWN_JAR"
PID=$JVM_PID
daemon_run
until_true 120 is_recorded || fail "it is not recorded: $(cat "$T/daemon.err")"
assert_eq "its section's CPU interval" 1000000 "$(rate cpu_interval_ns)"
assert_eq "its section's wall interval" 10000000 "$(rate wall_interval_ns)"
assert_eq "who wants it so" "configuration section 'mine'" "$(rate rate_by) $(rate rate_reason)"

jvm_go
started
while read -r cpu wall; do
    set_to --cpu "$cpu" --wall "$wall"
    cpu_spent 150
done <<'END'
4ms 5ms
1ms 40ms
10ms 20ms
2ms 5ms
20ms 10ms
1ms 80ms
7ms 5ms
3ms 20ms
40ms 40ms
1ms 5ms
END
assert_match "what it says" "process $PID: a CPU sample each 1.* ms, a wall sample each 5.* ms" "$T/out"
cpu_spent 150
jvm_go
jvm_done

set_to --cpu 5ms --for 1s
until_true 60 rate_is rate_by configuration || fail "a rate for 1s stays: $(rate rate_by)"
assert_eq "its section's interval, again" 1000000 "$(rate cpu_interval_ns)"
set_to --no-wall
assert_eq "no wall samples" "0 command" "$(rate wall_interval_ns) $(rate rate_by)"
set_to --usual
assert_eq "the usual wall interval" "10000000 configuration" "$(rate wall_interval_ns) $(rate rate_by)"
ask set "$PID" --wall 1ms >"$T/out" 2>"$T/err"
assert_eq "exit code for an interval too short" 2 $?
assert_match "what it says" "the shortest wall interval of this daemon is 5000us" "$T/err"
ask set 1 --cpu 1ms >"$T/out" 2>"$T/err"
assert_eq "exit code for a process that is not recorded" 3 $?
daemon_stop

DIR=$(compgen -G "$REC/$OWN_NAME-*-$PID-*T*Z")
BUSY=$(calc "$(truth busy 3) / 1000000")
IDLE=$(calc "$(truth idle 3) / 1000000")
near "CPU time of the busy thread" "$BUSY" "$(total cpu metered-busy)" 0
near "what passed for the idle one" "$IDLE" "$(total off metered-idle)" 80
near "CPU time of the busy thread by pprof" "$BUSY" "$(pprof_total cpu metered-busy)" 0
near "what passed for the idle one by pprof" "$IDLE" "$(pprof_total off metered-idle)" 80
near "CPU time of the busy thread by summary" "$BUSY" "$(summary_cpu metered-busy)" 5
for f in "$DIR"/*.jfr; do
    jfr_print "$f" gnomon.RateChange
done >"$T/changes"
COMMANDS=$(tr -d '\n' <"$T/changes" | sed 's/gnomon.RateChange/\n/g' | grep 'by = "command"' | grep -o 'startTime = [0-9:.]*' | sort -u | wc -l)
assert_ge "changes by command in the files" 10 "$COMMANDS"
assert_match "an interval of one" 'cpuInterval = 7.00 ms' "$T/changes"
jvm_unharmed
