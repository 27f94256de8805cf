#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/starvation.sh [SECONDS]                   (20; as root)
#
# 8 busy threads on 2 CPUs: the share of time each waits for a CPU (state QUEUED), within 3 points of
# the time that the scheduler did not run it (/proc/PID/task/TID/schedstat). Its run_delay is not used:
# it is added up when a wait ends, so that on a machine with other load it is out by seconds.
. "$(dirname "$0")/lib.sh"
[[ $(kinds) == *queued* ]] || skip "$PROFILER does not tell queueing from waiting"
CPU_MS=${PATTERN_MS:-2}
WALL_MS=$CPU_MS
need_cmd taskset
[ "$(nproc)" -ge 2 ] || skip "needs 2 CPUs"

jvm_start Idle 0 8
taskset -a -p -c 0,1 "$JVM_PID" >/dev/null || fail "cannot bind the target to 2 CPUs"
measured starvation "${1:-20}" Idle --cpu ${CPU_MS}ms --wall ${WALL_MS}ms
jvm_end
heading
rows starvation 3 < <(BUSY=1 shares starvation '^busy-thread' queued)
rows starvation 2 < <(shares starvation '^busy-thread' on life)
verdicts_end
