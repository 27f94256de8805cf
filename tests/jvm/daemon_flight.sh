#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gnomon daemon: JVMs that run and that come have a directory each, of files that are whole by themselves; killed it
# leaves what it wrote, and goes on beside it; its configuration is read again, or stays; its directory may be removed,
# and stays within its bounds; it is there once. FLIGHT_SHORT=1 (daemon_isolated): without what that has no part in.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
need_root
need_gnomon daemon

REC=$T/recordings

# conf RULE LINE...: of this test's JVMs alone.
conf() {
    local rule=$1

    shift
    printf '%s\n' "directory = $REC" "socket = $T/gnomon.sock" "chunk-time = 1s" "min-free = 0" "no-vitals = yes" "record = no" "$@" \
        "[mine]" "$rule" >"$CONF"
    conf_together
}
mine() { conf "name = $OWN_NAME.jar" "$@"; }

# said WORDS [SECONDS]: in its log. said_more WORDS N: more than N times.
said() { until_true "${2:-60}" file_has "$T/daemon.err" "$1" || fail "it does not say '$1': $(cat "$T/daemon.err")"; }
times() { grep -c -- "$1" "$T/daemon.err"; }
said_again() { [ "$(times "$1")" -gt "$2" ]; }

# dir_of PID: DIR.
dir_of() { DIR=$(compgen -G "$REC/$OWN_NAME-*-$1-*T*Z"); [ -n "$DIR" ]; }

# whole FILE: the JDK reads it without a word, and it says which JVM it is of.
whole() {
    jfr_print "$1" jdk.JVMInformation,jdk.ActiveSetting >"$T/print"
    grep -q 'period\|gnomon.version' "$T/print" || fail "'$1' does not say how it was recorded"
}
# most_of COUNT: in that of the last files that has the most, since a thread may have had no CPU for a second, nor the collector
most_of() { tail -n 4 "$T/files" | while read -r f; do "$1" "$f"; done | sort -n | tail -n 1; }
idle_samples() { weight "$1" $WALL_EVENT thread=idle-thread-number-1 'frame=Harness\.await'; }
named_samples() { weight "$1" $CPU_EVENT thread=busy-thread-number-1 'frame=Harness\.(crunch|burn|cpu)'; }

reload() {
    local before

    before=$(times "$1")
    kill -HUP "$DAEMON"
    until_true 60 said_again "$1" "$before" || fail "SIGHUP: it does not say '$1': $(cat "$T/daemon.err")"
}

# Those that run, those that come, and one that ends.
come_and_go() {
    daemon_start
    wait_files "$FIRST" 2
    jvm_start -jar "$OWN_JAR" 2 1 10
    SECOND=$JVM_PID
    wait_files "$SECOND" 2
    kill "$SECOND"
    pid_gone "$SECOND" 60 || fail "it does not end"
    until_true 60 nobody_writes "$SECOND" || fail "its file is not finished"
}
nobody_writes() { ! ls -l "/proc/$DAEMON/fd" 2>/dev/null | grep -q -- "-$1-.*jfr"; }

# A second one ends, by its exit code, and says who has the directory.
only_one() {
    timeout 60 "$GNOMON" daemon --config "$CONF" 2>"$T/err"
    assert_eq "exit code of a second daemon" 6 $?
    assert_match "what it says" "another gnomon daemon, process $DAEMON, records into '$REC'" "$T/err"
}

configurations() {
    local n

    # broken: the old one stays
    mine "cpux = 1ms"
    reload 'stays as it was.*cpux'
    n=$(files_of "$FIRST" | wc -l)
    wait_files "$FIRST" $((n + 1))
    # what takes a restart is said
    mine "cpu = 20ms"
    reload "'cpu' has changed, which takes a restart"
    # not wanted any more, and again
    conf "name = nobody-$$"
    reload "process $FIRST: not recorded any more"
    until_true 60 nobody_writes "$FIRST" || fail "its file is not finished"
    mine
    reload "process $FIRST: recording"
    pid_ended "$DAEMON" && fail "it ended: $(cat "$T/daemon.err")"
}

# frames_lost FILE: how many samples it says to lack them
frames_lost() {
    jfr_print "$1" gnomon.SamplesLost | awk '/lostSamples = /{ n = $3 } /frames were lost/{ hit = 1 } /^}/{ if (hit) s += n; hit = 0 }
        END { print s + 0 }'
}

# With kill -9 what was written stays, each file whole; the next daemon goes on in the same directory.
killed() {
    local f n dir

    # it was begun anew just now: the first file of that is behind us, one that is full, and one that may still be written
    n=$(files_of "$FIRST" | wc -l)
    wait_files "$FIRST" $((n + 4))
    kill -KILL "$DAEMON"
    pid_gone "$DAEMON" 60
    wait "$DAEMON" 2>/dev/null
    jvm_unharmed
    dir_of "$FIRST" || fail "not one directory: $(ls "$REC")"
    dir=$DIR
    files_of "$FIRST" >"$T/files"
    n=$(wc -l <"$T/files")
    while read -r f; do jfr_silent "$(jdk_newest)" summary "$f"; done <"$T/files"
    f=$(tail -n 3 "$T/files" | head -n 1)
    whole "$f"
    assert_ge "samples with their method in one of its files alone" 1 "$(most_of named_samples)"
    # it had been let go and was taken in again: also what slept all the time
    assert_ge "wall samples of an idle thread in one of them" 5 "$(most_of idle_samples)"
    # what is told of a sleeper until it is read again may have no frames
    assert_between "ticks of 5 ms without frames in that file" 0 30 "$(frames_lost "$f")"
    assert_match "the JVM of a file in the middle" "pid = $FIRST\$" "$T/print"
    whole "$(files_of "$SECOND" | tail -n 1)"
    mine
    daemon_start
    wait_files "$FIRST" $((n + 2))
    dir_of "$FIRST"
    assert_eq "its directory" "$dir" "$DIR"
}

# The directory is one recording, of which a time can be cut; the file that is being written is in it.
by_time() {
    local last all two

    dir_of "$FIRST"
    last=$(weight "$(files_of "$FIRST" | tail -n 2 | head -n 1)" $CPU_EVENT thread=busy-thread-number-1)
    all=$(busy_ms "$DIR")
    two=$(busy_ms "$DIR" --from -2s)
    note "CPU time of the busy thread: $all ms in all, $two ms of the last 2 s, $last samples in one file"
    assert_ge "CPU time of the last two seconds in ms" 1 "$two"
    assert_ge "what is in all files beyond that, in ms" $((two + 1)) "$all"
    # the last second again, by the clock of its first file, and by two ways to say it
    assert_eq "two seconds of it, by date and by time since its start" \
        "$(busy_ms "$DIR" --from 0 --to 2s)" "$(busy_ms "$DIR" --from "$(start_of "$DIR")" --to 2s)"
    "$GNOMON" summary "$DIR" --from -2s >"$T/out" 2>"$T/err" || fail "summary: $(cat "$T/err")"
    assert_match "which JVM it is of" "pid $FIRST" "$T/out"
    "$GNOMON" diff "$DIR" 0..6s -6s.. >"$T/out" 2>"$T/err" || fail "diff: $(cat "$T/err")"
    assert_match "two times that both have samples" 'cpu time: A [1-9].*, B [1-9]' "$T/out"
    "$GNOMON" render "$REC" >"$T/out" 2>"$T/err"
    assert_eq "exit code for the directory of all" 7 $?
    assert_match "what it says" 'name one of them' "$T/err"
    "$GNOMON" render "$DIR" --from 2020-01-01T00:00 --to 2020-01-01T00:05 >"$T/out" 2>"$T/err"
    assert_eq "exit code for another time" 7 $?
    assert_match "what it says" 'has nothing of that time: it is of 20' "$T/err"
}
# busy_ms DIR [OPTION...]: CPU time of the busy thread in ms.
busy_ms() {
    local dir=$1

    shift
    "$GNOMON" render "$dir" -f collapsed -D cpu -t busy-thread-number-1 "$@" 2>"$T/err" |
        awk '{ sum += $NF } END { printf "%d\n", sum / 1000000 }'
}
start_of() { find "$1" -name '*.jfr' -printf '%f\n' | LC_ALL=C sort | head -n 1 | sed 's/_.*//; s/\.jfr//'; }

# Removed under it: it is made again, and what comes then is whole.
removed() {
    rm -rf "$REC"
    wait_files "$FIRST" 2
    whole "$(files_of "$FIRST" | head -n 1)"
    until_true 60 test -e "$REC/.lock" || fail "nobody has the directory"
}

# The oldest files go; what is being written, and what it grows by between two looks, is beyond the bound.
bounded() {
    local first

    first=$(files_of "$FIRST" | head -n 1)
    mine "max-size = 100k"
    reload 'the configuration was read again'
    until_true 90 test ! -e "$first" || fail "the oldest is still there: $(ls -l "$REC"/*)"
    until_true 90 below "$REC" 400 || fail "more than its bound: $(du -sk "$REC")"
    has_files "$FIRST" 1 || fail "nothing is left"
}
below() { [ "$(du -sk "$1" | cut -f1)" -le "$2" ]; }

stopped() {
    daemon_stop
    whole "$(files_of "$FIRST" | tail -n 1)"
    jvm_unharmed
    assert_empty stdout "$T/daemon.out"
}

own_jar Idle
JDK=$(jdk_newest)
JVM_OPTS="-Xshare:auto -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m"
jvm_start -jar "$OWN_JAR" 2 1 10
FIRST=$JVM_PID
mine
come_and_go
JVM_PID=$FIRST JVM_OUT=$T/jvm1.out JVM_ERR=$T/jvm1.err
[ -n "${FLIGHT_SHORT:-}" ] || { only_one; configurations; }
killed
[ -n "${FLIGHT_SHORT:-}" ] || { by_time; removed; bounded; }
stopped
