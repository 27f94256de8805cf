#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gnomon record -- java ...: from the first instruction on; the program gets its arguments, its input
# and its output, and its exit code is gnomon's.
# overlaps (long)
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

launch() {
    local jfr=$T/launch-$(jdk_version "$JDK").jfr all java early both lost
    local workers='thread=split-worker-.*' methods='frame=(Split|Harness)\..*' unknown='frame=.*\[code not known yet\]'

    classes
    # Without a line "end" it ends with its standard input, having burnt its CPU.
    echo go | "$GNOMON" record -o "$jfr" -- "$JDK/bin/java" -cp "$CLASSES" Split 2 1500 \
        >"$T/out" 2>"$T/err"
    assert_eq "exit code" 0 $? "$(cat "$T/err")"
    assert_match "the program's output" '^DONE$' "$T/out"
    jfr_readable "$jfr"
    # two threads, 2 s each with the warm-up, plus the JVM's start
    all=$(weight "$jfr" $CPU_EVENT "$workers")
    java=$(weight "$jfr" $CPU_EVENT "$workers" "$methods")
    assert_ge "CPU samples of the workers" 350 "$all"
    strict assert_ge "percent of them with Java frames" 95 "$(calc "100 * $java / $all")"
    # Where naming is late the JVM's code is, too, and this is said: of each sample, or as frames that were lost.
    early=$(weight "$jfr" $CPU_EVENT "$workers" "$unknown")
    both=$(weight "$jfr" $CPU_EVENT "$workers" "$unknown" "$methods")
    lost=$(sed -n 's/^ *lost .* \([0-9,]*\) samples whose frames were lost.*/\1/p' "$T/err" | tr -d ,)
    note "of $all CPU samples of the workers $java have Java frames, $early code not known yet, $both both; frames lost: ${lost:-0}"
    assert_ge "percent of them with Java frames, or told why not" 95 \
        "$(calc "100 * ($java + $early - $both + ${lost:-0}) / $all")"
    assert_ge "CPU samples before main" 1 "$(weight "$jfr" $CPU_EVENT 'thread=(java|main)')"
}

# What waits since before its JVM's code was known has its stack taken again once it is; and what ran
# before is told as that, and not as code of nobody.
begins() {
    local jfr=$T/begins.jfr all java

    echo go | "$GNOMON" record --force -o "$jfr" -- "$JDK/bin/java" -cp "$CLASSES" Split 2 100 \
        >"$T/out" 2>"$T/err"
    assert_eq "exit code" 0 $? "$(cat "$T/err")"
    "$GNOMON" render "$jfr" -f collapsed --dim wall --idle >"$T/wall" || fail "render"
    "$GNOMON" render "$jfr" -f collapsed --dim cpu --idle >"$T/cpu" || fail "render"
    assert_eq "stacks of Java code as of nobody's" 0 \
        "$(cat "$T/wall" "$T/cpu" | grep -c 'call_helper;(anon)')"
    all=$(weight "$jfr" $WALL_EVENT 'thread=Finalizer')
    java=$(weight "$jfr" $WALL_EVENT 'thread=Finalizer' 'frame=java\.lang\.(ref|Object).*')
    assert_ge "wall samples of a thread that waits from the beginning" 5 "$all"
    assert_ge "percent of them with its methods" 95 "$(calc "100 * $java / $all")"
}

ends_at_once() {
    local rc

    "$GNOMON" record --force -o "$T/once.jfr" -- "$JDK/bin/java" --no-such-option >"$T/out" 2>"$T/err" </dev/null
    rc=$?
    grep -q 'never became' "$T/err" && fail "exit code $rc: $(cat "$T/err")"
    "$GNOMON" record --force -o "$T/once.jfr" -- "$JDK/bin/java" -Xshare:auto -version \
        >"$T/out" 2>"$T/err" </dev/null
    rc=$?
    grep -q 'never became' "$T/err" && fail "exit code $rc: $(cat "$T/err")"
    assert_eq "exit code of a short one" 0 $rc "$(cat "$T/err")"
}

# status CODE ARGS...: what `gnomon record ARGS` ends with.
status() {
    local want=$1

    shift
    "$GNOMON" record --force -o "$T/status.jfr" "$@" </dev/null >"$T/out" 2>"$T/err"
    assert_eq "exit code of record ${*:1:4}" "$want" $? "$(cat "$T/err")"
}

# later ARGS...: `gnomon record ARGS` in the background; its process is $!.
later() {
    emptied "$T/out"
    emptied "$T/err"
    "$GNOMON" record --force -o "$T/status.jfr" "$@" </dev/null >"$T/out" 2>"$T/err" &
    CHILDREN+=($!)
    until_true 60 file_has "$T/out" '^BEGUN$' || fail "the command does not begin: $(cat "$T/err")"
}

# A JVM that ends as it is told to, and what it says when it ends.
exits() {
    cat >"$T/Exits.java" <<'EOF'
public class Exits {
    public static void main(String[] args) throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("ENDED")));
        System.out.println("BEGUN");
        Thread.sleep(Long.parseLong(args[0]));
        System.exit(Integer.parseInt(args[1]));
    }
}
EOF
    local java=("$JDK/bin/java" -XX:TieredStopAtLevel=1 -cp "$T" Exits)

    "$JDK/bin/javac" -d "$T" "$T/Exits.java" || fail "Exits does not compile"
    status 0 -- "${java[@]}" 500 0
    status 7 -- "${java[@]}" 500 7
    assert_match "the summary" '^recorded ' "$T/err"
    jfr_readable "$T/status.jfr"
    # It outlives its recording: said, waited for, and its exit code is the one.
    status 9 -d 500ms -- "${java[@]}" 3500 9
    assert_match "the message" "the recording is finished; '.*java' runs on as process [0-9]+" "$T/err"
    assert_match "its last words" '^ENDED$' "$T/out"
    # By a signal: as a shell says it.
    status 137 -- "$T/dies" "${java[@]}" 20000 0
    # A signal that gnomon is sent finishes the recording, and is for the command, too.
    later -- "${java[@]}" 60000 3
    kill -TERM $!
    wait $!
    assert_eq "exit code after SIGTERM" 143 $? "$(cat "$T/err")"
    assert_match "its last words" '^ENDED$' "$T/out"
    jfr_readable "$T/status.jfr"
    # The same when it is the command alone that gnomon waits for.
    later -d 100ms -- "${java[@]}" 60000 3
    until_true 60 file_has "$T/err" 'runs on as process' || fail "it does not wait: $(cat "$T/err")"
    kill -TERM $!
    wait $!
    assert_eq "exit code after SIGTERM, later" 143 $? "$(cat "$T/err")"
    # Closed pipes end the command as they would without gnomon.
    status 3 -- "$T/pipes"
    file_has "$T/out" SURVIVED && fail "SIGPIPE does not end a command"
}

# Become a JVM that is killed after a while; end by what a closed pipe is.
printf '#!/bin/sh\n(until grep -q libjvm /proc/$$/maps; do sleep 0.1; done; sleep 1; kill -KILL $$) &\nexec "$@"\n' >"$T/dies"
printf '#!/bin/sh\nsleep 0.5\nkill -PIPE $$\necho SURVIVED\n' >"$T/pipes"
chmod +x "$T/dies" "$T/pipes"

some_of 2 for_one_jdk launch begins ends_at_once
JDK=$(jdk_oldest)
exits

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

softly_end
