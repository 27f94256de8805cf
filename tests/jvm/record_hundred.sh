#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A directory of recordings of a hundred JVMs (by their name; --all-jvms, as in record_fleet.sh, would take other
# tests' as well): a whole file for each, those that start meanwhile included; what it costs; and what happens
# where the open files do not suffice.
# in make check-all
# overlaps (long)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/small.sh"
need_root
need_gnomon record

N=${HUNDRED:-100}
LATER=$((N / 10))

# all_there DIR PID...: a file for each, that the JDK can read, with the JVM's threads in it.
all_there() {
    local dir=$1 pid

    shift
    for pid; do
        [ -s "$dir/$OWN_NAME-$pid.jfr" ] || fail "no file of $pid: $(grep -w "$pid" "$GN_ERR")"
    done
    jfr_readable "$dir/$OWN_NAME-$1.jfr"
    jfr_readable "$dir/$OWN_NAME-${*: -1}.jfr"
    for pid in "$1" "${*: -1}"; do
        assert_ge "wall samples of $pid's idle thread" 40 "$(weight "$dir/$OWN_NAME-$pid.jfr" \
            $WALL_EVENT thread=idle-thread-number-1 'frame=Harness\.await')"
    done
}

# said PATTERN: the number in it, of what gnomon says at its end.
said() { grep -m 1 -oE "$1" "$GN_ERR" | tr -cd 0-9; }

hundred() {
    mkdir "$T/out"
    gnomon_start "$T/out" --name "$OWN_NAME.jar"
    small_start $LATER
    # found once a second, and opened by one thread
    until_true 300 all_files "$T/out" || fail "files: $(ls "$T/out" | wc -l)"
    sleep 2
    note "open files of gnomon: $(find "/proc/$GN_PID/fd" -mindepth 1 | wc -l), threads:" \
        "$(find "/proc/$GN_PID/task" -mindepth 1 -maxdepth 1 | wc -l)"
    gnomon_stop
    all_there "$T/out" "${SMALL[@]}"
    # where the naming thread does not get the CPU they are lost, and told
    lost=$(said '[0-9,]+ samples whose frames')
    assert_between "samples whose frames were lost" 0 "$(calc "$(said 'wall samples +[0-9,]+') / 50")" "${lost:-0}"
    strict assert_eq "samples whose frames were lost" "" "$lost"
    sed -n 's/^  \(own cost\|names\|stacks\|lost\) /  \1/p' "$GN_ERR"
    grep '^recorded' "$GN_ERR"
}
all_files() { [ "$(find "$1" -name "$OWN_NAME-*.jfr" -size +0 | wc -l)" -ge $N ]; }

# Fewer descriptors than processes: those that find none left are told, the rest is whole.
short_of_files() {
    local n rc

    mkdir "$T/short"
    timeout 400 bash -c 'ulimit -n 340; exec "$@"' - "$GNOMON" record --name "$OWN_NAME.jar" -d 4s -o "$T/short" \
        2>"$T/short.err" </dev/null
    rc=$?
    n=$(find "$T/short" -name '*.jfr' | wc -l)
    note "with 340 open files: exit code $rc, $n files; $(grep -m 1 'open-files' "$T/short.err")"
    assert_eq "exit code short of open files" 0 $rc "$(tail -n 5 "$T/short.err")"
    assert_ge "files" 5 "$n"
    assert_eq "times it is said" 1 "$(grep -c 'open-files limit is enough for' "$T/short.err")"
    jfr_readable "$(find "$T/short" -name '*.jfr' | head -n 1)"
}

JDK=$(jdk_oldest)
small_start $((N - LATER))
hundred
short_of_files
softly_end
