#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Threads that the JVM itself holds up: one needs a class whose initialization another has begun and does not end;
# with ZGC ten allocate more than the heap has, so that they stall, by ByteBuffer.allocate. Each is told with its cause, and none of these
# waits as one for a monitor. One has the JVM collect, which waits for another that stops late: that one is told, with its stack.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

# caused THREAD: "SAMPLES CAUSE" of what the JVM does, and of monitors
caused() {
    query "$JFR" values gnomon.WaitCause eventThread samples kind cause | awk -v t="$1" '
        $1 ~ "^" t && ($3 == "JVM" || $3 == "monitor") {
            n = $2
            sub(/^[^ ]* [^ ]* /, "")
            sum[$0] += n
        }
        END { for (c in sum) print sum[c], c }'
}

causes_jvm() {
    JFR=$T/jvm-$(jdk_version "$JDK").jfr
    JVM_OPTS="-XX:+UseZGC -Xmx1g" jvm_start HeldUp 10
    "$GNOMON" record -q -p "$JVM_PID" -d 2s -o "$JFR" || fail "record"
    assert_eq "what needs-class waits for" "$(weight "$JFR" $WALL_EVENT thread=needs-class) JVM class initialization" \
        "$(caused needs-class)"
    assert_eq "what its initializer waits for, within the JVM" "" "$(caused initializes | grep JVM)"
    caused allocates- >"$T/stalls"
    sed 's/^/  /' "$T/stalls"
    assert_ge "samples of allocation stalls" 50 "$(awk '/ZGC allocation stall/ { print $1 }' "$T/stalls")"
    "$GNOMON" render "$JFR" -f collapsed -D off --causes >"$T/caused" || fail "render --causes"
    grep -Eq 'HeldUp.allocate;java.nio.ByteBuffer.allocate;.*;\(JVM\) ZGC allocation stall ' "$T/caused" ||
        fail "no ByteBuffer.allocate stalls: $(grep -o 'HeldUp.*' "$T/caused")"
    assert_eq "monitors that these entered" "" \
        "$(query "$JFR" values jdk.JavaMonitorEnter eventThread | grep -E '^(needs-class|allocates)')"
    jvm_unharmed
    jvm_end
}

# What a thread waits for that has the JVM collect: mostly for one that does not stop, at some of these ticks with its
# name (it has to have a CPU, or to want one, and to have been told of in time), at none with another's; but where CPUs
# are short "prompt" waits for one now and then, and all others for it.
stopped() {
    JFR=$T/stopped-$(jdk_version "$JDK").jfr
    JVM_OPTS="-XX:+UseSerialGC -XX:-UseCountedLoopSafepoints" jvm_start Stopped
    "$GNOMON" record -q -p "$JVM_PID" -d 3s -o "$JFR" || fail "record"
    query "$JFR" values gnomon.WaitCause eventThread samples owner kind cause | grep '^asks ' >"$T/asks"
    assert_ge "samples that wait until all threads have stopped" 20 \
        "$(awk '/JVM VM operation \(until all threads have stopped\)$/ { n += $2 } END { print n + 0 }' "$T/asks")"
    awk '/until all/ && $3 != "-" { n[$3] += $2 } END { for (t in n) print t, n[t] }' "$T/asks" >"$T/late"
    grep -Ev '^(late|prompt) ' "$T/late" >"$T/others"
    assert_empty "others that it waits for" "$T/others"
    assert_ge "percent of them that wait for 'late', of: $(tr '\n' ' ' <"$T/late")" 95 \
        "$(awk '{ n[$1] = $2; all += $2 } END { print all ? 100 * n["late"] / all : 0 }' "$T/late")"
    assert_eq "threads that operations wait for" "" \
        "$(grep JVM "$T/asks" | grep -v 'until all' | sed 's/^asks [0-9]* //' | grep -v '^- ' | grep -v '^VM Thread ')"
    "$GNOMON" render "$JFR" -f collapsed -D off --idle --causes >"$T/caused" || fail "render --causes"
    grep -Eq 'Stopped.collect;.*;\(JVM\) VM operation \(until all threads have stopped\);\[late\];.*;Stopped.loop' "$T/caused" ||
        fail "who is waited for is not told with a stack: $(grep 'Stopped.collect' "$T/caused")"
    jvm_unharmed
    jvm_end
}

for_one_jdk causes_jvm
for_one_jdk stopped
