#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The process that names is killed or hangs, at the start, in the middle or at the end: another one takes over, or the file is
# closed without it. Each time gnomon ends by itself, the file is readable and says what is missing.
# overlaps (long)
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

LOST='the process that names was lost'

namer_is_there() { NAMER=$(pgrep -P "$GN_PID" -x gnomon-namer); }
another_is_there() { NEXT=$(pgrep -P "$GN_PID" -x gnomon-namer) && [ "$NEXT" != "$NAMER" ]; }

# begin NAME OPTION...: a recording of a busy thread and idle ones, with some of it in the file.
begin() {
    FILE=$T/$1-$(jdk_version "$JDK").jfr
    jvm_start Idle 5 1 30
    gnomon_start "$FILE" --isolate -p "$JVM_PID" "${@:2}"
    BEGAN_NS=$(process_cpu_ns "$JVM_PID")
    namer_is_there || fail "no process that names: $(cat "$GN_ERR")"
    NAMERS=$(pgrep -P "$GN_PID" 'gnomon-[ns]') # with those that may take over
    assert_eq "processes that name, or may" 2 "$(wc -w <<<"$NAMERS")"
    SIZE=$(stat -c %s "$FILE")
    until_true 60 larger_than "$FILE" "$SIZE" || fail "nothing is written"
}

# lost KIND: how many samples the file says were lost with a process.
lost() {
    jfr_print "$FILE" gnomon.SamplesLost >"$T/lost"
    awk -v what="reason = \"$1 samples: $LOST\"" 'index($0, what) { mine = 1 }
        mine && /lostSamples/ { n += $3; mine = 0 } END { print n + 0 }' "$T/lost"
}

# lost_in_all: for any reason.
lost_in_all() {
    jfr_print "$FILE" gnomon.SamplesLost |
        awk '/kind = /{ mine = $3 == "\"cpu\"" } mine && /lostSamples/ { n += $3 } END { print n + 0 }'
}

# end: what the busy thread did is in the file, or was told as lost.
end() {
    local used=$((($(process_cpu_ns "$JVM_PID") - BEGAN_NS) / 1000000))

    kill -INT "$GN_PID"
    whole 0
    note "$(grep -A 12 "^recorded" "$GN_ERR")"
    assert_ge "ms of CPU samples, and of those told as lost" "$(calc "$used * 0.9 - 20")" \
        "$(calc "10 * ($(weight "$FILE" $CPU_EVENT) + $(lost_in_all))")"
}

# whole EXIT_CODE
whole() {
    gnomon_end 120
    assert_eq "exit code" "$1" "$GN_RC" "$(cat "$GN_ERR")"
    jvm_unharmed
    jvm_end
    jfr_readable "$FILE"
    for NAMER in $NAMERS; do pid_gone "$NAMER" 60 || fail "process $NAMER, which names or may, is left"; done
}

named_percent() {
    local all named

    all=$(weight "$FILE" $CPU_EVENT thread=busy-thread-number-1)
    named=$(weight "$FILE" $CPU_EVENT thread=busy-thread-number-1 'frame=Harness\.(crunch|burn|cpu)')
    calc "100 * $named / ($all + 0.001)"
}

killed() {
    begin killed
    kill -KILL "$NAMER"
    until_true 60 another_is_there || fail "nobody takes over: $(cat "$GN_ERR")"
    cpu_spent 900
    end
    assert_match "stderr" 'the process that names has ended: another one takes over' "$GN_ERR"
    assert_ge "percent of the busy thread's samples in its method" 90 "$(named_percent)"
    assert_ge "CPU samples after it" 80 "$(weight "$FILE" $CPU_EVENT)"
}

hangs() {
    begin hangs
    process_stop "$NAMER"
    until_true 300 another_is_there || fail "nobody takes over: $(cat "$GN_ERR")"
    pid_gone "$NAMER" 60 || fail "the one that hung is still there"
    cpu_spent 500
    end
    assert_match "stderr" 'did not answer for 10 s: another one takes over' "$GN_ERR"
    assert_ge "CPU samples told as lost" 1 "$(lost CPU)"
}

# Nor is lost what it was told to have been lost, and had not written.
hangs_with_little_room() {
    begin room --queue-size 64k
    process_stop "$NAMER"
    until_true 300 another_is_there || fail "nobody takes over: $(cat "$GN_ERR")"
    cpu_spent 500
    end
    assert_match "stderr" 'CPU samples: naming too slow' "$GN_ERR"
}

hangs_at_the_end() {
    begin end
    process_stop "$NAMER"
    cpu_spent 300
    end
    assert_match "stderr" 'the process that names did not come to an end' "$GN_ERR"
    assert_ge "CPU samples told as lost" 10 "$(lost CPU)"
    assert_match "summary" "CPU samples: $LOST" "$GN_ERR"
}

killed_at_the_end() {
    begin gone
    process_stop "$NAMER"
    cpu_spent 300
    kill -INT "$GN_PID"
    kill -KILL "$NAMER"
    whole 0
    assert_ge "CPU samples told as lost" 10 "$(lost CPU)"
}

# Who cannot wait says so once more.
twice() {
    begin twice
    process_stop "$NAMER"
    kill -INT "$GN_PID"
    sleep 0.7
    kill -INT "$GN_PID"
    whole 0
    strict assert_match "stderr" 'is not waited for any more' "$GN_ERR"
}

# Not for ever: the fourth is the last.
too_often() {
    begin often
    for _ in 1 2 3; do
        kill -KILL "$NAMER"
        until_true 60 another_is_there || fail "nobody takes over: $(cat "$GN_ERR")"
        NAMER=$NEXT
    done
    kill -KILL "$NAMER"
    whole 1
    assert_match "stderr" 'the process that names was lost, and 3 in its place' "$GN_ERR"
}

# Told to end while what names is not ready: it ends in time, and leaves nothing.
interrupted() {
    local began

    FILE=$T/interrupted-$(jdk_version "$JDK").jfr
    jvm_start Idle 5 1 30
    "$GNOMON" -v record --isolate -o "$FILE" -p "$JVM_PID" </dev/null >"$T/interrupted.out" 2>"$T/interrupted.err" &
    GN_PID=$!
    CHILDREN+=("$GN_PID")
    GN_ERR=$T/interrupted.err
    until namer_is_there; do nap 0.01; done
    process_stop "$NAMER"
    NAMERS=$(pgrep -P "$GN_PID" 'gnomon-[ns]')
    recording_or_over && fail "it was too late: $(cat "$GN_ERR")"
    began=$EPOCHREALTIME
    kill -INT "$GN_PID"
    gnomon_end 60
    strict assert_between "ms until its end" 0 2000 "$(since "$began")"
    assert_eq "exit code" 1 "$GN_RC" "$(cat "$GN_ERR")"
    assert_match "stderr" 'interrupted before the recording began' "$GN_ERR"
    [ ! -e "$FILE" ] || fail "a file is left"
    for NAMER in $NAMERS; do pid_gone "$NAMER" 60 || fail "process $NAMER, which names or may, is left"; done
    jvm_unharmed
    jvm_end
}

some_of 3 for_any_jdk killed hangs hangs_with_little_room hangs_at_the_end killed_at_the_end twice too_often interrupted
softly_end
