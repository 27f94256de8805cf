#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A library that the JVM loads while it is recorded: its stacks follow its unwind table from then on.
# So do those of a library whose own code has a .debug_frame only.
# overlaps (long)
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
JDK=$(jdk_newest)
[ -n "$JDK" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"

# late NAME FLAGS...
late() {
    local lib=$T/lib$1.so whole guessed line known

    "${CC:-gcc}" -O1 -fomit-frame-pointer "${@:2}" -shared -fPIC -I"$JDK/include" -I"$JDK/include/linux" \
        -o "$lib" "$LIB_DIR/late.c" || fail "the library cannot be built"
    jvm_start Late "$lib" 2000
    gnomon_start "$T/$1.jfr" -p "$JVM_PID" --no-wall
    sleep 1.5 # nothing was new for so long
    jvm_go
    jvm_done
    gnomon_stop
    assert_ge "$1: CPU samples" 160 "$(weight "$T/$1.jfr" $CPU_EVENT)"
    line=$(grep '% complete' "$GN_ERR")
    # of other words nobody knows how stacks came about
    known='[0-9.]+% (complete|depth cap|unreadable|no rule|by frame pointers|without a stack|with a guessed frame|with a method unloaded before it had a name)'
    grep -Exq " *CPU +$known(, $known)*" <<<"$line" || fail "$1: what is said of the stacks: $line"
    whole=$(sed -n 's/.* \([0-9.]*\)% complete.*/\1/p' "$GN_ERR")
    guessed=$(sed -n 's/.* \([0-9.]*\)% with a guessed frame.*/\1/p' "$GN_ERR")
    note "$1: ${whole:-?}% complete, ${guessed:-0}% guessed"
    assert_ge "$1: percent of complete stacks" 93 "${whole%.*}"
    assert_ge "$1: percent of stacks by rules alone" 85 "$(calc "int(100 - ${guessed:-0})")"
    jvm_end
}

late table -g
late debug_frame -g -fno-asynchronous-unwind-tables -fno-unwind-tables
softly_end
