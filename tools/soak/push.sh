#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/soak/push.sh (as root; `make soak-push`)
#
# A daemon that records ten JVMs, two of them busy (a web shop and its customers), and sends to a server with Grafana
# Pyroscope's limits (tests/push/pyroscope.py) for SOAK_SECONDS (3600). Then: the server has refused nothing, nothing is
# lost or left, and what the server has is what the recordings have. Says what sending cost: CPU time and memory of
# its processes, and what the windows of each JVM take.
#
# PUSH_JVMS (10): how many. PUSH_WINDOW (15): seconds.
# shellcheck source=tests/jvm/lib.sh
. "$(dirname "$0")/../../tests/jvm/lib.sh"
# shellcheck source=tests/jvm/push.sh
. "$(dirname "$0")/../../tests/jvm/push.sh"
# shellcheck source=tests/jvm/daemon.sh
. "$(dirname "$0")/../../tests/jvm/daemon.sh"
# shellcheck source=tools/soak/shop.sh
. "$(dirname "$0")/shop.sh"
need_root
need_gnomon push

SECONDS_ALL=${SOAK_SECONDS:-3600}
JVMS=${PUSH_JVMS:-10}
WINDOW=${PUSH_WINDOW:-15}
REC=$T/recordings
SOCK=$T/gnomon.sock
JAVA=$(jdk_newest)/bin

figure() { ask status --metrics 2>/dev/null | awk -v name="$1" 'index($0, name "{to=") == 1 || $1 == name { sum += $NF } END { print sum + 0 }'; }
recorded_all() { [ "$(figure gnomon_jvms)" = "$JVMS" ]; }

recording_start() {
    printf '%s\n' "directory = $REC" "socket = $SOCK" "min-free = 0" "push = $URL" "push-window = $WINDOW" "record = no" \
        "[shop]" "name = shop.*" "[others]" "name = $OWN_NAME.jar" >"$CONF"
    daemon_run
    until_true 120 recorded_all || fail "of $JVMS JVMs $(figure gnomon_jvms) are recorded: $(cat "$T/daemon.err")"
    FOLLOWER=$(pgrep -P "$(pgrep -P "$DAEMON" -x gnomon-push)" -x gnomon-push)
    SENDER=$(pgrep -P "$FOLLOWER" -x gnomon-send)
}

# ticks PID FIELDS: of its CPU time; fields 14 to 17 are its own and its ended children's
ticks() { awk -v from="$2" -v to="$3" '{ sub(/.*\) /, ""); for (i = from; i <= to; i++) sum += $(i - 2); print sum }' "/proc/$1/stat"; }
pushing_ticks() { echo $(($(ticks "$FOLLOWER" 14 17) + $(ticks "$SENDER" 14 15))); }
daemon_ticks() { ticks "$DAEMON" 14 15; }

# kB that only these processes have, and what they have with others
memory() {
    local p own=0 all=0 v

    for p in "$FOLLOWER" "$SENDER" $(pgrep -P "$FOLLOWER" -x gnomon-window); do
        v=$(awk '/^Private/ { own += $2 } /^Rss/ { all = $2 } END { print own + 0, all + 0 }' "/proc/$p/smaps_rollup" 2>/dev/null)
        v=${v:-0 0} # it has ended
        own=$((own + ${v% *})) all=$((all + ${v#* }))
    done
    echo "$own $all"
}

watch() {
    local end=$((SECONDS + SECONDS_ALL)) own most_own=0 most_all=0 all

    while [ $SECONDS -lt $end ]; do
        read -r own all < <(memory)
        [ "$own" -le $most_own ] || most_own=$own
        [ "$all" -le $most_all ] || most_all=$all
        nap 0.25
    done
    MEMORY="$most_own kB of their own at most ($most_all kB with what they share)"
}

own_jar Idle
push_server soak
shop_start
others_start
recording_start
before=$(pushing_ticks) daemon_before=$(daemon_ticks) begun=$EPOCHREALTIME
watch
spent=$(($(pushing_ticks) - before)) daemon_spent=$(($(daemon_ticks) - daemon_before))
seconds=$(calc "$EPOCHREALTIME - $begun")
ask status | grep '^push'
kill -TERM "$DAEMON"
pid_gone "$DAEMON" 90 || fail "it does not end"

note "$JVMS JVMs, windows of $WINDOW s, for $seconds s; load $(cut -d' ' -f1-3 /proc/loadavg)"
note "sending: $(calc "$spent / $seconds") % of a core, memory $MEMORY; the daemon itself: $(calc "$daemon_spent / $seconds") %"
taken soak "WINDOW = $WINDOW"'
import collections
by = collections.defaultdict(lambda: [0, 0, 0])
settled = min(t["time"] for t in ALL) + 2 * WINDOW * 10**9 # the first one of each JVM begins with its recording
late = sorted(t["time"] / 1e9 % WINDOW for t in ALL if t["time"] > settled)
print(f"  windows begin behind a multiple of {WINDOW} s: {late[len(late) // 2]:.2f} s, of 99% at most {late[len(late) * 99 // 100]:.2f} s")
for t in ALL:
    w = by[t["labels"]["service_name"], t["time"]]
    w[0] += t["packed"]; w[1] += t["raw"]; w[2] += t["samples"]
for name in sorted({n for n, _ in by}):
    v = [w for (n, _), w in by.items() if n == name]
    print(f"  {name}: {len(v)} windows, gzip {sum(w[0] for w in v) // len(v)} bytes in the mean, {max(w[0] for w in v)} at most; "
          f"{max(w[2] for w in v)} samples at most")
assert max(w[0] for w in by.values()) < 100000, "a window of more than 100 kB"
' || fail "see above"
assert_eq "what the server refused" 0 "$(lines soak refused)" "$(head -n 3 "$T/soak/refused" 2>/dev/null)"
! grep -q 'not sent\|refused\|lost' "$T/daemon.err" || fail "$(cat "$T/daemon.err")"
compgen -G "$REC/.push/*/*.payload" >"$T/out"
assert_empty "the spool" "$T/out"
