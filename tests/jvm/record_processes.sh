#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# In the middle of a recording gnomon's processes are those of the table in gnomon-overhead(7), with the user, the
# capabilities and the system calls that it tells: read from /proc/PID/status and from the seccomp filters. Those of a
# daemon, likewise.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
need_root
need_gnomon record
need_cmd gcc
need_cmd capsh

MANUAL=$ROOT/user/man/gnomon-overhead.7

# table [HEAD]: its rows, as "NAME HOW_MANY USER CAPABILITIES(,) NEW CALLS"
table() {
    sed 's/\\-/-/g' "$MANUAL" | awk -v head="${1:-process}" '$1 == head && $2 == "how" { on = 1; next } /^\.EE/ { on = 0 }
        on { caps = $4; for (i = 5; i <= NF - 2; i++) caps = caps "," $i; print $1, $2, $3, caps, $(NF - 1), $NF }'
}

# manual_calls: those that are always allowed, and those that are for some uses
manual_calls() {
    awk '/^The namer.s system calls are these/ { on = 1 } /^\.EE/ && on { exit } on && !/^\./ && !/^The namer/' "$MANUAL" |
        tr ' ' '\n' | sed 's/^/always /'
    awk '/^and, for some of their uses only/ { on = 1 } on { print } on && /\.$/ { exit }' "$MANUAL" |
        tr '\n' ' ' | sed 's/^and, for some of their uses only: //; s/([^)]*)//g; s/\.//; s/ and /, /g' |
        tr ',' '\n' | sed 's/^ *\([a-z0-9]*\).*/some \1/'
}

# manual_refused: those that gnomon itself has not, but for some uses
manual_refused() {
    awk '/nor clone but for$/ { on = 1 } /^\.EE/ && on { exit } on && !/^\./ && !/clone but for|that there are/' "$MANUAL" | tr ' ' '\n'
}

status() { awk -v key="$2:" '$1 == key { $1 = ""; sub(/^ +/, ""); print }' "/proc/$1/status"; }

# caps HEX: their names, sorted, with commas
caps() { capsh --decode="$1" | sed 's/.*=//' | tr ',' '\n' | sed 's/^cap_//' | sort | paste -sd,; }

# had: of the rows' capabilities those that we have ourselves
had() {
    awk -v own="$(caps "$ALL")" 'BEGIN { n = split(own, v, ","); for (i = 1; i <= n; i++) have[v[i]] = 1; have["all"] = have["none"] = 1 }
        { n = split($4, v, ","); $4 = ""; for (i = 1; i <= n; i++) if (v[i] in have) $4 = $4 ($4 == "" ? "" : ",") v[i]; print }'
}

# table_daemon: the first one with what the second one has otherwise
table_daemon() { { table "daemon's"; table; } | awk 'seen[$1]++ { next } { print }'; }

descendants() {
    local p

    for p in $(pgrep -P "$1"); do echo "$p"; descendants "$p"; done
}

# row PID: what the table would have of it, without how many
row() {
    local uid eff user cap new calls

    uid=$(status "$1" Uid)
    eff=$(status "$1" CapEff)
    case $uid in "0 0 0 0") user=caller ;; "65534 65534 65534 65534") user=nobody ;; *) user="uid:$uid" ;; esac
    if [ "$eff" = "$ALL" ]; then cap=all; elif [ "$eff" = 0000000000000000 ]; then cap=none; else cap=$(caps "$eff"); fi
    [ "$(status "$1" CapPrm)" = "$eff" ] || cap="$cap+permitted"
    [ "$(status "$1" NoNewPrivs)" = 1 ] && new=no || new=yes
    [ $new = yes ] || [ "$(status "$1" CapBnd)" = 0000000000000000 ] || cap="$cap+bounding"
    case $(status "$1" Seccomp)-$(cat "/proc/$1/comm") in
    0-*) calls=all ;;
    2-gnomon) calls=unlisted ;;
    2-*) calls=listed ;;
    *) calls=strange ;;
    esac
    echo "$(cat "/proc/$1/comm") $user $cap $new $calls"
}

calls_h() {
    echo '#include <sys/syscall.h>' | "${CC:-gcc}" -E -dM - | sed -n 's/^#define SYS_\([a-z0-9_]*\) .*/{"\1", SYS_\1},/p'
}

# rows_are PID: of it and all that it has made, those that come
rows_are() {
    local pid

    for pid in "$1" $(descendants "$1"); do row "$pid"; done >"$T/rows"
    sort "$T/rows" | uniq -c | awk '{ print $2, $1, $3, $4, $5, $6 }' | sort >"$T/is"
    had | sort >"$T/wanted"
    [ -s "$T/wanted" ] || fail "no table in '$MANUAL'"
    diff "$T/wanted" "$T/is" >"$T/diff" || fail "not as the manual's table says (<), but (>): $(cat "$T/diff")"
}

# refused_are PID MORE...: calls that gnomon has not are the manual's, but for MORE, which it has
refused_are() {
    "$T/filterdump" "$1" | sort >"$T/calls" || fail "no filter of gnomon's"
    # of those refused one is told to be unknown, so that the C library takes another
    { manual_refused | grep -vxF -e clone -e "${2:-clone}"; echo clone3; } | sort >"$T/refused-wanted"
    sed -n 's/^{"\([a-z0-9_]*\)".*/\1/p' "$T/calls.h" | sort -u >"$T/names"
    sed 's/^[a-z]* //' "$T/calls" | sort -u | comm -13 - "$T/names" >"$T/refused"
    diff "$T/refused-wanted" "$T/refused" >"$T/diff" || fail "calls that gnomon has not are not the manual's (<), but (>): $(cat "$T/diff")"
    assert_eq "calls that it has for some uses" "some clone" "$(grep ^some "$T/calls")"
    ! grep -q x32 "$T/calls" || fail "they can be had by other numbers"
}

# threads_are PID: what it has given up none of its threads has
threads_are() {
    local task own

    own=$(status "$1" CapEff)
    for task in "/proc/$1"/task/*; do
        assert_eq "of $(cat "$task/comm")" "$own 2 1" \
            "$(awk '$1 == "CapPrm:" { c = $2 } $1 == "Seccomp:" { s = $2 } $1 == "NoNewPrivs:" { n = $2 } END { print c, s, n }' "$task/status")"
    done
}

# The daemon's are the same but for a few, and it answers, reads its configuration again, and ends.
of_daemon() {
    REC=$T/recordings SOCK=$T/gnomon.sock
    own_jar Idle
    jvm_start -jar "$OWN_JAR" 2 1 30
    printf '%s\n' "directory = $REC" "socket = $SOCK" "chunk-time = 1s" "min-free = 0" "record = no" \
        "[mine]" "name = $OWN_NAME.jar" "user = $(id -un)" "[trigger never]" "when = exit" "run = /bin/true" "run-as = nobody" >"$CONF"
    daemon_start
    wait_files "$JVM_PID" 3
    table_daemon | rows_are "$DAEMON"
    refused_are "$DAEMON" accept4
    threads_are "$DAEMON"
    ask status >"$T/out" 2>"$T/err" || fail "it does not answer: $(cat "$T/err")"
    kill -HUP "$DAEMON"
    until_true 30 file_has "$T/daemon.err" 'was read again' || fail "it does not read its configuration: $(cat "$T/daemon.err")"
    daemon_stop
    jvm_unharmed
    jvm_end
}

processes() {
    local pid

    jvm_start Idle 5 1
    gnomon_start "$T/a.jfr" --isolate -p "$JVM_PID"
    cpu_spent 500
    table | rows_are "$GN_PID"
    assert_eq "processes that name, or may" 2 "$(pgrep -c -P "$GN_PID" 'gnomon-[ns]')"
    for pid in $(pgrep -P "$GN_PID" -x gnomon-namer); do
        "$T/filterdump" "$pid" | sort >"$T/calls" || fail "no filter of process $pid"
        manual_calls | sort >"$T/calls-wanted"
        diff "$T/calls-wanted" "$T/calls" >"$T/diff" || fail "system calls are not the manual's (<), but (>): $(cat "$T/diff")"
    done
    refused_are "$GN_PID"
    threads_are "$GN_PID"
    gnomon_stop
    jvm_unharmed
    jvm_end
}

[ "$(uname -m)" = x86_64 ] || skip "the manual's list is of x86_64"
calls_h >"$T/calls.h"
"${CC:-gcc}" -D_GNU_SOURCE -O1 -Wall -Wextra -I"$T" -o "$T/filterdump" "$LIB_DIR/filterdump.c" || fail "filterdump.c does not compile"
JDK=$(jdk_newest)
ALL=$(status $$ CapEff)
processes
of_daemon
