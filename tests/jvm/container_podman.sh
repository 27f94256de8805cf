#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Podman's containers, by their names: a JVM that is process 1 of another user on a read-only overlay,
# and gnomon as the privileged sidecar that shares its PID namespace. The tree is that of
# container_tree.sh.
# in make check-all
# overlaps (long)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/container.sh"
. "$(dirname "$0")/tree.sh"

# Nothing of this host's configuration, images or storage; no log daemon.
podman_() {
    timeout --foreground 300 podman --root "$T/storage" --runroot "$T/podman" --runtime "$(command -v runc || echo /usr/sbin/runc)" \
        --cgroup-manager cgroupfs --events-backend none "$@"
}
LIMITS=(--network none --ulimit nofile=4096:4096 --ulimit nproc=8192:8192)

podman_end() {
    podman_ rm --all --force --time 0
    umount -l "$T/storage/overlay"
} >"$T/podman.end" 2>&1
trap 'rc=$?; podman_end; (exit $rc); cleanup' EXIT

# podman_start JAVA-HOME CLASS ARGS...: as container_start.
podman_start() {
    local home=$1

    shift
    classes
    JVM_N=$((JVM_N + 1))
    NAME=gnomon-test-$$-$JVM_N
    JVM_OUT=$T/jvm$JVM_N.out
    JVM_ERR=$T/jvm$JVM_N.err
    JVM_IN=$T/jvm$JVM_N.in
    mkfifo "$JVM_IN"
    exec {JVM_FD}<>"$JVM_IN"
    podman_ run --interactive --name "$NAME" "${LIMITS[@]}" --user 1000:1000 --read-only \
        --memory 512m --cpus 0.5 --volume "$CLASSES:/classes:ro" --rootfs "$TREE:O" \
        "$home/bin/java" -Xmx64m -cp /classes "$@" \
        <"$JVM_IN" >"$JVM_OUT" 2>"$JVM_ERR" {JVM_FD}>&- &
    CHILDREN+=("$!")
    jvm_ready "the container"
    JVM_PID=$(podman_ inspect --format '{{.State.Pid}}' "$NAME")
    CONTAINER_ID=$(podman_ inspect --format '{{.Id}}' "$NAME")
}

named() {
    local entry

    entry=$(jvms_entry)
    assert_eq "runtime" podman "$(json_field "$entry" runtime)" "$entry"
    assert_eq "name" "$NAME" "$(json_field "$entry" name)" "$entry"
    timeout 300 "$GNOMON" record -q --force --container "$NAME" -d 1s -o "$T/named.jfr" \
        2>"$T/record.err" || fail "by its name: exit code $?: $(cat "$T/record.err")"
    jfr_print "$T/named.jfr" jdk.ActiveSetting >"$T/settings"
    assert_match "the settings" "$NAME" "$T/settings"
}

# gnomon in a container of its own that shares the JVM's PID namespace, where it is process 1.
sidecar() {
    local out=$T/sidecar all

    mkdir -p "$out"
    cp "$GNOMON" "$out/gnomon"
    podman_ run --rm --privileged "${LIMITS[@]}" --pid "container:$NAME" \
        --volume "$out:/out" --rootfs "$TREE:O" \
        /out/gnomon record -q --force -p 1 --jvm "$1" -d "$(seconds_for 600)s" -o /out/side.jfr 2>"$T/err" ||
        fail "the sidecar with --jvm $1: exit code $?: $(cat "$T/err")"
    jfr_readable "$out/side.jfr"
    all=$(weight "$out/side.jfr" $CPU_EVENT thread=busy-thread-number-1)
    assert_ge "the sidecar's CPU samples" 15 "$all"
    assert_ge "percent of them named" 95 "$(calc "100 * $(weight "$out/side.jfr" $CPU_EVENT \
        thread=busy-thread-number-1 'frame=Harness\.(crunch|burn|cpu)') / $all")"
    note "a sidecar's, --jvm $1: $all CPU samples; $(whole_stacks "$out/side.jfr")% whole"
    jvm_unharmed
}

of_podman() {
    podman_start "${1#"$TREE"}" Idle 3 1
    listed
    named
    sidecar vmstructs
    sidecar agent
    jvm_end
}

need_root
need_cmd podman
need_gnomon record
tree_make
podman_ run --rm "${LIMITS[@]}" --rootfs "$TREE:O" /bin/true 2>"$T/podman.err" ||
    skip "podman cannot run a container here: $(tail -n 1 "$T/podman.err")"
# one of those that container_tree.sh has both of
home=$(tree_jdks | tail -n 1)
note "JDK $(jdk_version "$home") of Debian 13 under podman"
of_podman "$home"
