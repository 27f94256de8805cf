#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# JDK 21 and 25 of Debian 13 in a container with its own C library and loader, of which this host
# has none: names and unwind tables have to come from the container's files.
# The tree (570 MB, 40 s to make with mmdebstrap) is kept in GNOMON_TREES, by default
# /var/cache/gnomon-test.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/container.sh"

TREE=${GNOMON_TREES:-/var/cache/gnomon-test}/trixie

# Put in place only when it is whole.
tree_make() {
    [ -d "$TREE" ] && return
    need_cmd mmdebstrap
    mkdir -p "${TREE%/*}"
    (
        flock 9
        [ -d "$TREE" ] && exit
        rm -rf "$TREE.new"
        timeout 540 mmdebstrap --quiet --variant=minbase \
            --include=openjdk-21-jre-headless,openjdk-25-jre-headless trixie "$TREE.new" \
            >"$T/tree.log" 2>&1 &&
            mkdir -p "$TREE.new/classes" && chmod 755 "$TREE.new" && mv "$TREE.new" "$TREE"
    ) 9>"$TREE.lock" || fail "the tree cannot be made: $(tail -n 3 "$T/tree.log")"
}

of_tree() {
    local home=${1#"$TREE"}

    # the container's own release file, read through its root, says which JDK it is
    container_start "$TREE" 0 "$home" Idle 3 1
    assert_eq "version" "$(jdk_version "$1")" \
        "$(json_field "$(jvms_entry)" jdk | cut -d. -f1)"
    listed
    recorded auto
    recorded agent
    jvm_end
}

need_root
need_cmd runc
need_gnomon record
tree_make
cmp -s "$TREE/usr/lib/$(uname -m)-linux-gnu/libc.so.6" "/usr/lib/$(uname -m)-linux-gnu/libc.so.6" &&
    note "(this host has the same C library)"
for home in "$TREE"/usr/lib/jvm/java-*-openjdk-*; do
    [ -L "$home" ] && continue
    case $home in *-1.*) continue ;; esac
    note "JDK $(jdk_version "$home") of Debian 13"
    of_tree "$home"
done
