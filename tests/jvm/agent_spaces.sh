#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# JVMs in namespaces of their own, of other users, with an awkward or hostile /tmp.
# overlaps (long)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/agent.sh"

# jvm_in COMMAND...: a JVM started through COMMAND (which execs "$@" in the end); JVM_PID is its
# pid here.
jvm_in() {
    jvm_pipes
    "$@" "$JDK/bin/java" -Xmx64m -cp "$SEEN" AgentLoad plain \
        <"$JVM_IN" >"$JVM_OUT" 2>"$JVM_ERR" {JVM_FD}>&- &
    CHILDREN+=("$!")
    jvm_ready "$1"
    until_true 60 java_below "$!" || fail "$1: its pid is not found"
    CHILDREN+=("$JVM_PID")
}

# java_below PID: sets JVM_PID to the process that is java itself, this one or what it started.
java_below() {
    local p=$1 name

    while [ -n "$p" ] && read -r name <"/proc/$p/comm"; do
        JVM_PID=$p
        [ "$name" != java ] || return 0
        p=$(cat "/proc/$p/task/$p/children")
        p=${p%% *}
    done
    return 1
} 2>/dev/null

attached() {
    probe names "$JVM_PID" 100
    assert_match "the probe's output" 'AgentLoad\.burn\(I\)V' "$T/probe.out"
    assert_match "threads" '^thread [0-9]+ a-busy-thread-with-a-long-name$' "$T/probe.out"
    assert_match "the probe's output" '^stats .* lost=0 bad=0 .*complete=1' "$T/probe.out"
    nothing_left "/proc/$JVM_PID/root/tmp"
    nothing_left "/proc/$JVM_PID/root/var/tmp"
    nothing_left "/proc/$JVM_PID/root/dev/shm"
    jvm_unharmed
}

# space FLAGS-OF-unshare SHELL-COMMANDS: what runs inside first.
SPACE='set -e; c=$1; shift; eval "$c"; exec "$@"'

pid_one() {
    jvm_in unshare --pid --fork --mount --mount-proc --kill-child \
        sh -c "$SPACE" - 'mount -t tmpfs tmpfs /tmp'
    assert_match "its own pid" '^READY 1$' "$JVM_OUT"
    attached
    jvm_end
}

other_user() {
    jvm_in setpriv --reuid=1234 --regid=1234 --clear-groups
    attached
    jvm_end
}

user_space() {
    setpriv --reuid=1234 --regid=1234 --clear-groups unshare --user true 2>/dev/null ||
        { part_skipped "user namespaces are forbidden here"; return; }
    jvm_in setpriv --reuid=1234 --regid=1234 --clear-groups unshare --user --map-root-user --pid \
        --fork --mount --mount-proc --kill-child sh -c "$SPACE" - 'mount -t tmpfs tmpfs /tmp'
    attached
    jvm_end
}

no_network() {
    jvm_in unshare --net
    attached
    jvm_end
}

noexec_tmp() {
    jvm_in unshare --mount sh -c "$SPACE" - 'mount -t tmpfs -o noexec tmpfs /tmp'
    attached
    jvm_end
}

read_only() {
    jvm_in unshare --mount sh -c "$SPACE" - \
        'mount --bind / /; mount -t tmpfs tmpfs /tmp; mount -o remount,bind,ro /'
    attached
    jvm_end
}

# Nowhere to put the library: a clear word.
nowhere() {
    jvm_in unshare --mount sh -c "$SPACE" - 'mount -t tmpfs -o noexec tmpfs /tmp
        for d in /var/tmp /dev/shm /run; do mount -t tmpfs -o noexec tmpfs $d; done
        exec setpriv --reuid=1234 --regid=1234 --clear-groups "$@"'
    probe_fails 3 'no directory of process .* can hold the agent' names "$JVM_PID" 100
    jvm_unharmed
    jvm_end
}

# /tmp is not to be written to: no listener can come up, and no dump must.
tmp_read_only() {
    jvm_in unshare --mount sh -c "$SPACE" - 'mount -t tmpfs -o ro tmpfs /tmp'
    probe_fails 3 '/tmp' names "$JVM_PID" 100
    nap 0.3
    file_has "$JVM_OUT" 'Full thread dump' && fail "the JVM has dumped its threads"
    jvm_unharmed
    jvm_end
}

# Two JVMs, each pid 1 for itself, one user, one /tmp: the right one or none.
shared_tmp() {
    local first

    mkdir -m 1777 "$T/shared$JVM_N"
    jvm_in unshare --pid --fork --mount --mount-proc --kill-child \
        sh -c "$SPACE" - "mount --bind $T/shared$JVM_N /tmp"
    first=$JVM_PID
    jvm_in unshare --pid --fork --mount --mount-proc --kill-child \
        sh -c "$SPACE" - "mount --bind $T/shared$((JVM_N - 1)) /tmp"
    probe names "$first" 100
    probe_fails 3 "is another process's" names "$JVM_PID" 100
    probe names "$first" 100
    jvm_unharmed
    kill "$first"
    jvm_end
}

# What a hostile container may have put in the way; none of it may be followed or waited for.
traps() {
    jvm_in unshare --pid --fork --mount --mount-proc --kill-child \
        sh -c "$SPACE" - 'mount -t tmpfs tmpfs /tmp
        ln -s /etc/passwd /tmp/.attach_pid1; mkdir -p /tmp/hsperfdata_x; mkfifo /tmp/hsperfdata_x/1'
    # a JVM removes what is in its place when it starts
    mkfifo "/proc/$JVM_PID/root/tmp/.java_pid1"
    probe_fails 3 'is no socket' names "$JVM_PID" 100
    rm "/proc/$JVM_PID/root/tmp/.java_pid1"
    probe_fails 3 'cannot create' names "$JVM_PID" 100
    rm "/proc/$JVM_PID/root/tmp/.attach_pid1"
    attached
    jvm_end
}

# Listening from the start, since no signal would be taken.
reduced_signals() {
    jvm_in env JAVA_TOOL_OPTIONS=-Xrs
    attached
    jvm_end
}

# The JVM makes its socket anew (JDK 17 on); and what a killed JVM of this number left is in the way.
no_socket() {
    jvm_in unshare --mount sh -c "$SPACE" - 'mount -t tmpfs tmpfs /tmp'
    attached
    rm "/proc/$JVM_PID/root/tmp/.java_pid$JVM_PID"
    attached
    jvm_end
}

# As pid 1 in a container that was started again on the same /tmp.
stale_socket() {
    mkdir -m 1777 "$T/stale$JVM_N"
    local tmp=$T/stale$JVM_N

    jvm_in unshare --pid --fork --mount --mount-proc --kill-child \
        sh -c "$SPACE" - "mount --bind $tmp /tmp"
    attached
    kill -KILL "$JVM_PID"
    pid_gone "$JVM_PID" 10
    [ -S "$tmp/.java_pid1" ] || fail "no socket was left"
    jvm_in unshare --pid --fork --mount --mount-proc --kill-child \
        sh -c "$SPACE" - "mount --bind $tmp /tmp"
    attached
    jvm_end
}

need_root
need_cmd unshare
need_cmd setpriv
built "$PROBE"
classes_seen
# Where the JVM has a part in it, on each JDK; where it is the kernel's and ours, on one after the other.
for t in ${CASES:-pid_one other_user user_space no_network noexec_tmp read_only nowhere \
    tmp_read_only shared_tmp traps reduced_signals no_socket stale_socket}; do
    case $t in
    shared_tmp | traps | reduced_signals | no_socket | stale_socket) for_each_jdk $t ;;
    *) for_one_jdk $t ;;
    esac
done
