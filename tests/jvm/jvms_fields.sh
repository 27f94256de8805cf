#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A JVM that does not have a field of the VM structures (blank.c takes its name away): doctor and the
# recording name it, and what does not need it goes on.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
BLANK=$T/blank
"${CC:-gcc}" -O1 -Wall -Wextra -Werror -o "$BLANK" "$LIB_DIR/blank.c" || fail "blank cannot be built"

# FIELD and what is lost with it.
said() {
    assert_match "$1: doctor" "degraded +vmstructs +no .*$1[^(]* \\($2\\)" "$T/jvm.txt"
    assert_match "$1: the recording" "names +the JVM's memory \\(vmstructs\\) without .*$1" "$T/err"
}

lacks() {
    jvm_start Idle 1 0
    for f in _orig_pc_offset _scopes_pcs_offset; do
        "$BLANK" "$JVM_PID" $f || fail "libjvm.so has no '$f'"
    done
    "$GNOMON" doctor >"$T/doctor.txt" 2>&1
    sed -n "/^JVM $JVM_PID:/,/^\$/p" "$T/doctor.txt" >"$T/jvm.txt"
    "$GNOMON" record --force -p "$JVM_PID" --jvm vmstructs -d 1s -o "$T/f.jfr" 2>"$T/err"
    assert_eq "exit code" 0 $? "$(cat "$T/err")"
    said nmethod._orig_pc_offset "deoptimised frames"
    said nmethod._scopes_pcs_offset "inlined frames"
    jvm_end
}

for_each_jdk lacks
