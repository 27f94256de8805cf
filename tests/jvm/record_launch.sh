#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gnomon record -- java ...: from the first instruction on, and the program gets its arguments,
# its input and its output.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

launch() {
    local jfr=$T/launch-$(jdk_version "$JDK").jfr

    classes
    # Without a line "end" it ends with its standard input, having burnt its CPU.
    echo go | "$GNOMON" record -o "$jfr" -- "$JDK/bin/java" -cp "$CLASSES" Split 2 1500 \
        >"$T/out" 2>"$T/err"
    assert_eq "exit code" 0 $? "$(cat "$T/err")"
    assert_match "the program's output" '^DONE$' "$T/out"
    jfr_readable "$jfr"
    # two threads, 2 s each with the warm-up, plus the JVM's start
    assert_ge "CPU samples of the workers" 350 "$(weight "$jfr" $CPU_EVENT 'thread=split-worker-.*')"
    assert_ge "percent of them with Java frames" 95 "$(calc "100 * $(weight "$jfr" $CPU_EVENT \
        'thread=split-worker-.*' 'frame=(Split|Harness)\..*') / $(weight "$jfr" $CPU_EVENT \
        'thread=split-worker-.*')")"
    assert_ge "CPU samples before main" 1 "$(weight "$jfr" $CPU_EVENT 'thread=(java|main)')"
}

ends_at_once() {
    local i rc

    for i in 1 2 3 4 5; do
        "$GNOMON" record -f -o "$T/once.jfr" -- "$JDK/bin/java" --no-such-option >"$T/out" 2>"$T/err" </dev/null
        rc=$?
        grep -q 'never became' "$T/err" && fail "exit code $rc: $(cat "$T/err")"
        "$GNOMON" record -f -o "$T/once.jfr" -- "$JDK/bin/java" -Xshare:auto -version \
            >"$T/out" 2>"$T/err" </dev/null
        rc=$?
        grep -q 'never became' "$T/err" && fail "exit code $rc: $(cat "$T/err")"
    done
    assert_eq "exit code of a short one" 0 $rc "$(cat "$T/err")"
}

for_each_jdk launch

"$GNOMON" record -o "$T/none.jfr" -- "$T/no-such-program" >"$T/out" 2>"$T/err" </dev/null
assert_eq "exit code for a program that is not there" 3 $? "$(cat "$T/err")"
assert_match "the message" "^gnomon: .*no-such-program'" "$T/err"
[ ! -e "$T/none.jfr" ] || fail "a recording of nothing was left"

# Not a JVM: said, and what was recorded is kept.
"$GNOMON" record -o "$T/sleep.jfr" -- /bin/sleep 1 >"$T/out" 2>"$T/err" </dev/null
assert_eq "exit code for what never becomes a JVM" 3 $? "$(cat "$T/err")"
assert_match "the message" "^gnomon: '/bin/sleep' never became a JVM" "$T/err"
jfr_readable "$T/sleep.jfr"
assert_ge "wall samples of the program" 40 "$(weight "$T/sleep.jfr" $WALL_EVENT)"

# It ends before it is sampled: a file of nothing is of no use to anybody.
"$GNOMON" record --cpu 100ms --wall 1s -o "$T/short.jfr" -- /bin/true >"$T/out" 2>"$T/err" </dev/null
assert_eq "exit code for what ends at once" 3 $? "$(cat "$T/err")"
assert_match "the message" '^gnomon: .*(ended before anything was recorded|never became a JVM)' "$T/err"
grep -q 'before anything' "$T/err" && [ -e "$T/short.jfr" ] && fail "a recording of nothing was left"

# A script that execs the JVM after a while is as good as the JVM.
printf '#!/bin/sh\nsleep 0.5\nexec "$@"\n' >"$T/start" && chmod +x "$T/start"
echo go | "$GNOMON" record -o "$T/script.jfr" -- "$T/start" "$(jdk_oldest)/bin/java" -cp "$CLASSES" \
    Split 2 500 >"$T/out" 2>"$T/err"
assert_eq "exit code through a script" 0 $? "$(cat "$T/err")"

# It ends before it is much of a JVM, which is no reason to say that it never was one.
for_each_jdk ends_at_once
