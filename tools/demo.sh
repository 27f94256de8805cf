#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/demo.sh (as root; `make demo`)
#
# Installs what is missing, builds, starts a small web shop in Java with customers who load it,
# records it for DEMO_SECONDS (10) and shows where its time went. The recording and the flame graph
# stay in BUILD/demo.
set -u
cd "$(dirname "$0")/.." || exit 1

BUILD=${BUILD:-build}
dir=$BUILD/demo
seconds=${DEMO_SECONDS:-10}
children=()

say() { printf '\n== %s\n' "$*"; }
die() {
    echo "demo: $1" >&2
    [ -z "${2:-}" ] || echo "  $2" >&2
    exit "${3:-1}"
}

cleanup() {
    local rc=$?

    trap - EXIT
    [ ${#children[@]} -eq 0 ] || kill "${children[@]}" 2>/dev/null
    wait 2>/dev/null
    [ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:${SUDO_GID:-0}" "$BUILD"
    exit $rc
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# wait_for FILE WORD: its second field, once a line begins with the word; nothing after 20 s.
wait_for() {
    local n

    for ((n = 0; n < 200; n++)); do
        awk -v w="$2" '$1 == w { print $2; exit }' "$1" | grep . && return
        sleep 0.1
    done
}

# The newest JDK: the one whose JVM is the demo's target.
find_java() {
    local h best='' newest=0 v

    for h in ${JAVA_HOME:-} /usr/lib/jvm/*; do
        [ -x "$h/bin/javac" ] || continue
        v=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$h/release")
        [ "${v:-0}" -gt "$newest" ] && newest=$v best=$h
    done
    echo "$best"
}

if [ "$(id -u)" != 0 ]; then
    tools/deps.sh --check build
    [ -n "$(find_java)" ] || echo "demo: no JDK found: tools/deps.sh says how to get one" >&2
    die "recording needs root (BPF)" "sudo make demo, or as root: make demo" 4
fi
[ -r /sys/kernel/btf/vmlinux ] ||
    die "this kernel has no BTF (/sys/kernel/btf/vmlinux), so its BPF cannot be used" \
        "a kernel with CONFIG_DEBUG_INFO_BTF=y, such as Debian's own" 5

tools/deps.sh || exit
make -s -j"$(nproc)" BUILD="$BUILD" all || die "the build failed"
java=$(find_java)/bin
[ -x "$java/javac" ] || die "no JDK found" "install openjdk-17-jdk-headless, or set JAVA_HOME"
mkdir -p "$dir/classes" && rm -f "$dir"/demo.* "$dir"/*.log
"$java/javac" --release 17 -d "$dir/classes" tools/demo/shop/*.java || die "javac failed"

say "a web shop, and 24 customers"
"$java/java" -Xmx256m -cp "$dir/classes" shop.Server >"$dir/server.log" 2>&1 &
server=$!
children+=($server)
port=$(wait_for "$dir/server.log" READY)
[ -n "$port" ] || die "the server does not start: $(tail -n 3 "$dir/server.log")"
"$java/java" -Xmx256m -cp "$dir/classes" shop.Load "$port" 24 >"$dir/load.log" 2>&1 &
children+=($!)
[ -n "$(wait_for "$dir/load.log" SERVED)" ] || die "no load: $(tail -n 3 "$dir/load.log")"
sleep 2
"$BUILD/gnomon" jvms

say "gnomon record -p $server -d ${seconds}s -o $dir/demo.jfr"
"$BUILD/gnomon" record -p $server -d "${seconds}s" -o "$dir/demo.jfr" || exit
echo "the shop served $(awk '{ last = $2 } END { print last }' "$dir/load.log") requests in the last second"

say "gnomon render $dir/demo.jfr"
"$BUILD/gnomon" render "$dir/demo.jfr" || exit
"$BUILD/gnomon" render "$dir/demo.jfr" -o "$dir/demo.html" || exit

say "to look at"
echo "recording    $(readlink -f "$dir")/demo.jfr   (gnomon render, gnomon summary, jfr, JDK Mission Control)"
echo "flame graph  $(readlink -f "$dir")/demo.html  (a browser)"
