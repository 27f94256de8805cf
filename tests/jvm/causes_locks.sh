#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whose the locks are that threads wait for is what the program says: two locks that one thread holds by turns, each for
# a known part of the time, as monitors, ReentrantLocks and read-write locks; a chain of three; deadlocks of three, which
# are there before the recording, or in a JVM that it launches. Wrong owners: none. By both engines, and by a daemon, which takes some of its ticks only.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
need_root
need_gnomon record

CAUSE_EVENT=gnomon.WaitCause

OWNED=80  # percent of the ticks of a wait at least
WAITED=30 # ticks of it at least

# owners_check JFR: who waits for whom, from the lines of $T/owners: thread, operation, samples, owner.
owners_check() {
    local jfr=$1 word waiter owner all

    while read -r word waiter owner _; do
        case $word in CHAIN | DEADLOCK | TRUTH) ;; *) continue ;; esac
        assert_eq "owners that '$waiter' waits for in $(basename "$jfr")" "$owner" \
            "$(awk -v t="$waiter" '$1 == t && $2 != "-" && $4 != "-" { print $4 }' "$T/owners" | sort -u | tr '\n' ' ' | sed 's/ $//')"
        all=$(awk -v t="$waiter" '$1 == t { n += $3 } END { print n + 0 }' "$T/owners")
        assert_ge "samples of '$waiter' that wait for a lock" "$WAITED" "$all"
        assert_ge "of them with an owner, in percent" "$OWNED" \
            $(($(awk -v t="$waiter" '$1 == t && $4 != "-" { n += $3 } END { print n + 0 }' "$T/owners") * 100 / all))
    done <"$JVM_OUT"
}

# shares_check JFR: how its waits are shared by the two locks is as the program says, which counts from its start on.
shares_check() {
    local jfr=$1 part want got

    for part in monitor lock rw; do
        want=$(awk -v t="$part-waiter" '$1 == "TRUTH" && $2 == t { v[$4] = $5 }
            END { printf "%.0f\n", 100 * v["holdLong"] / (v["holdLong"] + v["holdShort"]) }' "$JVM_OUT")
        got=$(awk -v t="$part-waiter" '$1 == t { n[$5] += $3; s += $3 }
            END { for (k in n) if (n[k] > m) m = n[k]; printf "%.0f\n", 100 * m / s }' "$T/owners")
        # some 100 ticks: four standard deviations of chance, were each of them by itself
        assert_between "percent of '$part-waiter' for the lock that is held longer" $((want - 19)) $((want + 19)) "$got"
    done
}

# deadlocks_in FILE: whose they are, of wrapped text.
deadlocks_in() {
    tr -s ' \n' ' ' <"$1" | grep -o "Deadlock of 3 threads: '[a-z]*-" | sed "s/.*'//; s/-//" | sort | tr '\n' ' ' | sed 's/ $//'
}

# joined JFR: what the owner did at the ticks of a wait is below its cause: the lock that is held in holdLong() is waited
# for while that sleeps, and no other is; so is each link of the chain, and who waits in a circle is told.
joined() {
    local jfr=$1 part lock

    "$GNOMON" render "$jfr" -f collapsed -D off --idle --causes >"$T/joined" || fail "render --causes"
    for part in monitor lock rw; do
        tr ' ' '_' <"$T/joined" | sed 's/_\([0-9]*\)$/ \1/' | awk -v o=";[$part-owner];" '
            (at = index($1, o)) && match(substr($1, 1, at), /;\([a-z]*\)_[^;]*;$/) {
                lock = substr($1, RSTART + 1, RLENGTH - 2); n[lock] += $2
                if ($1 ~ /;Locks.holdLong(;|$)/) long[lock] += $2
                if ($1 ~ /;Locks.holdShort(;|$)/) short[lock] += $2
            } END { for (l in n) printf "%s %.0f %.0f\n", l, 100 * long[l] / n[l], 100 * short[l] / n[l] }' >"$T/places"
        # an owner that ran at a tick is told by a CPU sample nearby
        assert_eq "locks of '$part-owner' that it held in one method, in nine of ten ticks" "long short " \
            "$(awk '$2 >= 90 { print "long" } $3 >= 90 { print "short" }' "$T/places" | sort | tr '\n' ' ')"
    done
    grep -q ';\[chain-1\];.*Locks.waitForLast;(monitor) [^;]*;\[chain-2\];.*Locks.holdLong' "$T/joined" ||
        fail "the chain of three is not told: $(grep chain "$T/joined")"
    "$GNOMON" summary "$jfr" >"$T/summary" || fail "summary"
    assert_eq "deadlocks that summary tells" "dead tied" "$(deadlocks_in "$T/summary")"
}

# recorded_daemon JFR: by a daemon, which has ticks four times as often as it takes one.
recorded_daemon() {
    printf '%s\n' "directory = $T/recordings" "socket = none" "chunk-time = 10m" "min-free = 0" "no-vitals = yes" "wall = 20ms" \
        "record = no" "[mine]" "name = $OWN_NAME.jar" >"$CONF"
    daemon_run
    until_true 120 file_has "$T/daemon.err" "process $JVM_PID: recording" || fail "it is not recorded: $(cat "$T/daemon.err")"
    sleep 3
    daemon_stop
    mv "$T"/recordings/"$OWN_NAME"-*/*.jfr "$1" || fail "not one file: $(ls "$T"/recordings/*)"
    rm -r "$T/recordings"
}

causes_locks() {
    local engine jfr version

    version=$(jdk_version "$JDK")
    own_jar Locks
    jvm_start -jar "$OWN_JAR" monitor lock rw chain deadlock deadlock-lock
    for engine in switch scan daemon; do
        jfr=$T/locks-$version-$engine.jfr
        if [ $engine = daemon ]; then
            recorded_daemon "$jfr"
        else
            "$GNOMON" record -p "$JVM_PID" -d 2s --wall-engine=$engine -o "$jfr" 2>"$T/closing" || fail "record"
        assert_eq "deadlocks that record tells at its end" "dead tied" "$(deadlocks_in "$T/closing")"
        fi
        query "$jfr" values $CAUSE_EVENT eventThread operation samples owner cause | grep -E ' (enter|park) ' |
            grep -v Semaphore@ >"$T/owners-$engine"
    done
    jvm_go
    jvm_done
    for engine in switch scan daemon; do
        cp "$T/owners-$engine" "$T/owners"
        owners_check "$T/locks-$version-$engine.jfr"
        shares_check "$T/locks-$version-$engine.jfr"
        joined "$T/locks-$version-$engine.jfr"
    done
    file_has "$JVM_OUT" ^FAIL && fail "$(grep ^FAIL "$JVM_OUT")"
    jvm_unharmed
    jvm_end
    jfr_readable "$T/locks-$version-switch.jfr"
}

# recorded_with OPTION PART...: with a collector that moves objects while threads run; $T/owners.
recorded_with() {
    local jfr=$1 gc=$2

    shift 2
    JVM_OPTS="-XX:+$gc -Xmx200m" jvm_start Locks "$@"
    "$GNOMON" record -q -p "$JVM_PID" -d 2s -o "$jfr" || fail "record"
    query "$jfr" values $CAUSE_EVENT eventThread operation samples owner cause | grep -E ' (enter|park) ' |
        grep -v Semaphore@ >"$T/owners"
    jvm_go
    jvm_done
    owners_check "$jfr"
    jvm_unharmed
}

# Objects that do not move, and some that do all the time: then who has no identity hash is another one after that.
moving() {
    local jfr version

    version=$(jdk_version "$JDK")
    "$JDK/bin/java" "-XX:+$1" -version >"$T/version" 2>&1 || { note "none: $1"; return; }
    jfr=$T/$1-$version.jfr
    recorded_with "$jfr" "$1" monitor lock rw chain deadlock deadlock-lock
    shares_check "$jfr"
    joined "$jfr"
    jvm_end
    # nothing is read of objects in a pause, and there is one after the other
    OWNED=40 recorded_with "$T/$1-moving-$version.jfr" "$1" litter monitor lock rw chain deadlock deadlock-lock
    jvm_end
}

# launched ENGINE: a JVM whose threads wait for each other before much is known of it: its exec may be told of when they have
# been met, and they are asleep by then.
launched() {
    local jfr=$T/launched-$1-$(jdk_version "$JDK").jfr

    classes
    JVM_OUT=$T/launched.out
    emptied "$JVM_OUT"
    # it ends with its standard input, some seconds after all of them wait
    "$GNOMON" record -q --wall-engine="$1" -o "$jfr" -- "$JDK/bin/java" -cp "$CLASSES" Locks deadlock deadlock-lock \
        < <(until_true 300 file_has "$JVM_OUT" '^READY'; sleep 5) >"$JVM_OUT" || fail "record"
    # from when it is known who that thread is, which takes as long as it takes
    query "$jfr" values $CAUSE_EVENT eventThread operation samples owner cause | grep -E ' (enter|park) ' |
        awk '$4 != "-" { known[$1] = 1 } known[$1]' >"$T/owners"
    WAITED=10 owners_check "$jfr"
}

for_one_jdk causes_locks
some_of 1 "for_any_jdk launched" switch scan
for_one_jdk moving UseZGC
for_one_jdk moving UseShenandoahGC
