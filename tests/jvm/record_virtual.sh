#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Virtual threads, JDK 21 and later: their stacks end, marked, where the frames on the carrier's
# stack end (often only the topmost one or two are there, their callers in the heap), or go on to the
# carrier's start; each frame has the caller that the program gives it. GNOMON_TREES: see container_tree.sh; its JDK 21 is used when it
# is there.
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
TREE=${GNOMON_TREES:-/var/cache/gnomon-test}/trixie
BASE='[gnomon].[base of a virtual thread]'
classes

# Every stack with one of the program's methods; wrong ones are printed.
judge() {
    awk -v base="$BASE" '
        function wrong(why) { print why ": " $0; bad = 1 }
        {
            n = split($0, f, ";")
            sub(/ [0-9]+$/, "", f[n])
            sub(/ [0-9]+$/, "")
            at = 0
            for (i = 1; i <= n; i++)
                if (f[i] ~ /^Virtual\.(burn|live|pinned)/) {
                    seen[f[i] ~ /burn/ ? "burn" : f[i] ~ /pinned/ ? "pinned" : "live"]++
                    if (f[i] ~ /burn|pinned/ && f[i - 1] !~ /^Virtual\.(burn|live)/ && f[i - 1] != base)
                        wrong("no caller of the program")
                    if (f[i] ~ /live/ && !at && i > 1 && f[i - 1] != base &&
                        f[i - 1] !~ /lambda|[Rr]un/)
                        wrong("not its caller")
                    at = i
                }
            if (at && index($0, base)) marked++
            if (index($0, base) && f[1] != base) wrong("a base that is not at the base")
        }
        END {
            printf "%d stacks in burn, %d pinned, %d end at the base\n", seen["burn"],
                seen["pinned"], marked
            exit bad || seen["burn"] < 20 || marked < 20
        }' "$1"
}

# recorded LABEL: JVM_PID runs it.
recorded() {
    local jfr=$T/virtual-$1.jfr whole

    until_true 20 file_has "$JVM_OUT" '^READY' || fail "not ready: $(cat "$JVM_ERR")"
    sleep 1
    "$GNOMON" record -p "$JVM_PID" -d 4s --cpu 1ms --wall 5ms -o "$jfr" </dev/null >"$T/out" \
        2>"$T/err" || fail "gnomon: $(cat "$T/err")"
    jvm_unharmed
    grep -aEv 'own CPU' "$T/err" | grep -a 'stacks  ' >"$T/stacks"
    whole=$(grep -aoE "[0-9.]+% (complete|at a virtual thread's base|kernel only)" "$T/stacks" |
        awk '{ n += $1 } END { print n + 0 }')
    note "JDK $1:$(cut -c 1-120 "$T/stacks")"
    assert_ge "percent of stacks with a known end" 99.5 "$whole"
    "$GNOMON" render "$jfr" -f collapsed >"$T/collapsed" || fail "render"
    judge "$T/collapsed" >"$T/judged" || fail "JDK $1: $(head -c 3000 "$T/judged")"
    note "$(cat "$T/judged")"
    jfr_readable "$jfr"
}

host() {
    JVM_OPTS='' jvm_start Virtual
    recorded "$(jdk_version "$JDK")"
    exec {JVM_FD}>&-
    kill "$JVM_PID"
    pid_gone "$JVM_PID" 10 || fail "the JVM does not end"
}

tree() {
    JVM_OUT=$T/tree.out JVM_ERR=$T/tree.err
    mkfifo "$T/in"
    exec {JVM_FD}<>"$T/in" # never at its end
    # shellcheck disable=SC2016
    unshare -m sh -c 'mount --bind "$1" "$2/mnt" &&
        mount --rbind /proc "$2/proc" && mount -t tmpfs tmpfs "$2/tmp" && cd / &&
        exec chroot "$2" "$3" -cp /mnt Virtual' - "$CLASSES" "$TREE" "$1" \
        <"$T/in" >"$JVM_OUT" 2>"$JVM_ERR" {JVM_FD}>&- &
    JVM_PID=$!
    CHILDREN+=("$JVM_PID")
    recorded 21
    kill "$JVM_PID"
}

while read -r JDK; do
    [ "$(jdk_version "$JDK")" -lt 21 ] || host
done < <(jdks)
java=/usr/lib/jvm/java-21-openjdk-$(dpkg --print-architecture)/bin/java
if [ -x "$TREE$java" ]; then tree "$java"; else note "without JDK 21: no '$TREE'"; fi
