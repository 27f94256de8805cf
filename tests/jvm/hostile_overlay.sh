#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ordinary users' processes whose libjvm.so lies on a file system of their own that takes every
# question and answers none, plainly or below an overlay: gnomon lists them, records them and others
# beside them, and ends when it is told to.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

ownfs_start fuse
fuse=$OWNFS_PID
ownfs_start overlay
overlay=$OWNFS_PID

ended_by_itself "jvms" "$GNOMON" jvms
assert_eq "exit code of jvms" 0 $ENDED_RC "$(cat "$T/err")"
assert_match "the list" "^ *$fuse " "$T/out"
assert_match "the list" "^ *$overlay " "$T/out"
assert_match "what is said" "file of process ($fuse|$overlay) could not be opened" "$T/err"
ended_by_itself "doctor" "$GNOMON" doctor
assert_match "what doctor says" "JVM $overlay" "$T/out"
