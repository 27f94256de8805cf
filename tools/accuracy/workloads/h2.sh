#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/workloads/h2.sh
#
# An H2 database server under 32 clients: how many of its stacks are complete. See lib.sh.
. "$(dirname "$0")/lib.sh"
packages libh2-java

jar=$(readlink -f /usr/share/java/h2.jar)
port=$((20000 + $$ % 10000))
BINDS=(--ro-bind "$jar" /tmp/h2.jar)
[ -n "${WORKLOAD_ROOT:-}" ] && cp=/tmp/h2.jar || cp=$jar

mkdir "$T/data"
java_start -Dh2.bindAddress=127.0.0.1 -cp "$cp" org.h2.tools.Server -tcp -tcpPort $port \
    -ifNotExists -baseDir "$T/data"
until_true 20 file_has "$JVM_OUT" 'TCP server running' || fail "no server: $(cat "$JVM_OUT" "$JVM_ERR")"
"$(jdk_oldest)/bin/javac" -d "$T" "$HERE/H2Load.java"
"$(jdk_oldest)/bin/java" -cp "$T:$jar" H2Load "jdbc:h2:tcp://127.0.0.1:$port/x" 32 \
    $((WORKLOAD_SECONDS + 30)) </dev/null >"$T/load.out" 2>&1 &
CHILDREN+=($!)
until_true 25 file_has "$T/load.out" '^connected 32' || fail "no clients: $(tail -n 5 "$T/load.out")"
workload_record h2
