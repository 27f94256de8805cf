#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Threads that wait for objects which lie: of impossible classes, moved to nowhere, owned by what is no thread, by who
# waits for them, or in a circle. The recording ends in time and is readable, no thread has an owner that the program
# did not make it, and one that waits for a monitor beside them has the right one.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

# recorded ENGINE-COLLECTOR
recorded() {
    local jfr=$T/$1-$(jdk_version "$JDK").jfr

    # no collection may come
    JVM_OPTS="-XX:+Use${1#*-}GC -Xms512m -XX:+UnlockDiagnosticVMOptions -XX:-ZProactive" jvm_start HostileLocks
    gnomon_start "$jfr" -p "$JVM_PID" --wall 5ms --wall-engine="${1%-*}" -d 3s
    gnomon_end 60
    assert_eq "exit code" 0 "$GN_RC" "$(cat "$GN_ERR")"
    jvm_unharmed
    kill -KILL "$JVM_PID"
    wait "$JVM_PID" 2>/dev/null
    jfr_readable "$jfr"
    "$GNOMON" summary "$jfr" >"$T/summary" || fail "summary"
    "$GNOMON" render "$jfr" -f collapsed -D off --idle --causes >"$T/joined" || fail "render --causes"
    query "$jfr" values gnomon.WaitCause eventThread samples owner | awk '$1 ~ /^(lies-|waits$)/ { n[$1 " " $3] += $2 } END { for (k in n) print k, n[k] }' |
        sort >"$T/owners"
    sed 's/^/    /' "$T/owners"
    # main made all of them its own before they were spoilt
    assert_eq "owners that nobody made them" "" "$(awk '$2 != "-" && $1 $2 !~ /^lies-[0-9]*main$|^(waitsholds|lies-13lies-13|lies-14lies-15|lies-15lies-14)$/' "$T/owners")"
    assert_ge "ticks of who waits for a monitor that is held" 100 "$(awk '$1 == "waits" && $2 == "holds" { print $3 }' "$T/owners")"
    assert_eq "spoilt objects that main owns" "" "$(awk '$2 == "main" && $1 ~ /^lies-([01247-9]|1[0-5])$/' "$T/owners")"
    # every thread that lies is there with its stack
    assert_eq "threads that are parked for what lies" 16 "$(query "$jfr" $WALL_EVENT thread state=STATE_PARKED | awk '$2 ~ /^lies-/ { print $2 }' | sort -u | wc -l)"
}

some_of 1 'for_one_jdk recorded' switch-Serial scan-Serial switch-Z
