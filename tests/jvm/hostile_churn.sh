#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process whose threads do nothing but rename themselves: what is beyond a
# process's share is told in its own recording, and the JVM beside loses nothing.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/hostile.sh"

attacker_build
victim_start
attack rename 2
renames=$ATTACKER
record_all
victim_done
victim_whole
told_lost "$VICTIM" >"$T/lost"
# what a machine that is too busy to read the rings in time loses is its own
strict assert_eq "what the victim lost" "" "$(grep -v 'wall samples without a stack' "$T/lost")"
told_lost "$(find "$T/all" -name "*-$renames.jfr")" >"$T/lost"
assert_match "what the renaming one's recording lost" 'births, ends and names of threads: too many a second' "$T/lost"
note "$(cat "$T/lost")"
assert_match "the summary" 'lost .*births, ends and names of threads: too many a second' "$GN_ERR"
# the name that it is sampled by is one of its own, or half of each: the kernel writes a name while others read it
# (__set_task_comm(), fs/exec.c, takes a lock that readers do not take)
query "$(find "$T/all" -name "*-$renames.jfr")" $CPU_EVENT os | awk '{ print $2 }' | sort -u >"$T/names"
assert_eq "other names than its own" "" "$(grep -vxE 'o[nt][eh](er?)?|attacker' "$T/names")"
jvm_end
