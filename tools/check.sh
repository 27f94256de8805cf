#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/check.sh [--only SUITE[,SUITE...]] [NAME-PATTERN...]
#
# Builds and tests. Suites: layers, unit, manuals, bpf, jvm (these by default), arm64, browser, peers, format, san, fuzz, accuracy. One
# line per test program or script, the output of those that fail, and a closing line "N passed,
# N failed, N skipped". With CI=true what would be skipped fails, so that nothing goes untested unseen.
# Scripts of which a line says "# overlaps" run first, those that say "(long)" before the others: twice as many at a time as there
# are CPUs, and further ones, AT_ONCE in all (five for each CPU), while CPUs have nothing to do. Those that say "overlaps BPF tests"
# run before them, one by one, beside these; the rest follows one by one, and with it the programs whose head says "Runs alone".
# `make check` has minutes: what costs much and fails seldom says "# in make check-all", and is run where EVERY_JDK is
# set (CI), or named by a pattern.
# Nothing but accuracy holds what a busy machine could change.
# With AGAIN=N, up to N tests that fail by themselves are tried once more when everything else is over: what passes
# then is counted as passed, and named in the closing lines. More failures, and a second one, are failures.
# Environment: BUILD (default build), GNOMON, JAVA_HOMES, FUZZ_SECONDS, AT_ONCE, V=1 (show all output).
set -u
cd "$(dirname "$0")/.." || exit 1
. tools/stolen.sh

suites=layers,unit,manuals,bpf,jvm
[ -z "${EVERY_JDK:-}" ] || suites=$suites,arm64
if [ "${1:-}" = --only ]; then
    suites=${2:?--only needs suites}
    shift 2
fi
patterns=("$@")

BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
export BUILD GNOMON=${GNOMON:-$BUILD/gnomon}
JOBS=$(nproc)
AT_ONCE=${AT_ONCE:-$((5 * JOBS))}
# The unwind tables are compared with readelf's for one large library.
GNOMON_ORACLE=$(compgen -G '/usr/lib/jvm/*/lib/server/libjvm.so' || compgen -G '/lib/*/libc.so.6')
export GNOMON_ORACLE=${GNOMON_ORACLE%%$'\n'*}
passed=0 failed=0 skipped=0
failures=() # "SUITE NAME"
left=()     # names of what is for `make check-all`

mkdir -p "$BUILD"
logs=$(mktemp -d)
out=$logs/out
declare -A running=() # kinds, suites and names of tests, by process
finish() {
    local pid

    trap '' INT TERM HUP # a second one must not end this
    for pid in "${!running[@]}"; do kill "$pid" && wait "$pid"; done 2>/dev/null
    rm -rf "$logs"
    # `sudo make check` must not leave a tree that its owner cannot build in.
    [ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:${SUDO_GID:-0}" "$BUILD"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

indent() { sed 's/^/      | /'; }

# line RESULT SUITE NAME REMARK
line() { printf '%-4s  %-6s %-28s %s\n' "$@"; }

report_ok() {
    passed=$((passed + 1))
    line ok "$1" "$2" "$3"
    [ "${V:-0}" != 1 ] || indent <"$out"
}

# Its output without cmocka's lines of what went well.
report_fail() {
    failed=$((failed + 1))
    failures+=("$1 $2")
    line FAIL "$1" "$2" "$3"
    grep -v '^\[ *\(RUN\|OK\) ' "$out" | tail -n 200 | indent
}

report_skip() {
    if [ "${CI:-}" = true ]; then
        report_fail "$1" "$2" "skipped, which CI does not take: $3"
    else
        skipped=$((skipped + 1))
        line skip "$1" "$2" "$3"
    fi
}

wanted() {
    local p

    [ ${#patterns[@]} -eq 0 ] && return 0
    for p in "${patterns[@]}"; do
        # shellcheck disable=SC2053
        [[ $1 == $p ]] && return 0
    done
    return 1
}

# stolen_since MS SECONDS: under a thousandth is not said.
stolen_since() {
    awk -v p="$(stolen_percent "$@")" \
        'BEGIN { if (p > 0.1) printf ", %.1f%% of the CPU time stolen by the host", p }'
}

# Runs the command in $2 and on, and leaves in the file $1 what CPU time it took, with all that it waited for.
COUNTED='f=$1; shift; "$@"; rc=$?; times >"$f"; exit $rc'

# took_of START COUNTED-FILE: the time that passed, and that of CPUs.
took_of() {
    awk -v a="$1" -v b="$EPOCHREALTIME" 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); cpu += 60 * t[1] + t[2] } }
        END { printf "%.1f s, %.1f s of CPUs", b - a, cpu }' "$2"
}

# timed SECONDS COMMAND...: its output in $out; sets rc and took.
timed() {
    local limit=$1 start=$EPOCHREALTIME seconds=$SECONDS stolen

    stolen=$(stolen_ms)
    shift
    : >"$out.cpu" # stays empty of what is killed
    timeout -k 15 "$limit" bash -c "$COUNTED" counted "$out.cpu" "$@" </dev/null >"$out" 2>&1
    rc=$?
    took=$(took_of "$start" "$out.cpu")
    [ $rc = 0 ] || took="$took$(stolen_since "$stolen" $((SECONDS - seconds)))"
    [ $rc != 124 ] || echo "stopped after $limit s" >>"$out"
}

# A cmocka program's, by rc, took and $out: it may skip single tests and still exit 0.
cmocka_report() {
    local suite=$1 name=$2 n why

    n=$(sed -n 's/.*PASSED  \] \([0-9]*\) test.*/\1/p' "$out" | awk '{ n += $1 } END { print n + 0 }')
    if [ $rc = 77 ]; then
        report_skip "$suite" "$name" "$(tail -n 1 "$out")"
    elif [ $rc != 0 ]; then
        report_fail "$suite" "$name" "$took, exit code $rc"
    elif grep -q 'SKIPPED \]' "$out"; then
        why=$(sed -n 's/.*SKIPPED  *\] \([a-z_]*[a-z]\)$/\1/p' "$out" | sort -u | tr '\n' ' ')
        report_skip "$suite" "$name" "$n passed, these not: $why"
    else
        report_ok "$suite" "$name" "$(printf '%3d tests  %s' "$n" "$took")"
    fi
}

# script_report SUITE NAME: by rc, took and $out.
script_report() {
    case $rc in
    0) report_ok "$1" "$2" "$took" ;;
    77) report_skip "$1" "$2" "$(sed -n 's/^skip: //p' "$out" | tail -n 1)" ;;
    *) report_fail "$1" "$2" "$took, exit code $rc" ;;
    esac
}

# Long enough for a machine with a load of 40: what hangs ends there.
TEST_SECONDS=${TEST_SECONDS:-1200}
run_script() {
    timed "$TEST_SECONDS" "$2"
    script_report "$1" "$(basename "$2" .sh)"
}
run_alone() {
    local kind suite program

    for program in "${alone[@]}"; do
        overlap_end
        read -r kind suite program <<<"$program"
        timed "$TEST_SECONDS" "$program"
        "${kind}_report" "$suite" "$(basename "$program" .sh)"
    done
    alone=()
}

# overlap_wait: the first of those running to end is reported.
overlap_wait() {
    local pid kind suite name

    wait -n -p pid "${!running[@]}"
    rc=$?
    read -r kind suite name <<<"${running[$pid]}"
    unset "running[$pid]"
    out=$logs/$name
    took=$(took_of "$(cat "$out.start")" "$out.cpu")
    [ $rc != 124 ] || echo "stopped after $TEST_SECONDS s" >>"$out"
    "${kind}_report" "$suite" "$name"
    out=$logs/out
    [ "$pid" != "$EARLY" ] || early_next
}

# early_next: the next of the scripts `early`; EARLY is its process.
early=() long=() some=()
alone=() # "KIND SUITE PROGRAM", which wait for all others
EARLY=
early_next() {
    EARLY=
    [ ${#early[@]} -gt 0 ] || return 0
    launch script jvm "${early[0]}"
    EARLY=$!
    early=("${early[@]:1}")
}

# early_start: the first one.
EARLY_STARTED=
early_start() {
    [ -z "$EARLY_STARTED" ] || return 0
    EARLY_STARTED=1
    scripts_find
    early_next
}

# cpus_idle: within the next tenth of a second a twentieth of the CPUs' time has no use.
exec {NAP_FD}<> <(:)
HZ=$(getconf CLK_TCK)
cpus_idle() {
    local before after

    read -r _ _ _ _ before _ </proc/stat
    read -r -t 0.1 -u "$NAP_FD"
    read -r _ _ _ _ after _ </proc/stat
    ((200 * (after - before) >= HZ * JOBS))
}

any_ended() {
    local pid

    for pid in "${!running[@]}"; do [ -e "/proc/$pid" ] || return 0; done
    return 1
}

# overlap_room: returns once another may begin. Most tests wait most of the time, but many have programs that use all
# the CPU time there is until the test has what it wants, which takes the longer the more run beside it.
overlap_room() {
    while [ ${#running[@]} -ge $((2 * JOBS)) ] || [ ${#running[@]} -ge "$AT_ONCE" ]; do
        if [ ${#running[@]} -ge "$AT_ONCE" ] || any_ended; then
            overlap_wait
        elif cpus_idle; then
            return
        fi
    done
}

# launch KIND SUITE PROGRAM: of the kind script or cmocka. In the background a shell has its programs ignore Ctrl-C, which
# these send.
launch() {
    local name

    name=$(basename "$3" .sh)
    echo "$EPOCHREALTIME" >"$logs/$name.start"
    : >"$logs/$name.cpu"
    env --default-signal=INT,QUIT timeout -k 15 "$TEST_SECONDS" bash -c "$COUNTED" counted "$logs/$name.cpu" \
        "$3" </dev/null >"$logs/$name" 2>&1 &
    running[$!]="$1 $2 $name"
}

# overlap KIND SUITE PROGRAM...: as many at a time as overlap_room says.
overlap() {
    local program

    for program in "${@:3}"; do
        overlap_room
        launch "$1" "$2" "$program"
    done
}
overlap_end() { while [ ${#running[@]} -gt 0 ]; do overlap_wait; done; }

# step SUITE NAME COMMAND...: passes when the command does.
step() {
    local suite=$1 name=$2

    shift 2
    timed "$TEST_SECONDS" "$@"
    if [ $rc = 0 ]; then report_ok "$suite" "$name" "$took"; else
        report_fail "$suite" "$name" "$took, exit code $rc"
        return 1
    fi
}

# build WHAT DIRECTORY GOALS...: says something only when it fails.
build() {
    local what=$1 dir=$2

    shift 2
    timed 1200 make -j"$JOBS" BUILD="$dir" "$@"
    [ $rc = 0 ] && return
    sed -i '/^  [A-Z]\+  /d' "$out"
    report_fail build "$what" "$took"
    return 1
}

# cmocka_all SUITE BUILD [NAME-OF-SUITE]
cmocka_all() {
    local suite=$1 build=$2 src name programs=()

    for src in tests/"$suite"/test_*.c; do
        name=$(basename "$src" .c)
        [ -e "$src" ] && wanted "$name" || continue
        if [ ! -x "$build/tests/$suite/$name" ]; then
            : # said when building
        elif [ "$suite" = bpf ] && [ "$(id -u)" != 0 ]; then
            report_skip "$suite" "$name" 'needs root: sudo make check'
        elif grep -q '^ \* Runs alone: ' "$src"; then
            alone+=("cmocka $suite $build/tests/$suite/$name")
        else
            programs+=("$build/tests/$suite/$name")
        fi
    done
    overlap cmocka "${3:-$suite}" "${programs[@]}"
}

suite_unit() { cmocka_all unit "$BUILD"; }
suite_bpf() {
    [[ ,$suites, != *,jvm,* ]] || early_start
    cmocka_all bpf "$BUILD"
}

# That it compiles for the machine that the tests do not run on.
suite_arm64() {
    if ! compgen -G '/usr/*/*/gnu/stubs-lp64.h' >/dev/null; then
        report_skip arm64 compile 'needs libc6-dev-arm64-cross: sudo make deps'
        return
    fi
    timed "$TEST_SECONDS" make -j"$JOBS" BUILD="$BUILD" check-arm64
    sed -i '/^  [A-Z]\+  /d' "$out"
    script_report arm64 compile
}

# left_out SCRIPT: it is for `make check-all`.
left_out() { [ -z "${EVERY_JDK:-}" ] && [ ${#patterns[@]} = 0 ] && grep -q '^# in make check-all' "$1"; }

# The scripts, by how they may run: see above.
scripts_find() {
    local script

    for script in tests/jvm/[a-z]*_*.sh; do
        [ -x "$script" ] && wanted "$(basename "$script" .sh)" || continue
        if left_out "$script"; then
            left+=("$(basename "$script" .sh)")
            continue
        fi
        case $(grep -m 1 '^# overlaps' "$script") in
        *BPF*) early+=("$script") ;;
        *long*) long+=("$script") ;;
        ?*) some+=("$script") ;;
        *) alone+=("script jvm $script") ;;
        esac
    done
}

suite_jvm() {
    early_start
    while [ -n "$EARLY" ]; do overlap_wait; done
    overlap script jvm "${long[@]}" "${some[@]}"
    run_alone
}

# What opens the pages is large, and not needed for anything else: it is installed only for this.
suite_browser() {
    if [ "$(id -u)" = 0 ]; then
        timed 600 tools/deps.sh browser
        [ $rc = 0 ] || { report_fail browser packages "$took, exit code $rc"; return; }
    fi
    # make names it from here where it lies below
    build jfrgen "$BUILD" "${BUILD#"$PWD"/}/tools/bench/jfrgen" || return
    build scene "$BUILD" "${BUILD#"$PWD"/}/tests/browser/scene" "${BUILD#"$PWD"/}/tests/browser/served" || return
    timed 600 tests/browser/run.sh
    case $rc in
    0) report_ok browser pages "$took" ;;
    77) report_skip browser pages "$(sed -n 's/^skip: //p' "$out" | tail -n 1)" ;;
    *) report_fail browser pages "$took, exit code $rc" ;;
    esac
}

# Others' readers, which are fetched, and not needed for anything else.
suite_peers() {
    if [ "$(id -u)" = 0 ]; then
        timed 600 tools/deps.sh peers
        [ $rc = 0 ] || { report_fail peers packages "$took, exit code $rc"; return; }
    fi
    overlap script peers tests/peers/{readers,otlp,publishers,prometheus}.sh
}

# Who may include whom, what fuzzers take in, and that the scripts which hold it can fail.
suite_layers() {
    step layers includes tools/layers.sh
    step layers calls tools/layers.sh --objects "$BUILD/obj/user"
    step layers self-test tools/layers.sh --self-test
    step layers fuzzers tools/fuzzlinks.sh "$BUILD/obj"
    step layers fuzzers-self-test tools/fuzzlinks.sh --self-test "$BUILD/obj"
}

# The manual pages against the commands, and that the script which holds them can fail; what `make install` puts where.
suite_manuals() {
    step manuals pages tools/manuals.sh
    step manuals self-test tools/manuals.sh --self-test
    step manuals install tools/manuals.sh --install
}

# Formatting is judged with one version only; others disagree with it in small ways. Debian 12 has it, Debian 13 has no
# package of it: there CI does without.
suite_format() {
    local version

    version=$(clang-format --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p')
    if [ "$version" = 14 ]; then
        step format clang-format make -s check-format
    elif [ "$(. /etc/os-release 2>/dev/null && echo "${VERSION_ID:-}")" = 12 ]; then
        report_skip format clang-format "clang-format 14 decides on the format, not '${version:-none}'"
    else
        echo "note: clang-format 14 decides on the format, not '${version:-none}': not checked"
    fi
    step format test-table tools/tables.sh
    step format shell-syntax bash -c 'for f in tools/*.sh tools/*/*.sh tests/jvm/*.sh tests/peers/*.sh .ci/run; do
        bash -n "$f" || exit 1; done'
}

# The unit tests and one real recording, with address and undefined-behaviour sanitizers.
suite_san() {
    local san=$BUILD/san reports=$BUILD/san/reports log

    mkdir -p "$reports"
    rm -f "$reports"/*
    build gnomon-san "$san" SAN=1 all || return
    build tests-san "$san" SAN=1 -k tests-unit
    export ASAN_OPTIONS="log_path=$reports/asan" UBSAN_OPTIONS="print_stacktrace=1"
    cmocka_all unit "$san" san
    overlap_end
    for log in tests/jvm/record_basic.sh; do
        [ -x "$log" ] && GNOMON=$san/gnomon run_script san "$log"
    done
    unset ASAN_OPTIONS UBSAN_OPTIONS
    cat "$reports"/* >"$out" 2>/dev/null
    took=
    rc=1
    if [ -s "$out" ]; then report_fail san reports "the sanitizers have something to say"; else
        report_ok san reports "none"
    fi
}

# One fuzzer; what it said and how it ended beside its corpus, since several run at once.
fuzz_one() {
    local log=$BUILD/corpus/$1.log

    mkdir -p "$BUILD/corpus"
    out=$log
    timed "$TEST_SECONDS" make -s fuzz BUILD="$BUILD" FUZZ_BIN="\$(BUILD)/tests/fuzz/$1" \
        FUZZ_SECONDS="${FUZZ_SECONDS:-4}" FUZZ_SEED="${FUZZ_SEED:-0}"
    echo "$rc $took" >"$log.rc"
}

suite_fuzz() {
    local src name names=()

    for src in tests/fuzz/fuzz_*.c; do
        name=$(basename "$src" .c)
        [ -e "$src" ] && wanted "$name" && names+=("$name")
    done
    build fuzzers "$BUILD" -k fuzzers FUZZ_BIN="${names[*]/#/\$(BUILD)/tests/fuzz/}"
    export -f fuzz_one timed took_of stolen_since stolen_ms stolen_percent
    export BUILD FUZZ_SECONDS FUZZ_SEED COUNTED TEST_SECONDS
    printf '%s\n' "${names[@]}" | xargs -P "$JOBS" -I{} bash -c 'fuzz_one {}'
    for name in "${names[@]}"; do
        cp "$BUILD/corpus/$name.log" "$out" 2>/dev/null
        rc=1 took=
        read -r rc took 2>/dev/null <"$BUILD/corpus/$name.log.rc"
        rm -f "$BUILD/corpus/$name.log.rc"
        if [ "$rc" = 0 ]; then report_ok fuzz "$name" "$took"; else
            report_fail fuzz "$name" "$took, exit code $rc"
        fi
    done
}

# The figures that a machine with nothing else to do can hold, in part: each is a test passed or failed. SLACK: how
# much more loosely they are judged than by `make accuracy` (3: a machine for many); what is printed is what was applied.
suite_accuracy() {
    local rows=$BUILD/accuracy/accuracy.csv good bad

    build meter "$BUILD" "${BUILD#"$PWD"/}/tools/bench/meter" || return
    rm -f "$rows"
    SLACK=${SLACK:-3} timed 900 tools/accuracy/suite.sh --some
    good=$(grep -c ',pass$' "$rows") bad=$(grep -c ',FAIL$' "$rows")
    if [ $rc = 0 ] && [ "${good:-0}" -gt 0 ] && [ "${bad:-0}" = 0 ]; then
        passed=$((passed + good))
        line ok accuracy figures "$(printf '%3d figures  %s' "$good" "$took")"
    else
        report_fail accuracy figures "$took, $good figures within their bounds, $bad beyond"
        passed=$((passed + ${good:-0}))
        [ "${bad:-0}" -lt 2 ] || failed=$((failed + bad - 1))
    fi
}

# Of a test that runs by itself, and not of a fuzzer: what that has found once is there.
may_go_again() { case $1 in unit | bpf | jvm | browser | peers | san | accuracy) ;; *) return 1 ;; esac }

# again_one SUITE NAME: by another of these, so that nothing is left of the first try. What sanitizers reported is any
# test's: all are tried again.
again_one() {
    local name=$2

    may_go_again "$1" || return
    case $1:$2 in browser:* | peers:* | accuracy:* | san:reports) name='*' ;; esac
    AGAIN=0 timed 1800 tools/check.sh --only "$1" "$name"
    tail -n 1 "$out" | grep -q '^[1-9][0-9]* passed' || rc=1 # one that ran nothing mends nothing
    if [ $rc = 0 ]; then
        line ok "$1" "$2" "$took, at the second try"
    else
        line FAIL "$1" "$2" "$took, the second time"
        sed '$d' "$out" | tail -n 200 | indent
        return 1
    fi
}

# What passes or fails by chance must be seen and mended, but it does not undo the rest.
again_all() {
    local one suite name mended=()

    [ "$failed" = ${#failures[@]} ] && [ "$failed" -le "${AGAIN:-0}" ] || return
    for one in "${failures[@]}"; do
        read -r suite name <<<"$one"
        again_one "$suite" "$name" && mended+=("$name")
    done
    failed=$((failed - ${#mended[@]}))
    passed=$((passed + ${#mended[@]}))
    [ ${#mended[@]} = 0 ] || echo "only at the second try: ${mended[*]}"
}

closing() {
    local stolen

    stolen=$(stolen_since "$stolen_at_start" $SECONDS)
    [ -z "$stolen" ] || echo "the host's doing${stolen/,/:}"
    [ ${#left[@]} = 0 ] || echo "left to make check-all: ${left[*]}, and other cases and JDKs of those above"
    [ $((passed + failed + skipped)) != 0 ] || echo "check: no test was run: ${patterns[*]}" >&2
    if [ "${CI:-}" = true ]; then
        echo "$passed passed, $failed failed"
    else
        echo "$passed passed, $failed failed, $skipped skipped"
    fi
    [ $failed = 0 ] && [ $((passed + failed + skipped)) != 0 ]
}

prepare() {
    if [ "$(id -u)" = 0 ]; then
        tools/deps.sh || return
    else
        tools/deps.sh --check build || return
        tools/deps.sh --check test # the tests that lack something say so
    fi
    build gnomon "$BUILD" all || return
    [ "$suites" != peers ] || return 0 # they use none
    # A test that does not build fails, and keeps no other from running.
    build tests "$BUILD" -k tests || true
}

stolen_at_start=$(stolen_ms)
prepare || {
    [ $failed != 0 ] || failed=1
    closing
    exit 1
}
for suite in ${suites//,/ }; do
    if ! declare -F "suite_$suite" >/dev/null; then
        echo "check: no suite '$suite': layers, unit, arm64, bpf, jvm, browser, peers, format, san, fuzz, accuracy" >&2
        exit 2
    fi
    # of these the next suite's tests begin where the last's leave a CPU idle
    case $suite in arm64 | bpf | jvm | browser | san) ;; *) overlap_end ;; esac
    "suite_$suite"
done
overlap_end
run_alone
again_all
closing
