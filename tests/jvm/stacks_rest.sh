#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: stacks_rest.sh [JVM-OPTION...]
#
# Threads at rest, as recorded: the Java frames of every wall sample equal those of `jcmd
# Thread.print` of the same time, lines and inlined frames included.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

rest() {
    local jfr=$T/rest.jfr

    JVM_OPTS="$*" jvm_start Rest
    "$GNOMON" record -p "$JVM_PID" -d 1s --wall 20ms --force -o "$jfr" </dev/null >"$T/out" 2>"$T/err" ||
        fail "gnomon: $(cat "$T/err")"
    "$JDK/bin/jcmd" "$JVM_PID" Thread.print >"$T/print.txt" || fail "jcmd failed"
    jvm_unharmed
    jvm_end
    "$(jdk_newest)/bin/java" -Xshare:auto -cp "$CLASSES" RestCheck "$T/print.txt" "$jfr" \
        >"$T/check.out" 2>&1 || fail "stacks differ (the JVM's, gnomon's): $(head -c 3000 "$T/check.out")"
    note "$(tail -n 1 "$T/check.out")"
}

if [ $# -gt 0 ]; then
    for_each_jdk rest "$@"
    exit
fi
for_one_jdk rest -Xshare:auto
[ -z "${QUIET:-}" ] || for_each_jdk rest -XX:TieredStopAtLevel=1 # hotspot_stacks.sh has it, too
for_one_jdk rest -Dwarm=50 -Xint
for_one_jdk rest -XX:+UseZGC -Xmx256m
