#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gnomon jvms in a control group that looks like a Docker container's: its id, its CPU and memory
# limits, and that a frozen JVM is not attached to. Version 1 and version 2 hosts.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cgroup.sh"

need_root
need_gnomon jvms

group_make
group_limits 50000 $((512 << 20))

has() { assert_match "the listing" "$1" "$T/jvms"; }
list() {
    "$GNOMON" jvms --json >"$T/all" 2>/dev/null || fail "jvms: exit code $?"
    awk -v pid="$JVM_PID" '/^  \{/ { t = "" } { t = t "\n" $0 }
        /^  \}/ && index(t, "\"pid\": " pid ",") { print t }' "$T/all" >"$T/jvms"
}

JDK=$(jdk_newest)
[ -n "$JDK" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"
JVM_OPTS=-Xmx64m jvm_start Idle 1 0
group_enter "$JVM_PID"
list
has '"runtime": "docker"'
has "\"id\": \"$GROUP_ID\""
has '"cpu_limit": 0.500'
has "\"memory_limit\": $((512 << 20)),"
has '"can_attach": true'
group_freeze || fail "the group does not freeze"
list
has '"can_attach": false'
has '"why_not": "its cgroup is frozen"'
"$GNOMON" doctor --host-only >/dev/null || fail "doctor: exit code $?"
timeout 120 "$GNOMON" doctor >"$T/doctor" || fail "doctor with a frozen JVM: exit code $?"
assert_match "doctor" "degraded +attach +its cgroup is frozen" "$T/doctor"
assert_match "doctor" "CPU limit +0.50 CPUs" "$T/doctor"
group_thaw
list
has '"can_attach": true'
jvm_end
