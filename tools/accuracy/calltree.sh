#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/calltree.sh [NAME...]
#
# Records a generated Java program whose call tree is known, on every JDK and in several ways of
# running code, and holds every stack against the tree (calltree/TreeCheck.java). A table says how
# many stacks are complete, guessed, truncated, without frames, and wrong. Fails if any is wrong, or
# if too few are complete. NAME: only these configurations (default xint c1 fp zgc).
#
# A wrong stack is wrong on any machine. How many are complete is held to what a quiet one has where QUIET is set
# (tools/accuracy/suite.sh), else to less: what could not be read in time is so much more on a busy one.
#
# TREE_RAW=1: wrong ones are followed by their frames as they came from the kernel.
# TREE_CHECK: the configurations (or "all") whose walks also do what they know from before, and count where that finds something
# else (GNOMON_CHECK_CODE, kern/README.md): then that is wrong, too.
# TREE_JVM: --jvm (auto, agent, vmstructs). TREE_SECONDS: how long each is recorded (default 60); TREE_METHODS (default 4000), TREE_SEED;
# TREE_HOMES: the JDKs (else all under /usr/lib/jvm; "none": none); TREE_ROOT: a root tree (mmdebstrap) whose JDKs of
# the versions TREE_ROOT_JDKS (default 21) run in it, too; SLACK widens the bounds (tests/jvm/lib.sh).
. "$(dirname "$0")/../../tests/jvm/lib.sh"
need_root
need_gnomon record
need_cmd "${CC:-gcc}"

: "${TREE_SECONDS:=60}" "${TREE_METHODS:=4000}" "${TREE_SEED:=1}"
if [ -n "${QUIET:-}" ]; then CPU_COMPLETE=99 WALL_COMPLETE=99.5 GUESSED=0.5; else CPU_COMPLETE=95 WALL_COMPLETE=90 GUESSED=2; fi
here=$ROOT/tools/accuracy/calltree
tree=$BUILD/calltree-$TREE_SEED-$TREE_METHODS
tree_seen=$tree # by the JVM
wanted=" ${*:-default xint c1 fp zgc} "
# TREE_SOME=1: by turns, so that every configuration is seen once and each JDK has the first (less where EVERY_JDK is not set)
if [ -n "${EVERY_JDK:-}" ]; then some=" default xint fp | default c1 zgc "; else some=" default | zgc "; fi
missed=()

# The program depends on its generator alone: made once per build directory.
tree_make() {
    local home

    home=$(jdk_oldest)
    [ -f "$home/include/jni.h" ] || skip "no jni.h in '$home'"
    (
        flock 9
        [ -f "$tree/done" ] && [ -z "$(find "$here" -newer "$tree/done" -type f)" ] && exit 0
        JAVA_HOME=$home "$here/build.sh" "$tree" "$TREE_SEED" "$TREE_METHODS" && touch "$tree/done"
    ) 9>"$tree.lock" || fail "the program with the known tree cannot be made"
}

# rooted ROOT COMMAND...: in a mount namespace of its own, with the program's directory as /mnt.
# Replaces the shell.
rooted() {
    # shellcheck disable=SC2016
    exec unshare -m sh -c 'tree=$1 root=$2
        shift 2
        mount --bind "$tree" "$root/mnt" && mount --rbind /proc "$root/proc" &&
            mount -t tmpfs tmpfs "$root/tmp" && exec chroot "$root" "$@"' - "$tree" "$@"
}

# tree_run JAVA... : started and warmed up; JVM_PID.
tree_run() {
    JVM_N=$((JVM_N + 1))
    JVM_OUT=$T/jvm$JVM_N.out
    JVM_ERR=$T/jvm$JVM_N.err
    mkfifo "$T/in$JVM_N"
    exec {JVM_FD}<>"$T/in$JVM_N"
    "$@" -cp "$tree_seen/classes" tree.Rt "$tree_seen" <"$T/in$JVM_N" >"$JVM_OUT" 2>"$JVM_ERR" \
        {JVM_FD}>&- &
    JVM_PID=$!
    CHILDREN+=("$JVM_PID")
    jvm_ready "the program"
    cpu_spent $((${TREE_WARM:-4} * 1000))
}

tree_end() {
    jvm_unharmed
    exec {JVM_FD}>&-
    kill "$JVM_PID"
    pid_gone "$JVM_PID" 60 || fail "the JVM does not end"
}

# examples MARKED: of the checker's output, the stacks that are wrong (0), or guessed and the like (1).
examples() {
    awk -v marked="$1" '/^---/ { show = / (guessed|truncated|unnamed), thread / == marked }
        /^[^- ]/ { show = 0 }
        show' "$T/check.out"
}

# Of each wrong stack what came from the kernel (user/naming/stacklog.h): all that was new in its thread
# at most 20 ms before or after.
raw_frames() {
    awk '!/^---/ || / (guessed|truncated|unnamed), thread / { next }
        {
            match($0, /tid [0-9]+/); tid = substr($0, RSTART + 4, RLENGTH - 4)
            sub(/.* at /, ""); print tid, $0
        }' "$T/check.out" | sort -u | while read -r tid at; do
        awk -v tid="$tid" -v at="$at" '
            function ms(iso) { return (substr(iso, 12, 2) * 60 + substr(iso, 15, 2)) * 6e4 + substr(iso, 18, 12) * 1000 }
            $1 == "stack" && $4 == tid { d = ms($2) - ms(at); if (d > -20 && d < 20) print }' "$T/err"
    done
}

# What of it cannot be in the tree, and then what is marked.
tree_examples() { { examples 0; examples 1; } | cut -c -160 | head -n "${TREE_EXAMPLES:-60}"; }

# One line per clock, and what was seen of each kind of call; returns 1 when it misses the targets.
tree_judge() {
    local label=$1 out=$T/check.out

    "$(jdk_newest)/bin/java" -Xshare:auto -cp "$tree/check" TreeCheck "$tree/tree.txt" \
        "$T/tree.jfr" >"$out" 2>&1
    [ $? -le 1 ] || fail "the checker: $(tail -n 5 "$out")"
    grep -q '^cpu events' "$out" || fail "no CPU samples: $(tail -n 5 "$out")"
    [ -z "${TREE_RAW:-}" ] || raw_frames
    [ -z "${V:-}" ] || grep '^seen' "$out"
    sed -n 's/^seen \([^ ]*\) .*/\1/p' "$out" >>"$T/kinds"
    awk -v label="$label" -v cpu=$CPU_COMPLETE -v wall=$WALL_COMPLETE -v guessed=$GUESSED -v slack="${SLACK:-1}" '
        # Shares of stacks are of those walked; of the samples, by the ticks they stand for, those
        # that came without one are not complete.
        function share(x, of) { return of ? 100 * x / of : 0 }
        function read_counts(    i) { for (i = 2; i < NF; i += 2) n[$i] = $(i + 1) }
        $1 == "cpu" || $1 == "wall" {
            read_counts()
            walked = n["events"] - n["failed"]
            least = 100 - slack * (100 - ($1 == "cpu" ? cpu : wall))
            c = share(n["complete"], walked); g = share(n["guessed"], walked)
            printf "  %-22s %-4s %7d stacks, %7d in the tree: %7.3f%% complete %6.3f%% guessed" \
                " %6.3f%% truncated, %d unnamed, %d wrong", label, $1, walked, n["java"], c, g,
                share(n["truncated"], walked), n["unnamed"], n["wrong"]
            if (c < least || g >= guessed * slack || n["wrong"] || n["java"] < 200)
                bad = 1
            if (slack != 1) printf " (bounds %.2f, %.2f)", least, guessed * slack
        }
        $1 == "cpu-weighted" || $1 == "wall-weighted" {
            read_counts()
            c = share(n["complete"], n["events"])
            printf "; of %d samples %.3f%% complete, %.3f%% without a stack\n", n["events"], c,
                share(n["failed"], n["events"])
            if (c < least)
                bad = 1
        }
        END { exit bad }' "$out"
}

# known_judge LABEL: what walks knew from before was so.
known_judge() {
    sed -n "s/^gnomon: \(\(code\|memo\): [0-9]* frames .*\|kernel stacks: .*\)/  $1: \1/p" "$T/err" >"$T/known"
    cat "$T/known"
    # of code nothing is known where all of it is interpreted
    grep -q ' memo: .* 0 were others$' "$T/known" && ! grep -Evq ' 0 were (others|wrong)$' "$T/known"
}

tree_case() {
    local label=$1 check=

    shift
    case " ${TREE_CHECK:-} " in *" all "* | *" ${label#* } "*) check=1 ;; esac
    tree_run "$@"
    # shellcheck disable=SC2086
    GNOMON_CHECK_CODE=$check GN_VERBOSE=${TREE_RAW:+-vvv} recorded_for $((TREE_SECONDS * 800)) "$TREE_SECONDS" "$T/tree.jfr" -p "$JVM_PID" \
        --cpu 1ms --wall 1ms --force ${TREE_JVM:+--jvm "$TREE_JVM"}
    cp "$GN_ERR" "$T/err"
    tree_end
    [ -z "$check" ] || known_judge "$label" || missed+=("$label (what was known was not so)")
    if ! tree_judge "$label"; then
        missed+=("$label")
        tree_examples
    elif [ -n "${V:-}" ]; then
        tree_examples
    fi
    [ "${KEEP:-0}" != 1 ] || mv "$T/tree.jfr" "$T/${label// /-}.jfr"
    [ "${KEEP:-0}" != 1 ] || mv "$T/err" "$T/${label// /-}.err"
}

options() {
    case $1 in
    default) echo ;;
    xint) echo -Xint ;;
    c1) echo -XX:TieredStopAtLevel=1 ;;
    fp) echo -XX:+PreserveFramePointer ;;
    zgc) echo -XX:+UseZGC ;;
    *) fail "no configuration '$1'" ;;
    esac
}

tree_jdk() {
    local version name native=

    version=$("$@" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')
    [ "$version" -lt 22 ] || native=--enable-native-access=ALL-UNNAMED
    if [ -n "${TREE_SOME:-}" ]; then
        wanted=${some%%|*}
        some="${some#*|}|$wanted"
    fi
    for name in $wanted; do
        # shellcheck disable=SC2046,SC2086
        tree_case "$version $name" "$@" -Xmx512m $native $(options "$name")
    done
}

# Those of the root tree.
tree_root() {
    local version java

    tree_seen=/mnt
    for version in ${TREE_ROOT_JDKS:-21}; do
        java=/usr/lib/jvm/java-$version-openjdk-$(dpkg --print-architecture)/bin/java
        [ -x "$1$java" ] || fail "no '$java' in '$1'"
        tree_jdk rooted "$1" "$java"
    done
}

tree_make
while read -r home; do
    tree_jdk "$home/bin/java"
done < <(case ${TREE_HOMES:-} in none) ;; *) JAVA_HOMES=${TREE_HOMES:-${JAVA_HOMES:-}} jdks ;; esac)
[ -z "${TREE_ROOT:-}" ] || tree_root "$TREE_ROOT"
kinds=$(sort -u "$T/kinds" | wc -l)
[ "$kinds" -ge 12 ] || missed+=("of 12 kinds of calls $kinds were seen in any configuration")
[ ${#missed[@]} = 0 ] || fail "they miss their targets: ${missed[*]/%/,}"
