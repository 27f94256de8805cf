#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Triggers of a daemon: a JVM that is busy, one that starts and one that ends fire once each; how often it is sampled, what was
# recorded, and a command as another user follow upon it; status, metrics and the log count it; configurations that make
# no sense are refused by line.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
need_root
need_gnomon set

REC=$T/recordings
SOCK=$T/run/gnomon.sock
OPEN=$(mktemp -d /tmp/gnomon-open.XXXXXX)
REMOVE+=("$OPEN")
chmod 777 "$OPEN"

fired() { ask status --metrics 2>/dev/null | awk -v n="gnomon_trigger_fired_total{trigger=\"$1\"}" '$1 == n { print $2 }'; }
has_fired() { [ "$(fired "$1")" = "$2" ]; }
jvm() { ask status --json 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["jvms"][0][sys.argv[1]])' "$1" 2>/dev/null; }

# refused LINE WORDS: a trigger with that line is, with those words.
refused() {
    printf '[trigger t]\n%b\n' "$1" >"$T/bad.conf"
    "$GNOMON" daemon --check --config "$T/bad.conf" >"$T/out" 2>"$T/err"
    assert_eq "exit code of --check with '$1'" 2 $?
    assert_match "what it says of '$1'" "$2" "$T/err"
}

refused "when = cpu > 80" "line 2: 'cpu > 80' is no 'when'"
refused "when = sometimes" "line 2: 'sometimes' is no 'when'"
refused "when = at 24:00" "line 2: 'at 24:00' is no 'when'"
refused "when = start\nrun = relative" "line 3: 'relative' is no 'run'"
refused "when = start\nrun = /bin/true" "does not say as whom"
refused "when = start\nrun-as = nobody-$$" "there is no user"
refused "when = start\ncpu = 1ms" "go together"
refused "dump = 1m" "does not say when"
refused "when = start\n[trigger a/b]\nwhen = start" "a name is of letters"
refused "colour = red" "a trigger has no 'colour'"

printf '#!/bin/sh\n{ id -u; echo "$@"; env; ls -l /proc/$$/fd; } >%s/$GNOMON_TRIGGER.new && mv %s/$GNOMON_TRIGGER.new %s/$GNOMON_TRIGGER\n' \
    "$OPEN" "$OPEN" "$OPEN" >"$OPEN/hook"
chmod 755 "$OPEN/hook"
own_jar Idle
JDK=$(jdk_newest)
JVM_OPTS="-Xshare:auto -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m"
printf '%s\n' "directory = $REC" "socket = $SOCK" "chunk-time = 1s" "min-free = 0" "no-vitals = yes" "record = no" \
    "[mine]" "name = $OWN_NAME.jar" \
    "[trigger busy]" "name = $OWN_NAME.jar" "when = cpu > 0.5%" "for = 2s" "wall = 5ms" "rate-for = 10m" "dump = 1m" \
    "run = $OPEN/hook one  two" "run-as = nobody" \
    "[trigger never]" "when = blocked > 5000%" "dump = 1m" \
    "[trigger came]" "name = $OWN_NAME.jar" "when = start" \
    "[trigger went]" "name = $OWN_NAME.jar" "when = exit" "run = $OPEN/hook" "run-as = root" >"$CONF"
"$GNOMON" daemon --check --config "$CONF" || fail "its configuration makes no sense"
jvm_start -jar "$OWN_JAR" 2 1
PID=$JVM_PID
daemon_run
until_true 180 has_fired busy 1 || fail "a busy JVM fires nothing: $(cat "$T/daemon.err")"
until_true 60 test -e "$OPEN/busy" || fail "nothing was run: $(cat "$T/daemon.err")"
assert_eq "as whom, and the words" "$(id -u nobody) one two" "$(head -n 2 "$OPEN/busy" | tr '\n' ' ' | sed 's/ $//')"
assert_match "what it was told" "^GNOMON_PID=$PID\$" "$OPEN/busy"
assert_match "why" "^GNOMON_REASON=cpu [0-9.]*% in the last 2s, above 0.5%\$" "$OPEN/busy"
assert_eq "descriptors of the daemon's that it has" "" "$(grep -E 'pipe:|anon_inode|socket:|jvm1|/proc/' "$OPEN/busy")"
assert_match "its standard input" ' 0 -> /dev/null$' "$OPEN/busy"
kept=$(sed -n 's/^GNOMON_FILE=//p' "$OPEN/busy")
assert_eq "what was kept" "$kept" "$(compgen -G "$REC/triggered/busy.*-$PID.jfr")"
jfr_silent "$JDK" summary "$kept"
until_true 60 eval '[ "$(jvm rate_by)" = trigger ]' || fail "its rate is by $(jvm rate_by)"
assert_eq "its wall interval" 5000000 "$(jvm wall_interval_ns)"
assert_match "the log" "trigger 'busy': process $PID, '.*$OWN_NAME.jar': cpu" "$T/daemon.err"
sleep 3
assert_eq "how often it fired while it stays busy" 1 "$(fired busy)"
assert_eq "how often one of a JVM that was there before us" 0 "$(fired came)"

jvm_start -jar "$OWN_JAR" 1 0
until_true 120 has_fired came 1 || fail "a JVM that starts fires nothing: $(cat "$T/daemon.err")"
kill "$JVM_PID"
pid_gone "$JVM_PID" 60
until_true 120 has_fired went 1 || fail "a JVM that ends fires nothing: $(cat "$T/daemon.err")"
until_true 60 test -e "$OPEN/went" || fail "nothing was run: $(cat "$T/daemon.err")"
assert_eq "as whom" 0 "$(head -n 1 "$OPEN/went")"
assert_match "of which" "^GNOMON_PID=$JVM_PID\$" "$OPEN/went"
assert_eq "how often one whose condition never holds" 0 "$(fired never)"
ask status >"$T/status"
assert_match "the status" "^trigger  'went': fired 1 times" "$T/status"
ask status --json | python3 -c '
import json, sys
t = {x["name"]: x for x in json.load(sys.stdin)["triggers"]}
assert t["busy"]["when"] == "cpu > 0.5%" and t["busy"]["fired"] >= 1 and t["busy"]["last_ms"] > 1e12, t
assert t["never"]["fired"] == 0 and t["never"]["last_ms"] == 0 and t["went"]["failed"] == 0, t
' || fail "triggers in status --json"
daemon_stop
