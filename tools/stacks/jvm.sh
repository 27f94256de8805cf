#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/stacks/jvm.sh (root)
#
# Makes tests/data/stacks/jdk*.stack: of the JDKs under /usr/lib/jvm, and of JDK 21 in the Debian 13 tree
# of tests/jvm/tree.sh, which is made when it is not there. tests/jvm/hotspot_stacks.sh does the work.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/jvm/lib.sh
. tests/jvm/tree.sh
need_root
tree_make
home=$(tree_jdks | grep 'java-21-' | head -n 1)
[ -n "$home" ] || fail "no JDK 21 in '$TREE'"

# The tree's as a home of its own: its java in there, which sees the classes and /proc; what else is
# asked of a home is the newest JDK's. (Begun with: OPTION... -cp CLASSES CLASS.)
mkdir -p "$T/jdk21/bin"
cp "$home/release" "$T/jdk21/"
cat >"$T/jdk21/bin/java" <<END
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
    printf '#!/bin/sh\nexec %s/bin/%s "$@"\n' "$(jdk_newest)" $tool >"$T/jdk21/bin/$tool"
done
chmod 755 "$T"/jdk21/bin/*
SAVE_STACKS=$PWD/tests/data/stacks JAVA_HOMES="$(jdks | tr '\n' ' ') $T/jdk21" tests/jvm/hotspot_stacks.sh
