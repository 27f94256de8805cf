#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names of threads are those of the threads that have them, or none, while a collector moves the objects that
# have them: each collector that a JDK has.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
classes
TOOL=$BUILD/tests/jvm/names_moving
mkdir -p "${TOOL%/*}"
${CC:-gcc} -D_GNU_SOURCE -I"$ROOT" -I"$ROOT/user" -O1 -g -std=gnu11 ${SAN_FLAGS:-} -o "$TOOL" \
    "$ROOT"/tests/jvm/names_moving.c "$BUILD/libgnomon.a" -lelf -lz || fail "the reader does not compile"

# number NAME: the one before it.
number() { grep -o "[0-9]* $1" "$T/seen" | cut -d ' ' -f 1; }

read_names() {
    local seen

    "$JDK/bin/java" "$1" -version >"$T/version" 2>&1 || { note "none: $1"; return; }
    JVM_OPTS="-Xmx96m $1 ${2:-}" jvm_start NamesMove 40
    "$TOOL" "$JVM_PID" "${NAMES_SECONDS:-2}" >"$T/seen" || fail "the reader failed"
    read -r seen <"$T/seen"
    note "$1 ${2:-}: $seen"
    [[ $seen == *", 0 wrong" ]] || fail "names of others"
    # on a busy machine pauses, in which none are told, take longer
    assert_ge "names" $(($(number reads) / 10)) "$(number names)"
    strict assert_ge "names" $(($(number reads) / 2)) "$(number names)"
    assert_ge "groups" $(($(number names) / 2)) "$(number groups)"
    jvm_unharmed
    jvm_end
}

for gc in UseZGC UseShenandoahGC UseG1GC UseParallelGC UseSerialGC; do
    for_one_jdk read_names -XX:+$gc
done
softly_end
