#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A target whose /tmp is a file system that does not answer (FUSE; a network file system whose
# server is gone is the same to us): what needs no /tmp works as ever, the rest refuses in time.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
[ -c /dev/fuse ] || modprobe -q fuse || skip "no /dev/fuse"

"${CC:-gcc}" -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -o "$T/deaf_fuse" "$LIB_DIR/deaf_fuse.c" ||
    fail "deaf_fuse does not compile"

# in_time CODE COMMAND...: ends by itself, with that exit code. (One that hangs cannot be killed.)
in_time() {
    local want=$1 start=${EPOCHREALTIME/./} p

    shift
    "$@" >"$T/out" 2>"$T/err" </dev/null &
    p=$!
    CHILDREN+=($p)
    pid_gone $p 120 || fail "'${*:2:5}' hangs"
    wait $p
    assert_eq "exit code of ${*:2:5}" "$want" $? "$(cat "$T/err")"
    note "${*:2:5}: $(calc "(${EPOCHREALTIME/./} - $start) / 1e6") s, $(head -n 1 "$T/err")"
}

JDK=$(jdk_newest)
jvm_pipes
classes_seen
unshare --mount sh -c 'mount -t tmpfs tmpfs /tmp; exec "$@"' - \
    "$JDK/bin/java" -Xmx64m -cp "$SEEN" Idle 3 0 <"$JVM_IN" >"$JVM_OUT" 2>"$JVM_ERR" {JVM_FD}>&- &
pid=$!
CHILDREN+=($pid)
jvm_ready "the target"
"$T/deaf_fuse" $pid /tmp >"$T/deaf.out" 2>"$T/deaf.err" {JVM_FD}>&- &
deaf=$!
CHILDREN+=($deaf)
until_true 60 file_has "$T/deaf.out" '^READY' || skip "no FUSE mount: $(cat "$T/deaf.err")"

in_time 0 "$GNOMON" record -q -p $pid -d 1s -o "$T/auto.jfr"
"$GNOMON" render --idle "$T/auto.jfr" >"$T/text" || fail "render"
assert_match "the names" 'Harness\.' "$T/text"
# an agent cannot come in: that is said, and the rest of the recording goes on
in_time 0 "$GNOMON" record -q -p $pid --jvm agent -d 1s -o "$T/agent.jfr"
assert_match "what is said" "/tmp.*does not answer" "$T/err"
in_time 0 "$GNOMON" jvms
assert_match "the list" "^ *$pid " "$T/out"
in_time 3 "$GNOMON" perfmap $pid
assert_match "what is said" "/tmp.*does not answer" "$T/err"
kill $deaf
pid_gone $deaf 60 || fail "the file system does not end"
[ -d /proc/$pid ] || fail "the target died: $(cat "$JVM_ERR")"

# /tmp answers, but not what has the name of another user's counters in it: nobody waits for that
nsenter -t $pid -m umount -l /tmp || fail "/tmp is not given back"
nsenter -t $pid -m mkdir /tmp/hsperfdata_0 || fail "no directory"
"$T/deaf_fuse" $pid /tmp/hsperfdata_0 >"$T/deaf.out" 2>"$T/deaf.err" {JVM_FD}>&- &
deaf=$!
CHILDREN+=($deaf)
until_true 60 file_has "$T/deaf.out" '^READY' || fail "no FUSE mount: $(cat "$T/deaf.err")"
in_time 0 "$GNOMON" jvms
assert_match "the list" "^ *$pid " "$T/out"
in_time 0 "$GNOMON" perfmap $pid
kill $deaf
pid_gone $deaf 60 || fail "the file system does not end"
[ -d /proc/$pid ] || fail "the target died: $(cat "$JVM_ERR")"
