# SPDX-License-Identifier: Apache-2.0
# Sourced behind lib.sh by tests that need a Debian 13 tree with JDK 21 and 25 (570 MB, 40 s to make
# with mmdebstrap); kept in GNOMON_TREES, by default /var/cache/gnomon-test.

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

# The homes of its JDKs, each once.
tree_jdks() {
    local home

    for home in "$TREE"/usr/lib/jvm/java-*-openjdk-*; do
        [ -L "$home" ] && continue
        case $home in *-1.*) continue ;; esac
        echo "$home"
    done
}
