# SPDX-License-Identifier: Apache-2.0
# Sourced by the workloads: a JVM with default flags, here or in a container, its recording, and how
# many of its stacks are complete.
#
# WORKLOAD_SECONDS: how long it is recorded (default 10). WORKLOAD_JAVA: the JVM (default: that of
# the oldest JDK). WORKLOAD_ROOT: a directory for the root of a Debian 13 system, in which the JVMs
# run then, with another C library: WORKLOAD_JDK (default 25) of it. Made there with mmdebstrap when
# it is empty (a minute and 760 MB); bubblewrap makes the container.
. "$(dirname "${BASH_SOURCE[0]}")/../../../tests/jvm/lib.sh"
need_root
need_gnomon record

: "${WORKLOAD_SECONDS:=10}"
HERE=$ROOT/tools/accuracy/workloads
CPU_COMPLETE=99 WALL_COMPLETE=99

# packages NAME...: installed if they are not, and no daemon of theirs is started.
packages() {
    local p missing=() policy=/usr/sbin/policy-rc.d made=0

    for p; do
        dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    [ -e $policy ] || { printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy && made=1; }
    apt-get install -y --no-install-recommends "${missing[@]}" >"$T/apt.out" 2>&1 ||
        { [ $made = 0 ] || rm $policy; skip "cannot install ${missing[*]}: $(tail -n 1 "$T/apt.out")"; }
    [ $made = 0 ] || rm $policy
}

container_make() {
    need_cmd bwrap
    # it has a /tmp of its own, and nothing else can be mounted over the root
    case $T in /tmp/*) ;; *) fail "with WORKLOAD_ROOT, TMPDIR has to be below /tmp, not '$TMPDIR'" ;; esac
    [ -d "$WORKLOAD_ROOT/usr/lib/jvm" ] && return 0
    need_cmd mmdebstrap
    note "making a Debian 13 root in '$WORKLOAD_ROOT'"
    mmdebstrap --variant=minbase --include=openjdk-21-jdk-headless,openjdk-25-jdk-headless,procps,ca-certificates \
        trixie "$WORKLOAD_ROOT" >"$T/root.out" 2>&1 ||
        skip "no Debian 13 root: $(tail -n 1 "$T/root.out")"
}

# java_run ARGS...: becomes the JVM. Jars of the host are seen in the container at the same place.
java_run() {
    local jdk

    [ -n "${WORKLOAD_ROOT:-}" ] || exec "${WORKLOAD_JAVA:-$(jdk_oldest)/bin/java}" "$@"
    jdk=$(echo "$WORKLOAD_ROOT"/usr/lib/jvm/java-"${WORKLOAD_JDK:-25}"-openjdk-*)
    # /usr/share/java and the like become files of the container by their own mounts
    exec bwrap --unshare-pid --die-with-parent --ro-bind "$WORKLOAD_ROOT" / --proc /proc --dev /dev \
        --tmpfs /tmp --bind "$T" "$T" "${BINDS[@]}" "${jdk#"$WORKLOAD_ROOT"}/bin/java" "$@"
}

# java_start ARGS...: in the background. JVM_PID is the JVM's, in the container too.
BINDS=()
java_start() {
    local launcher

    [ -z "${WORKLOAD_ROOT:-}" ] || container_make
    JVM_OUT=$T/java.out
    JVM_ERR=$T/java.err
    (java_run "$@") </dev/null >"$JVM_OUT" 2>"$JVM_ERR" &
    launcher=$!
    CHILDREN+=("$launcher")
    until_true 20 jvm_of "$launcher" || fail "the JVM does not start: $(tail -n 5 "$JVM_ERR")"
}

# The process below (or at) $1 that has libjvm mapped.
jvm_of() {
    local p

    for p in "$1" $(pgrep -P "$1") $(pgrep -P "$1" | xargs -r -n 1 pgrep -P); do
        grep -q libjvm "/proc/$p/maps" 2>/dev/null && JVM_PID=$p && return 0
    done
    return 1
}

# workload_record LABEL: records JVM_PID with the default flags, and judges.
workload_record() {
    "$GNOMON" record -p "$JVM_PID" -d "${WORKLOAD_SECONDS}s" --force -o "$T/x.jfr" </dev/null \
        >"$T/out" 2>"$T/err" || fail "gnomon: $(cat "$T/err")"
    workload_judge "$1"
}

# Complete is what ends in the C library, where threads start. (TreeCheck without a tree counts.)
workload_judge() {
    local classes=$BUILD/accuracy-classes

    mkdir -p "$classes"
    "$(jdk_oldest)/bin/javac" --release 17 -d "$classes" "$HERE/../calltree/TreeCheck.java"
    "$(jdk_newest)/bin/java" -Xshare:auto -cp "$classes" TreeCheck /dev/null "$T/x.jfr" \
        >"$T/check.out" 2>&1 || fail "the checker: $(tail -n 5 "$T/check.out")"
    grep -E '^(---|      )' "$T/check.out" | cut -c -160 | head -n "${WORKLOAD_EXAMPLES:-40}"
    awk -v label="$1" -v cpu=$CPU_COMPLETE -v wall=$WALL_COMPLETE '
        function share(x, of) { return of ? 100 * x / of : 0 }
        $1 ~ /^(cpu|wall)(-weighted)?$/ {
            for (i = 2; i < NF; i += 2) n[$i] = $(i + 1)
            # a sample without a stack was not walked; how many there are is printed beside
            c = share(n["complete"], n["events"] - n["failed"])
            if ($1 != "cpu-weighted")
                printf "  %-20s %-13s %8d: %7.3f%% complete %6.3f%% guessed %6.3f%% truncated" \
                    " %6.3f%% without a stack\n", label, $1, n["events"], c,
                    share(n["guessed"], n["events"]), share(n["truncated"], n["events"]),
                    share(n["failed"], n["events"])
            clocks++
            if (c < ($1 ~ /cpu/ ? cpu : wall)) bad = 1
        }
        END { exit bad || !clocks }' "$T/check.out" || fail "$1: too few complete stacks"
}
