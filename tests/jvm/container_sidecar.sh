#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gnomon itself in a container: with the host's PID namespace it records; in one of its own, where
# BPF's numbers of processes mean others, it says so and what to do, and touches nothing. And under
# bubblewrap, where the JVM is not process 1 and there is no runtime that left a trace.
. "$(dirname "$0")/lib.sh"

# refused WHAT COMMAND...: COMMAND runs "$GNOMON" record in the end.
refused() {
    local what=$1 rc

    shift
    timeout 30 "$@" >"$T/out.txt" 2>"$T/err"
    rc=$?
    assert_eq "$what: exit code" 4 $rc "$(cat "$T/err")"
    assert_match "$what: the message" 'gnomon: .*PID namespace' "$T/err"
    assert_match "$what: the remedy" '--pid=host' "$T/err"
    [ -e "$T/x.jfr" ] && fail "$what: a file was left"
    note "$what: $(head -n 1 "$T/err")"
}

own_namespace() {
    refused "a namespace of its own" unshare --pid --fork --mount-proc \
        "$GNOMON" record --all-jvms -d 1s -o "$T"
    refused "a namespace of its own, a command" unshare --pid --fork --mount-proc \
        "$GNOMON" record -d 1s -o "$T/x.jfr" -- true
    # every pid of that /proc would be taken for one of ours
    refused "the host's /proc in a namespace of its own" unshare --pid --fork \
        "$GNOMON" record -p "$JVM_PID" -d 1s -o "$T/x.jfr"
    jvm_unharmed
}

# As a privileged container with hostPID: other mounts, network, names and control groups.
sidecar() {
    timeout 60 unshare --mount --net --uts --ipc --cgroup \
        "$GNOMON" record -q -p "$JVM_PID" -d 2s -o "$T/sidecar.jfr" 2>"$T/err" ||
        fail "in a container with the host's pids: exit code $?: $(cat "$T/err")"
    assert_ge "percent named" 95 "$(calc "100 * \
        $(weight "$T/sidecar.jfr" $CPU_EVENT thread=busy-thread-number-1 \
            'frame=Harness\.(crunch|burn|cpu)') / \
        $(weight "$T/sidecar.jfr" $CPU_EVENT thread=busy-thread-number-1)")"
    jvm_unharmed
}

bubble() {
    classes
    rm -f "$T/bubble.in"
    mkfifo "$T/bubble.in"
    rm -rf "$T/bubbles"
    exec {BUBBLE_FD}<>"$T/bubble.in"
    bwrap --unshare-user --unshare-pid --unshare-net --unshare-ipc --uid 4242 --gid 4242 \
        --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp --ro-bind "$CLASSES" /tmp/classes \
        --die-with-parent "$JDK/bin/java" -Xmx64m -cp /tmp/classes Idle 3 1 \
        <"$T/bubble.in" >"$T/bubble.out" 2>"$T/bubble.err" {BUBBLE_FD}>&- &
    CHILDREN+=("$!")
    until_true 30 file_has "$T/bubble.out" '^READY' || fail "bwrap: $(cat "$T/bubble.err")"
    JVM_OUT=$T/bubble.out
    JVM_ERR=$T/bubble.err
    mkdir "$T/bubbles"
    timeout 60 "$GNOMON" record --name Idle --jvm agent -d 2s -o "$T/bubbles" 2>"$T/err" ||
        fail "exit code $?: $(cat "$T/err")"
    for JVM_PID in $(cd "$T/bubbles" && ls | sed 's/.*-\([0-9]*\)\.jfr/\1/'); do
        [ "$(awk '/^NSpid:/ { print NF }' "/proc/$JVM_PID/status")" = 3 ] && break
    done
    assert_eq "its pid inside" 2 "$(awk '/^NSpid:/ { print $3 }' "/proc/$JVM_PID/status")"
    assert_ge "percent named" 95 "$(calc "100 * \
        $(weight "$T/bubbles/Idle-$JVM_PID.jfr" $CPU_EVENT thread=busy-thread-number-1 \
            'frame=Harness\.(crunch|burn|cpu)') / \
        $(weight "$T/bubbles/Idle-$JVM_PID.jfr" $CPU_EVENT thread=busy-thread-number-1)")"
    jvm_unharmed
    echo end >&"$BUBBLE_FD"
    exec {BUBBLE_FD}>&-
    pid_gone "$JVM_PID" 10 || fail "it does not end"
}

need_root
need_cmd bwrap
need_gnomon record
JDK=$(jdk_oldest)
jvm_start Idle 3 1
own_namespace
sidecar
jvm_end
for_each_jdk bubble
