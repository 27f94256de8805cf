#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An ordinary user's process that looks like a JVM and holds a write lease on a file that gnomon
# looks at: whoever opens it and waits does so for /proc/sys/fs/lease-break-time (45 s) each time. A JVM beside it
# has all of its samples.
# overlaps BPF tests: whoever looks for JVMs meanwhile waits for these file systems, too.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hostile.sh"

ownfs_start lease
[ -e "$OWNFS_DIR/release" ] || fail "no leased file"
# what the test is about: to open it takes long
(exec timeout 3 cat "$OWNFS_DIR/release") && fail "the lease holds up nobody"

ended_by_itself "jvms" "$GNOMON" jvms
assert_eq "exit code of jvms" 0 $ENDED_RC "$(cat "$T/err")"
assert_match "the list" "^ *$OWNFS_PID " "$T/out"
# the version is in the library, too
assert_match "the version of the JDK" "^ *$OWNFS_PID  *[^ ]+  *-  *[0-9]" "$T/out"
ended_by_itself "record" "$GNOMON" record -q -p "$OWNFS_PID" -d 1s -o "$T/lease.jfr"
assert_eq "exit code of record" 0 $ENDED_RC "$(cat "$T/err")"
assert_ge "CPU samples" 1 "$(weight "$T/lease.jfr" $CPU_EVENT)"
pid_ended "$OWNFS_PID" && fail "the process died"
kill -KILL "$OWNFS_PID"

# Beside a JVM: one is there at the start, one comes while it is recorded.
victim_start
ownfs_start lease
first=$OWNFS_PID
record_all
ownfs_start lease
second=$OWNFS_PID
both_have_files() { [ "$(find "$T/all" \( -name "*-$first.jfr" -o -name "*-$second.jfr" \) -size +0 | wc -l)" = 2 ]; }
until_true 120 both_have_files || fail "who holds a lease is not recorded: $(cat "$GN_ERR")"
victim_done
victim_whole
for pid in "$first" "$second"; do pid_ended "$pid" && fail "process $pid died"; done
jvm_end
exit 0
