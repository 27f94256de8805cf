# SPDX-License-Identifier: Apache-2.0
# Sourced by agent_*.sh behind lib.sh: the probe (agent_probe.c).

PROBE=$BUILD/tests/jvm/agent_probe

# probe ARGS...: must succeed; its output is in $T/probe.out.
probe() {
    timeout 300 "$PROBE" "$@" >"$T/probe.out" 2>"$T/probe.err" ||
        fail "agent_probe $*: rc $?: $(cat "$T/probe.err")"
    assert_empty "the probe's stderr" "$T/probe.err"
}

# probe_fails RC PATTERN ARGS...: must fail so, within a minute, with a message that matches.
probe_fails() {
    local rc want=$1 pattern=$2

    shift 2
    timeout 60 "$PROBE" "$@" >"$T/probe.out" 2>"$T/probe.err"
    rc=$?
    assert_eq "exit code of agent_probe $*" "$want" $rc "$(cat "$T/probe.err")"
    assert_match "the message" "$pattern" "$T/probe.err"
}

# nothing_left [TMP]: no file of ours for JVM_PID in TMP, or in /tmp for any of this test's processes: other
# tests run beside, and TMP may be everybody's. Files go by the number that the JVM has for itself.
nothing_left() {
    local f p found=()

    if [ $# -gt 0 ]; then
        p=$(awk '/^NSpid:/ { print $NF }' "/proc/$JVM_PID/status")
        found=("$1/.gnomon-agent-$p-"* "$1/.attach_pid$p")
    else
        for p in "${CHILDREN[@]}"; do found+=("/tmp/.gnomon-agent-$p-"* "/tmp/.attach_pid$p"); done
    fi
    for f in "${found[@]}"; do
        [ -e "$f" ] && fail "'$f' is left behind"
    done
    return 0
}
