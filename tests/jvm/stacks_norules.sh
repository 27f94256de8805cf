#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Native code without unwind tables and without frame pointers, called from Java, awake and asleep:
# the Java frames that called it are there, by the JVM's own note of them, and marked.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
[ "$(uname -m)" = x86_64 ] || skip "norules.c is for x86_64"

${CC:-gcc} -O2 -w -shared -fPIC -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables \
    -fno-stack-protector -o "$T/libnorules.so" "$LIB_DIR/norules.c" || fail "norules.c does not compile"

# caller THREAD METHOD: of the thread's time 95% is in a marked native frame that METHOD called
caller() {
    awk -v thread="$1" -v method="$2" '
        { all += $NF }
        $0 ~ method "(;|\\$)" && /caller guessed/ && /libnorules/ { good += $NF }
        !/Thread.run/ { print "cut: " $0 }
        END {
            printf "%s: %.1f%% of %.0f ms below %s\n", thread, all ? 100 * good / all : 0, all / 1e6, method
            exit !all || good < all * 0.95
        }' "$T/stacks" >"$T/check.out" || fail "$(tail -n 5 "$T/check.out")"
    note "$(tail -n 1 "$T/check.out")"
}

norules() {
    local jfr=$T/norules.jfr

    jvm_start NoRules "$T/libnorules.so"
    recorded_for 600 1 "$jfr" -p "$JVM_PID" --cpu 5ms --wall 10ms --force
    jvm_unharmed
    jvm_end
    for t in burns-0 burns-1 sleeps; do
        # waits, where it sleeps: in two seconds its CPU time is a sample or none
        "$GNOMON" render "$jfr" --idle -f collapsed --dim "$([ $t = sleeps ] && echo wall || echo cpu)" -t $t >"$T/stacks" ||
            fail "render fails"
        caller $t NoRules.${t%-*}
    done
}

for_one_jdk norules
