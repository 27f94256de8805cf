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

# ---- ending --------------------------------------------------------------------------------

CHILDREN=()
UNMOUNT=()

# Each process by its id, then its files. TERM first, so that gnomon can let go of its target.
cleanup() {
    local rc=$? p

    trap - EXIT
    for p in "${CHILDREN[@]}"; do kill -CONT "$p" && kill "$p"; done 2>/dev/null
    for p in "${CHILDREN[@]}"; do
        pid_gone "$p" 5 || kill -KILL "$p" 2>/dev/null
    done
    wait 2>/dev/null
    # A killed JVM cannot remove its socket, and its pid comes again.
    for p in "${CHILDREN[@]}"; do rm -f "/tmp/.java_pid$p"; done
    for p in "${UNMOUNT[@]}"; do umount -l "$p"; done
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

# ---- waiting -------------------------------------------------------------------------------

# until_true SECONDS COMMAND...: 0 as soon as the command succeeds, 1 when time is up.
until_true() {
    local left=$(($1 * 20))

    shift
    until "$@"; do
        ((left-- > 0)) || return 1
        sleep 0.05
    done
}

pid_ended() { [ ! -d "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
pid_gone() { until_true "$2" pid_ended "$1"; }

# emptied FILE: before a program that is waited for by what it writes there: one in the background
# opens it later, and until then an earlier one's words would do.
emptied() { : >"$1"; }
file_has() { grep -q -- "$2" "$1" 2>/dev/null; }

# ---- JDKs ----------------------------------------------------------------------------------

# Every JDK's home, one per line, each once (/usr/lib/jvm is full of links).
jdks() {
    local h

    for h in ${JAVA_HOMES:-${JAVA_HOME:-} /usr/lib/jvm/*}; do
        [ -x "$h/bin/java" ] && [ -x "$h/bin/jfr" ] && readlink -f "$h"
    done | awk '!seen[$0]++'
}

jdk_version() { sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$1/release"; }

# The JDK whose parser reads recordings: the newest. The one that compiles: the oldest.
jdk_sorted() { jdks | while read -r h; do echo "$(jdk_version "$h") $h"; done | sort -n; }
jdk_newest() { jdk_sorted | tail -n 1 | cut -d' ' -f2; }
jdk_oldest() { jdk_sorted | head -n 1 | cut -d' ' -f2; }

# for_each_jdk FUNCTION ARGS...: with JDK set to the home. JDKS: only of these versions.
for_each_jdk() {
    local any=0

    while read -r JDK; do
        [[ -z ${JDKS:-} || " $JDKS " == *" $(jdk_version "$JDK") "* ]] || continue
        any=1
        note "JDK $(jdk_version "$JDK"): $*"
        "$@" </dev/null
    done < <(jdks)
    [ $any = 1 ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"
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

# jvm_start CLASS ARGS...: a workload of java/, ready to be measured. JVM_OPTS: options of the JVM,
# JVM_READY: seconds it may take. Sets JVM_PID, JVM_OUT, JVM_ERR; the previous one's are forgotten
# but the process is still ended at the end.
jvm_start() {
    jvm_pipes
    # shellcheck disable=SC2086
    "${JDK:=$(jdk_newest)}/bin/java" ${JVM_OPTS:-} -cp "$CLASSES" "$@" \
        <"$JVM_IN" >"$JVM_OUT" 2>"$JVM_ERR" {JVM_FD}>&- &
    JVM_PID=$!
    CHILDREN+=("$JVM_PID")
    until_true "${JVM_READY:-20}" file_has "$JVM_OUT" '^READY' ||
        fail "'$1' is not ready in ${JVM_READY:-20} s: $(cat "$JVM_ERR")"
}

jvm_go() { echo go >&"$JVM_FD"; }

# jvm_done SECONDS: it has done its work (and idles).
jvm_done() {
    until_true "$1" file_has "$JVM_OUT" '^DONE' || fail "the workload is not done in $1 s"
}

# jvm_end [SECONDS]: tell it to end and wait. (Closing its standard input would not do: whatever
# was started since has inherited it.)
jvm_end() {
    echo end >&"$JVM_FD"
    exec {JVM_FD}>&-
    pid_gone "$JVM_PID" "${1:-10}" || fail "the JVM does not end"
}

jvm_alive() { ! pid_ended "$JVM_PID"; }

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
    sed 's/.*) //' "/proc/$1/stat" | awk -v hz="$(getconf CLK_TCK)" \
        '{ printf "%.0f\n", ($12 + $13) * 1e9 / hz }'
}

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
    until_true 30 recording_or_over || fail "gnomon does not begin: $(cat "$GN_ERR")"
    pid_ended "$GN_PID" && fail "gnomon ended at once: $(cat "$GN_ERR")"
    sleep "${GN_SETTLE:-1}"
}

# It holds its clocks (perf events), which come last of all before the sampling.
recording_or_over() {
    local fds

    fds=$(ls -l "/proc/$GN_PID/fd" 2>/dev/null)
    [[ $fds == *perf_event* || ($GN_NO_CPU && $fds == *bpf?link*) ]] ||
        pid_ended "$GN_PID"
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
    gnomon_end 20
    assert_eq "exit code" 0 "$GN_RC" "$(cat "$GN_ERR")"
}

# process_stop PID: all of its threads are when this returns.
process_stop() {
    kill -STOP "$1"
    until_true 10 process_is_stopped "$1" || fail "SIGSTOP has no effect on process $1"
}

process_is_stopped() { ! grep -h '^State:' "/proc/$1"/task/*/status | grep -qv '^State:.[TtZX]'; }

# ---- the recording -------------------------------------------------------------------------

# query FILE ...: java/JfrQuery with the JDK's own parser.
query() {
    timeout 120 "$(jdk_newest)/bin/java" -Xshare:auto -XX:TieredStopAtLevel=1 -cp "$CLASSES" \
        JfrQuery "$@" 2>"$T/query.err" || fail "the JDK cannot read '$1': $(cat "$T/query.err")"
    [ -s "$T/query.err" ] && fail "the JDK complains about '$1': $(cat "$T/query.err")"
    return 0
}

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

# jfr_readable FILE: every JDK's `jfr summary` and `print` take it without a word on stderr.
jfr_readable() {
    local h

    [ -s "$1" ] || fail "'$1' is missing or empty"
    while read -r h; do
        jfr_silent "$h" summary "$1"
        jfr_silent "$h" print --stack-depth 128 "$1"
        [ "$(jdk_version "$h")" -ge 21 ] && jfr_silent "$h" view hot-methods "$1"
    done < <(jdks)
    return 0
}

jfr_silent() {
    local h=$1 file=${*: -1}

    shift
    timeout 120 "$h/bin/jfr" "$@" >"$T/jfr.out" 2>"$T/jfr.err" </dev/null ||
        fail "JDK $(jdk_version "$h"): jfr $1 fails on '$file': $(head -c 2000 "$T/jfr.err")"
    [ -s "$T/jfr.err" ] &&
        fail "JDK $(jdk_version "$h"): jfr $1 on '$file': $(head -c 2000 "$T/jfr.err")"
    return 0
}

# ---- what must hold ------------------------------------------------------------------------

# assert_eq WHAT WANT GOT [MORE]
assert_eq() { [ "$2" = "$3" ] || fail "$1 is '$3', not '$2'${4:+: $4}"; }

# assert_near WHAT WANT GOT TOLERANCE: absolute; numbers may have a fraction.
# Tolerances are what holds on a quiet machine. SLACK widens them by a factor where others compete
# for the CPUs (.ci/run); what is printed is the tolerance without it.
assert_near() {
    awk -v w="$2" -v g="$3" -v t="$4" -v s="${SLACK:-1}" 'BEGIN { t *= s } BEGIN { d = g - w; exit !(d <= t && -d <= t) }' ||
        fail "$1 is $3, want $2 +- $4"
    note "$1: $3 (truth $2, tolerance $4)"
}

# assert_percent WHAT WANT GOT PERCENT: relative.
assert_percent() {
    awk -v w="$2" -v g="$3" -v t="$4" -v s="${SLACK:-1}" \
        'BEGIN { d = (g - w) * 100; t *= w * s; exit !(w > 0 && d <= t && -d <= t) }' ||
        fail "$1 is $3, want $2 within $4% (off by $(percent_off "$2" "$3"))"
    note "$1: $3 (truth $2, off by $(percent_off "$2" "$3"), tolerance $4%)"
}

percent_off() { awk -v w="$1" -v g="$2" 'BEGIN { printf "%+.2f%%", w ? (g - w) * 100 / w : 0 }'; }

# told CASE WHAT WANT GOT UNIT STANDARD_ERROR BOUND [percent]: a figure beside what is true, for the table
# of tools/accuracy (its `row`), into the file FIGURES if one is named. Judges nothing here.
told() {
    local IFS='|'

    [ -z "${FIGURES:-}" ] || echo "$*" >>"$FIGURES"
}

# share_near CASE WHAT WANT GOT SAMPLES: a share in percent, of so many samples, within 2 points.
share_near() {
    softly assert_near "$1: $2" "$3" "$4" 2
    told "$1" "$2" "$3" "$4" % "$(calc "100 * sqrt($3 / 100 * (1 - $3 / 100) / $5)")" 2
}

assert_ge() { awk -v g="$3" -v w="$2" 'BEGIN { exit !(g >= w) }' || fail "$1 is $3, want >= $2"; }
assert_empty() { [ ! -s "$2" ] || fail "$1 is not empty: $(head -c 500 "$2")"; }
assert_match() { grep -Eq -- "$2" "$3" || fail "$1 has no /$2/: $(head -c 500 "$3")"; }

calc() { awk "BEGIN { printf \"%.4f\", $* }"; }
