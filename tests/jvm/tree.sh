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

# tree_wanted: whether it is there, for tests of what newer JDKs have. CI makes it, and has no JDK but 17 on Debian 12 otherwise.
tree_wanted() {
    [ "${CI:-}" != true ] || tree_make
    [ -d "$TREE" ] || { note "without JDK 21: no '$TREE'"; return 1; }
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

# tree_home VERSION: a home of that JDK for jdks() and what follows: its java runs in the tree, where it
# has the classes and /proc; what else is asked of a home is the newest JDK's, outside. (Begun with:
# OPTION... -cp CLASSES CLASS...)
tree_home() {
    local home out=$T/tree-jdk$1 tool

    home=$(tree_jdks | grep -- "/java-$1-" | head -n 1)
    [ -n "$home" ] || fail "no JDK $1 in '$TREE': remove it, and it is made anew"
    mkdir -p "$out/bin"
    cp "$home/release" "$out/"
    cat >"$out/bin/java" <<END
#!/bin/bash
options=()
while [ "\$1" != -cp ]; do
    options+=("\$1")
    shift
done
export classes=\$2
shift 2
exec unshare -m sh -c 'mount --bind "\$classes" "$TREE/mnt" && mount --rbind /proc "$TREE/proc" &&
    mount -t tmpfs tmpfs "$TREE/tmp" && cd / &&
    exec chroot "$TREE" "${home#"$TREE"}/bin/java" "\$@"' - "\${options[@]}" -cp /mnt "\$@"
END
    for tool in jcmd jfr; do
        printf '#!/bin/sh\nexec %s/bin/%s "$@"\n' "$(jdk_newest)" $tool >"$out/bin/$tool"
    done
    chmod 755 "$out"/bin/*
    echo "$out"
}
