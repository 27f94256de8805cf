#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Performance counters that lie (perfliar.c), change while they are read, have a FIFO where their file was, or lie in a file
# whose server does not answer hold up nothing; and a JVM's own are neither written nor locked by who reads them.
# overlaps
# in make check-all
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

# liar FILE HOW [COMMAND...]: such a process, started by COMMAND; LIAR is its pid. The file is named as the JVM would, by whatever pid the liar has: any
# number will do. It has a libjvm.so in which there is nothing, so that the counters are found by their file's name.
liar() {
    emptied "$T/liar.out"
    "${@:3}" "$T/perfliar" "$T/libjvm.so" "$1" "$2" >"$T/liar.out" 2>&1 &
    LIAR=$!
    CHILDREN+=("$LIAR")
    until_true 60 file_has "$T/liar.out" READY || fail "the liar does not run: $(cat "$T/liar.out")"
}

# looked_at HOW WORDS: both commands end in time, say of the counters what they should, and the liar lives on.
looked_at() {
    timeout -s KILL 60 "$GNOMON" vitals "$LIAR" -n 3 -i 100ms --json >"$T/json" 2>"$T/err" || fail "$1: vitals: $(cat "$T/err")"
    note "$1: $(head -n 1 "$T/err"); $(grep -o '"collections":[^,]*' "$T/json" | tr '\n' ' ')"
    assert_eq "$1: lines" 3 "$(wc -l <"$T/json")"
    [ -z "$2" ] || assert_match "$1: what is said" "$2" "$T/err"
    timeout -s KILL 120 "$GNOMON" record -q --force -p "$LIAR" -d 1s -o "$T/lies.jfr" 2>"$T/err" || fail "$1: record: $(cat "$T/err")"
    jfr_print "$T/lies.jfr" jdk.ActiveSetting >"$T/settings"
    [ -z "$2" ] || assert_match "$1: what a recording says" "$2" "$T/settings"
    pid_ended "$LIAR" && fail "$1: the process died"
    kill -KILL "$LIAR"
    wait "$LIAR" 2>/dev/null
    return 0
}

lies() {
    local how

    mkdir -p "$T/hsperfdata_x"
    for how in large lengths many cut changing fifo; do
        rm -f "$T/hsperfdata_x/1"
        liar "$T/hsperfdata_x/1" $how
        case $how in
        large | many) looked_at $how 'damaged' ;;
        *) looked_at $how '' ;;
        esac
    done
}

# Reading a page of that file would never end, not even by a signal: nobody asks for one.
deaf() {
    [ -c /dev/fuse ] || modprobe -q fuse || { part_skipped "no /dev/fuse"; return; }
    mkdir "$T/hsperfdata_y"
    # in a mount namespace that ends with this process
    unshare --mount sleep 1000 &
    IN=$!
    CHILDREN+=("$IN")
    until_true 60 eval '[ "$(readlink /proc/$IN/ns/mnt)" != "$(readlink /proc/self/ns/mnt)" ]' || fail "no mount namespace"
    "$T/deaf_fuse" $IN "$T/hsperfdata_y" 1 >"$T/deaf.out" 2>"$T/deaf.err" &
    CHILDREN+=($!)
    until_true 60 file_has "$T/deaf.out" '^READY' || { part_skipped "no FUSE mount: $(cat "$T/deaf.err")"; return; }
    liar "$T/hsperfdata_y/1" untouched nsenter -t $IN -m
    looked_at untouched 'file system that may not answer'
    assert_eq "reads of the file" 0 "$(grep -c '^READ$' "$T/deaf.out")"
    # that one is seen: the test can fail
    nsenter -t $IN -m head -c 1 "$T/hsperfdata_y/1" >/dev/null 2>&1 &
    CHILDREN+=($!)
    until_true 60 file_has "$T/deaf.out" '^READ$' || fail "a read of the file is not seen"
}

# opened_how FILE: the flags of gnomon's descriptors of it, of which the last digit is 0 where they are for reading;
# those of the process that names are among them, where there is one
opened_how() {
    local p fd

    for p in "$GN_PID" $(pgrep -P "$GN_PID" -x gnomon-namer); do
        find "/proc/$p/fd" -lname "$1" -printf '%f\n' 2>/dev/null | while read -r fd; do
            sed -n 's/^flags:[[:space:]]*//p' "/proc/$p/fdinfo/$fd"
        done
    done
}
opened() { [ -n "$(opened_how "$1")" ]; }

# unharmed OPTION: the JVM's own file, or memory.
unharmed() {
    local file

    JVM_OPTS="-XX:+UseSerialGC $1" jvm_start Idle 2 1 30
    file=$(sed -n 's|.* \(/.*/hsperfdata_[^/]*/[0-9]*\)$|\1|p' "/proc/$JVM_PID/maps" | head -n 1)
    assert_eq "${1:-by default}: a file" "$([ -z "$1" ] && echo yes || echo no)" "$([ -n "$file" ] && echo yes || echo no)"
    gnomon_start "$T/own.jfr" -p "$JVM_PID"
    if [ -n "$file" ]; then
        # by descriptor, mapping or lock
        until_true 60 opened "$file" || fail "the file is not read as one"
        assert_eq "descriptors of it for writing" 0 "$(opened_how "$file" | grep -c '[12]$')"
        assert_eq "mappings of it" 0 "$(grep -c hsperfdata "/proc/$GN_PID/maps")"
        assert_eq "locks that are the JVM's" "$(grep -c ":$(stat -c %i "$file") " /proc/locks)" \
            "$(awk -v p="$JVM_PID" '$5 == p' /proc/locks | grep -c ":$(stat -c %i "$file") ")"
    fi
    sleep 2
    gnomon_stop
    jfr_print "$T/own.jfr" jdk.ActiveSetting >"$T/settings"
    assert_match "${1:-by default}: that they were read" '"performance counters"' "$T/settings"
    jvm_unharmed
    jvm_end
    rm -f "$T/own.jfr"
}

for p in perfliar deaf_fuse; do
    "${CC:-gcc}" -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -o "$T/$p" "$LIB_DIR/$p.c" -ldl || fail "$p cannot be built"
done
echo 'int nothing;' | "${CC:-gcc}" -shared -fPIC -o "$T/libjvm.so" -x c - || fail "libjvm.so cannot be built"
JDK=$(jdk_newest)
lies
deaf
unharmed ""
unharmed -XX:+PerfDisableSharedMem
softly_end
