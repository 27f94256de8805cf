#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/calls.sh [PROGRAM...]                     (as root)
#
# Stacks of programs that nobody here wrote (kotlin: its compiler; lucene: indexing and searching),
# recorded from their launch on by the oldest and the newest JDK, and judged by the class files: what a
# Java frame's caller does at its bytecode index has to be a call of that method (calls/CallCheck.java).
# Of a million such calls less than one may be wrong, and none without a mark. Then how many stacks are
# complete. At the end a recording is falsified: the same check has to find that out.
#
# CALLS_SECONDS: how long Lucene runs (default 20); CALLS_FILES: what is compiled (default 60); CALLS_HOMES:
# the JDKs; KEEP=1 keeps the recordings in BUILD/accuracy.
. "$(dirname "$0")/lib.sh"
[ "$PROFILER" = gnomon ] || skip "gnomon's alone"
programs=${GNOMON_PROGRAMS:-/var/cache/gnomon-peers/programs}
"$ACCURACY_DIR/fetch.sh" "$programs" || skip "the programs are not here"
lucene=$(echo "$programs"/lucene-core-*.jar)
kotlin=$(printf '%s:' "$programs"/{kotlin,annotations,trove}*.jar)
stdlib=$(echo "$programs"/kotlin-stdlib-*.jar)
checked=0 wrong=0 marked=0
newest=$(jdk_newest)

# The checker, and what runs in the programs' JVMs.
calls_build() {
    local home

    home=$(jdk_oldest)
    CHECK=$BUILD/accuracy/calls
    mkdir -p "$CHECK"
    "$home/bin/javac" --release 17 -Xlint:all -Werror -cp "$lucene" -d "$CHECK" \
        "$ACCURACY_DIR"/calls/*.java "$ACCURACY_DIR"/calltree/TreeCheck.java >"$T/javac" 2>&1 ||
        fail "the checker does not compile: $(head -n 5 "$T/javac")"
    mkdir -p "$T/source"
    "$home/bin/java" -cp "$CHECK" KotlinSource "$T/source" "${CALLS_FILES:-60}"
}

# command NAME HOME: what is recorded, and CLASS_PATH, where its classes are.
command_of() {
    case $1 in
    kotlin)
        CLASS_PATH=$kotlin
        COMMAND=("$2/bin/java" -Xmx1g -cp "$kotlin" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -no-stdlib
            -no-reflect -cp "$stdlib" -d "$T/compiled" "$T/source")
        ;;
    lucene)
        rm -rf "$T/index"
        CLASS_PATH=$lucene:$CHECK
        COMMAND=("$2/bin/java" -Xmx1g -cp "$CLASS_PATH" LuceneIndex "$T/index" "${CALLS_SECONDS:-20}")
        ;;
    *) fail "no program '$1'" ;;
    esac
}

# checker FILE HOME: into T/calls.
checker() {
    local jars

    IFS=: read -ra jars <<<"$CLASS_PATH"
    timeout 500 "$newest/bin/java" -Xshare:auto -Xmx3g -XX:+UseSerialGC -cp "$CHECK" \
        CallCheck "$1" "$2" "${jars[@]}" >"$T/calls" 2>"$T/calls.err" ||
        fail "the checker: $(head -n 5 "$T/calls.err")"
    read -r _ _ n_checked _ n_wrong _ n_marked _ n_unknown <<<"$(grep '^calls ' "$T/calls")"
}

# complete CASE: shares of the samples that were walked; those without a stack, of all.
complete() {
    "$newest/bin/java" -Xshare:auto -Xmx2g -cp "$CHECK" TreeCheck /dev/null "$T/x.jfr" 0 >"$T/complete" 2>&1
    awk '$1 == "cpu-weighted" || $1 == "wall-weighted" {
        sub(/-weighted/, "", $1)
        for (i = 2; i < NF; i += 2) n[$i] = $(i + 1)
        if (n["events"] == n["failed"]) next
        printf "%s stacks complete|100|%.3f|%%|-\n", $1, 100 * n["complete"] / (n["events"] - n["failed"])
        printf "%s samples without a stack|0|%.3f|%%|-\n", $1, 100 * n["failed"] / n["events"]
    }' "$T/complete" >"$T/shares"
    rows "$1" 1 <"$T/shares"
}

calls_case() {
    local name=$1 home=$2 label

    label="calls $(jdk_version "$home") $name"
    command_of "$name" "$home"
    "$GNOMON" record --cpu 1ms --wall 5ms -d 300s --force -o "$T/x.jfr" -- "${COMMAND[@]}" \
        </dev/null >"$T/out" 2>"$T/err" || fail "$label: $(tail -n 5 "$T/out" "$T/err")"
    checker "$T/x.jfr" "$home"
    note "$label: $n_checked calls checked, $n_wrong wrong, $n_marked of them marked; $n_unknown of classes made at run time"
    grep -A 1 '^wrong' "$T/calls" | cut -c -400 | head -n 20
    checked=$((checked + n_checked)) wrong=$((wrong + n_wrong)) marked=$((marked + n_marked))
    [ "$n_checked" -ge 20000 ] || fail "$label: too few calls"
    complete "$label"
    [ "${KEEP:-0}" != 1 ] || cp "$T/x.jfr" "$BUILD/accuracy/${label// /-}.jfr"
}

# A method's name in the last recording is made another one of that length: each call of it is wrong then.
falsified() {
    LC_ALL=C sed 's/addDocument/addDocumenx/g' "$T/x.jfr" >"$T/false.jfr"
    ! cmp -s "$T/x.jfr" "$T/false.jfr" || fail "there is nothing to falsify"
    checker "$T/false.jfr" "$1"
    [ "$n_wrong" -gt 100 ] || fail "a falsified recording: $n_wrong wrong calls were found"
    note "a falsified recording: $n_wrong wrong calls found"
}

calls_build
heading
homes=${CALLS_HOMES:-$(printf '%s\n' "$(jdk_oldest)" "$newest" | sort -u)}
for home in $homes; do
    for name in ${*:-kotlin lucene}; do
        calls_case "$name" "$home"
    done
done
row calls "wrong calls of a million" 0 "$(calc "1000000 * $wrong / $checked")" calls - 1
row calls "wrong calls without a mark" 0 $((wrong - marked)) calls - 0
[ "$name" != lucene ] || falsified "$home"
verdicts_end
