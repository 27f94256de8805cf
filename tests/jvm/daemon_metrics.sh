#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The vitals of each JVM in a daemon's metrics are those of its own counters, as the JDK's tool has them, and of the
# kernel's files: while it is stopped, so that nothing moves. Without counters, or without a quota, they are not there.
# What the dashboard shows there is.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
. "$(dirname "$0")/cgroup.sh"
need_root
need_gnomon status

SOCK=$T/gnomon.sock

# figure NAME [LABEL]: of JVM_PID, with that label
figure() {
    awk -v name="$1{pid=\"$JVM_PID\"" -v label="${2:-}" 'index($0, name) == 1 && index($0, label) { print $NF; exit }' "$T/metrics"
}
metrics_read() { "$GNOMON" status --metrics --socket "$SOCK" >"$T/metrics" 2>"$T/err"; }

# counter NAME: by the JDK's tool, which reads a stopped JVM's, too; counted REGEX: some together
counters() { "$JDK/bin/jstat" -J-Djstat.showUnsupported=true -snap "$JVM_PID" 2>"$T/err" >"$T/counters"; }
counted() { awk -F= -v r="^$1\$" '$1 ~ r { gsub(/"/, "", $2); n += $2 } END { printf "%.0f\n", n }' "$T/counters"; }

# Nine decimals, as metrics have seconds; rounded down by us, and to the nearest there.
seconds() { awk -v n="$1" -v d="$2" 'BEGIN { printf "%.6f\n", n / d }'; }

cpu_is_right() {
    metrics_read
    awk -v a="$(figure gnomon_jvm_cpu_seconds_total)" -v b="$(process_cpu_ns "$JVM_PID")" 'BEGIN { exit !(a != "" && a - b / 1e9 < 1e-6 && b / 1e9 - a < 1e-6) }'
}

same() { softly assert_eq "$1" "$2" "$3"; }
same_seconds() { softly assert_eq "$1" "$(seconds "$2" "$HZ_JVM")" "$(seconds "$(figure "${@:3}")" 1)"; }

under_way() { [ "$(counted "sun.gc.collector.$1.lastEntryTime")" -gt "$(counted "sun.gc.collector.$1.lastExitTime")" ] && echo 1 || echo 0; }

jvm_figures() {
    local i=0 kind

    counters || fail "jstat: $(cat "$T/err")"
    HZ_JVM=$(counted sun.os.hrt.frequency)
    same threads "$(counted java.threads.live)" "$(figure gnomon_jvm_threads)"
    same classes $(($(counted 'java.cls.(sharedL|l)oadedClasses') - $(counted 'java.cls.(sharedU|u)nloadedClasses'))) \
        "$(figure gnomon_jvm_classes)"
    same "heap used" "$(counted 'sun.gc.generation.[0-9].space.[0-9].used')" "$(figure gnomon_jvm_heap_used_bytes)"
    same "heap committed" "$(counted 'sun.gc.generation.[0-9].capacity')" "$(figure gnomon_jvm_heap_committed_bytes)"
    same "heap max" $((64 << 20)) "$(figure gnomon_jvm_heap_max_bytes)"
    same metaspace "$(counted sun.gc.metaspace.used)" "$(figure gnomon_jvm_metaspace_used_bytes)"
    for kind in young full; do
        same "$kind collections" $(($(counted "sun.gc.collector.$i.invocations") - $(under_way $i))) \
            "$(figure gnomon_jvm_collections_total "\"$kind\"")"
        same_seconds "$kind collections' time" "$(counted "sun.gc.collector.$i.time")" \
            gnomon_jvm_collection_pause_seconds_total "\"$kind\""
        softly assert_ge "$kind collections" 1 "$(figure gnomon_jvm_collections_total "\"$kind\"")"
        i=$((i + 1))
    done
    same safepoints "$(counted sun.rt.safepoints)" "$(figure gnomon_jvm_safepoints_total)"
    same_seconds "safepoints' time" "$(counted sun.rt.safepointTime)" gnomon_jvm_safepoint_seconds_total
    same_seconds "time until they were" "$(counted sun.rt.safepointSyncTime)" gnomon_jvm_to_safepoint_seconds_total
}

kernel_figures() {
    local resident

    # it may have grown by some pages since
    resident=$(($(cut -d' ' -f2 "/proc/$JVM_PID/statm") * $(getconf PAGESIZE)))
    softly assert_near "resident memory" "$resident" "$(figure gnomon_jvm_resident_bytes)" $((resident / 100))
    group_figures >"$T/group"
    same "periods throttled" "$(flat "$T/group" slices)" "$(figure gnomon_jvm_throttled_periods_total)"
    same "periods" "$(flat "$T/group" periods)" "$(figure gnomon_jvm_throttling_periods_total)"
    same "throttled, ms" $(($(flat "$T/group" throttled) / 1000000)) "$(figure gnomon_jvm_throttled_seconds_total | awk '{ printf "%d\n", $1 * 1000 + 0.0001 }')"
    softly assert_ge "periods throttled" 1 "$(flat "$T/group" slices)"
    same "limit of memory" "$LIMIT" "$(figure gnomon_jvm_group_memory_limit_bytes)"
    same "kills" "$(flat "$T/group" killed)" "$(figure gnomon_jvm_oom_kills_total)"
    softly assert_ge "memory of the group" 1000000 "$(figure gnomon_jvm_group_memory_bytes)"
}

# What needs a JVM's counters and a quota is not told of one that has neither.
without() {
    JVM_OPTS="-XX:-UsePerfData -XX:+UseSerialGC -Xmx64m" jvm_start -jar "$OWN_JAR" 10 1 1000
    has_cpu() { metrics_read && [ -n "$(figure gnomon_jvm_cpu_seconds_total)" ]; }
    until_true 90 has_cpu || fail "it is not in the metrics: $(cat "$T/daemon.err")"
    for name in gnomon_jvm_collections_total gnomon_jvm_heap_used_bytes gnomon_jvm_threads gnomon_jvm_throttled_seconds_total; do
        assert_eq "$name of a JVM that has none" "" "$(figure $name)"
    done
}

dashboard() {
    python3 - "$ROOT/user/service/grafana.json" <<'END' >"$T/shown" || fail "the dashboard is none"
import json, re, sys
d = json.load(open(sys.argv[1]))
panels = [p for p in d["panels"] if p["type"] != "row"]
assert len({p["id"] for p in d["panels"]}) == len(d["panels"]) and all(p["targets"] for p in panels)
exprs = [t["expr"] for p in panels for t in p["targets"]] + [v["definition"] for v in d["templating"]["list"] if v["type"] == "query"]
print("\n".join(sorted({n for e in exprs for n in re.findall(r"gnomon_\w+", e)})))
END
    sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' "$T/metrics" | LC_ALL=C sort >"$T/types"
    comm -23 <(LC_ALL=C sort "$T/shown") "$T/types" >"$T/differs"
    assert_empty "metrics of the dashboard that are not there" "$T/differs"
    assert_ge "metrics that it shows" 20 "$(wc -l <"$T/shown")"
}

JDK=$(jdk_newest)
[ -n "$JDK" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"
own_jar Collect
LIMIT=$((400 << 20))
group_make
group_limits 2000 $LIMIT
JVM_OPTS="-XX:+UseSerialGC -Xmx64m -Xshare:auto -XX:TieredStopAtLevel=1" jvm_start -jar "$OWN_JAR" 40 5 400
group_enter "$JVM_PID"
printf '%s\n' "directory = $T/recordings" "socket = $SOCK" "min-free = 0" "record = no" \
    "[mine]" "name = $OWN_NAME.jar" >"$CONF"
daemon_run
until_true 120 file_has "$T/daemon.err" 'recording into' || fail "it does not start: $(cat "$T/daemon.err")"
collected() { metrics_read && [ "$(figure gnomon_jvm_collections_total '"young"')" -ge 3 ] 2>/dev/null && [ "$(figure gnomon_jvm_throttled_periods_total)" -ge 1 ]; }
until_true 120 collected || fail "no collections: $(grep "$JVM_PID" "$T/metrics") $(cat "$T/daemon.err")"
process_stop "$JVM_PID"
sleep 3 # its last looks: each second
until_true 60 cpu_is_right || fail "CPU time: $(figure gnomon_jvm_cpu_seconds_total), and not $(process_cpu_ns "$JVM_PID") ns"
jvm_figures
kernel_figures
kill -CONT "$JVM_PID"
if command -v promtool >/dev/null; then
    promtool check metrics <"$T/metrics" >"$T/out" 2>&1 || fail "promtool: $(cat "$T/out")"
else
    part_skipped "promtool is not there"
fi
dashboard
without
kill -TERM "$DAEMON"
pid_gone "$DAEMON" 60 || fail "it does not end"
softly_end
