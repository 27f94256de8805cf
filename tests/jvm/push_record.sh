#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is recorded is sent while it is recorded: `record --push` and the daemon's `push`. A server has what the file has,
# to the nanosecond; one that hangs is nothing to the other, nor to the recording, and has it from the spool later.
# in make check-all
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
. "$(dirname "$0")/push.sh"
need_root
need_gnomon push

REC=$T/recordings
SOCK=$T/run/gnomon.sock

# sums SERVER: of each kind, in ns
sums() {
    taken "$1" 'import collections
c = collections.Counter()
for t in ALL: c[t["labels"]["__name__"]] += t["total"][0]
print(*(f"{k}={v}" for k, v in sorted(c.items())))'
}
services() { taken "$1" 'print(*sorted({t["labels"]["service_name"] for t in ALL}))'; }
# windows SERVER SECONDS: of how many windows of the clock there is something
windows() { taken "$1" "print(len({t['time'] // ($2 * 10**9) for t in ALL}))"; }

# as_in SERVER RECORDING: what it took is what is sent of the recording at once
as_in() {
    push_server "$1-whole"
    pushed "$2" --to "$URL"
    assert_eq "what '$1' took, of what is in the recording" "$(sums "$1-whole")" "$(sums "$1")"
    [[ $(sums "$1") == *process_cpu=[1-9]* && $(sums "$1") == *wall=[1-9]* ]] || fail "there is too little: $(sums "$1")"
    assert_eq "what '$1' refused" 0 "$(lines "$1" refused)"
}

two_servers() {
    local to

    push_server hung
    mode hung hang
    to=$URL
    push_server live
    "$GNOMON" record "$PID" -d 5 --push "$to" --push "pyroscope+$URL" --push-window 2s --spool "$T/spool" --timeout 1s --finish 2s \
        -o "$T/live.jfr" >"$T/out" 2>&1
    assert_eq "exit code where a server took nothing" 6 $? "$(cat "$T/out")"
    assert_match "what it says" "not taken by $to.* kept in the spool; the recording is whole" "$T/out"
    assert_match "what it says" "sent  .* to $URL" "$T/out"
    jfr_readable "$T/live.jfr"
    as_in live "$T/live.jfr"
    assert_eq "service_name" "$OWN_NAME" "$(services live)"
    # who names may be seconds behind on a busy machine: then the first windows are empty, and the last has it all
    strict assert_ge "windows" 2 "$(windows live 2)"
    push_server late
    run_push --spool "$T/spool/pyroscope-localhost_${to##*:}" --to "$URL"
    assert_eq "exit code of what is sent from the spool" 0 $RC "$(cat "$T/out")"
    assert_eq "what was in the spool" "$(sums live)" "$(sums late)"
}

# Naming in a process without rights, and no server: it waits for none, and leaves nothing.
nobody() {
    "$GNOMON" record "$PID" -d 2 --isolate --push http://localhost:1 --finish 0s -o "$T/nobody.jfr" >"$T/out" 2>&1
    assert_eq "exit code without a server" 6 $? "$(cat "$T/out")"
    assert_match "what it says" "not taken by http://localhost:1: .* given up; the recording is whole" "$T/out"
    jfr_readable "$T/nobody.jfr"
    push_server isolated
    "$GNOMON" record "$PID" -d 3 -q --isolate --push "$URL" --push-window 1s -o "$T/isolated.jfr" >"$T/out" 2>&1 ||
        fail "record --isolate --push: $(cat "$T/out")"
    assert_empty "what it says when quiet" "$T/out"
    as_in isolated "$T/isolated.jfr"
}

# Several JVMs, a file each, as in the five commands of gnomon-push(1).
several() {
    push_server several
    mkdir "$T/fleet"
    "$GNOMON" record --name "$OWN_NAME*" -d 3 -q -o "$T/fleet/" --push "$URL" --push-window 1s >"$T/out" 2>&1 ||
        fail "record of several: $(cat "$T/out")"
    as_in several "$(compgen -G "$T/fleet/*.jfr")"
}

figure() { ask status --metrics 2>/dev/null | awk -v name="$1{to=\"$URL\"" 'index($0, name) == 1 { print $NF; exit }'; }
sent() { [ "$(figure gnomon_push_sent_total)" -ge "$1" ] 2>/dev/null; }

daemon() {
    push_server daemon
    printf '%s\n' "directory = $REC" "socket = $SOCK" "min-free = 0" "record = no" "push = $URL" "push-window = 2s" \
        "label = env=test" "label = k8s_namespace_name=" "relabel = k8s_pod_name=pod" "[mine]" "name = $OWN_NAME.jar" >"$T/gnomon.conf"
    daemon_run
    until_true 120 sent 6 || fail "it sends nothing: $(cat "$T/daemon.err") $(ask status 2>&1)"
    ask status >"$T/out" || fail "status"
    assert_match "its status" "push     '$URL': .* profiles, .* sent" "$T/out"
    ask status --json | python3 -c '
import json, sys
p = json.load(sys.stdin)["push"]
(t,) = p["to"]
assert p["windows"] >= 2 and p["unread"] == 0 and t["made"] >= t["sent"] >= 6 and t["sent_bytes"] > 0, p
assert t["request_ns"] > 0 and not any(t["refused"].values()), p' || fail "status --json: $(ask status --json)"
    daemon_stop
    as_in daemon "$(compgen -G "$REC/$OWN_NAME-*-$PID-*T*Z")"
    assert_eq "labels that the configuration sets, renames and drops" "env=test pod=p-1" "$(taken daemon \
        'print(*sorted({f"{k}={v}" for t in ALL for k, v in t["labels"].items() if k[:3] in ("env", "pod", "k8s")}))')"
    compgen -G "$REC/.push/*/*.payload" >"$T/out"
    assert_empty "the spool" "$T/out"
}

misuse() {
    "$GNOMON" record "$PID" -d 1 --push nowhere -o "$T/none.jfr" >"$T/out" 2>&1
    assert_eq "exit code of a URL that is none" 2 $?
    "$GNOMON" record "$PID" -d 1 --push http://localhost:1 --push http://localhost:1/ -o "$T/none.jfr" >"$T/out" 2>&1
    assert_eq "exit code of one that is given twice" 2 $?
    "$GNOMON" record "$PID" -d 1 --push http://localhost:1 --label =x -o "$T/none.jfr" >"$T/out" 2>&1
    assert_eq "exit code of a label that is none" 2 $?
    [ ! -e "$T/none.jfr" ] || fail "it has recorded"
}

own_jar Idle
JVM_OPTS="-Xshare:auto -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m"
JDK=$(jdk_newest)
OTEL_RESOURCE_ATTRIBUTES=k8s.pod.name=p-1,k8s.namespace.name=n jvm_start -jar "$OWN_JAR" 2 1 30
PID=$JVM_PID
misuse
two_servers
nobody
several
daemon
jvm_unharmed
note "record --push to two servers, one of which hangs; isolated; from the spool; the daemon"
