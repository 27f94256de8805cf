# SPDX-License-Identifier: Apache-2.0
# Sourced after lib.sh by scripts that run a daemon: DAEMON, with the configuration $CONF and the log $T/daemon.err.
CONF=$T/gnomon.conf

# ask COMMAND OPTION...: of the daemon, whose socket is $SOCK.
ask() { "$GNOMON" "$1" --socket "$SOCK" "${@:2}"; }

# conf_together: with ISOLATE=0 its configuration is that of one that is not isolated.
conf_together() { [ "${ISOLATE:-}" != 0 ] || grep -q '^isolate' "$CONF" || sed -i '1i isolate = no' "$CONF"; }

daemon_run() {
    emptied "$T/daemon.err"
    conf_together
    "$GNOMON" daemon --config "$CONF" </dev/null >"$T/daemon.out" 2>"$T/daemon.err" &
    DAEMON=$!
    CHILDREN+=("$DAEMON")
}

# daemon_start: until it records.
daemon_start() {
    daemon_run
    until_true 120 file_has "$T/daemon.err" 'recording into' || fail "the daemon does not start: $(cat "$T/daemon.err")"
}

daemon_stop() {
    kill -TERM "$DAEMON"
    pid_gone "$DAEMON" 90 || fail "the daemon does not end: $(cat "$T/daemon.err")"
    wait "$DAEMON"
    assert_eq "the daemon's exit code" 0 $? "$(cat "$T/daemon.err")"
}

# Of the recordings in REC: files_of PID: its files, oldest first; the last one may still be empty.
files_of() { find "$REC" -path "*-$1-*" -name '*.jfr' 2>/dev/null | LC_ALL=C sort; }
has_files() { [ "$(files_of "$1" | wc -l)" -ge "$2" ]; }
wait_files() { until_true 90 has_files "$1" "$2" || fail "process $1 has no $2 files: $(cat "$T/daemon.err")"; }
