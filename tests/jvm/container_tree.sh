#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# JDK 21 and 25 of Debian 13 in a container with its own C library and loader, of which this host
# has none: names and unwind tables have to come from the container's files.
# in make check-all
# overlaps (long)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/container.sh"
. "$(dirname "$0")/tree.sh"

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
for home in $(tree_jdks); do
    note "JDK $(jdk_version "$home") of Debian 13"
    of_tree "$home"
done
