#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ordinary users' processes whose libjvm.so lies on a file system of their own that takes every
# question and answers none, plainly or below an overlay: gnomon lists them, records them and a
# victim beside them, and ends when it is told to. Who asks that file system cannot be killed.
# Alone: whoever looks for JVMs meanwhile waits for these file systems, too.
# in make check-all
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hostile.sh"

victim_start
ownfs_start fuse
fuse=$OWNFS_PID
ownfs_start overlay
overlay=$OWNFS_PID

ended_by_itself "jvms" "$GNOMON" jvms
assert_eq "exit code of jvms" 0 $ENDED_RC "$(cat "$T/err")"
assert_match "the list" "^ *$fuse " "$T/out"
assert_match "the list" "^ *$overlay " "$T/out"
ended_by_itself "doctor" "$GNOMON" doctor
assert_match "what doctor says" "JVM $overlay" "$T/out"

# one is there at the start, one comes while it is recorded
kill -KILL "$overlay"
record_all
ownfs_start overlay
overlay=$OWNFS_PID
# new processes are looked for once a second, and each of these costs the look some seconds
all_have_files() {
    local pid

    for pid in "$fuse" "$overlay"; do [ -n "$(find "$T/all" -name "*-$pid.jfr" -size +0)" ] || return; done
}
until_true 120 all_have_files
until_true 60 grep -q "memory of process" "$GN_ERR"
victim_done
victim_whole
for pid in "$fuse" "$overlay"; do
    file=$(find "$T/all" -name "*-$pid.jfr")
    [ -s "$file" ] || fail "the process $pid has no file: $(cat "$GN_ERR")"
    pid_ended "$pid" && fail "the process $pid died"
done
assert_match "what is said" "memory of process ($fuse|$overlay) could not be read within" "$GN_ERR"
assert_ge "CPU samples of the first" 1 "$(weight "$(find "$T/all" -name "*-$fuse.jfr")" $CPU_EVENT)"
exit 0
