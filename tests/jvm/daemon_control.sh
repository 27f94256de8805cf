#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is asked of a daemon while it runs: status for people, programs and Prometheus; dump has what its files have, cut
# by time, and leaves the recording alone; start and stop go against the rules; who is not in the group is not heard;
# a second daemon on one socket records all the same.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
need_root
need_gnomon status

REC=$T/recordings
SOCK=$T/run/gnomon.sock

# conf LINE...: of this test's JVMs alone.
conf() {
    printf '%s\n' "directory = $REC" "socket = $SOCK" "metrics = $T/gnomon.prom" "chunk-time = 2s" "min-free = 0" \
        "no-vitals = yes" "record = no" "$@" "[mine]" "name = $OWN_NAME.jar" >"$CONF"
}
# figure NAME: of this JVM, as the metrics have it; the first one.
figure() { ask status --metrics 2>/dev/null | awk -v name="$1{pid=\"$PID\"" 'index($0, name) == 1 { print $NF; exit }'; }
sampled() { [ "$(figure gnomon_jvm_samples_total)" -ge "${1:-1}" ] 2>/dev/null; }
is_recorded() { ask status --json 2>/dev/null | grep -q "\"pid\": $PID,"; }
not_recorded() { ! is_recorded; }

status() {
    until_true 90 sampled 30 || fail "it is not in the status: $(ask status 2>&1) $(cat "$T/daemon.err")"
    ask status >"$T/out" 2>"$T/err" || fail "status: $(cat "$T/err")"
    assert_match "who it is" "process $DAEMON, gnomon .* 1 JVM, a CPU sample each 10" "$T/out"
    assert_match "the JVM" "^ *$PID .*$OWN_NAME" "$T/out"
    assert_match "the disk" "'$REC': .* in [0-9]* file" "$T/out"
    ask status --json >"$T/json"
    python3 - "$T/json" "$DAEMON" "$PID" "$REC" <<'END' || fail "status --json: $(cat "$T/json")"
import json, sys
s = json.load(open(sys.argv[1]))
assert s["pid"] == int(sys.argv[2]) and s["cpu_interval_ns"] == 10000000 and s["wall_interval_ns"] == 20000000
(j,) = s["jvms"]
assert j["pid"] == int(sys.argv[3]) and j["directory"].startswith(sys.argv[4] + "/") and j["cpu_samples"] >= 30
assert s["cpu_samples"] >= 30 and s["cost"]["memory_bytes"] > 1 << 20 and s["cost"]["wall_ns"] > 0
END
    ask status --json --metrics >"$T/out" 2>"$T/err"
    assert_eq "exit code of two formats" 2 $?
}

# Each metric has its help and type, once; the file for node_exporter has the same names. gnomon-metrics(7) has each.
metrics() {
    ask status --metrics >"$T/metrics" || fail "no metrics"
    sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$T/metrics" | sort >"$T/types"
    uniq -d "$T/types" >"$T/differs"
    assert_empty "names that are there twice" "$T/differs"
    sed -n '/^#/!s/[{ ].*//p' "$T/metrics" | sort -u >"$T/names"
    comm -23 "$T/names" "$T/types" >"$T/differs"
    assert_empty "metrics without a type" "$T/differs"
    sed -n 's/^\\fB\(gnomon_[a-z_]*\)\\fR (.*/\1/p' "$ROOT/user/man/gnomon-metrics.7" | sort >"$T/documented"
    diff "$T/types" "$T/documented" >"$T/differs"
    assert_empty "metrics and their manual page differ" "$T/differs"
    on_disk() { [ "$(figure gnomon_jvm_disk_bytes)" -gt 0 ] 2>/dev/null; }
    until_true 60 on_disk || fail "what it takes on the disk: $(figure gnomon_jvm_disk_bytes)"
    until_true 60 test -s "$T/gnomon.prom" || fail "the file of metrics is not written: $(cat "$T/daemon.err")"
    sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$T/gnomon.prom" | sort >"$T/file-types"
    diff "$T/types" "$T/file-types" >"$T/differs"
    assert_empty "names of the file that differ" "$T/differs"
    if command -v promtool >/dev/null; then
        promtool check metrics <"$T/metrics" >"$T/out" 2>&1 || fail "promtool: $(cat "$T/out")"
    else
        note "promtool is not there"
    fi
}

# What it dumps is a recording, of the last files too, and what was going on goes on.
dump() {
    local before after

    has_dir
    ask dump "$PID" -o "$T/dump.jfr" >"$T/out" 2>"$T/err" || fail "dump: $(cat "$T/err")"
    jfr_silent "$JDK" summary "$T/dump.jfr"
    before=$(busy_ms "$T/dump.jfr")
    assert_ge "CPU time of the busy thread in ms, at least what was in the status" 150 "$before"
    after=$(busy_ms "$DIR")
    assert_ge "what the directory has, with what came meanwhile" "$before" "$after"
    ask dump --last 2s -o - >"$T/last.jfr" 2>"$T/err" || fail "dump to stdout: $(cat "$T/err")"
    jfr_silent "$JDK" summary "$T/last.jfr"
    assert_ge "all of it, and the last two seconds with their chunks, in ms" "$(busy_ms "$T/last.jfr")" "$after"
    ask dump "*$OWN_NAME*" -o "$T/page.html" >"$T/out" 2>"$T/err" || fail "dump of a page: $(cat "$T/err")"
    assert_match "a page" '<html' "$T/page.html"
    ask dump "$PID" -t no-such-thread -f text -o - >"$T/out" 2>"$T/err" || fail "dump with a filter: $(cat "$T/err")"
    assert_match "what it says of nothing" "no samples are left by the filter" "$T/err"
    ask dump "$PID" -t main -o "$T/none.jfr" >"$T/out" 2>"$T/err"
    assert_eq "exit code of a filtered recording" 2 $?
    assert_match "what it says" "a recording is dumped whole" "$T/err"
    ask dump "$PID" --from 2020-01-01T00:00 --to 2020-01-01T01:00 -o "$T/none.jfr" >"$T/out" 2>"$T/err"
    assert_eq "exit code for another time" 7 $?
    [ ! -e "$T/none.jfr" ] || fail "there is a file of nothing"
    ask dump 1 -o "$T/none.jfr" >"$T/out" 2>"$T/err"
    assert_eq "exit code for another process" 3 $?
    ask dump "$PID" >"$T/out" 2>"$T/err"
    assert_eq "exit code without an output" 2 $?
    jvm_unharmed
}
busy_ms() { "$GNOMON" render "$1" -f collapsed -D cpu -t busy-thread-number-1 2>"$T/err" | awk '{ sum += $NF } END { printf "%d\n", sum / 1000000 }'; }
has_dir() { DIR=$(compgen -G "$REC/$OWN_NAME-*-$PID-*T*Z"); [ -n "$DIR" ] || fail "no directory: $(ls "$REC")"; }

start_stop() {
    ask stop "$PID" >"$T/out" 2>"$T/err" || fail "stop: $(cat "$T/err")"
    until_true 60 not_recorded || fail "it is still recorded"
    ask stop "$PID" >"$T/out" 2>"$T/err"
    assert_eq "exit code of a second stop" 3 $?
    kill -HUP "$DAEMON" # the rules want it; what was said by name stays
    until_true 60 file_has "$T/daemon.err" 'configuration was read again'
    sleep 2
    not_recorded || fail "it is recorded again after SIGHUP"
    ask start "$PID" >"$T/out" 2>"$T/err" || fail "start: $(cat "$T/err")"
    until_true 60 is_recorded || fail "it is not recorded again: $(cat "$T/daemon.err")"
    ask start $$ >"$T/out" 2>"$T/err"
    assert_eq "exit code for what is no JVM" 3 $?
    until_true 60 sampled || fail "no samples after the start"
}

# Anybody else is refused; a member of the group is heard and reads the recordings.
groups() {
    local other

    chmod 755 "$T"
    setpriv --reuid 65534 --regid 65534 --clear-groups "$GNOMON" status --socket "$SOCK" >"$T/out" 2>"$T/err"
    assert_eq "exit code for nobody" 4 $?
    assert_match "what it says" "be root, or in the 'group'" "$T/err"
    setpriv --reuid 65534 --regid 65534 --groups "$GID" "$GNOMON" status --socket "$SOCK" >"$T/out" 2>"$T/err" ||
        fail "a member of the group: $(cat "$T/err")"
    other=$(mktemp -d "$T/other.XXXXXX")
    chmod 777 "$other"
    setpriv --reuid 65534 --regid 65534 --groups "$GID" "$GNOMON" dump --socket "$SOCK" -o "$other/x.jfr" >"$T/out" 2>"$T/err" ||
        fail "dump by a member of the group: $(cat "$T/err")"
    jfr_silent "$JDK" summary "$other/x.jfr"
}

# What is no request hurts nobody.
noise() {
    head -c 100000 /dev/urandom | timeout 20 python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
try: s.sendall(sys.stdin.buffer.read()); s.recv(10000)
except OSError: pass
t = socket.socket(socket.AF_UNIX); t.connect(sys.argv[1]); t.sendall(b"\0" * 16); t.recv(10000)
u = socket.socket(socket.AF_UNIX); u.connect(sys.argv[1])  # says nothing and goes
' "$SOCK" || fail "it hangs"
    is_recorded || fail "it does not answer after noise: $(cat "$T/daemon.err")"
}

# Beside another one on its socket it records, and says that nobody can ask it.
second() {
    local pid

    sed "s#^directory.*#directory = $T/second#; s#^metrics.*##" "$CONF" >"$T/second.conf"
    "$GNOMON" daemon --config "$T/second.conf" </dev/null >/dev/null 2>"$T/second.err" &
    pid=$!
    CHILDREN+=("$pid")
    until_true 120 file_has "$T/second.err" 'recording into' || fail "the second: $(cat "$T/second.err")"
    assert_match "what it says" "cannot ask this daemon: another gnomon daemon listens on '$SOCK'" "$T/second.err"
    kill -TERM "$pid"
    pid_gone "$pid" 60 || fail "the second does not end"
    is_recorded || fail "the first does not answer any more"
}

# Killed, it leaves its socket; the next one takes it.
killed() {
    kill -KILL "$DAEMON"
    pid_gone "$DAEMON" 60
    wait "$DAEMON" 2>/dev/null
    ask status >"$T/out" 2>"$T/err"
    assert_eq "exit code without a daemon" 3 $?
    assert_match "what it says" "no gnomon daemon listens on '$SOCK'" "$T/err"
    daemon_start
    until_true 90 sampled || fail "the next one does not answer: $(cat "$T/daemon.err")"
    daemon_stop
    [ ! -e "$SOCK" ] || fail "its socket is still there"
}

own_jar Idle
JDK=$(jdk_newest)
JVM_OPTS="-Xshare:auto -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m"
jvm_start -jar "$OWN_JAR" 2 1 10
PID=$JVM_PID
GID=$(getent group daemon | cut -d: -f3)
conf "group = daemon"
daemon_start
status
metrics
dump
groups
start_stop
noise
second
killed
jvm_unharmed
