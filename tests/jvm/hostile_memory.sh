#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An ordinary user's process whose libjvm.so, and the stack of a thread that sleeps, lie on a file
# system that answers nobody: who reads that memory waits in the kernel and cannot be killed. It is
# recorded, a victim beside it is whole, threads at rest have their stacks, and the end is in time.
# overlaps BPF tests: whoever looks for JVMs meanwhile waits for these file systems, too.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hostile.sh"

victim_start
ownfs_start stack
record_all --wall 10ms
# threads that slept before the recording are read from outside, each second if need be
cpu_spent 600
sleep 2
victim_done
victim_whole
file=$(find "$T/all" -name "*-$OWNFS_PID.jfr")
[ -s "$file" ] || fail "the process has no file: $(cat "$GN_ERR")"
assert_ge "CPU samples of it" 1 "$(weight "$file" $CPU_EVENT)"
assert_ge "wall samples of it" 1 "$(weight "$file" $WALL_EVENT)"
pid_ended "$OWNFS_PID" && fail "the process died"

# of the victim's main thread, which waits for a line all the time, nearly all have a whole stack
all=$(weight "$VICTIM" $WALL_EVENT thread=main)
whole=$(weight "$VICTIM" $WALL_EVENT thread=main 'frame=Split\.main')
assert_ge "wall samples of the victim's main thread" 50 "$all"
assert_ge "percent of them with their callers" 90 "$(calc "100 * $whole / $all")"
