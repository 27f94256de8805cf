#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With --isolate each user has a process that names. What becomes of an attacker's, as if he had taken it over, is his
# own recording's matter: it hangs, or dies as often as there is one to take over, and the JVM of another user beside
# it has all of its samples. More users than there may be processes share one, and that is said.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/hostile.sh"

LOST='the process that names was lost'

# namer_of PID: the process that has its file
namer_of() {
    local p

    for p in $(pgrep -P "$GN_PID" -x gnomon-namer); do
        # shellcheck disable=SC2012
        ls -l "/proc/$p/fd" 2>/dev/null | grep -q -- "-$1\.jfr" && echo "$p"
    done
    return 0 # whichever was the last: numbers begin anew, and are not in the order of time
}
named_by_another() { local now; now=$(namer_of "$ATTACKER") && [ -n "$now" ] && [ "$now" != "$HIS" ]; }

# apart: the attacker's namer in HIS, and the victim's in OURS: two
apart() {
    until_true 120 named_by_another || fail "nobody names the attacker: $(cat "$GN_ERR")"
    HIS=$(namer_of "$ATTACKER")
    OURS=$(namer_of "$JVM_PID")
    [ -n "$OURS" ] || fail "nobody names the victim: $(cat "$GN_ERR")"
    [ "$HIS" != "$OURS" ] || fail "one process names both"
    assert_eq "processes that name" 2 "$(pgrep -c -P "$GN_PID" -x gnomon-namer)"
}

# his_file: the attacker's is whole as far as it goes, and says what is missing
his_file() {
    local file

    file=$(find "$T/all" -name "*-$ATTACKER.jfr")
    [ -s "$file" ] || fail "the attacker has no file: $(cat "$GN_ERR")"
    jfr_readable "$file"
    jfr_print "$file" gnomon.SamplesLost >"$T/missing"
    assert_match "what is missing of the attacker's" "$LOST" "$T/missing"
    ! jfr_print "$VICTIM" gnomon.SamplesLost | grep -q "$LOST" || fail "the victim's samples were lost with it"
}

begin() {
    HIS=
    victim_start 1500
    attack burn own.so
    record_all --isolate
    apart
}

hangs() {
    begin
    process_stop "$HIS"
    cpu_spent 300 "$ATTACKER"
    victim_done
    victim_whole
    his_file
    assert_eq "the victim's process that names was lost" 0 "$(grep -c "process $JVM_PID was being looked at" "$GN_ERR")"
    jvm_end
}

dies() {
    local i

    begin
    for i in 1 2 3; do
        kill -KILL "$HIS"
        until_true 120 named_by_another || fail "nobody takes over for the ${i}th time: $(cat "$GN_ERR")"
        HIS=$(namer_of "$ATTACKER")
    done
    kill -KILL "$HIS"
    until_true 120 file_has "$GN_ERR" 'not recorded any more' || fail "it is not said: $(cat "$GN_ERR")"
    cpu_spent 300 "$ATTACKER"
    assert_eq "the victim's" "$OURS" "$(namer_of "$JVM_PID")"
    victim_done
    victim_whole
    his_file
    jvm_end
}

crowd() {
    local i

    victim_start
    for ((i = 0; i < 17; i++)); do
        ATTACKER_UID=$((60001 + i)) attack idle
    done
    record_all --isolate
    victim_done
    victim_whole
    assert_match "stderr" 'more than 15 users and containers: one process names those of all others' "$GN_ERR"
    assert_eq "files" 18 "$(find "$T/all" -name '*.jfr' -size +0 | wc -l)"
    jvm_end
}

attacker_build
elf own.so rules 20 1
case_of() { "$1"; }
some_of 1 case_of hangs dies crowd
softly_end
