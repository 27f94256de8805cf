#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With --isolate what parses a target is a process without rights, and the recording is the same.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

# status PID NAME: a line of its status.
status() { awk -v key="$2:" '$1 == key { $1 = ""; gsub(/^[ \t]+|\t/, " "); sub(/^ +/, ""); print }' "/proc/$1/status"; }

# named COMM: those of the recording's processes that are called so.
named() {
    local pid

    for pid in $(pgrep -x "$1"); do
        [ "$(cut -d' ' -f4 <"/proc/$pid/stat" 2>/dev/null)" = "$RECORDER" ] && echo "$pid"
    done
}

is_confined() {
    local pid

    pid=$(named gnomon-namer)
    [ -n "$pid" ] && [ "$(status "$pid" Seccomp)" = 2 ]
}

isolated() {
    local jfr=$T/isolated-$(jdk_version "$JDK").jfr RECORDER namer cpu busy

    jvm_start Idle 5 1
    "$GNOMON" record --isolate -p "$JVM_PID" -d 6s -o "$jfr" </dev/null >"$T/out" 2>"$T/err" &
    RECORDER=$!
    until_true 60 is_confined || fail "no process without rights that names: $(cat "$T/err")"
    namer=$(named gnomon-namer)
    assert_eq "its user" "65534 65534 65534 65534" "$(status "$namer" Uid)"
    assert_eq "its group" "65534 65534 65534 65534" "$(status "$namer" Gid)"
    assert_eq "its capabilities" 0000000000000000 "$(status "$namer" CapEff)"
    assert_eq "those it may get" 0000000000000000 "$(status "$namer" CapBnd)"
    assert_eq "no new privileges" 1 "$(status "$namer" NoNewPrivs)"
    wait "$RECORDER"
    assert_eq "exit code" 0 $? "$(cat "$T/err")"
    jvm_unharmed
    jvm_end
    [ ! -e "/proc/$namer" ] || fail "the process that names is still there"
    jfr_readable "$jfr"
    cpu=$(weight "$jfr" $CPU_EVENT thread=busy-thread-number-1)
    busy=$(weight "$jfr" $CPU_EVENT thread=busy-thread-number-1 'frame=Harness\.(crunch|burn|cpu)')
    assert_ge "CPU samples of the busy thread" 5 "$cpu"
    assert_ge "percent of them in its method" 95 "$(calc "100 * $busy / $cpu")"
}

# An agent is attached to by another process, and its files are opened by the broker's.
with_agent() {
    jvm_start Idle 5 1
    gnomon_start "$T/agent-$(jdk_version "$JDK").jfr" --isolate --jvm agent -p "$JVM_PID"
    cpu_spent 300
    gnomon_stop
    assert_match "summary" '^  names  *agent' "$GN_ERR"
    jvm_unharmed
    jvm_end
}

# Who has taken over a process that names is told of its own JVMs only.
asks() {
    local RECORDER namer other

    need_cmd python3
    jvm_start Idle 5 1
    other=$JVM_PID
    sleep 1000 &
    CHILDREN+=("$!")
    "$GNOMON" record --isolate -p "$other" -o "$T/asks-$(jdk_version "$JDK").jfr" </dev/null >"$T/out" 2>"$T/err" &
    RECORDER=$!
    until_true 60 is_confined || fail "no process without rights that names: $(cat "$T/err")"
    namer=$(named gnomon-namer)
    until_true 60 asked "$namer" "$other" "${CHILDREN[-1]}" || fail "no answer: $(cat "$T/asked")"
    assert_eq "those who are asked, after what is no question" "as before" "$(answer "after nonsense")"
    assert_eq "its own JVM's name" 0 "$(answer "own comm")"
    assert_eq "its own JVM's program" 0 "$(answer "own exe")"
    assert_eq "another's name" -1 "$(answer "other comm")"
    assert_eq "another's root" -1 "$(answer "other root")"
    assert_eq "another's program" -1 "$(answer "other exe")"
    assert_eq "another's program as its own's" -1 "$(answer "others exe as its own")"
    assert_ge "a file behind a link" 1 "$(answer detour | tr -d -)"
    assert_between "processes that attach to its JVM at once" 1 4 "$(answer "attaching at once")"
    kill -INT "$RECORDER"
    wait "$RECORDER"
    assert_eq "exit code" 0 $? "$(cat "$T/err")"
    jvm_end
}
asked() { python3 "$(dirname "$0")/namer_asks.py" "$@" >"$T/asked" 2>&1; }
answer() { sed -n "s/^$1 //p" "$T/asked"; }

for_one_jdk isolated
for_any_jdk asks
for_any_jdk with_agent
softly_end
