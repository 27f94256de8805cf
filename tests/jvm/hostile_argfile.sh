#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `java @FILE`: what FILE names is never opened, be it a file of root's, a FIFO or a device that keeps its
# reader waiting; what a real JVM was told in such a file, it tells.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/hostile.sh"

# in_time COMMAND...: ends by itself with exit code 0 and says nothing that is secret. Its output is in T/out.txt.
in_time() {
    timeout -s KILL 120 "$@" >"$T/out.txt" 2>"$T/err" </dev/null || fail "$1 $2: exit code $?: $(cat "$T/err")"
    ! grep -q "$SECRET" "$T/out.txt" "$T/err" || fail "$1 $2 tells the secret"
}

# lied FILE: a process whose command line names it
lied() {
    local out=$T/lied$ATTACK_N

    ARGV=(java "@$1")
    attack idle
    in_time "$GNOMON" jvms -w
    assert_match "what jvms shows" "^ *$ATTACKER .* @$1 " "$T/out.txt"
    in_time "$GNOMON" jvms --json
    in_time "$GNOMON" vitals "$ATTACKER" -n 1
    mkdir "$out"
    in_time "$GNOMON" record --name "@*${1##*/}" -d 1s -o "$out"
    assert_eq "files" 1 "$(find "$out" -type f -name "*-$ATTACKER.jfr" | wc -l)"
    ! find "$out" | grep -q "$SECRET" || fail "a file's name tells the secret"
    ! grep -rqa "$SECRET" "$out" || fail "a recording has the secret"
    note "@$1: $(basename "$out"/*)"
    attack_end
}

# told MAIN OPTION...: a JVM's own argument file, for its main class
told() {
    local want=$1

    shift
    printf -- '%s # comment\n-cp "%s" Idle 1 0\n' "$*" "$CLASSES" >"$T/args"
    jvm_pipes
    "$JDK/bin/java" "@$T/args" <"$JVM_IN" >"$JVM_OUT" 2>"$JVM_ERR" {JVM_FD}>&- &
    JVM_PID=$!
    CHILDREN+=("$JVM_PID")
    jvm_ready "Idle"
    in_time "$GNOMON" jvms -w
    assert_match "main class with '$*'" "^ *$JVM_PID .* $want " "$T/out.txt"
    jvm_end
}

mains() {
    told Idle -Xmx64m
    # neither its file nor its structures are needed for both
    told Idle -Xmx64m -XX:+PerfDisableSharedMem
    told "@$T/args" -Xmx64m -XX:-UsePerfData
}

attacker_build
SECRET=top-secret-$$
echo "$SECRET" >"$T/secret"
chmod 600 "$T/secret"
as_attacker mkfifo "$DEN/fifo"
lied "$T/secret"
lied /proc/kmsg
lied "$DEN/fifo"
lied /dev/zero
for_one_jdk mains
