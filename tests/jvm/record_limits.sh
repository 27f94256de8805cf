#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# More threads than files may be open: samples come by per-CPU clocks, as many as they should be,
# and the recording says so. Likewise where there are thousands of threads. Too few files for gnomon itself: what
# to do about it.
# in make check-all
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
need_cmd setpriv
need_cmd prlimit
JDK=$(jdk_oldest)
jfr=$T/limits.jfr

# With CAP_SYS_RESOURCE it would raise the limit.
cat >"$T/limited" <<EOF
#!/bin/sh
exec prlimit --nofile=296:296 setpriv --bounding-set=-sys_resource "$GNOMON" "\$@"
EOF
chmod 755 "$T/limited"

jvm_start Idle 300 1 30
before=$(process_cpu_ns "$JVM_PID")
GNOMON=$T/limited recorded_for 500 2 "$jfr" -p "$JVM_PID"
used=$(calc "($(process_cpu_ns "$JVM_PID") - $before) / 10000000")
jvm_unharmed
jfr_readable "$jfr"
assert_match "the warning" 'per-CPU clocks .raise it: ulimit -n' "$GN_ERR"
query "$jfr" show jdk.ActiveSetting >"$T/settings"
assert_match "the recording's settings" 'per-CPU clocks' "$T/settings"
seconds=$(sed -n 's/.*recorded \([0-9.]*\) s .*/\1/p' "$GN_ERR")
# the CPUs' clocks draw where others compete for the CPUs
assert_ge "ms of the busy thread" "$(calc "$seconds * 700")" "$(thread_ms "$jfr" busy-thread-number-1)"
strict assert_ge "ms of the busy thread" "$(calc "$seconds * 1000 - 150")" \
    "$(thread_ms "$jfr" busy-thread-number-1)"
# It ran before and after too: no more than that.
assert_ge "CPU time of the target / 10 ms" "$(weight "$jfr" $CPU_EVENT)" "$(calc "$used + 4 * sqrt($used)")"
strict assert_ge "CPU time of the target / 10 ms" "$(weight "$jfr" $CPU_EVENT)" "$used"
# what the warning says: with more files there are clocks of all threads
"$GNOMON" record -p "$JVM_PID" -d 500ms -o "$T/more.jfr" 2>"$T/more.err" </dev/null || fail "$(cat "$T/more.err")"
assert_match "with more open files" 'per-thread clocks' "$T/more.err"
for files in 60 100 140; do
    timeout 120 prlimit --nofile=$files:$files setpriv --bounding-set=-sys_resource \
        "$GNOMON" record -p "$JVM_PID" -d 1s -o "$T/few.jfr" 2>"$T/few.err" </dev/null
    assert_eq "exit code with $files open files" 5 $? "$(cat "$T/few.err")"
    assert_match "the message with $files open files" 'open files' "$T/few.err"
    assert_match "the remedy with $files open files" 'ulimit -n' "$T/few.err"
    [ ! -e "$T/few.jfr" ] || fail "a file was left with $files open files"
done
# Between too few for anything and enough: it refuses, with what to do about it, or has its samples.
# with_files N: 0 recorded, 5 refused; anything else fails.
with_files() {
    local rc

    timeout 300 prlimit --nofile="$1:$1" setpriv --bounding-set=-sys_resource \
        "$GNOMON" record --force -p "$JVM_PID" -d 1s -o "$T/some.jfr" 2>"$T/some.err" </dev/null
    rc=$?
    if [ $rc = 5 ]; then
        assert_match "the remedy with $1 open files" 'ulimit -n' "$T/some.err"
    else
        assert_eq "exit code with $1 open files" 0 $rc "$(cat "$T/some.err")"
        grep -q '^  CPU samples   0,' "$T/some.err" &&
            fail "no CPU samples with $1 open files: $(cat "$T/some.err")"
    fi
    return $rc
}
refused=140 enough=320
while [ $((enough - refused)) -gt 1 ]; do
    files=$(((refused + enough) / 2))
    if with_files $files; then enough=$files; else refused=$files; fi
done
note "open files that are enough here: $enough"
for files in $((refused - 1)) $((refused - 2)) $((enough + 1)) $((enough + 2)); do
    with_files $files || true
done
assert_ge "idle threads seen" 300 "$(query "$jfr" $WALL_EVENT thread 'thread=idle-.*' | wc -l)"
jvm_end
# Many threads, and enough files for clocks of each: they are not worth it.
JVM_OPTS=-Xss256k jvm_start Idle 1100 1 30
"$GNOMON" doctor >"$T/doctor" || fail "doctor"
assert_match "doctor of many threads" 'threads +11[0-9]{2}: per-CPU clocks' "$T/doctor"
recorded_for 500 2 "$T/many.jfr" -p "$JVM_PID"
jvm_unharmed
query "$T/many.jfr" show jdk.ActiveSetting >"$T/settings"
assert_match "the settings with many threads" 'per-CPU clocks: more than 1,000 threads' "$T/settings"
assert_ge "ms of the busy thread" 700 "$(thread_ms "$T/many.jfr" busy-thread-number-1)"
jvm_end
softly_end
