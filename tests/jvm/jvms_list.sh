#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gnomon jvms: every form of the command line, the facts, and the reasons against attaching, each
# against what the test itself knows of the JVM it started.
# overlaps (long)
. "$(dirname "$0")/lib.sh"

need_gnomon jvms

# field PID KEY: a value of the JSON listing, its quotes removed; nothing when the JVM is not there.
field() {
    awk -v pid="$1" -v key="$2" '
        /^  \{/ { in_it = 0 }
        $1 == "\"pid\":" { in_it = ($2 == pid ",") }
        in_it && $1 == "\"" key "\":" {
            sub(/^ *"[^"]*": /, ""); sub(/,$/, ""); gsub(/^"|"$/, ""); print; exit
        }' "$T/jvms.json"
}
list() { "$GNOMON" jvms --json >"$T/jvms.json" 2>"$T/jvms.err" || fail "jvms: exit code $?"; }
expect() { assert_eq "$2 of JVM $1 ($4)" "$3" "$(field "$1" "$2")"; }

# What the workloads take for a living parent: they end when their standard input does.
mkfifo "$T/hold"
exec {HOLD}<>"$T/hold"

# begin NAME COMMAND...: a JVM of Idle that was not started by jvm_start.
begin() {
    local out=$T/$1.out

    shift
    emptied "$out"
    "$@" <"$T/hold" >"$out" 2>&1 &
    PID=$!
    CHILDREN+=("$PID")
    until_true 120 file_has "$out" '^READY' || fail "not ready: $* ($(cat "$out"))"
}

facts() {
    JVM_OPTS=-Xmx64m jvm_start Idle 5 0
    list
    expect "$JVM_PID" main Idle "plain"
    expect "$JVM_PID" can_attach true "plain"
    expect "$JVM_PID" user "$(id -un)" "plain"
    expect "$JVM_PID" inner_pid "$JVM_PID" "plain"
    expect "$JVM_PID" jdk "$(sed -n 's/^JAVA_VERSION="\(.*\)"/\1/p' "$JDK/release")" "plain"
    assert_near "threads" "$(find "/proc/$JVM_PID/task" -mindepth 1 -maxdepth 1 | wc -l)" \
        "$(field "$JVM_PID" threads)" 2
    assert_ge "uptime in ms" 500 "$(field "$JVM_PID" uptime_ms)"
    "$GNOMON" jvms 2>"$T/err" >"$T/table" || fail "jvms: exit code $?"
    assert_match "the table" "^ *$JVM_PID  $(id -un) .* Idle .* yes\$" "$T/table"
    jvm_end
}

# The collector, whether it was asked for or the JVM's own choice: as the JDK's own tool says it.
collectors() {
    local option want

    for option in '' -XX:+UseSerialGC -XX:+UseParallelGC -XX:+UseG1GC -XX:+UseZGC; do
        JVM_OPTS="-Xmx64m $option" jvm_start Idle 1 0
        list
        want=$("$JDK/bin/jcmd" "$JVM_PID" VM.flags | grep -o '+Use[A-Za-z0-9]*GC' | head -n 1)
        [ -n "$want" ] || fail "jcmd says no collector"
        expect "$JVM_PID" gc "$(sed 's/^+Use//; s/GC$//' <<<"$want")" "with '$option'"
        jvm_end
    done
}

# The launcher's argument files and jars; the class path comes after them on purpose.
forms() {
    printf -- '-Xmx64m # comment\n-cp "%s"\nIdle 1 0\n' "$CLASSES" >"$T/args"
    emptied "$T/argfile.out"
    (cd "$T" && exec "$JDK/bin/java" @args <"$T/hold" >"$T/argfile.out" 2>&1) &
    CHILDREN+=($!)
    local argfile=$! jar

    until_true 120 file_has "$T/argfile.out" '^READY' || fail "argument file: $(cat "$T/argfile.out")"
    "$JDK/bin/jar" -c -f "$T/app-1.jar" -e Idle -C "$CLASSES" . || fail "jar"
    begin jar "$JDK/bin/java" -Xmx64m -jar "$T/app-1.jar" 1 0
    jar=$PID
    list
    expect "$argfile" main Idle "argument file"
    expect "$jar" main "$T/app-1.jar" "-jar"
    kill "$argfile" "$jar"
}

attachable() { list; [ "$(field "$1" can_attach)" = true ]; }

# refused PID WHY: what the listing says.
refused() {
    list
    expect "$1" can_attach false "$2"
    case $(field "$1" why_not) in *"$2"*) ;; *) fail "why: '$(field "$1" why_not)', not '$2'" ;; esac
}

reasons() {
    local j=("$JDK/bin/java" -Xmx64m)

    begin disabled "${j[@]}" -XX:+DisableAttachMechanism -cp "$CLASSES" Idle 1 0
    refused "$PID" DisableAttachMechanism
    kill "$PID"
    begin tool env JAVA_TOOL_OPTIONS=-XX:+DisableAttachMechanism "${j[@]}" -cp "$CLASSES" Idle 1 0
    refused "$PID" DisableAttachMechanism
    kill "$PID"
    # the last word is _JAVA_OPTIONS'
    begin last env _JAVA_OPTIONS=-XX:-DisableAttachMechanism \
        "${j[@]}" -XX:+DisableAttachMechanism -cp "$CLASSES" Idle 1 0
    until_true 60 attachable "$PID" || expect "$PID" can_attach true "_JAVA_OPTIONS"
    kill "$PID"
    # attaching looks into argument files, too
    echo "-XX:+DisableAttachMechanism" >"$T/no-attach"
    begin argfile "${j[@]}" "@$T/no-attach" -cp "$CLASSES" Idle 1 0
    refused "$PID" DisableAttachMechanism
    kill "$PID"
    begin rs "${j[@]}" -Xrs -cp "$CLASSES" Idle 1 0
    # its listener is started at the end of the start-up, by a thread of its own
    until_true 60 attachable "$PID" || expect "$PID" can_attach true "-Xrs"
    process_stop "$PID"
    refused "$PID" stopped
    kill -CONT "$PID"
    kill "$PID"
    if [ "$(jdk_version "$JDK")" -ge 21 ]; then
        begin noagent "${j[@]}" -XX:-EnableDynamicAgentLoading -cp "$CLASSES" Idle 1 0
        refused "$PID" EnableDynamicAgentLoading
        kill "$PID"
    fi
}

# An upgrade in place: the library is gone, the version has to come out of what is mapped.
replaced() {
    local home=$T/jre$(jdk_version "$JDK")

    [ "$(id -u)" = 0 ] || return 0
    # links to its files, but for those by which it finds the others
    cp -as "$JDK/." "$home" && cp --remove-destination "$JDK/bin/java" "$home/bin" &&
        cp --remove-destination "$JDK/lib/server/libjvm.so" "$home/lib/server" || fail "no copy of the JDK"
    begin replaced "$home/bin/java" -Xmx64m -cp "$CLASSES" Idle 1 0
    rm "$home/lib/server/libjvm.so"
    sed -i 's/^JAVA_VERSION=.*/JAVA_VERSION="99"/' "$home/release"
    list
    expect "$PID" jdk "$(sed -n 's/^JAVA_VERSION="\(.*\)"/\1/p' "$JDK/release")" "replaced"
    kill "$PID"
}

# A PID namespace of its own: the inner pid is 1, and it counts as a container.
inner() {
    [ "$(id -u)" = 0 ] && command -v unshare >/dev/null || return 0
    emptied "$T/inner.out"
    unshare --pid --fork --mount-proc "$JDK/bin/java" -Xmx64m -cp "$CLASSES" Idle 1 0 \
        <"$T/hold" >"$T/inner.out" 2>&1 &
    local outer=$! pid

    CHILDREN+=("$outer")
    until_true 120 file_has "$T/inner.out" '^READY' || fail "unshare: $(cat "$T/inner.out")"
    pid=$(cat "/proc/$outer/task/$outer/children")
    pid=${pid%% *}
    CHILDREN+=("$pid")
    list
    expect "$pid" inner_pid 1 "PID namespace"
    expect "$pid" jdk_build "$(sed -n 's/^JAVA_RUNTIME_VERSION="\(.*\)"/\1/p' "$JDK/release")" \
        "PID namespace"
    expect "$pid" runtime other "PID namespace" # its container's, of no known kind
    kill -KILL "$pid" # pid 1 ignores SIGTERM where it has no handler
}

# An ordinary user sees the own JVMs and is told that there may be others.
unprivileged() {
    local as=(setpriv --reuid 65534 --regid 65534 --clear-groups)

    [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || return 0
    install -m 755 "$GNOMON" "$T/gnomon"
    JVM_OPTS=-Xmx64m jvm_start Idle 1 0
    classes_seen
    begin nobody "${as[@]}" "$JDK/bin/java" -Xmx64m -cp "$SEEN" Idle 1 0
    list
    expect "$PID" uid 65534 "nobody's"
    "${as[@]}" "$T/gnomon" jvms --json >"$T/jvms.json" 2>"$T/jvms.err" || fail "exit code $?"
    expect "$PID" can_attach true "nobody's, seen by nobody"
    assert_eq "root's JVM, seen by nobody" "" "$(field "$JVM_PID" pid)"
    assert_match "the note" "could not be looked into" "$T/jvms.err"
    kill "$PID"
    jvm_end
}

classes
for_one_jdk facts
for_one_jdk collectors
for_any_jdk forms
for_any_jdk reasons
for_one_jdk replaced
for_any_jdk inner
JDK=$(jdk_newest)
unprivileged
