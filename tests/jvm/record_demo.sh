#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `make demo`, the README's first command: shows the shop's methods, leaves a recording and a flame
# graph, and nothing running.
# in make check-all
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
need_gnomon render
[ -n "$(jdk_newest)" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"

DEMO_SECONDS=3 timeout 300 "$ROOT/tools/demo.sh" >"$T/out" 2>"$T/err" </dev/null
assert_eq "exit code" 0 $? "$(tail -n 5 "$T/err")"
assert_match "the tables" 'java\.util\.regex\.|java\.util\.TimSort|java\.security\.|SHA2' "$T/out"
assert_match "the tables" 'shop\.' "$T/out"
classes
jfr_readable "$BUILD/demo/demo.jfr"
assert_ge "samples" 20 "$(weight "$BUILD/demo/demo.jfr" $CPU_EVENT)"
[ -s "$BUILD/demo/demo.html" ] || fail "no flame graph"
assert_match "where they lie" 'demo\.html' "$T/out"
server=$(sed -n 's/^== gnomon record -p \([0-9]*\) .*/\1/p' "$T/out")
pid_ended "${server:-1}" || fail "the server still runs"
