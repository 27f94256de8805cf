#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gnomon itself in a container: with the host's PID namespace, and with one of its own, where it
# records what it can see there, by the numbers processes have there, and says of others what to do.
# And under bubblewrap, where the JVM is not process 1 and there is no runtime that left a trace.
# in make check-all
# overlaps (long)
. "$(dirname "$0")/lib.sh"

# refused WHAT COMMAND...: COMMAND runs "$GNOMON" record in the end.
refused() {
    local what=$1 rc

    shift
    timeout 300 "$@" >"$T/out.txt" 2>"$T/err"
    rc=$?
    assert_eq "$what: exit code" 4 $rc "$(cat "$T/err")"
    assert_match "$what: the message" 'gnomon: .*PID namespace' "$T/err"
    assert_match "$what: the remedy" '--pid=host' "$T/err"
    [ -e "$T/x.jfr" ] && fail "$what: a file was left"
    note "$what: $(head -n 1 "$T/err")"
}

# What cannot be had from a namespace of its own is refused in words.
own_refusals() {
    # every pid of that /proc would be taken for one of ours
    refused "the host's /proc in a namespace of its own" unshare --pid --fork \
        "$GNOMON" record -p "$JVM_PID" -d 1s -o "$T/x.jfr"
    timeout 300 unshare --pid --fork --mount-proc \
        "$GNOMON" record -p "$JVM_PID" -d 1s -o "$T/x.jfr" 2>"$T/err"
    assert_eq "exit code for a JVM outside" 3 $? "$(cat "$T/err")"
    assert_match "the message" "^gnomon: no such process: '$JVM_PID'" "$T/err"
    assert_match "the remedy" '--pid=host' "$T/err"
    [ -e "$T/x.jfr" ] && fail "a file was left"
    jvm_unharmed
}

# inside FILE: what runs as process 1 of a namespace (or of one in it): a JVM beside gnomon, one in
# a namespace below, and one that gnomon starts. Nothing of it may look like the host's numbers.
cat >"$T/inside" <<'EOF'
set -u
cd "$1"
beside() { # NAME COMMAND...
    local name=$1

    shift
    mkfifo "$name.in"
    "$@" "$JDK/bin/java" -Xmx64m -cp "$CLASSES" Idle 3 1 30 <"$name.in" >"$name.out" 2>&1 &
    exec {fd}>"$name.in" # held open by this shell
    for _ in {1..4000}; do grep -q '^READY' "$name.out" && return; sleep 0.05; done
    echo "not ready: $(cat "$name.out")"
    exit 1
}
record() { "$GNOMON" record -q "$@" || { echo "record $*: exit code $?"; exit 1; }; }

beside here env
here=$!
beside below unshare --pid --fork --mount-proc --kill-child
below=$(cut -d' ' -f1 "/proc/$!/task/$!/children")
echo "$here $below" >pids
# two at a time
record -p "$here" -d 2s -o here.jfr & also=$!
record -p "$below" -d 2s --jvm agent -o below.jfr
wait $also || exit 1
record -p "$below" -d 2s -t 'busy-*' -o threads.jfr & also=$!
record -p "$here" -d 2s --jvm agent --cpu-engine cpu --wall-engine scan -o scan.jfr
wait $also || exit 1
mkdir all
record --all-jvms -d 2s -o all
echo go | record -o launched.jfr -- "$JDK/bin/java" -cp "$CLASSES" Split 2 1000 >launched.out
kill "$here" "$below"
kill -KILL "$below"
wait
EOF

# inside_holds FILE PID: the busy thread's time, named, and the threads' own names and numbers.
inside_holds() {
    local f=$1 all named

    jfr_readable "$f"
    all=$(weight "$f" $CPU_EVENT thread=busy-thread-number-1)
    named=$(weight "$f" $CPU_EVENT thread=busy-thread-number-1 'frame=Harness\.(crunch|burn|cpu)')
    assert_ge "$f: ms of the busy thread" 1500 "$(thread_ms "$f" busy-thread-number-1)"
    # there are few, of which one may be without
    assert_ge "$f: percent named, with one more" 95 "$(calc "100 * ($named + 1) / $all")"
    jfr_print "$f" jdk.JVMInformation >"$T/info"
    assert_match "$f: the JVM" "pid = $2\$" "$T/info"
    note "$(basename "$f"): $all CPU samples, $(calc "100 * $named / $all")% named"
}

own_namespace() {
    local dir=$T/own here below

    rm -rf "$dir"
    mkdir "$dir"
    JDK=$JDK CLASSES=$CLASSES GNOMON=$GNOMON timeout 400 "$@" \
        unshare --pid --fork --mount-proc --kill-child bash "$T/inside" "$dir" >"$T/inside.out" 2>&1 ||
        fail "exit code $?: $(cat "$T/inside.out")"
    read -r here below <"$dir/pids"
    inside_holds "$dir/here.jfr" "$here"
    inside_holds "$dir/below.jfr" "$below"
    inside_holds "$dir/all/Idle-$here.jfr" "$here"
    inside_holds "$dir/all/Idle-$below.jfr" "$below"
    inside_holds "$dir/threads.jfr" "$below"
    # by per-CPU clocks, so that a thread that was not found at its wall ticks would show
    assert_ge "wall samples of an idle thread, by scans" 80 \
        "$(weight "$dir/scan.jfr" $WALL_EVENT thread=idle-thread-number-1 'frame=Harness\.await')"
    assert_ge "wall samples of an idle thread" 80 \
        "$(weight "$dir/below.jfr" $WALL_EVENT thread=idle-thread-number-1 'frame=Harness\.await')"
    assert_eq "samples of other threads than those asked for" 0 \
        "$(weight "$dir/threads.jfr" $WALL_EVENT thread=idle-thread-number-1)"
    assert_ge "ms of the launched one's workers" 1800 \
        "$(thread_ms "$dir/launched.jfr" 'split-worker-.*')"
}

# As a privileged container with hostPID: other mounts, network, names and control groups.
sidecar() {
    timeout 120 unshare --mount --net --uts --ipc --cgroup \
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
    emptied "$T/bubble.out"
    bwrap --unshare-user --unshare-pid --unshare-net --unshare-ipc --uid 4242 --gid 4242 \
        --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp \
        --ro-bind "$OWN_JAR" "/tmp/$OWN_NAME.jar" --ro-bind "$CLASSES" "$CLASSES" \
        --die-with-parent "$JDK/bin/java" -Xmx64m -jar "/tmp/$OWN_NAME.jar" 3 1 \
        <"$T/bubble.in" >"$T/bubble.out" 2>"$T/bubble.err" {BUBBLE_FD}>&- &
    CHILDREN+=("$!")
    JVM_OUT=$T/bubble.out
    JVM_ERR=$T/bubble.err
    jvm_ready bwrap
    mkdir "$T/bubbles"
    timeout 120 "$GNOMON" record --name "$OWN_NAME.jar" --jvm agent -d 2s -o "$T/bubbles" 2>"$T/err" ||
        fail "exit code $?: $(cat "$T/err")"
    JVM_PID=$(cd "$T/bubbles" && ls | sed 's/.*-\([0-9]*\)\.jfr/\1/')
    assert_eq "its pid inside" 2 "$(awk '/^NSpid:/ { print $3 }' "/proc/$JVM_PID/status")"
    assert_ge "percent named" 95 "$(calc "100 * \
        $(weight "$T/bubbles/$OWN_NAME-$JVM_PID.jfr" $CPU_EVENT thread=busy-thread-number-1 \
            'frame=Harness\.(crunch|burn|cpu)') / \
        $(weight "$T/bubbles/$OWN_NAME-$JVM_PID.jfr" $CPU_EVENT thread=busy-thread-number-1)")"
    jvm_unharmed
    echo end >&"$BUBBLE_FD"
    exec {BUBBLE_FD}>&-
    pid_gone "$JVM_PID" 60 || fail "it does not end"
}

need_root
need_cmd bwrap
need_gnomon record
JDK=$(jdk_oldest)
jvm_start Idle 3 1
own_refusals
sidecar
jvm_end
own_jar Idle
for_any_jdk bubble
some_of 1 eval 'JDK=$(jdk_newest) own_namespace' \
    'JDK=$(jdk_oldest) own_namespace unshare --pid --fork --mount-proc --kill-child' # a namespace within a namespace
