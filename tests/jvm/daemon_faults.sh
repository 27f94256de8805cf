#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What goes wrong around a daemon: its disk is full for a while, any of its other processes is killed, JVMs come and go
# one after the other. It goes on, and what it wrote is whole.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
need_root
need_gnomon status
need_cmd python3

REC=$T/recordings
SOCK=$T/gnomon.sock

status() { "$GNOMON" status --metrics --socket "$SOCK" 2>/dev/null; }
# figure PID NAME: of that JVM; whole NAME: of all.
figure() { status | awk -v name="$2{pid=\"$1\"" 'index($0, name) == 1 { print $NF; exit }'; }
whole() { status | awk -v name="$1" '$1 == name { printf "%d\n", $2; exit }'; }
samples() { figure "$PID" gnomon_jvm_samples_total; }
more_than() { local n; n=$(samples) && [ "${n:-0}" -gt "$1" ]; }
goes_on() {
    local n

    n=$(samples)
    until_true 60 more_than "${n:-0}" || fail "$1: no more samples; $(cat "$T/daemon.err")"
}

# Full, it records on in memory and answers; when there is room again it writes on, and what it wrote is whole.
disk_full() {
    local n f

    n=$(files_of "$PID" | wc -l)
    until_true 90 has_files "$PID" $((n + 2)) || fail "no files: $(cat "$T/daemon.err")"
    head -c 100m /dev/zero >"$REC/filler" 2>/dev/null
    goes_on "the disk is full"
    sleep 3
    goes_on "the disk has been full for three seconds"
    until_true 60 nothing_free || fail "what is free, as the status has it: $(whole gnomon_disk_free_bytes)"
    until_true 60 is_held || fail "the metrics do not say that it is held in memory"
    "$GNOMON" status --socket "$SOCK" >"$T/out"
    assert_match "what the status says" 'IT TAKES NOTHING: .* held in memory' "$T/out"
    rm "$REC/filler"
    n=$(files_of "$PID" | wc -l)
    until_true 60 not_held || fail "the metrics still say that it is held in memory"
    until_true 90 has_files "$PID" $((n + 2)) || fail "it does not write on: $(cat "$T/daemon.err")"
    # all but the one that is being written
    while read -r f; do jfr_silent "$JDK" summary "$f"; done < <(files_of "$PID" | head -n -1)
}

nothing_free() { [ "$(whole gnomon_disk_free_bytes)" = 0 ]; }
is_held() { [ "$(whole gnomon_held_bytes)" -gt 0 ] && [ "$(figure "$PID" gnomon_jvm_held_bytes)" -gt 0 ]; }
not_held() { [ "$(whole gnomon_held_bytes)" = 0 ]; }

# Any of its processes but itself, and the one of which those that name are made. (Of four that name one is lost.)
processes_killed() {
    local child n=0

    for child in $(cat /proc/"$DAEMON"/task/*/children); do
        [ "$(cat "/proc/$child/comm")" != gnomon-spare ] || continue
        kill -KILL "$child" 2>/dev/null && n=$((n + 1))
        goes_on "process $child was killed"
    done
    assert_ge "processes that were killed" 1 "$n"
    note "killed $n processes"
    pid_ended "$DAEMON" && fail "it ended: $(cat "$T/daemon.err")"
    goes_on "its processes were killed"
}

# Its thread that waits for others waits, here for the process that reads the configuration first: systemd hears of the
# session, which goes on, and does not kill the daemon for it.
told() { grep -c "^$1" "$T/told"; }
told_more() { [ "$(told "$1")" -gt "$2" ]; }
keeper_held_up() {
    local runner n answered

    runner=$(pgrep -P "$(pgrep -P "$DAEMON" -x gnomon-runner)") || fail "nobody runs commands: $(pgrep -lP "$DAEMON")"
    CHILDREN+=("$runner") # that it is not left so
    kill -STOP "$runner"
    answered=$(told READY=1)
    kill -HUP "$DAEMON"
    until_true 60 told_more RELOADING=1 0 || fail "it does not read its configuration: $(cat "$T/told")"
    n=$(told WATCHDOG=1)
    until_true 15 told_more WATCHDOG=1 $((n + 2)) || fail "systemd hears nothing while it waits: $(cat "$T/told")"
    assert_eq "how often it has read its configuration" "$answered" "$(told READY=1)"
    kill -CONT "$runner"
    until_true 60 told_more READY=1 "$answered" || fail "it does not go on: $(cat "$T/told")"
}

# systemd_begin: whom the daemon notifies; what it says is in $T/told
systemd_begin() {
    emptied "$T/told"
    NOTIFY_SOCKET=$T/notify python3 -c '
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(os.environ["NOTIFY_SOCKET"])
while True:
    print(s.recv(4096).decode(), flush=True)' >"$T/told" &
    CHILDREN+=("$!")
    until_true 60 test -S "$T/notify" || fail "no socket for notifications"
    export NOTIFY_SOCKET=$T/notify
}

# No process that names can be made any more: it ends, for others to start it again.
spare_killed() {
    pkill -KILL -P "$DAEMON" -x gnomon-spare || fail "it has no spare: $(pgrep -lP "$DAEMON")"
    goes_on "the spare was killed"
    pkill -KILL -P "$DAEMON" -x gnomon-namer || fail "it has no namer: $(pgrep -lP "$DAEMON")"
    pid_gone "$DAEMON" 90 || fail "it goes on without anybody who names: $(cat "$T/daemon.err")"
    wait "$DAEMON"
    assert_eq "the exit code" 1 $? "$(cat "$T/daemon.err")"
    assert_match "what it says" 'no process that names can be made any more' "$T/daemon.err"
    for f in $(files_of "$PID"); do jfr_silent "$JDK" summary "$f"; done
}

# A JVM after another, each alive for a second or so: one that lived long enough has its directory.
come_and_go() {
    local i before

    before=$(dirs)
    for i in 1 2 3 4 5 6 7 8; do
        jvm_start -jar "$OWN_JAR" 1 1 30
        sleep 1
        kill "$JVM_PID"
        pid_gone "$JVM_PID" 60
    done
    jvm_start -jar "$OWN_JAR" 1 1 30
    until_true 90 has_files "$JVM_PID" 1 || fail "the last one is not recorded: $(cat "$T/daemon.err")"
    kill "$JVM_PID"
    goes_on "JVMs came and went"
    note "$(($(dirs) - before)) of 9 JVMs that came and went have a directory"
    until_true 90 test_only || fail "those that ended are still in the status: $(status | grep start_time)"
}
dirs() { find "$REC" -mindepth 1 -maxdepth 1 -type d | wc -l; }
test_only() { [ "$(whole gnomon_jvms)" = 1 ]; }

mkdir "$REC"
mount -t tmpfs -o size=24m,mode=700 gnomon-test "$REC" || skip "no tmpfs can be mounted"
UNMOUNT+=("$REC")
own_jar Idle
JDK=$(jdk_newest)
JVM_OPTS="-Xshare:auto -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m"
jvm_start -jar "$OWN_JAR" 2 1 10
PID=$JVM_PID
printf '%s\n' "directory = $REC" "socket = $SOCK" "chunk-time = 1s" "min-free = 0" "no-vitals = yes" "record = no" \
    "[mine]" "name = $OWN_NAME.jar" >"$CONF"
systemd_begin
ISOLATE=0 daemon_start
goes_on "not isolated"
keeper_held_up
processes_killed
daemon_stop
unset NOTIFY_SOCKET
sed -i '/^isolate/d' "$CONF"
daemon_start
disk_full
processes_killed
come_and_go
spare_killed
