#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Triggers of a daemon that samples decide: a method's share of CPU time, a thread at one stack, threads that wait for each
# other's locks, and what lives in the heap. Each fires once for its JVM and says which thread it is, those whose
# condition does not hold never; those that come with a reload see what has been so since before.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
need_root
need_gnomon status

SOCK=$T/gnomon.sock

fired() { ask status --metrics 2>/dev/null | awk -v n="gnomon_trigger_fired_total{trigger=\"$1\"}" '$1 == n { print $2 }'; }
has_fired() { [ "$(fired "$1")" = 1 ]; }

# refused LINES WORDS: a configuration with these is, with those words.
refused() {
    printf '%b\n' "$1" >"$T/bad.conf"
    "$GNOMON" daemon --check --config "$T/bad.conf" >"$T/out" 2>"$T/err"
    assert_eq "exit code of --check with '$1'" 2 $?
    assert_match "what it says of '$1'" "$2" "$T/err"
}

refused "[trigger t]\nwhen = frozen > 30" "is no 'when'"
refused "[trigger t]\nwhen = frozen > 30s" "does not say which 'method'"
refused "[trigger t]\nwhen = method > 5%" "does not say which 'method'"
refused "[trigger t]\nwhen = cpu > 5%\nmethod = a" "is about none"
refused "[trigger t]\nwhen = deadlock > 1" "is no 'when'"
refused "no-causes = yes\n[trigger t]\nwhen = deadlock" "would never fire with 'no-causes'"
refused "no-wall = yes\n[trigger t]\nwhen = frozen > 3s\nmethod = a" "would never fire with 'no-wall'"
refused "no-cpu = yes\n[trigger t]\nwhen = method > 3%\nmethod = a" "would never fire with 'no-cpu'"
refused "no-vitals = yes\n[trigger t]\nwhen = live > 90%" "would never fire with 'no-vitals'"
refused "$(for i in $(seq 17); do printf '[trigger t%d]\\nwhen = method > 5%%\\nmethod = a\\n' "$i"; done)" "more than 16 triggers of methods"

# config: TRIGGERS follow
config() {
    printf '%s\n' "directory = $T/recordings" "socket = $SOCK" "min-free = 0" "record = no" \
        "[idle]" "name = $IDLE" "[locks]" "name = $LOCKS" "[heap]" "name = $HEAP" "$@" >"$CONF"
    "$GNOMON" daemon --check --config "$CONF" >"$T/out" 2>&1 || fail "its configuration makes no sense: $(cat "$T/out")"
}

JDK=$(jdk_newest)
JVM_OPTS="-Xshare:auto -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m"
own_jar Locks
LOCKS=$OWN_NAME.jar
jvm_start -jar "$OWN_JAR" deadlock deadlock-lock
DEADLOCKED=$JVM_PID
own_jar Heap
HEAP=$OWN_NAME.jar
jvm_start -jar "$OWN_JAR" 2 1 30 0 600000
FULL=$JVM_PID
FULL_FD=$JVM_FD
own_jar Idle
IDLE=$OWN_NAME.jar
jvm_start -jar "$OWN_JAR" 2 1 50 # the busy one sleeps in between, never for long
IDLING=$JVM_PID
config "[trigger dead]" "when = deadlock" "[trigger none]" "name = $IDLE" "when = deadlock" \
    "[trigger full]" "when = live > 50%" "[trigger fuller]" "when = live > 95%" \
    "[trigger hot]" "name = $IDLE" "when = method > 60%" "method = Harness.burn" "for = 2s" \
    "[trigger cold]" "name = $IDLE" "when = method > 1%" "method = Harness.await" "for = 2s" \
    "[trigger stuck]" "name = $IDLE" "when = frozen > 2s" "method = Harness.await" \
    "[trigger moves]" "name = $IDLE" "when = frozen > 1s" "method = Harness.sleep"
daemon_run
until_true 180 has_fired hot || fail "a hot method: fired $(fired hot) times: $(cat "$T/daemon.err")"
until_true 120 has_fired stuck || fail "a thread at one stack: fired $(fired stuck) times: $(cat "$T/daemon.err")"
until_true 120 eval '[ "$(fired dead)" = 1 ]' || fail "a deadlock: fired $(fired dead) times: $(cat "$T/daemon.err")"
echo go >&"$FULL_FD"
until_true 120 has_fired full || fail "a full heap: fired $(fired full) times: $(cat "$T/daemon.err")"
assert_match "the log of a method" "trigger 'hot': process $IDLING, '.*': Harness.burn [0-9.]*% in the last 2s, above 60%" "$T/daemon.err"
assert_match "the log of a thread" "trigger 'stuck': process $IDLING, '.*': thread [0-9]*, '[a-z0-9-]*', at one stack" "$T/daemon.err"
assert_match "the log of a deadlock" "trigger 'dead': process $DEADLOCKED, '.*': [36] threads wait for each other's locks: '" "$T/daemon.err"
assert_match "the log of a heap" "trigger 'full': process $FULL, '.*': the last old collection left 3[0-9] of the [0-9]* MB" "$T/daemon.err"
for t in none fuller cold moves; do
    assert_eq "how often '$t' has fired" 0 "$(fired $t)"
done

# What has been so since before a reload is found by triggers that come with it.
config "[trigger again]" "name = $IDLE" "when = frozen > 2s" "method = Idle.lambda*" "[trigger still]" "when = deadlock"
kill -HUP "$DAEMON"
until_true 120 has_fired again || fail "a thread at one stack after a reload: fired $(fired again) times: $(cat "$T/daemon.err")"
until_true 120 has_fired still || fail "a deadlock after a reload: fired $(fired still) times: $(cat "$T/daemon.err")"
daemon_stop
# where nothing was frozen there was a thread again and again
find "$T/recordings" -path "*-$IDLING-*" -name '*.jfr' | while read -r f; do
    "$GNOMON" render "$f" -f collapsed -D off --idle -t busy-thread-number-1
done >"$T/slept" 2>"$T/err"
assert_match "stacks of the thread that moves" ';Harness\.sleep;' "$T/slept"
