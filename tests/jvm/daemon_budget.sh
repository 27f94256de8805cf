#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A budget that a busy JVM is far beyond: it is sampled less, step by step, which its recording, the status and the metrics
# tell with the reason; samples that are fewer stand for more; and when there is no budget any more it has all again.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
need_root
need_gnomon set

REC=$T/recordings
SOCK=$T/run/gnomon.sock
conf() {
    printf '%s\n' "directory = $REC" "socket = $SOCK" "chunk-time = 2s" "min-free = 0" "no-vitals = yes" \
        "record = no" "$@" "[mine]" "name = $OWN_NAME.jar" "cpu = 1ms" "wall = 5ms" >"$CONF"
}
jvm() { ask status --json 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["jvms"][0][sys.argv[1]])' "$1" 2>/dev/null; }
step_is() { [ "$(jvm budget_step)" = "$1" ]; }
stepped() { [ "$(jvm budget_step)" -ge "$1" ] 2>/dev/null; }
reload() {
    conf "$@"
    kill -HUP "$DAEMON"
}

own_jar Idle
JDK=$(jdk_newest)
JVM_OPTS="-Xshare:auto -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m"
jvm_start -jar "$OWN_JAR" 2 1
PID=$JVM_PID
conf
daemon_run
until_true 120 step_is 0 || fail "it is not recorded: $(cat "$T/daemon.err")"
sleep 3
assert_eq "its step without a budget" 0 "$(jvm budget_step)"

reload "budget = 0.01%"
until_true 120 stepped 1 || fail "it has all its samples: $(ask status) $(cat "$T/daemon.err")"
assert_eq "who wants it so" budget "$(jvm rate_by)"
jvm rate_reason >"$T/reason"
assert_match "why" 'recording cost [0-9.]*% of the CPUs, budget 0.01%' "$T/reason"
wall=$(jvm wall_interval_ns) # once: the next step may come in between
assert_eq "its wall interval is longer than 5 ms, or it has none" 1 "$((wall == 0 || wall >= 10000000))"
ask status >"$T/status"
assert_match "the status" "^process $PID: .*, by budget: recording cost" "$T/status"
assert_match "the budget" "^budget  *0.01% of the CPUs" "$T/status"
ask status --metrics >"$T/metrics"
assert_match "a metric" '^gnomon_jvm_budget_step{pid="'"$PID"'".*} [1-9]$' "$T/metrics"
assert_match "a metric" '^gnomon_budget_ratio 0.0001$' "$T/metrics"

reload "budget = none"
until_true 120 step_is 0 || fail "it does not get its samples back: $(ask status)"
assert_eq "who wants it so" configuration "$(jvm rate_by)"
assert_eq "its wall interval" 5000000 "$(jvm wall_interval_ns)"
reload "budget = much"
until_true 60 file_has "$T/daemon.err" "'much' is no budget" || fail "it takes any budget: $(cat "$T/daemon.err")"
daemon_stop
for f in "$REC"/*/*.jfr; do
    jfr_print "$f" gnomon.RateChange
done >"$T/changes"
assert_match "the recording tells" 'by = "budget"' "$T/changes"
assert_match "and why" 'reason = "recording cost [0-9.]*% of the CPUs, budget 0.01%' "$T/changes"
assert_match "and that it ended" 'by = "configuration"' "$T/changes"
jvm_unharmed
