#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every bad input gives one clear line on stderr, nothing on stdout, the documented exit code, and
# leaves no file.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
need_cmd setpriv
JDK=$(jdk_newest)
[ -n "$JDK" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"
BAD=0

# bad WHAT EXIT-CODE REGEX COMMAND...: collects, so that one run shows all that is wrong.
bad() {
    local what=$1 code=$2 regex=$3 rc

    shift 3
    timeout 120 "$@" </dev/null >"$T/out" 2>"$T/err"
    rc=$?
    wrong=
    [ $rc = "$code" ] || wrong+=" exit code $rc, not $code;"
    [ -s "$T/out" ] && wrong+=" something on stdout;"
    [ "$(grep -c '^gnomon: ' "$T/err")" = 1 ] || wrong+=" not one line 'gnomon: ...';"
    # The hint, and nothing else, may follow; before it, the summary of what was recorded so far.
    [ "$(sed '0,/^gnomon: /d' "$T/err" | wc -l)" -le 1 ] || wrong+=" more than a message and a hint;"
    sed '/^gnomon: /,$d' "$T/err" | head -n 1 | grep -vq '^recorded ' && wrong+=" other lines;"
    grep '^gnomon: ' "$T/err" | grep -Eq -- "$regex" || wrong+=" no /$regex/;"
    grep -q '^gnomon: .*\.$' "$T/err" && wrong+=" a full stop;"
    [ "$what" = 'not root' ] || ! grep -q 'as root' "$T/err" || wrong+=" root is told to be root;"
    [ -e "$T/x.jfr" ] && wrong+=" a file was left;" && rm -f "$T/x.jfr"
    if [ -n "$wrong" ]; then
        BAD=$((BAD + 1))
        echo "FAIL: $what:$wrong stderr:" >&2
        sed 's/^/    /' "$T/err" >&2
    else
        note "$what: exit $rc, $(head -n 1 "$T/err")"
    fi
}

record() { bad "$1" "$2" "$3" "$GNOMON" record "${@:4}"; }
x=$T/x.jfr

jvm_start Idle 3 0
pid=$JVM_PID
sleep 60 &
other=$!
CHILDREN+=($other)
dead=$(sh -c 'echo $$')
# a child that nobody waits for: it ends when the shell, which might, is one no more
# shellcheck disable=SC2016
sh -c 'parent=$$
    (until grep -q "^sleep$" "/proc/$parent/comm"; do sleep 0.05; done) &
    echo $! >"$1"
    exec sleep 60' - "$T/zombie" &
CHILDREN+=($!)
until_true 60 test -s "$T/zombie" || fail "no zombie"
zombie=$(cat "$T/zombie")
until_true 60 grep -q '^State:.Z' "/proc/$zombie/status" || fail "no zombie"
thread=$(for t in /proc/"$pid"/task/*; do echo "${t##*/}"; done | grep -vx "$pid" | head -n 1)

# ---- options (2) ---------------------------------------------------------------------------
record "nothing to record" 2 'nothing to record' -o "$x"
record "stdout for output" 2 'stdout' -p "$pid" -d 1s -o -
record "unknown option" 2 "'--frobnicate'" -p "$pid" --frobnicate -o "$x"
record "option without its value" 2 'needs a value' -o "$x" -p
record "a pid and another" 2 "both say which" "$pid" -p "$pid" -o "$x"
record "a pid beyond all" 2 "'99999999999999999999'" 99999999999999999999 -o "$x"
record "an empty name" 2 'empty name' '' -o "$x"
record "pid that is no number" 2 "'12x'" -p 12x -o "$x"
record "pid zero" 2 "'0'" -p 0 -o "$x"
record "negative pid" 2 "'-1'" -p -1 -o "$x"
record "huge pid" 2 "'99999999999999999999'" -p 99999999999999999999 -o "$x"
record "interval zero" 2 "'0ms'" -p "$pid" --cpu 0ms -o "$x"
record "wall interval zero" 2 "'0s'" -p "$pid" --wall 0s -o "$x"
record "interval without unit" 2 "'10' .*unit" -p "$pid" --cpu 10 -o "$x"
record "interval with a wrong unit" 2 "'10parsec'" -p "$pid" --cpu 10parsec -o "$x"
record "negative interval" 2 "'-10ms'" -p "$pid" --wall -10ms -o "$x"
record "interval of 1 ns" 2 "'1ns'.*range" -p "$pid" --cpu 1ns -o "$x"
record "interval of a day" 2 "'24h'.*range" -p "$pid" --wall 24h -o "$x"
record "interval beyond 64 bits" 2 "'9999999999999h'" -p "$pid" --cpu 9999999999999h -o "$x"
record "duration zero" 2 "'0s'" -p "$pid" -d 0s -o "$x"
record "unknown engine" 2 "'fast'" -p "$pid" --cpu-engine fast -o "$x"
record "unknown source of names" 2 "'magic'" -p "$pid" --jvm magic -o "$x"
record "a JVM and a command" 2 'both' -p "$pid" -o "$x" -- /bin/true
record "neither CPU nor wall" 2 'neither' -p "$pid" --no-cpu --no-wall -o "$x"

# ---- the target (3) ------------------------------------------------------------------------
record "no such process" 3 "'$dead'" -p "$dead" -d 1s -o "$x"
record "pid beyond pid_max" 3 "'2147483647'" -p 2147483647 -d 1s -o "$x"
record "not a JVM" 3 'not a JVM' -p "$other" -d 1s -o "$x"
record "a zombie" 3 "'$zombie' .*zombie" -p "$zombie" -d 1s -o "$x"
record "gnomon's parent" 3 'not a JVM' -p $$ -d 1s -o "$x"
record "a kernel thread" 3 'kernel thread' -p 2 -d 1s -o "$x"
record "the id of a thread" 3 "thread of process '?$pid" -p "$thread" -d 1s -o "$x"
record "no such program" 3 'no-such-program' -o "$x" -- "$T/no-such-program"

# ---- permission (4) ------------------------------------------------------------------------
# A copy in a place that everyone can reach.
cp "$GNOMON" "$T/gnomon"
mkdir -m 777 "$T/free"
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
bad "not root" 4 'permit|root' "${nobody[@]}" "$T/gnomon" record -p "$pid" -d 1s -o "$T/free/x.jfr"
assert_eq "files left by nobody" "" "$(ls "$T/free")"

# ---- output (6) ----------------------------------------------------------------------------
echo precious >"$T/precious.jfr"
record "existing output" 6 "$T/precious.jfr'.*exist" -p "$pid" -d 1s -o "$T/precious.jfr"
assert_eq "the existing file" precious "$(cat "$T/precious.jfr")"
record "directory that is not there" 6 "$T/none/x.jfr'" -p "$pid" -d 1s -o "$T/none/x.jfr"
record "a directory that is not there" 6 "'$T/none'" -p "$pid" -d 1s -o "$T/none/"
record "unknown pattern" 2 "'%d'" -p "$pid" -d 1s -o "$T/free/%d.jfr"
record "one file for all" 2 "same '$T/free/x.jfr'" --all-jvms -d 1s -o "$T/free/x.jfr"
record "a pattern without the pid" 2 "same '$T/free/%n.jfr'" --all-jvms -d 1s -o "$T/free/%n.jfr"
record "a clock per thread for all" 2 "cpu-engine" --all-jvms --cpu-engine thread -d 1s -o "$T/free"
record "no such cgroup" 3 "'/no/such/cgroup'" --cgroup /no/such/cgroup -d 1s -o "$T/free/x.jfr"
record "a device" 6 "/dev/full'" -p "$pid" -d 1s -o /dev/full --force
record "empty name" 2 "empty value for --output" -p "$pid" -d 1s -o ''
record "a file system that takes no files" 6 "takes no files" -p "$pid" -d 1s -o /proc/x.jfr
ln -s "$T/precious.jfr" "$T/link"
record "a symbolic link" 6 "$T/link'" -p "$pid" -d 1s -o "$T/link"
assert_eq "what the link points to" precious "$(cat "$T/precious.jfr")"
record "a place where nobody may create files" 6 "/sys/x.jfr'" -p "$pid" -d 1s -o /sys/x.jfr

# A file system of 64 kB: full before the header, and full within the recording.
mkdir "$T/small"
mount -t tmpfs -o size=64k gnomon-test "$T/small" ||
    fail "cannot mount a tmpfs, which the test of a full disk needs"
UNMOUNT+=("$T/small")
head -c 1m /dev/zero >"$T/small/fill" 2>/dev/null
record "disk full from the start" 6 'No space left' -p "$pid" -d 2s -o "$T/small/x.jfr"
rm -f "$T/small"/*
record "disk full during the recording" 6 'No space left' -p "$pid" -d 300s --cpu 100us --wall 1ms \
    -o "$T/small/x.jfr"
[ ! -s "$T/small/x.jfr" ] || jfr_readable "$T/small/x.jfr"

# ---- and the good ones ---------------------------------------------------------------------
"$GNOMON" record -p "$pid" -d 1s --force -o "$T/precious.jfr" </dev/null >"$T/out" 2>"$T/err"
assert_eq "exit code with --force" 0 $? "$(cat "$T/err")"
jfr_readable "$T/precious.jfr"
jvm_unharmed
[ $BAD = 0 ] || fail "$BAD cases"
