#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/scope.sh [BENCHMARK]        (all; needs Maven, once)
#
# What a scope of gnomon-context.jar costs the thread that opens and closes it, by JMH (scope/Scopes.java), on each JDK: ns
# for each operation, less `nothing`.
. "$(dirname "$0")/../../tests/jvm/lib.sh"
need_cmd mvn
PEERS=$ROOT/tools/bench
CACHE=${GNOMON_PEERS:-/var/cache/gnomon-peers}
JARS=$CACHE/jmh
. "$ROOT/tests/peers/jars.sh"
mkdir -p "$CACHE" "$T/classes"
fetch_jars scope "$JARS"
[ -e "$BUILD/gnomon-context.jar" ] || fail "no gnomon-context.jar: run make"
"$(jdk_oldest)/bin/javac" --release 17 -cp "$JARS/*:$BUILD/gnomon-context.jar" -d "$T/classes" "$PEERS/scope/Scopes.java" || fail "Scopes.java"

measured() {
    "$JDK/bin/java" -cp "$T/classes:$JARS/*:$BUILD/gnomon-context.jar" org.openjdk.jmh.Main -rf csv -rff "$T/jmh.csv" \
        "Scopes.(nothing|${1:-.*})" >"$T/jmh" 2>&1 || fail "JMH: $(tail -n 20 "$T/jmh")"
    awk -F, 'NR > 1 { gsub(/"/, ""); sub(/.*\./, "", $1); ns[$1] = $5; error[$1] = $6 }
        END {
            for (b in ns) if (b != "nothing")
                printf "  %-14s %6.1f ns +- %.1f\n", b, ns[b] - ns["nothing"], error[b] + error["nothing"]
        }' "$T/jmh.csv" | sort
}

for_each_jdk measured "$@"
