# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/jvm/*_*.sh (bash): JVMs, gnomon, the recording's contents, and what must hold.
# See README.md beside this file. A test exits 0 (passed), 77 (skipped, says why) or else (failed).
set -u

LIB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$LIB_DIR/../.." && pwd)
BUILD=${BUILD:-$ROOT/build}
case $BUILD in /*) ;; *) BUILD=$ROOT/$BUILD ;; esac
GNOMON=${GNOMON:-$BUILD/gnomon}
CLASSES=$BUILD/tests/java
T=$(mktemp -d "${TMPDIR:-/tmp}/gnomon-test.XXXXXX")
chmod 755 "$T"
export GNOMON_TEST=$T # in the environment of all that the test starts

# ISOLATE=1: `record` of all tests has --isolate. (0: daemon.sh)
isolated_gnomon() {
    cat >"$T/gnomon" <<EOF
#!/bin/bash
args=()
for arg; do
    args+=("\$arg")
    [[ \$arg != record || " \${args[*]} " == *" --isolate "* ]] || args+=(--isolate)
done
exec "$GNOMON" "\${args[@]}"
EOF
    chmod 755 "$T/gnomon"
    GNOMON=$T/gnomon
}
[ "${ISOLATE:-}" != 1 ] || isolated_gnomon

# ---- ending --------------------------------------------------------------------------------

CHILDREN=()
UNMOUNT=()
REMOVE=()

# Is a process of that number still this test's? Of those that have ended the number comes again, on a busy machine
# within a minute, for a process of another test.
is_ours() { [[ $'\n'$(jobs -rp)$'\n' == *$'\n'$1$'\n'* ]] || grep -qszx "GNOMON_TEST=$T" "/proc/$1/environ"; }

# Each process by its id, then its files. TERM first, so that gnomon can let go of its target.
cleanup() {
    local rc=$? p ours=()

    trap - EXIT
    for p in "$T"/serve*.pid; do [ ! -e "$p" ] || CHILDREN+=("$(cat "$p")"); done
    for p in "${CHILDREN[@]}"; do ! is_ours "$p" || ours+=("$p"); done
    for p in "${ours[@]}"; do kill -CONT "$p" && kill "$p"; done 2>/dev/null
    for p in "${ours[@]}"; do
        pid_gone "$p" 5 || ! is_ours "$p" || kill -KILL "$p" 2>/dev/null
    done
    wait 2>/dev/null
    # A killed JVM cannot remove its socket, and its pid comes again.
    for p in "${CHILDREN[@]}"; do [ -e "/proc/$p" ] || rm -f "/tmp/.java_pid$p"; done
    for p in "${UNMOUNT[@]}"; do umount -l "$p"; done
    for p in "${REMOVE[@]}"; do rm -rf "$p"; done
    if [ "${KEEP:-0}" = 1 ]; then echo "kept: $T"; else rm -rf "$T"; fi
    exit $rc
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

note() { echo "  $*"; }
skip() { echo "skip: $*"; exit 77; }

# Ends the test also from within $(...), where exit would only end the subshell.
fail() {
    echo "FAIL: $*" >&2
    [ "$BASHPID" = $$ ] || [ -n "${SOFTLY:-}" ] || kill -TERM $$
    exit 1
}

# softly ASSERTION...: a failure is shown at once but ends the test only at softly_end, so that one
# run shows all figures.
SOFT_FAILURES=0
softly() {
    (
        trap - EXIT TERM
        SOFTLY=1
        "$@"
    ) || SOFT_FAILURES=$((SOFT_FAILURES + 1))
}
softly_end() { [ $SOFT_FAILURES = 0 ] || fail "$SOFT_FAILURES of the above"; }

need_root() { [ "$(id -u)" = 0 ] || skip "needs root"; }
need_cmd() { command -v "$1" >/dev/null || skip "needs the command '$1'"; }
need_gnomon() {
    [ -x "$GNOMON" ] || fail "no '$GNOMON': run make"
    "$GNOMON" help 2>/dev/null | grep -q "^  $1 " || skip "gnomon has no command '$1' yet"
}

# built FILE...: of the build, as it would be made now; one test at a time, since two would write the same file.
built() {
    (
        flock 9
        make -s -C "$ROOT" BUILD="${BUILD#"$ROOT"/}" "${@#"$ROOT"/}"
    ) 9>"$BUILD/built.lock" || fail "'$*' cannot be built"
}

# ---- waiting -------------------------------------------------------------------------------

# Nothing here holds a time against a clock: what is waited for comes when the machine gets to it, and limits
# are there only so that a test that failed ends. Reading a pipe into which nobody writes is a sleep
# without a process.
exec {NAP_FD}<> <(:)
nap() { read -r -t "$1" -u "$NAP_FD" || true; }

# until_true SECONDS COMMAND...: 0 as soon as the command succeeds, 1 when time is up. SECONDS of a machine
# that has nothing else to do: what is counted are the naps, which grow with what has passed.
until_true() {
    local left_ms=$(($1 * 1000)) all_ms=$(($1 * 1000)) nap_ms nap_s

    shift
    until "$@"; do
        ((left_ms > 0)) || return 1
        nap_ms=$(((all_ms - left_ms) / 16))
        nap_ms=$((nap_ms < 20 ? 20 : nap_ms > 250 ? 250 : nap_ms))
        left_ms=$((left_ms - nap_ms))
        printf -v nap_s 0.%03d $nap_ms
        nap "$nap_s"
    done
}

# pid_state PID: R, S, Z ..., nothing when it is gone.
pid_state() {
    local s=

    { read -r s <"/proc/$1/stat"; } 2>/dev/null
    s=${s##*) }
    STATE=${s%% *}
}
pid_ended() { pid_state "$1"; [[ -z $STATE || $STATE == Z ]]; }
pid_gone() { until_true "$2" pid_ended "$1"; }

# emptied FILE: before a program that is waited for by what it writes there: one in the background
# opens it later, and until then an earlier one's words would do.
emptied() { : >"$1"; }
file_has() { grep -q -- "$2" "$1" 2>/dev/null; }
# larger_than FILE BYTES
larger_than() { [ "$(stat -c %s "$1")" -gt "$2" ]; }

# ---- JDKs ----------------------------------------------------------------------------------

# "VERSION HOME" of every JDK, by version, each once (/usr/lib/jvm is full of links). Looked for once for
# each JAVA_HOMES, since tests ask all the time.
jdks_look() {
    local h

    JDKS_OF=${JAVA_HOMES:-}
    JDKS_FOUND=$(for h in ${JAVA_HOMES:-${JAVA_HOME:-} /usr/lib/jvm/*}; do
        [ -x "$h/bin/java" ] && [ -x "$h/bin/jfr" ] && readlink -f "$h"
    done | awk '!seen[$0]++' | while read -r h; do echo "$(jdk_version "$h") $h"; done | sort -s -n -k 1,1)
}

jdk_version() { sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release"; }
jdks_look

# The homes, one per line. The JDK whose parser reads recordings: the newest. The one that compiles: the oldest.
jdks() {
    [ "$JDKS_OF" = "${JAVA_HOMES:-}" ] || jdks_look
    [ -z "$JDKS_FOUND" ] || echo "$JDKS_FOUND" | cut -d' ' -f2
}
jdk_newest() { jdks | tail -n 1; }
jdk_oldest() { jdks | head -n 1; }

# for_each_jdk FUNCTION ARGS...: with JDK set to the home. JDKS: only of these versions, or `all`.
for_each_jdk() {
    local any=0

    while read -r JDK; do
        [[ ${JDKS:-all} = all || " $JDKS " == *" $(jdk_version "$JDK") "* ]] || continue
        any=1
        note "JDK $(jdk_version "$JDK"): $*"
        "$@" </dev/null
    done < <(jdks)
    [ $any = 1 ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"
}

# jdk_in_turn N: the version of the Nth JDK, from the first again after the last.
jdk_in_turn() {
    local homes

    mapfile -t homes < <(jdks)
    [ ${#homes[@]} -gt 0 ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"
    jdk_version "${homes[$1 % ${#homes[@]}]}"
}

# `make check` has some minutes only: of what is alike it takes a part, each test another one. CI sets EVERY_JDK and has all.

# for_one_jdk FUNCTION ARGS...: with one JDK, by turns; with each where EVERY_JDK is set.
TURN=$(cksum <<<"$0" | cut -c1-4)
for_one_jdk() {
    TURN=$((TURN + 1))
    JDKS=${JDKS:-${EVERY_JDK:-$(jdk_in_turn "$TURN")}} for_each_jdk "$@"
}

# for_any_jdk FUNCTION ARGS...: with one JDK even where EVERY_JDK is set, another one with another commit: for what is gnomon's doing, and
# not the JVM's. JDKS=all, or the version that is printed, to have it again.
for_any_jdk() {
    TURN=$((TURN + 1))
    JDKS=${JDKS:-$(jdk_in_turn $((TURN + $(commit_turn))))} for_each_jdk "$@"
}
commit_turn() { echo $((16#$(git -C "$ROOT" rev-parse --short=6 HEAD 2>/dev/null || echo 0))); }

# any_of FUNCTION ITEM...: FUNCTION with one of the items, likewise.
any_of() {
    local items=("${@:2}")

    $1 "${items[($TURN + $(commit_turn)) % ${#items[@]}]}"
}

# some_of N FUNCTION ITEM...: FUNCTION (which may have arguments) with N of the items, by turns, in their order; with each where
# EVERY_JDK is set.
some_of() {
    local n=$1 function=$2 items=("${@:3}") turn=$TURN i # FUNCTION may take turns itself

    for i in "${!items[@]}"; do
        [ -n "${EVERY_JDK:-}" ] || (((i + turn) % ${#items[@]} < n)) || continue
        $function "${items[i]}"
    done
}

# Compile tests/jvm/java once per build directory.
classes() {
    local home

    home=$(jdk_oldest)
    [ -n "$home" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"
    mkdir -p "$CLASSES"
    (
        flock 9
        [ -z "$(find "$LIB_DIR/java" -name '*.java' -newer "$CLASSES/.done" 2>&1)" ] && exit 0
        "$home/bin/javac" --release 17 -Xlint:all -Werror -d "$CLASSES" \
            "$LIB_DIR"/java/*.java && touch "$CLASSES/.done"
    ) 9>"$CLASSES/.lock" || fail "the Java programs do not compile"
}

# own_jar CLASS: OWN_JAR, whose main class that is and whose name no other test's JVM has: OWN_NAME.jar.
own_jar() {
    classes
    OWN_NAME=$1-$$
    OWN_JAR=$T/$OWN_NAME.jar
    printf 'Main-Class: %s\nClass-Path: file://%s/\n' "$1" "${CLASSES//:// file://}" >"$T/manifest"
    "$(jdk_newest)/bin/jar" --create --file "$OWN_JAR" --manifest "$T/manifest" || fail "no jar"
}

# classes_seen: SEEN has the classes where everybody sees and reads them, whatever lies over /tmp and wherever
# the build directory is.
classes_seen() {
    classes
    SEEN=$(mktemp -d /var/lib/gnomon-test.XXXXXX) || fail "no directory in /var/lib"
    REMOVE+=("$SEEN")
    cp -r "$CLASSES/." "$SEEN" && chmod -R a+rX "$SEEN"
}

# ---- the target ----------------------------------------------------------------------------

# jvm_pipes: sets JVM_IN, JVM_FD (its other end), JVM_OUT and JVM_ERR for one more JVM, JVM_N.
JVM_N=0
jvm_pipes() {
    classes
    JVM_N=$((JVM_N + 1))
    JVM_OUT=$T/jvm$JVM_N.out
    JVM_ERR=$T/jvm$JVM_N.err
    JVM_IN=$T/jvm$JVM_N.in
    mkfifo "$JVM_IN"
    # Opened for reading too, or opening would wait for the JVM.
    exec {JVM_FD}<>"$JVM_IN"
}

# jvm_start CLASS ARGS...: a workload of java/, ready to be measured. JVM_OPTS: options of the JVM.
# Sets JVM_PID, JVM_OUT, JVM_ERR; the previous one's are forgotten
# but the process is still ended at the end.
jvm_start() {
    jvm_pipes
    # shellcheck disable=SC2086
    "${JDK:=$(jdk_newest)}/bin/java" ${JVM_OPTS:-} -cp "$CLASSES" "$@" \
        <"$JVM_IN" >"$JVM_OUT" 2>"$JVM_ERR" {JVM_FD}>&- &
    JVM_PID=$!
    CHILDREN+=("$JVM_PID")
    jvm_ready "$1"
}

# jvm_ready WHAT: it has said so.
jvm_ready() {
    until_true "${JVM_READY:-120}" file_has "$JVM_OUT" '^READY' || fail "'$1' is not ready: $(cat "$JVM_ERR")"
}

jvm_go() { echo go >&"$JVM_FD"; }

# jvm_done: it has done its work (and idles).
jvm_done() { until_true 300 file_has "$JVM_OUT" '^DONE' || fail "the workload is not done"; }

# jvm_end [SECONDS]: tell it to end and wait. (Closing its standard input would not do: whatever
# was started since has inherited it.)
jvm_end() {
    echo end >&"$JVM_FD"
    exec {JVM_FD}>&-
    pid_gone "$JVM_PID" "${1:-60}" || fail "the JVM does not end"
}

jvm_alive() { ! pid_ended "$JVM_PID"; }

# jvm_rest: its threads that never rest leave the CPUs to those that look at what was recorded, until jvm_wake.
jvm_rest() { process_stop "$JVM_PID"; }
jvm_wake() { kill -CONT "$JVM_PID"; }

# Fails if the JVM is gone or left a crash report.
jvm_unharmed() {
    jvm_alive || fail "the target died: $(tail -n 5 "$JVM_ERR")"
    file_has "$JVM_OUT" 'fatal error' && fail "the target crashed"
    return 0
}

# truth NAME FIELD: 2 = percent, 3 = ns (see Shares.tell).
truth() { awk -v n="$1" -v f="$2" '$1 == "TRUTH" && $2 == n { print $(f + 1) }' "$JVM_OUT"; }

# CPU time of a process in ns, its dead threads included: from stat, which is scaled to the
# scheduler's exact sum and then cut to 10 ms.
process_cpu_ns() {
    local s

    { read -r s <"/proc/$1/stat"; } 2>/dev/null || return
    # shellcheck disable=SC2206
    s=(${s##*) })
    echo $(((s[11] + s[12]) * 1000000000 / HZ))
}
HZ=$(getconf CLK_TCK)

# cpu_spent MS [PID]: returns when JVM_PID has used so much more CPU time, which takes as long as it takes.
cpu_spent() {
    local pid=${2:-$JVM_PID}

    until_true 300 cpu_beyond "$pid" $(($(process_cpu_ns "$pid") + $1 * 1000000)) ||
        fail "process $pid does not use $1 ms of CPU time"
}
cpu_beyond() { [ "$(process_cpu_ns "$1" || echo 0)" -ge "$2" ]; }

# "TID NS COMM" per thread, ns exact (sum_exec_runtime).
threads_cpu() {
    local t

    for t in /proc/"$1"/task/*; do
        echo "${t##*/} $(cut -d' ' -f1 "$t/schedstat") $(cat "$t/comm")"
    done 2>/dev/null
}

# ---- gnomon --------------------------------------------------------------------------------

# gnomon_start OUT ARGS...: `gnomon record -o OUT ARGS` in the background, and wait until it
# records. Sets GN_PID, GN_OUT, GN_ERR. GN_VERBOSE: -v, or -vv.
# CPU_ALONE: an option for those that look at CPU samples alone, since to load what takes the others costs more than to record; the
# figures that are judged are of both.
CPU_ALONE=$([ -n "${QUIET:-}" ] || echo --no-wall)
GN_N=0
gnomon_start() {
    local file=$1

    shift
    GN_N=$((GN_N + 1))
    [[ " $* " == *" --no-cpu "* ]] && GN_NO_CPU=1 || GN_NO_CPU=
    GN_OUT=$T/gnomon$GN_N.out
    GN_ERR=$T/gnomon$GN_N.err
    "$GNOMON" "${GN_VERBOSE:--v}" record -o "$file" "$@" </dev/null >"$GN_OUT" 2>"$GN_ERR" &
    GN_PID=$!
    CHILDREN+=("$GN_PID")
    until_true 60 recording_or_over || fail "gnomon does not begin: $(cat "$GN_ERR")"
    pid_ended "$GN_PID" && fail "gnomon ended at once: $(cat "$GN_ERR")"
    sleep "${GN_SETTLE:-0}"
}

# Its timer is what it opens last, after the clocks and when the ticks have begun.
recording_or_over() {
    [[ $(ls -l "/proc/$GN_PID/fd" 2>/dev/null) == *timerfd* ]] || pid_ended "$GN_PID"
}

# recorded_for CPU_MS SECONDS OUT ARGS...: `gnomon record -o OUT ARGS`, stopped when JVM_PID has used so much
# CPU time and so many seconds have passed since it began.
recorded_for() {
    local cpu=$1 least=$2

    shift 2
    gnomon_start "$@"
    sleep "$least" &
    [ "$cpu" = 0 ] || cpu_spent "$cpu"
    wait $!
    gnomon_stop
}

# since MOMENT [LATER]: ms from one $EPOCHREALTIME to now, or to another.
since() { calc "(${2:-$EPOCHREALTIME} - $1) * 1000"; }

# seconds_for CPU_MS: so many are enough, by twice, for JVM_PID to use so much CPU time on a machine as busy
# as it is now; for `-d`, where nobody can see from outside how far it is.
seconds_for() {
    local at=${EPOCHREALTIME/./}

    cpu_spent 100
    awk -v us=$((${EPOCHREALTIME/./} - at)) -v ms="$1" 'BEGIN { s = us / 1e6 * ms / 100 * 2; print int(s) + 1 }'
}

# gnomon_end SECONDS: wait for its end; GN_RC is its exit code.
gnomon_end() {
    pid_gone "$GN_PID" "$1" || fail "gnomon does not end in $1 s: $(cat "$GN_ERR")"
    wait "$GN_PID"
    GN_RC=$?
}

# gnomon_stop: as Ctrl-C does, and it has to end well.
gnomon_stop() {
    kill -INT "$GN_PID"
    gnomon_end 60
    assert_eq "exit code" 0 "$GN_RC" "$(cat "$GN_ERR")"
}

# process_stop PID: all of its threads are when this returns.
process_stop() {
    kill -STOP "$1"
    until_true 60 process_is_stopped "$1" || fail "SIGSTOP has no effect on process $1"
}

process_is_stopped() { ! grep -h '^State:' "/proc/$1"/task/*/status | grep -qv '^State:.[TtZX]'; }

# ---- the recording -------------------------------------------------------------------------

# served HOME COMMAND ARG...: `jfr ARG...` (COMMAND "jfr"), java/JfrQuery ("query") or the class ARG ("main") of that JDK, in one
# process that stays (JfrQuery serve). What it said is in SERVED.out and SERVED.err; one at a time.
served() {
    local home=$1 rc= s line

    shift
    s=$(server "$home") || fail "no server of '$home'"
    SERVED=$s
    printf -v line '%s\037' "$s.out" "$s.err" "$@"
    echo "${line%?}" >"$s.in"
    read -r -t 240 rc <>"$s.rc" || fail "no answer to '$*': $(cat "$s.log")"
    [ ! -s "$s.log" ] || cat "$s.log" >>"$s.err"
    return "$rc"
}

# server HOME: the path of its files; started when it is first needed. A home of tree.sh's has no JDK that sees
# this test's files.
server() {
    local home=$1 s

    [ -d "$home/lib" ] || home=$(jdk_newest)
    s=$T/serve${home//\//-}
    if [ ! -e "$s.in" ]; then
        classes
        mkfifo "$s.in" "$s.rc"
        # its own warnings would be taken for answers
        "$home/bin/java" -Xshare:auto -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx1g -Xss8m -Xlog:disable \
            -Xlog:all=warning:stderr --add-opens jdk.jfr/jdk.jfr.internal.tool=ALL-UNNAMED -cp "$CLASSES" \
            JfrQuery serve $$ 0<>"$s.in" 1<>"$s.rc" 2>"$s.log" 9>&- &
        echo $! >"$s.pid"
    fi
    echo "$s"
}

# served_to WHAT HOME COMMAND ARG...: its output, without a word on stderr; WHAT fails otherwise.
served_to() {
    local what=$1

    shift
    (
        flock 9
        served "$@" || fail "$what: $(head -c 2000 "$SERVED.err")"
        [ ! -s "$SERVED.err" ] || fail "$what: $(head -c 2000 "$SERVED.err")"
        cat "$SERVED.out"
    ) 9>>"$T/serve.lock"
}

# query FILE ...: java/JfrQuery with the JDK's own parser.
query() { served_to "the JDK does not read '$1' in silence" "$(jdk_newest)" query "$@"; }

# jfr_print FILE EVENT[,EVENT...] [OPTION...]: as the newest JDK's tool does.
jfr_print() { served_to "jfr print of '$1'" "$(jdk_newest)" jfr print --events "$2" "${@:3}" "$1"; }

jfr_summary() { served_to "jfr summary of '$1'" "$(jdk_newest)" jfr summary "$1"; }

# weight FILE EVENT [FILTER...]: the sum, 0 if none.
weight() {
    local file=$1 event=$2

    shift 2
    query "$file" "$event" total "$@" | awk '{ n += $1 } END { print n + 0 }'
}

CPU_EVENT=jdk.ExecutionSample
WALL_EVENT=profiler.WallClockSample

# thread_ms FILE THREAD-REGEX [CPU_MS [WALL_MS]]: wall time of the threads, on and off the CPU: the
# same however busy the machine is.
thread_ms() {
    local cpu wall

    cpu=$(weight "$1" $CPU_EVENT "thread=$2")
    wall=$(weight "$1" $WALL_EVENT "thread=$2")
    calc "$cpu * ${3:-10} + $wall * ${4:-20}"
}

# thread_ms_chance FILE THREAD-REGEX [CPU_MS [WALL_MS]]: what chance does to thread_ms() of one thread: 4 standard
# deviations, as each wall tick either finds it off the CPU or does not. Little for one that always or never waits.
thread_ms_chance() {
    local cpu wall each=${4:-20}

    cpu=$(weight "$1" $CPU_EVENT "thread=$2")
    wall=$(weight "$1" $WALL_EVENT "thread=$2")
    calc "$each + 4 * $each * sqrt($wall * (1 - $wall / ($wall + $cpu * ${3:-10} / $each + 0.001)))"
}

# jfr_readable FILE: `jfr summary`, `print` and `view` of the newest JDK take it without a word on stderr; with READERS=all those of
# every JDK (a home of tree.sh's has none).
jfr_readable() {
    local h

    [ -s "$1" ] || fail "'$1' is missing or empty"
    while read -r h; do
        [ "$h" = "$(jdk_newest)" ] || { [ "${READERS:-}" = all ] && [ -d "$h/lib" ]; } || continue
        jfr_silent "$h" summary "$1"
        jfr_silent "$h" print --stack-depth 128 "$1"
        [ "$(jdk_version "$h")" -ge 21 ] && jfr_silent "$h" view hot-methods "$1"
    done < <(jdks)
    return 0
}

# jfr_silent HOME COMMAND ARG... FILE: output in T/jfr.out.
jfr_silent() {
    served_to "JDK $(jdk_version "$1"): jfr $2 of '${*: -1}'" "$1" jfr "${@:2}" >"$T/jfr.out"
}

# ---- what must hold ------------------------------------------------------------------------

# assert_eq WHAT WANT GOT [MORE]
assert_eq() { [ "$2" = "$3" ] || fail "$1 is '$3', not '$2'${4:+: $4}"; }

# assert_near WHAT WANT GOT TOLERANCE: absolute; numbers may have a fraction.
# Tolerances hold on a machine that others use, too, unless the figures go into tools/accuracy's table
# (QUIET). SLACK widens them by a factor (emulated machines); what is printed is what was applied.
assert_near() {
    local t=$4

    [ -z "${SLACK:-}" ] || t=$(calc "$4 * $SLACK")
    awk -v w="$2" -v g="$3" -v t="$t" 'BEGIN { d = g - w; exit !(d <= t && -d <= t) }' ||
        fail "$1 is $3, want $2 +- $t"
    note "$1: $3 (truth $2, tolerance $t)"
}

# assert_percent WHAT WANT GOT PERCENT: relative.
assert_percent() {
    local t=$4

    [ -z "${SLACK:-}" ] || t=$(calc "$4 * $SLACK")
    awk -v w="$2" -v g="$3" -v t="$t" \
        'BEGIN { d = (g - w) * 100; exit !(w > 0 && d <= t * w && -d <= t * w) }' ||
        fail "$1 is $3, want $2 within $t% (off by $(percent_off "$2" "$3"))"
    note "$1: $3 (truth $2, off by $(percent_off "$2" "$3"), tolerance $t%)"
}

percent_off() { awk -v w="$1" -v g="$2" 'BEGIN { printf "%+.2f%%", w ? (g - w) * 100 / w : 0 }'; }

# strict ASSERTION...: a figure that only a machine with nothing else to do can hold. It is looked at where
# QUIET is set, by `make accuracy` (tools/accuracy/tests.sh); what is true on every machine is asserted beside it.
strict() { [ -z "${QUIET:-}" ] || softly "$@"; }

# assert_between WHAT LEAST MOST GOT
assert_between() {
    awk -v a="$2" -v b="$3" -v g="$4" 'BEGIN { exit !(g >= a && g <= b) }' || fail "$1 is $4, not from $2 to $3"
    note "$1: $4 (from $2 to $3)"
}

# told CASE WHAT WANT GOT UNIT STANDARD_ERROR BOUND [percent]: a figure beside what is true, for the table
# of tools/accuracy (its `row`), into the file FIGURES if one is named. Judges nothing here.
told() {
    local IFS='|'

    [ -z "${FIGURES:-}" ] || echo "$*" >>"$FIGURES"
}

# share_near CASE WHAT WANT GOT SAMPLES: a share in percent: of so many samples within 4 standard errors of such a
# draw, and within 2 points where it is to be strict.
share_near() {
    local se

    se=$(calc "100 * sqrt($3 / 100 * (1 - $3 / 100) / $5)")
    [ -n "${QUIET:-}" ] || softly assert_near "$1: $2" "$3" "$4" "$(calc "2 + 4 * $se")"
    strict assert_near "$1: $2" "$3" "$4" 2
    told "$1" "$2" "$3" "$4" % "$se" 2
}

assert_ge() { awk -v g="$3" -v w="$2" 'BEGIN { exit !(g >= w) }' || fail "$1 is $3, want >= $2"; }
assert_empty() { [ ! -s "$2" ] || fail "$1 is not empty: $(head -c 500 "$2")"; }
assert_match() { grep -Eq -- "$2" "$3" || fail "$1 has no /$2/: $(head -c 500 "$3")"; }

calc() { awk "BEGIN { printf \"%.4f\", $* }"; }
