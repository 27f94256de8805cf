#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process whose every stack is deep and new, of functions with long names: with
# --max-size its file is no larger, whole, and says what is missing.
# in make check-all
# overlaps
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/hostile.sh"
[ "$(uname -m)" = x86_64 ] || skip "attacker.c makes such stacks on x86_64 alone"

attacker_build
elf deep.so functions 60000
victim_start
attack stacks "$DEN/deep.so"
record_all --max-size 2m
victim_done
victim_whole
mine=$(find "$T/all" -name "*-$ATTACKER.jfr")
told_lost "$mine" >"$T/lost"
note "its file has $(stat -c %s "$mine") bytes; lost: $(cat "$T/lost")"
# what a flush hands over may be more, and what is no sample has a megabyte
assert_between "bytes of its file" 1000000 40000000 "$(stat -c %s "$mine")"
assert_match "what its recording lost" 'the file is as large as it may be' "$T/lost"
assert_match "the summary" 'lost .*the file is as large as it may be' "$GN_ERR"
assert_match "the remedy" 'remedy: .*--max-size' "$GN_ERR"
assert_ge "samples in it" 1 "$(weight "$mine" $CPU_EVENT)"
jvm_end
