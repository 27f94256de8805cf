#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gnomon jvms in a control group that looks like a Docker container's: its id, its CPU and memory
# limits, and that a frozen JVM is not attached to. Version 1 and version 2 hosts.
# overlaps
. "$(dirname "$0")/lib.sh"

need_root
need_gnomon jvms

ID=$(printf '%064x' "$$")
GROUPS_MADE=()

# Processes first, or the groups are busy.
groups_end() {
    local p

    for g in "${GROUPS_MADE[@]}"; do
        [ -e "$g/freezer.state" ] && echo THAWED >"$g/freezer.state"
        [ -e "$g/cgroup.freeze" ] && echo 0 >"$g/cgroup.freeze"
    done
    for p in "${CHILDREN[@]}"; do kill -KILL "$p" 2>/dev/null; done
    wait 2>/dev/null
    for g in "${GROUPS_MADE[@]}"; do
        until_true 60 rmdir "$g" 2>/dev/null
        rmdir "${g%/*}" 2>/dev/null # docker/, unless a real one lives in it
    done
}
trap 'rc=$?; groups_end; (exit $rc); cleanup' EXIT

# group MOUNT: make MOUNT/docker/ID. Other tests remove docker/ when it is empty.
group() {
    until_true 60 group_make "$1" || skip "'$1' cannot be written"
    GROUPS_MADE+=("$1/docker/$ID")
}
group_make() {
    mkdir -p "$1/docker" || return
    [ -f "$1/cgroup.controllers" ] && {
        echo "+cpu +memory" >"$1/cgroup.subtree_control"
        echo "+cpu +memory" >"$1/docker/cgroup.subtree_control"
    }
    mkdir "$1/docker/$ID"
} 2>/dev/null

mount_of() { awk -v c="$1" '$3 == "cgroup" && ("," $4 ",") ~ "," c "," { print $2; exit }' /proc/mounts; }

if [ -n "$(mount_of cpu)" ]; then
    for c in cpu memory freezer; do
        m=$(mount_of "$c")
        [ -n "$m" ] || skip "no cgroup controller '$c'"
        [ -d "$m/docker/$ID" ] || group "$m"
    done
    echo 100000 >"$(mount_of cpu)/docker/$ID/cpu.cfs_period_us"
    echo 50000 >"$(mount_of cpu)/docker/$ID/cpu.cfs_quota_us"
    echo $((512 << 20)) >"$(mount_of memory)/docker/$ID/memory.limit_in_bytes"
    freezer=$(mount_of freezer)/docker/$ID/freezer.state
    freeze() { echo FROZEN >"$freezer"; until_true 60 file_has "$freezer" FROZEN; }
    thaw() { echo THAWED >"$freezer"; }
else
    group "$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)"
    echo "50000 100000" >"${GROUPS_MADE[0]}/cpu.max" || skip "no cpu controller"
    echo $((512 << 20)) >"${GROUPS_MADE[0]}/memory.max" || skip "no memory controller"
    freeze() { echo 1 >"${GROUPS_MADE[0]}/cgroup.freeze"
        until_true 60 file_has "${GROUPS_MADE[0]}/cgroup.events" "frozen 1"; }
    thaw() { echo 0 >"${GROUPS_MADE[0]}/cgroup.freeze"; }
fi

has() { assert_match "the listing" "$1" "$T/jvms"; }
list() {
    "$GNOMON" jvms --json >"$T/all" 2>/dev/null || fail "jvms: exit code $?"
    awk -v pid="$JVM_PID" '/^  \{/ { t = "" } { t = t "\n" $0 }
        /^  \}/ && index(t, "\"pid\": " pid ",") { print t }' "$T/all" >"$T/jvms"
}

JDK=$(jdk_newest)
[ -n "$JDK" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"
JVM_OPTS=-Xmx64m jvm_start Idle 1 0
for g in "${GROUPS_MADE[@]}"; do echo "$JVM_PID" >"$g/cgroup.procs"; done
list
has '"runtime": "docker"'
has "\"id\": \"$ID\""
has '"cpu_limit": 0.500'
has "\"memory_limit\": $((512 << 20)),"
has '"can_attach": true'
freeze || fail "the group does not freeze"
list
has '"can_attach": false'
has '"why_not": "its cgroup is frozen"'
"$GNOMON" doctor --host-only >/dev/null || fail "doctor: exit code $?"
timeout 120 "$GNOMON" doctor >"$T/doctor" || fail "doctor with a frozen JVM: exit code $?"
assert_match "doctor" "degraded +attach +its cgroup is frozen" "$T/doctor"
assert_match "doctor" "CPU limit +0.50 CPUs" "$T/doctor"
thaw
list
has '"can_attach": true'
jvm_end
