#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a recording says of a JVM's container is what the kernel's files say at the same moments: CPU time, throttling,
# memory, hits of its limit, kills, pressure. At both ends the JVM is stopped, so that nothing moves while one and the
# other are read. The limits are those of the group above the JVM's, as in a pod.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cgroup.sh"
need_root
need_gnomon record

LIMIT=$((300 << 20))
GROUP_INNER=/inner

# figures FILE: once two looks at the kernel's files agree; memory is charged in pieces, and may not
figures() { until_true 60 figures_settled "$1" || fail "the group does not come to rest: $(cat "$1")"; }
figures_settled() {
    group_figures >"$1"
    nap 0.3
    diff <(grep -v memory "$1") <(group_figures | grep -v memory) >/dev/null
}

# pressures: ns for which some waited for a CPU, memory, I/O: of the group where the kernel tells, else of the machine
pressures() {
    local dir=/proc/pressure suffix= v2 name

    v2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)$(sed -n 's/^0:://p' "/proc/$JVM_PID/cgroup")
    [ ! -r "$v2/cpu.pressure" ] || { dir=$v2 suffix=.pressure; }
    for name in cpu memory io; do
        echo $name "$(sed -n 's/^some .*total=//p' "$dir/$name$suffix")"
    done 2>/dev/null
}

# of FILE NAME; grown NAME: what it grew by between the two ends
of() { awk -v n="$2" '$1 == n { print $2 }' "$1"; }
grown() { echo $(($(of "$T/end" "$1") - $(of "$T/begin" "$1"))); }

# sum FIELD: of gnomon.Vitals
sum() { query "$T/ours.jfr" values gnomon.Vitals "$1" | awk '{ n += $1 } END { printf "%.0f\n", n }'; }

# memory_taken: a process of the group that wants more than there is; the kernel kills it, as it asks for
memory_taken() {
    bash -c 'for g; do echo $$ >"$g/cgroup.procs"; done
        echo 1000 >/proc/self/oom_score_adj
        head -c 600M /dev/zero | tail' - "${GROUPS_MADE[@]/%/$GROUP_INNER}" >/dev/null 2>&1
    return 0
}

throttled_for() { [ $(($(group_figures | of /dev/stdin throttled) - $(of "$T/begin" throttled))) -ge "$1" ]; }

# The record of PSI goes on while it is read: between the reads around one end and the other.
pressure_right() {
    local least most name got

    for name in cpu memory io; do
        [ -n "$(of "$T/psi.1" $name)" ] || continue
        least=$((($(of "$T/psi.3" $name) - $(of "$T/psi.2" $name)) * 1000))
        most=$((($(of "$T/psi.4" $name) - $(of "$T/psi.1" $name)) * 1000))
        got=$(sum ${name}Pressure)
        softly assert_between "$name: ns of pressure" $least $most "$got"
    done
}

JDK=$(jdk_newest)
[ -n "$JDK" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"
group_make
group_limits 20000 $LIMIT
JVM_OPTS="-Xmx64m -XX:+UseSerialGC" jvm_start Idle 1 2
group_enter "$JVM_PID"
process_stop "$JVM_PID"
figures "$T/begin"
pressures >"$T/psi.1"
gnomon_start "$T/ours.jfr" -p "$JVM_PID" --no-wall
# the second look at all of it has been written
until_true 120 grep -aq 'process cpu throttling memory' "$T/ours.jfr" || fail "no vitals in the file: $(cat "$GN_ERR")"
pressures >"$T/psi.2"
memory_taken
kill -CONT "$JVM_PID"
until_true 600 throttled_for 1000000000 || fail "it is not throttled: $(group_figures)"
process_stop "$JVM_PID"
figures "$T/end"
pressures >"$T/psi.3"
gnomon_stop
pressures >"$T/psi.4"
group_figures >"$T/after"
kill -CONT "$JVM_PID"
note "version $GROUP_V; $(tr '\n' ' ' <"$T/end")"

query "$T/ours.jfr" values jdk.ContainerCPUUsage cpuTime >"$T/cpu"
softly assert_eq "CPU time at first" "$(of "$T/begin" cpu)" "$(head -n 1 "$T/cpu")"
softly assert_eq "CPU time in the end" "$(of "$T/end" cpu)" "$(tail -n 1 "$T/cpu")"
softly assert_eq "CPU time added up" "$(grown cpu)" "$(sum groupCPUTime)"
softly assert_eq "throttled, ns" "$(grown throttled)" "$(sum throttledTime)"
softly assert_eq "throttled, slices" "$(grown slices)" "$(sum throttledSlices)"
query "$T/ours.jfr" values jdk.ContainerCPUThrottling cpuElapsedSlices cpuThrottledSlices cpuThrottledTime >"$T/throttling"
# some slices may begin and end without anybody's wanting a CPU
softly assert_eq "throttled since the group was made" "$(of "$T/end" slices) $(($(of "$T/end" throttled) / 1000 * 1000))" \
    "$(tail -n 1 "$T/throttling" | cut -d' ' -f2-)"
softly assert_eq "hits of the memory limit" "$(grown hits)" "$(sum memoryLimitHits)"
softly assert_ge "hits of the memory limit" 1 "$(grown hits)"
softly assert_eq "kills" "$(grown killed)" "$(sum oomKills)"
query "$T/ours.jfr" values jdk.ContainerMemoryUsage memoryFailCount memoryUsage >"$T/memory"
softly assert_eq "hits since the group was made" "$(of "$T/end" hits)" "$(tail -n 1 "$T/memory" | cut -d' ' -f1)"
# charged in pieces of 256 kB for each CPU, which the kernel takes back when it likes
softly assert_near "memory" "$(of "$T/after" memory)" "$(tail -n 1 "$T/memory" | cut -d' ' -f2)" 4000000
softly assert_eq "limits" $LIMIT "$(query "$T/ours.jfr" values gnomon.Vitals groupMemoryLimit | sort -u)"
pressure_right

"$GNOMON" summary "$T/ours.jfr" >"$T/summary" || fail "summary"
softly assert_match "findings" "throttled  *The container's CPU limit stopped it for" "$T/summary"
if [ "$(grown killed)" != 0 ]; then
    softly assert_match "findings" "killed  *The container ran out of memory: the kernel killed $(grown killed) of" "$T/summary"
fi
softly assert_match "container" "throttled for .*, memory limit reached" "$T/summary"
softly_end
