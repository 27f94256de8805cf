#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process that maps libjvm.so and lies about what is in it (liar.c): gnomon records what can be
# recorded, within its time and memory, and leaves the process alone.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
LIAR=$T/liar
"${CC:-gcc}" -O1 -Wall -Wextra -Werror -o "$LIAR" "$LIB_DIR/liar.c" -ldl -lpthread ||
    fail "the liar cannot be built"
SEEDS=${SEEDS:-1 4 7}

lies() {
    local pid rc kb

    emptied "$T/liar.out"
    "$LIAR" "$JDK/lib/server/libjvm.so" "$1" >"$T/liar.out" 2>"$T/liar.err" &
    pid=$!
    CHILDREN+=("$pid")
    until_true 60 file_has "$T/liar.out" READY || fail "the liar does not run: $(cat "$T/liar.err")"
    timeout -s KILL 120 /usr/bin/env bash -c \
        'ulimit -v 2000000; exec "$0" "$@"' "$GNOMON" record --force -p "$pid" -d 1s -o "$T/lies.jfr" \
        2>"$T/err"
    rc=$?
    [ $rc = 0 ] || fail "seed $1: exit code $rc: $(cat "$T/err")"
    kb=$(sed -n 's/.*, memory \([0-9.]*\) MB.*/\1/p' "$T/err")
    assert_ge "seed $1: CPU samples" 1 "$(weight "$T/lies.jfr" $CPU_EVENT)"
    [ "$(calc "$kb < 300")" = 1.0000 ] || fail "seed $1: $kb MB of memory"
    pid_ended "$pid" && fail "seed $1: the process died"
    note "seed $1: $(sed -n 's/^  *CPU  *\([0-9].*\)/\1/p' "$T/err")"
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
}

each() { local s; for s in $SEEDS; do lies "$s"; done; }

for_one_jdk each
