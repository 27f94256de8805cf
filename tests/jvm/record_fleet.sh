#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several JVMs in one session: those there at the start, one that starts later, one that ends; a
# whole file for each, and no more threads of gnomon's than for one but each file's writer.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

fleet_threads() { ls "/proc/$GN_PID/task" | wc -l; }

# its_file PID: the recording of that process, in OUT.
its_file() {
    local f=$OUT/$OWN_NAME-$1.jfr

    [ -f "$f" ] || fail "no '$f'"
    echo "$f"
}

# holds PID SECONDS: its busy thread for so long (CPUs' clocks draw), named, and nothing of the others.
holds() {
    local f all named

    f=$(its_file "$1")
    assert_ge "ms of the busy thread of $1" "$(calc "600 * $2")" "$(thread_ms "$f" busy-thread-number-1)"
    all=$(weight "$f" $CPU_EVENT thread=busy-thread-number-1)
    named=$(weight "$f" $CPU_EVENT thread=busy-thread-number-1 'frame=Harness\.(crunch|burn|cpu)')
    assert_ge "percent of its CPU samples with the method's name" 95 \
        "$(calc "100 * $named / $all")"
    assert_eq "threads of its busy kind" 1 \
        "$(query "$f" $CPU_EVENT thread | awk '/busy-thread/' | wc -l)"
    jfr_print "$f" jdk.JVMInformation >"$T/info"
    assert_match "the JVM of the file" "pid = $1\$" "$T/info"
}

# One JVM and one file: several matches are refused, and the hint says what to do.
one_wanted() {
    timeout 120 "$GNOMON" record --name "$OWN_NAME.jar" -d 1s -o "$T/one.jfr" 2>"$T/err"
    assert_eq "exit code" 3 $? "$(cat "$T/err")"
    assert_match "the message" 'gnomon: 2 JVMs match, one is wanted' "$T/err"
    assert_match "the hint" '-o DIRECTORY' "$T/err"
    [ -e "$T/one.jfr" ] && fail "a file was left"
    return 0
}

fleet_has() { [ "$(fleet_threads)" -le "$1" ]; }

fleet() {
    local first second third before begun from ended stopped size

    JDK=$(jdk_oldest) jvm_start -jar "$OWN_JAR" 2 1 30
    first=$JVM_PID
    JDK=$(jdk_newest) jvm_start -jar "$OWN_JAR" 2 1 30
    second=$JVM_PID
    OUT=$T/out
    mkdir "$OUT"
    gnomon_start "$OUT" --name "$OWN_NAME.jar"
    begun=$EPOCHREALTIME
    # the thread that names is its last one: it has begun when a file grows
    size=$(stat -c %s "$OUT/$OWN_NAME-$second.jfr")
    until_true 60 larger_than "$OUT/$OWN_NAME-$second.jfr" "$size" || fail "nothing is written"
    before=$(fleet_threads)
    JDK=$(jdk_oldest) jvm_start -jar "$OWN_JAR" 2 1 30
    third=$JVM_PID
    until_true 60 test -f "$OUT/$OWN_NAME-$third.jfr" || fail "the JVM that started later is not found"
    from=$EPOCHREALTIME
    cpu_spent 500
    ended=$EPOCHREALTIME
    kill "$first"
    pid_gone "$first" 60 || fail "it does not end"
    until_true 60 file_of_ended "$first" || fail "its file is not finished"
    # those that load BPF programs, perhaps among those of before, or finish a file, end soon
    until_true 60 fleet_has "$before" || fail "threads: $(fleet_threads) with one file more and one less, $before before"
    cpu_spent 500
    stopped=$EPOCHREALTIME
    gnomon_stop
    assert_match "the summary" 'recorded [0-9.]+ s of 3 processes' "$GN_ERR"
    one_wanted
    kill "$second" "$third" # they burn what the rest needs
    jfr_readable "$OUT/$OWN_NAME-$first.jfr"
    holds "$first" "$(calc "$ended - $begun")"
    holds "$second" "$(calc "$stopped - $begun")"
    holds "$third" "$(calc "$stopped - $from")"
    assert_eq "files" 3 "$(find "$OUT" -type f | wc -l)"
}

# Nobody has it open any more.
file_of_ended() { ! find "/proc/$GN_PID/fd" -lname "$OUT/$OWN_NAME-$1.jfr" 2>/dev/null | grep -q .; }

# One that there is no place for is recorded as soon as another one has ended.
in_turns() {
    local first

    JDK=$(jdk_newest) jvm_start -jar "$OWN_JAR" 2 0
    first=$JVM_PID
    mkdir "$T/turns"
    gnomon_start "$T/turns" --name "$OWN_NAME.jar" --max-processes 1
    jvm_start -jar "$OWN_JAR" 2 0
    until_true 60 file_has "$GN_ERR" 'more than 1 processes' || fail "the other JVM is not found"
    kill "$first"
    # it would be looked at once more after a minute, too
    until_true 40 test -f "$T/turns/$OWN_NAME-$JVM_PID.jfr" || fail "the other JVM is not recorded: $(cat "$GN_ERR")"
    gnomon_stop
    jvm_end
    assert_eq "files" 2 "$(find "$T/turns" -name '*.jfr' | wc -l)"
}

# A pattern for one process.
pattern() {
    timeout 120 "$GNOMON" record -q -p "$JVM_PID" -d 1s -o "$T/%c-%n-%p.jfr" 2>"$T/err" ||
        fail "exit code $?: $(cat "$T/err")"
    [ -s "$T/host-$OWN_NAME-$JVM_PID.jfr" ] || [ -n "$(ls "$T"/*-"$OWN_NAME-$JVM_PID".jfr)" ] ||
        fail "no file of that name"
}

# In a control group, by its path; here that of the test itself.
cgroup() {
    local path

    path=$(awk -F: '$1 == 0 { print $3 }' "/proc/$JVM_PID/cgroup")
    [ "$path" = / ] && path=$(awk -F: '$3 != "/" { print $3; exit }' "/proc/$JVM_PID/cgroup")
    if [ -z "$path" ]; then # none but the root
        . "$LIB_DIR/cgroup.sh"
        group_make
        group_enter "$JVM_PID"
        path=/docker/$GROUP_ID
    fi
    mkdir "$T/cgroup"
    timeout 120 "$GNOMON" record -q --cgroup "$path" -d 1s -o "$T/cgroup" 2>"$T/err" ||
        fail "exit code $?: $(cat "$T/err")"
    [ -s "$T/cgroup/$OWN_NAME-$JVM_PID.jfr" ] || fail "no file of the JVM"
}

# Nothing to record yet is no error where JVMs are waited for: in a PID namespace of its own, which has none until one
# is started there.
nobody_yet() {
    local inner

    mkdir "$T/nobody"
    emptied "$T/err"
    # shellcheck disable=SC2016
    unshare --pid --fork --mount --mount-proc --kill-child bash -c '"$0" record --all-jvms -o "$1"; echo $? >"$2"' \
        "$GNOMON" "$T/nobody" "$T/nobody.rc" </dev/null >"$T/out.txt" 2>"$T/err" &
    CHILDREN+=("$!")
    until_true 60 file_has "$T/err" 'no JVM yet: waiting for one' || fail "it does not say that it waits: $(cat "$T/err")"
    inner=$(pgrep -P $!)
    jvm_pipes
    nsenter -t "$inner" --pid --mount "$(jdk_newest)/bin/java" -jar "$OWN_JAR" 2 0 <"$JVM_IN" >"$JVM_OUT" 2>"$JVM_ERR" {JVM_FD}>&- &
    CHILDREN+=("$!")
    jvm_ready "the first JVM"
    until_true 60 the_first || fail "the first JVM is not recorded: $(cat "$T/err")"
    pkill -INT -P "$inner" -x gnomon
    until_true 60 test -s "$T/nobody.rc" || fail "gnomon does not end"
    assert_eq "exit code" 0 "$(cat "$T/nobody.rc")" "$(cat "$T/err")"
    assert_match "the summary" 'recorded [0-9.]+ s of 1 process' "$T/err"
    jfr_readable "$(compgen -G "$T/nobody/*.jfr")" # its process 1 has ended, and the JVM with it
}
the_first() { [ -n "$(find "$T/nobody" -name "$OWN_NAME-*.jfr" -size +0)" ]; }

own_jar Idle
fleet
in_turns
JDK=$(jdk_newest) jvm_start -jar "$OWN_JAR" 2 0
pattern
cgroup
nobody_yet
