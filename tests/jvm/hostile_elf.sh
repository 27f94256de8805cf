#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Libraries made to cost their reader dearly: unwind tables that unfold to hundreds of megabytes, tables of symbols
# that are none of the disk's, so many unwind rules that no other process had any: it is their process's
# recording that says what it lacks, and the JVM beside has its stacks.
# in make check-all
# overlaps
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/hostile.sh"

attacker_build
elf packed.so cies 250
elf holes.so sparse 60
libs=("$DEN/packed.so")
for i in {01..12}; do
    as_attacker cp --sparse=always "$DEN/holes.so" "$DEN/holes$i.so" # a file of its own each
    libs+=("$DEN/holes$i.so")
done
note "packed.so: $(stat -c %s "$DEN/packed.so") bytes; holes.so: $(stat -c '%s bytes, %b blocks' "$DEN/holes.so")"
rules=()
for i in {1..9}; do
    elf "rules$i.so" rules 1820 "$i"
    rules+=("$DEN/rules$i.so")
done
victim_start
attack map "${rules[@]}"
greedy=$ATTACKER
attack burn "${libs[@]}"
begun=$EPOCHREALTIME
record_all
victim_done
took=$(since "$begun")
victim_whole
mb=$(sed -n 's/.*, memory \([0-9.]*\) MB.*/\1/p' "$GN_ERR")
note "memory of gnomon: $mb MB"
assert_between "MB of memory" 0 400 "$mb"
told_lost "$(find "$T/all" -name "*-$greedy.jfr")" >"$T/lost"
assert_match "what the greedy one's recording lost" 'unwind rules: more than its share' "$T/lost"
note "$(cat "$T/lost")"
told_lost "$VICTIM" >"$T/lost"
assert_eq "what the victim's lost of rules" 0 "$(grep -c 'unwind rules' "$T/lost")"
told_lost "$(find "$T/all" -name "*-$ATTACKER.jfr")" >"$T/lost"
# Reading may take 2 s of CPU time and a twentieth of the time that passes (SYMPROC_READ_SHARE of user/sym/proc.h): where
# a busy machine took long enough there was time for all of it.
[ "${took%.*}" -gt 10000 ] || assert_match "what the costly one's lost in $took ms" \
    'files of its code: reading them takes too long' "$T/lost"
assert_match "the summary" 'lost .*unwind rules: more than its share' "$GN_ERR"
note "$(cat "$T/lost")"
jvm_end
