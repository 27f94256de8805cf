#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Containers as runc makes them for Docker and Kubernetes: the JVM is process 1, of another user,
# without network and privileges, with a read-only root, a seccomp filter, half a CPU and 512 MB;
# then the same in a user namespace; and one where no library can be put anywhere.
# overlaps (long)
# in make check-all
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/container.sh"

plain() { container_whole host 0 "$JDK"; }
user_space() { container_whole host 1 "$JDK"; }

# What cannot be had is refused in words, and what can be had is had.
no_place() {
    TMP_NOEXEC=,'"noexec"'
    container_start host 0 "$JDK" Idle 3 1
    timeout 300 "$GNOMON" perfmap "$JVM_PID" >"$T/perfmap.out" 2>"$T/perfmap.err"
    assert_eq "exit code of perfmap" 3 $? "$(cat "$T/perfmap.err")"
    assert_match "the message" "gnomon: no directory of process $JVM_PID can hold" "$T/perfmap.err"
    timeout 300 "$GNOMON" record --container "$CONTAINER_ID" --jvm agent -d 1s -o "$T/no_place.jfr" \
        2>"$T/record.err" || fail "record: exit code $?: $(cat "$T/record.err")"
    assert_match "the warning" 'warning: no agent in process [0-9]+: no directory' "$T/record.err"
    no_traces
    recorded auto
    assert_empty "the container's stderr" "$JVM_ERR"
    jvm_end
}

need_root
need_cmd runc
need_gnomon record
for_any_jdk plain
JDK=$(jdk_oldest)
note "JDK $(jdk_version "$JDK"): in a user namespace; with no place for a library"
some_of 1 eval user_space no_place
