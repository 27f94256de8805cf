# SPDX-License-Identifier: Apache-2.0
# Sourced behind lib.sh by tests that need a control group: docker/ID, as Docker's containers have one, on hosts with
# version 1 and with version 2. GROUP_INNER: processes are in a group below it, docker/ID/inner.

GROUP_ID=$(printf '%064x' "$$")
GROUP_INNER=
GROUPS_MADE=()

# Processes first, or the groups are busy.
groups_end() {
    local p g

    for g in "${GROUPS_MADE[@]}"; do
        [ -e "$g/freezer.state" ] && echo THAWED >"$g/freezer.state"
        [ -e "$g/cgroup.freeze" ] && echo 0 >"$g/cgroup.freeze"
    done
    for p in "${CHILDREN[@]}"; do ! is_ours "$p" || kill -KILL "$p"; done
    wait 2>/dev/null
    for g in "${GROUPS_MADE[@]}"; do
        [ -z "$GROUP_INNER" ] || until_true 60 rmdir "$g$GROUP_INNER" 2>/dev/null
        until_true 60 rmdir "$g" 2>/dev/null
        rmdir "${g%/*}" 2>/dev/null # docker/, unless a real one lives in it
    done
}
trap 'rc=$?; groups_end; (exit $rc); cleanup' EXIT

# group_mount CONTROLLER: where version 1 has it
group_mount() { awk -v c="$1" '$3 == "cgroup" && ("," $4 ",") ~ "," c "," { print $2; exit }' /proc/mounts; }

# group_below MOUNT: MOUNT/docker/ID. Other tests remove docker/ when it is empty.
group_below() {
    until_true 60 group_try "$1" || skip "'$1' cannot be written"
    GROUPS_MADE+=("$1/docker/$GROUP_ID")
    [ -z "$GROUP_INNER" ] || mkdir "$1/docker/$GROUP_ID$GROUP_INNER" || fail "no group below '$1/docker/$GROUP_ID'"
}
group_try() {
    mkdir -p "$1/docker" || return
    [ -f "$1/cgroup.controllers" ] && {
        echo "+cpu +memory" >"$1/cgroup.subtree_control"
        echo "+cpu +memory" >"$1/docker/cgroup.subtree_control"
    }
    mkdir "$1/docker/$GROUP_ID"
} 2>/dev/null

# Sets GROUP_CPU, GROUP_ACCOUNTING, GROUP_MEMORY, GROUP_FREEZER: its directory of each controller; GROUP_V: 1 or 2.
group_make() {
    local c m

    GROUP_V=2
    [ -z "$(group_mount cpu)" ] || GROUP_V=1
    if [ $GROUP_V = 2 ]; then
        group_below "$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)"
        GROUP_CPU=${GROUPS_MADE[0]} GROUP_ACCOUNTING=$GROUP_CPU GROUP_MEMORY=$GROUP_CPU GROUP_FREEZER=$GROUP_CPU
        return
    fi
    for c in cpu cpuacct memory freezer; do
        m=$(group_mount "$c")
        [ -n "$m" ] || skip "no cgroup controller '$c'"
        [ -d "$m/docker/$GROUP_ID" ] || group_below "$m"
    done
    GROUP_CPU=$(group_mount cpu)/docker/$GROUP_ID
    GROUP_ACCOUNTING=$(group_mount cpuacct)/docker/$GROUP_ID
    GROUP_MEMORY=$(group_mount memory)/docker/$GROUP_ID
    GROUP_FREEZER=$(group_mount freezer)/docker/$GROUP_ID
}

# group_limits QUOTA_US BYTES: of each 100 ms, and of memory
group_limits() {
    if [ $GROUP_V = 2 ]; then
        echo "$1 100000" >"$GROUP_CPU/cpu.max" || skip "no cpu controller"
        echo "$2" >"$GROUP_MEMORY/memory.max" || skip "no memory controller"
        return
    fi
    echo 100000 >"$GROUP_CPU/cpu.cfs_period_us"
    echo "$1" >"$GROUP_CPU/cpu.cfs_quota_us"
    echo "$2" >"$GROUP_MEMORY/memory.limit_in_bytes"
}

# group_enter PID
group_enter() {
    local g

    for g in "${GROUPS_MADE[@]}"; do echo "$1" >"$g$GROUP_INNER/cgroup.procs" || fail "process $1 is not let in"; done
}

group_freeze() {
    if [ $GROUP_V = 2 ]; then
        echo 1 >"$GROUP_FREEZER/cgroup.freeze"
        until_true 60 file_has "$GROUP_FREEZER/cgroup.events" "frozen 1"
    else
        echo FROZEN >"$GROUP_FREEZER/freezer.state"
        until_true 60 file_has "$GROUP_FREEZER/freezer.state" FROZEN
    fi
}
group_thaw() {
    if [ $GROUP_V = 2 ]; then echo 0 >"$GROUP_FREEZER/cgroup.freeze"; else echo THAWED >"$GROUP_FREEZER/freezer.state"; fi
}

# flat FILE NAME
flat() { awk -v n="$2" '$1 == n { print $2 }' "$1"; }

# group_figures: "NAME NUMBER" a line, of the kernel's files: CPU time of the processes' group, the rest of that with
# the limits. In ns and bytes.
group_figures() {
    if [ $GROUP_V = 2 ]; then
        echo cpu $(($(flat "$GROUP_ACCOUNTING$GROUP_INNER/cpu.stat" usage_usec) * 1000))
        echo throttled $(($(flat "$GROUP_CPU/cpu.stat" throttled_usec) * 1000))
        echo memory "$(cat "$GROUP_MEMORY/memory.current")"
        echo hits "$(flat "$GROUP_MEMORY/memory.events" max)"
    else
        echo cpu "$(cat "$GROUP_ACCOUNTING$GROUP_INNER/cpuacct.usage")"
        echo throttled "$(flat "$GROUP_CPU/cpu.stat" throttled_time)"
        echo memory "$(cat "$GROUP_MEMORY/memory.usage_in_bytes")"
        echo hits "$(cat "$GROUP_MEMORY/memory.failcnt")"
        echo killed "$(flat "$GROUP_MEMORY$GROUP_INNER/memory.oom_control" oom_kill)"
    fi
    # version 2 does not count in a group without the controller what it counts in the one above
    [ $GROUP_V = 1 ] || echo killed "$(flat "$GROUP_MEMORY/memory.events" oom_kill)"
    echo slices "$(flat "$GROUP_CPU/cpu.stat" nr_throttled)"
    echo periods "$(flat "$GROUP_CPU/cpu.stat" nr_periods)"
}
