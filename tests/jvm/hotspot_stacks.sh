#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Java frames of threads at rest, from the JVM's memory, equal what the JVM itself says (jcmd
# Thread.print): class, method, line and inlined frames, on every JDK and several kinds of code.
# With SAVE_STACKS=DIRECTORY only the first kind is looked at, and stacks of it are saved for
# tests/unit/test_saved.c, and some of a thread that runs; see tests/data/stacks/README.md.
# overlaps (long)
. "$(dirname "$0")/lib.sh"
need_root
TOOL=$BUILD/tests/jvm/hotspot_stacks
mkdir -p "${TOOL%/*}"
${CC:-gcc} -D_GNU_SOURCE -I"$ROOT" -I"$ROOT/user" -I"$ROOT/tests" -O1 -g -std=gnu11 ${SAN_FLAGS:-} -o "$TOOL" \
    "$ROOT"/tests/jvm/hotspot_stacks.c "$BUILD/libgnomon.a" -lelf -lz || fail "the walker does not compile"

# Thread.print as "thread TID" and "class.method:line".
told() {
    awk 'function hex(s,   v, i) {
             for (i = 3; i <= length(s); i++)
                 v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
             return v
         }
         /^"/ {
             tid = ""
             if (match($0, /nid=(0x)?[0-9a-f]+/)) {
                 tid = substr($0, RSTART + 4, RLENGTH - 4)
                 if (tid ~ /^0x/) tid = hex(tid)
             }
             print "thread", tid
         }
         /^\tat / {
             s = $0
             sub(/^\tat /, "", s)
             open = index(s, "(")
             name = substr(s, 1, open - 1)
             line = -1
             if (match(s, /:[0-9]+\)/)) line = substr(s, RSTART + 1, RLENGTH - 2)
             print name ":" line
         }' "$1"
}

# The walker's output in the same form. Threads without Java frames are in neither.
walked() { awk '/^#/ { next } /^thread/ { print $1, $2; next } { print $1 }' "$1"; }

# One line per thread that has frames, sorted, so that they compare. A carrier's are told beside those of the
# virtual thread on it: stacks_rest.sh compares them.
joined() {
    awk 'function out() { if (n && frames !~ /jdk\.internal\.vm\.Continuation\./) print id, frames }
         /^thread/ { out(); id = $2; frames = ""; n = 0; next }
         { frames = frames " " $1; n++ }
         END { out() }' | sort
}

# keep NAME...: saved stacks of these threads, which were found equal.
keep() {
    local name tid

    for name; do
        tid=$(awk -v n="$name" '/^thread/ && $4 == n { print $2 }' "$T/walk.txt")
        install -m 644 "$T/$tid.stack" "$SAVE_STACKS/jdk$(jdk_version "$JDK")-$name.stack" ||
            fail "the stack of '$name' is not saved"
    done
}

# Of a thread that enters and leaves methods all the time (Enter.java) the stacks of 8 instructions, the
# rarest of those at which it was stopped; every stack has to be a path of that program.
running() {
    local n=0 id

    JVM_OPTS="-Xshare:auto -XX:CompileCommand=quiet -XX:CompileCommand=exclude,Enter.leafy
        -XX:CompileCommand=exclude,Enter.run -XX:CompileCommand=dontinline,Enter.*" jvm_start Enter
    "$TOOL" "$JVM_PID" "$T" enter 400 >"$T/walk.txt" || fail "the walker failed"
    awk 'function out() {
             if (id == "") return
             if (calls == "" || index("run top mid leafy ", calls) != 1 || end != "complete" || guessed) {
                 print "not a path: sample " id ", " end ": " calls >"/dev/stderr"
                 bad = 1
             }
             if (!seen[code]++) first[code] = id
         }
         /^thread/ { out(); id = $2; end = $3; calls = ""; guessed = 0 }
         /^# code/ { code = $3 }
         / guessed/ { guessed = 1 }
         match($0, /^Enter\.(run|top|mid|leafy):/) { calls = substr($0, 7, RLENGTH - 7) " " calls }
         END {
             out()
             for (c in first) print seen[c], first[c]
             exit bad
         }' "$T/walk.txt" >"$T/codes" || fail "a stack is not a path"
    for id in $(sort -n "$T/codes" | awk 'NR <= 8 { print $2 }'); do
        n=$((n + 1))
        install -m 644 "$T/$id.stack" "$SAVE_STACKS/jdk$(jdk_version "$JDK")-enter-$n.stack"
    done
    note "$(grep -c ^thread "$T/walk.txt") paths, at $(grep -c . "$T/codes") instructions"
    jvm_unharmed
    jvm_end
}

compare() {
    local jcmd=$JDK/bin/jcmd frames types

    JVM_OPTS=$* jvm_start Rest
    "$TOOL" "$JVM_PID" ${SAVE_STACKS:+"$T"} >"$T/walk.txt" || fail "the walker failed"
    "$jcmd" "$JVM_PID" Thread.print >"$T/print.txt" || fail "jcmd failed"
    told "$T/print.txt" | joined >"$T/told.txt"
    # the thread that answers jcmd is not at rest
    walked "$T/walk.txt" | joined >"$T/walked.txt"
    diff "$T/told.txt" "$T/walked.txt" >"$T/diff.txt" ||
        fail "frames differ (< the JVM, > gnomon): $(cut -c -3000 "$T/diff.txt")"
    frames=$(grep -vc '^thread\|^#' "$T/walk.txt")
    types=$(awk '!/^thread|^#/ { n[$2]++ } END { for (k in n) printf " %s %d", k, n[k] }' \
        "$T/walk.txt")
    assert_ge "frames" 400 "$frames"
    grep -q 'guessed' "$T/walk.txt" && fail "guessed frames at rest"
    note "$(grep -c ^thread "$T/walk.txt") threads, $frames frames equal:$types"
    [ -z "${SAVE_STACKS:-}" ] || keep cold cold-deep inlined shapes stream wait accept
    jvm_unharmed
    jvm_end
}

need_cmd awk
# Each configuration with one JDK, by turns; CI has all of both.
for_one_jdk compare -Xshare:auto
[ -z "${SAVE_STACKS:-}" ] || { for_each_jdk running && exit 0; }
for_one_jdk compare -XX:TieredStopAtLevel=1
for_one_jdk compare -XX:-TieredCompilation
for_one_jdk compare -Dwarm=50 -Xint
for_one_jdk compare -XX:+PreserveFramePointer
for_one_jdk compare -XX:+UseZGC -Xmx256m
for_one_jdk compare -XX:ReservedCodeCacheSize=32m -XX:-UseCompressedOops -Xmx128m
