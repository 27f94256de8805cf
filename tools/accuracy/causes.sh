#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/causes.sh [SECONDS [CASE...]]             (12; as root)
#
# What threads wait for, and for how much of their time, held against what the programs measured themselves: shares
# within 3 points, no wrong cause and no wrong owner, less than 5% of the waits without one. Cases: `waits`
# (java/Waiters.java: monitors, locks, what threads hand over, sockets, a file on a slow device), `chain` (Locks of
# tests/jvm: three threads that wait for each other, and the method that the last one is in), `stalls` (HeldUp: ten
# threads that allocate more than the heap has, with ZGC; the JVM's own log), `stops` (Stopped: a thread that is late to
# safepoints; the log), or all. On each JDK, and on 21 of the tree
# of tests/jvm/tree.sh where that is there; ONE_JDK=1: on the newest.
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/tree.sh"
[ "$PROFILER" = gnomon ] || skip "of gnomon only"
seconds=${1:-12}
cases=("${@:2}")
[ ${#cases[@]} != 0 ] || cases=(waits chain stalls stops)

# One directory, as programs in the tree have but one.
mkdir "$T/classes"
for d in ${CLASSES//:/ }; do cp -r "$d/." "$T/classes"; done
chmod -R a+rX "$T"
CLASSES=$T/classes

"${CC:-gcc}" -D_GNU_SOURCE -O1 -o "$T/deaf_fuse" "$LIB_DIR/deaf_fuse.c" || fail "deaf_fuse does not compile"
SLOW=()
slow_end() { for d in "${SLOW[@]}"; do umount -l "$d" 2>/dev/null; rmdir "$d"; done; }
trap 'rc=$?; slow_end; (exit $rc); cleanup' EXIT

# slow_file: SLOW_FILE is a file that takes 60 ms to be read, as programs of the JDK see it.
slow_file() {
    local dir root=

    [[ $JDK != "$T"/tree-jdk* ]] || root=$TREE
    dir=$(mktemp -d "$root/srv/gnomon-slow.XXXXXX") || fail "no directory for a file system"
    SLOW+=("$dir")
    emptied "$T/slow.out"
    "$T/deaf_fuse" $$ "$dir" slow 60 >"$T/slow.out" 2>"$T/slow.err" &
    CHILDREN+=($!)
    until_true 60 file_has "$T/slow.out" '^READY' || fail "no file system: $(cat "$T/slow.err")"
    SLOW_FILE=${dir#"$root"}/slow
}

# recorded JFR: JVM_PID for so long
recorded() {
    gnomon_start "$1" -p "$JVM_PID" --wall 5ms
    sleep "$seconds"
    gnomon_stop
}

# judged CASE: lines "BOUND what|..." on standard input, which is no pipe's: what is found has to outlive it
judged() {
    local bound line n=0

    while read -r bound line; do
        rows "$1" "$bound" <<<"$line"
        n=$((n + 1))
    done
    [ $n != 0 ] || fail "$1: no figures"
}

# samples JFR: "THREAD STATE SAMPLES" of its wall samples
samples() {
    local state

    query "$1" $WALL_EVENT state | while read -r _ state; do
        query "$1" $WALL_EVENT thread state="$state" | awk -v s="$state" 'NF == 2 { print $2, s, $1 }'
    done
}

waits() {
    local other other_fd version jfr

    version=$(jdk_version "$JDK")
    jfr=$T/waits-$version.jfr
    slow_file
    jvm_start Waiters serve 30
    other=$JVM_PID other_fd=$JVM_FD
    jvm_start Waiters "$(awk '$1 == "PORT" { print $2 }' "$JVM_OUT")" "$SLOW_FILE"
    recorded "$jfr"
    jvm_go
    jvm_done
    ! file_has "$JVM_OUT" ^FAIL || fail "$(grep ^FAIL "$JVM_OUT")"
    samples "$jfr" >"$T/samples"
    query "$jfr" values gnomon.WaitCause eventThread state samples owner kind cause >"$T/causes"
    judged "waits, JDK $version" < <(awk -f "$ACCURACY_DIR/causes.awk" "$JVM_OUT" "$T/samples" "$T/causes")
    jvm_unharmed
    jvm_end
    JVM_PID=$other JVM_FD=$other_fd
    jvm_end
}

# chained JFR: of the samples of chain-0 those that are told to be in the end for holdLong() of the third, by way of the
# second; and those told otherwise
chained() {
    "$GNOMON" render "$1" -f collapsed -D off --idle --causes | awk '
        /Locks.waitForNext;/ {
            all += $NF
            if (/Locks.waitForNext;\(monitor\) [^;]*;\[chain-1\];.*Locks.waitForLast;\(monitor\) [^;]*;\[chain-2\];.*Locks.holdLong/)
                good += $NF
            else if (/\[chain-[0-9]\]/ && !/Locks.waitForNext;\(monitor\) [^;]*;\[chain-1\];/)
                wrong += $NF
        }
        END {
            printf "3 chain-0 for the end of a chain of three|100|%.4f|%%|-\n", all ? 100 * good / all : 0
            printf "0 wrong owners|0|%.4f|ns|-\n", wrong
        }'
}

chain() {
    local version jfr

    version=$(jdk_version "$JDK")
    jfr=$T/chain-$version.jfr
    jvm_start Locks chain
    recorded "$jfr"
    jvm_go
    jvm_done
    judged "chain, JDK $version" < <(chained "$jfr")
    jvm_unharmed
    jvm_end
}

# stalled_ns FROM TO: of ten threads, between these times (ns since 1970), by the JVM's log
stalled_ns() {
    sed -n 's/^\[\([0-9]*\)ms\].*Allocation Stall (allocates-[0-9]*) \([0-9.]*\)ms.*/\1 \2/p' "$JVM_OUT" |
        awk -v from="$1" -v to="$2" '
            { end = $1 * 1e6; begin = end - $2 * 1e6 }
            end > from && begin < to { n += (end < to ? end : to) - (begin > from ? begin : from) }
            END { printf "%.0f\n", n }'
}

# all_stalled SINCE: each thread has had a stall that ended later, so that none that began before is missing
all_stalled() {
    [ "$(sed -n 's/^\[\([0-9]*\)ms\].*Allocation Stall (\(allocates-[0-9]*\)) .*/\1 \2/p' "$JVM_OUT" |
        awk -v since="$1" '$1 * 1e6 > since { print $2 }' | sort -u | wc -l)" = 10 ]
}

stalls() {
    local version jfr from to samples all

    version=$(jdk_version "$JDK")
    jfr=$T/stalls-$version.jfr
    JVM_OPTS="-XX:+UseZGC -Xmx1g -Xlog:gc=info:stdout:timemillis" jvm_start HeldUp 10
    cpu_spent 1000
    "$GNOMON" record -q -p "$JVM_PID" --wall 5ms -d "${seconds}s" -o "$jfr" || fail "record"
    from=$(query "$jfr" values $WALL_EVENT startTime | sort -n | head -n 1)
    to=$((from + seconds * 1000000000))
    until_true 120 all_stalled "$to" || fail "a thread does not stall any more"
    query "$jfr" values gnomon.WaitCause eventThread samples kind cause >"$T/causes"
    # to the log one that has ended and has no CPU yet is a stall, too
    samples=$(($(awk '$1 ~ /^allocates-/ && /JVM ZGC allocation stall/ { n += $2 } END { print n + 0 }' "$T/causes") +
        $(weight "$jfr" $WALL_EVENT 'thread=allocates-.*' state=STATE_QUEUED 'frame=.*PageAllocator::alloc_page_stall.*')))
    all=$(thread_ms "$jfr" 'allocates-.*' 10 5)
    all=$(calc "$all / 5")
    "$GNOMON" render "$jfr" -f collapsed -D off --idle --causes >"$T/caused" || fail "render --causes"
    {
        echo "3 ten threads under the stall|$(calc "100 * $(stalled_ns "$from" "$to") / (10e9 * $seconds)")|$(calc "100 * $samples / $all")|%|-"
        awk '/\(JVM\) ZGC allocation stall / {
                all += $NF
                if (/HeldUp.allocate;java.nio.ByteBuffer.allocate;/) good += $NF
            }
            END { printf "3 of it by ByteBuffer.allocate|100|%.4f|%%|-\n", all ? 100 * good / all : 0 }' "$T/caused"
    } >"$T/figures"
    judged "stalls, JDK $version" <"$T/figures"
    jvm_unharmed
    jvm_end
}

# stopping_ns FROM TO: between these times, the time to safepoint by the JVM's log, which is written at the end of each
stopping_ns() {
    sed -n 's/^\[\([0-9]*\)ms\].*Safepoint .*Reaching safepoint: \([0-9]*\) ns.* Total: \([0-9]*\) ns.*/\1 \2 \3/p' "$JVM_OUT" |
        awk -v from="$1" -v to="$2" '
            { begin = $1 * 1e6 - $3; end = begin + $2 }
            end > from && begin < to { n += (end < to ? end : to) - (begin > from ? begin : from) }
            END { printf "%.0f\n", n }'
}

# A collection is asked for, and a thread is late: for how long that one is waited for.
stops() {
    local version jfr from to

    version=$(jdk_version "$JDK")
    jfr=$T/stops-$version.jfr
    JVM_OPTS="-XX:+UseSerialGC -XX:-UseCountedLoopSafepoints -Xlog:safepoint=info:stdout:timemillis" jvm_start Stopped
    cpu_spent 1000
    "$GNOMON" record -q -p "$JVM_PID" --wall 5ms -d "${seconds}s" -o "$jfr" || fail "record"
    from=$(query "$jfr" values $WALL_EVENT startTime | sort -n | head -n 1)
    to=$((from + seconds * 1000000000))
    cpu_spent 1000 # one that went on at the end is over, and in the log
    query "$jfr" values gnomon.WaitCause eventThread samples owner kind cause | grep '^asks .* JVM VM operation (until all' >"$T/asks"
    awk -v want="$(calc "100 * $(stopping_ns "$from" "$to") / ($seconds * 1e9)")" -v all="$(calc "$seconds / 0.005")" '
        { n += $2; if ($3 == "late") known += $2; else if ($3 != "-") wrong += $2 }
        END {
            printf "3 until a late thread has stopped|%.4f|%.4f|%%|%.4f\n", want, 100 * n / all, 100 * sqrt(want / 100 * (1 - want / 100) / all)
            printf "0 wrong owners|0|%d|samples|-\n", wrong
            printf "5 without an owner|0|%.4f|%%|-\n", n ? 100 * (n - known) / n : 100
        }' "$T/asks" >"$T/figures"
    judged "stops, JDK $version" <"$T/figures"
    jvm_unharmed
    jvm_end
}

all_cases() {
    local c

    for c in "${cases[@]}"; do $c; done
}

heading
if [ -n "${ONE_JDK:-}" ]; then
    JDKS=$(jdk_version "$(jdk_newest)") for_each_jdk all_cases
else
    homes=$(jdks | tr '\n' ' ')
    [ ! -d "$TREE" ] || [[ $homes == *21* ]] || homes+=$(tree_home 21)
    JAVA_HOMES=$homes for_each_jdk all_cases
fi
verdicts_end
