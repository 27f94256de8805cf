#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# More processes that look like JVMs than can be recorded: of one user so many are as one may have, the others are
# told of, and the JVM of another user has its samples.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/hostile.sh"

MANY=1041
attacker_build
victim_start
attack many $MANY
many_there() { [ "$(pgrep -cu $ATTACKER_UID -f -- "-jar $OWN_NAME.jar")" -ge $MANY ]; }
until_true 120 many_there || skip "this user cannot have $MANY processes"
record_all --max-processes 20
victim_done
victim_whole
assert_eq "files" 21 "$(find "$T/all" -name '*.jfr' | wc -l)"
assert_match "the warning" 'more than 20 processes .*--max-processes' "$GN_ERR"
assert_eq "times it is said" 1 "$(grep -c 'more than 20 processes' "$GN_ERR")"
jvm_end
