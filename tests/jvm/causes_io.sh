#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What threads wait for is what the program says: a peer that answers after 40 ms (by read and by poll), clients that do
# not come, a Unix socket, a pipe, a FIFO, a selector; by switches and by scans. Each wall sample of a wait for IO has
# its cause, none a wrong one, and with --no-causes there are none.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

CAUSE_EVENT=gnomon.WaitCause

# causes_shown JFR: the tree has the two that wait for one peer below the program's method, and no time more or less.
causes_shown() {
    local jfr=$1 peer

    peer=$(awk '$1 == "CAUSE" && $2 == "reads" { print $5 }' "$JVM_OUT")
    "$GNOMON" render "$jfr" -f collapsed -D off --idle --causes >"$T/caused" || fail "render --causes"
    "$GNOMON" render "$jfr" -f collapsed -D off --idle >"$T/plain" || fail "render"
    assert_eq "time with causes" "$(awk '{ n += $NF } END { printf "%.0f\n", n }' "$T/plain")" \
        "$(awk '{ n += $NF } END { printf "%.0f\n", n }' "$T/caused")"
    assert_eq "time that waits for $peer" \
        "$(grep -E '^(reads|polls) ' "$T/causes" | grep -F " TCP $peer" |
            awk '{ n += $4 } END { printf "%.0f\n", n * 20000000 }')" \
        "$(grep -F "Peers.ask" "$T/caused" | grep -F ";(TCP) $peer" | awk '{ n += $NF } END { printf "%.0f\n", n }')"
    "$GNOMON" summary "$jfr" >"$T/summary" || fail "summary"
    tr -s ' \n' ' ' <"$T/summary" | grep -Fq "waiting for (TCP) $peer, most of it in Peers.ask" ||
        fail "summary does not say who waits for $peer: $(cat "$T/summary")"
}

# jdk_check JFR: long waits are the JDK's events, too.
jdk_check() {
    local jfr=$1 peer

    peer=$(awk '$1 == "CAUSE" && $2 == "reads" { print $5 }' "$JVM_OUT")
    query "$jfr" values jdk.SocketRead eventThread address port >"$T/reads"
    assert_eq "peers of jdk.SocketRead" "polls ${peer/:/ } reads ${peer/:/ }" \
        "$(grep -E '^(reads|polls) ' "$T/reads" | sort -u | tr '\n' ' ' | sed 's/ $//')"
    assert_ge "jdk.SocketRead" 10 "$(grep -c '^reads ' "$T/reads")"
    assert_eq "jdk.FileRead" "fifo $T/fifo" "$(query "$jfr" values jdk.FileRead eventThread path | grep '^fifo ' | sort -u)"
}

# details_check JFR: how many descriptors the selector has (its own, by which it is woken), whose the Unix socket's other end is.
details_check() {
    query "$1" values $CAUSE_EVENT eventThread state detail >"$T/details"
    assert_eq "descriptors of the selector" "selects STATE_IO 1 descriptor" "$(grep '^selects STATE_IO' "$T/details" | sort -u)"
    # found out within a second of the first wait, and both ends are this JVM's
    grep -E '^(reads|polls) STATE_IO [^ ]*, peer ' "$T/details" >"$T/peers"
    assert_ge "waits for a TCP connection of which it is told whose the other end is" 2 "$(grep -c " of java, process $JVM_PID\$" "$T/peers")"
    assert_eq "of others" 0 "$(grep ' of ' "$T/peers" | grep -cv " of java, process $JVM_PID\$")"
    assert_eq "the peer of the Unix socket" "unix STATE_IO peer java, process $JVM_PID" "$(grep '^unix STATE_IO' "$T/details" | sort -u)"
}

# causes_check JFR: each thread has the cause that it said, and no other.
causes_check() {
    local jfr=$1 word thread op want got io

    query "$jfr" values $CAUSE_EVENT eventThread state operation samples kind cause >"$T/causes"
    while read -r word thread op want; do
        [ "$word" = CAUSE ] || continue
        # what it asks is written, which takes no time; but a busy machine may find it there
        got=$(awk -v t="$thread" '$1 == t && $2 == "STATE_IO" && $3 != "write" {
            sub(/^[^ ]* [^ ]* /, ""); sub(/ [0-9]+ /, " "); print }' "$T/causes" |
            sed 's/pipe:\[[0-9]*\]$/pipe:/' | sort -u)
        assert_eq "cause of '$thread' in $(basename "$jfr")" "$op $want" "$got"
        io=$(weight "$jfr" $WALL_EVENT "thread=$thread" state=STATE_IO)
        assert_ge "samples of '$thread' that wait for IO" 25 "$io"
        assert_eq "of them with a cause" "$io" "$(weight "$jfr" $CAUSE_EVENT "thread=$thread" state=STATE_IO)"
    done <"$JVM_OUT"
}

causes_io() {
    local engine jfr version

    version=$(jdk_version "$JDK")
    rm -f "$T/fifo" "$T/peers.sock"
    mkfifo "$T/fifo"
    jvm_start Peers "$T/fifo"
    for engine in switch scan; do
        jfr=$T/causes-$version-$engine.jfr
        "$GNOMON" record -q -p "$JVM_PID" -d 2s --wall-engine=$engine -o "$jfr" || fail "record"
        causes_check "$jfr"
        causes_shown "$jfr"
        jdk_check "$jfr"
        details_check "$jfr"
    done
    "$GNOMON" record -q -p "$JVM_PID" -d 1s --no-causes -o "$T/none-$version.jfr" || fail "record --no-causes"
    assert_eq "causes with --no-causes" 0 "$(weight "$T/none-$version.jfr" $CAUSE_EVENT)"
    assert_ge "wall samples with --no-causes" 100 "$(weight "$T/none-$version.jfr" $WALL_EVENT)"
    file_has "$JVM_OUT" ^FAIL && fail "$(grep ^FAIL "$JVM_OUT")"
    jvm_unharmed
    jvm_end
    jfr_readable "$T/causes-$version-switch.jfr"
}

for_one_jdk causes_io
