#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What threads wait for is what the program says: a peer that answers after 40 ms (by read and by poll), clients that do
# not come, a Unix socket, a pipe, a FIFO, a selector; by switches and by scans. Each wall sample of a wait for IO has
# its cause, none a wrong one, and with --no-causes there are none. Which thread serves those that are asked is told, here
# and in another network.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
need_cmd ip

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

# told_ge ALL GOT: of some it is told who served them. Where the machine is busy the kernel leaves what is sent to a thread of
# its own (ksoftirqd), which wakes who waits then: of a third it was told so.
told_ge() {
    assert_ge "samples of which it is told who served them, of $1" 10 "$2"
    strict assert_ge "samples of which it is told who served them, on a machine with nothing else to do" 50 "$2"
}

# served_check JFR ENGINE: by switches it is told which thread serves the two that ask, and never another one.
served_check() {
    local served='^(reads|polls) [0-9]+ 127\.0\.0\.1:([0-9]+), peer .*, thread [0-9]+, serves-\2 serves-\2$' got slept

    query "$1" values $CAUSE_EVENT eventThread samples detail owner | grep -E '^(reads|polls) ' >"$T/asked"
    got=$(awk '{ n += $2 } END { print n + 0 }' <(grep -E "$served" "$T/asked"))
    grep ', thread ' "$T/asked" | grep -Ev "$served" >"$T/others"
    assert_empty "threads that serve others" "$T/others"
    # and what that one does meanwhile: at the moment at which it answers it is somewhere else
    "$GNOMON" render "$1" -f collapsed -D off --idle --causes | grep -F ';[serves-' >"$T/served"
    slept=$(awk '/;Peers.lambda\$serve.*;java.lang.Thread.sleep/ { n += $NF } END { print n / 20000000 }' "$T/served")
    case $2 in
    switch)
        assert_ge "of them while that one sleeps" "$(calc "0.9 * $got")" "$slept"
        told_ge "$(awk '{ n += $2 } END { print n }' "$T/asked")" "$got"
        ;;
    scan) assert_eq "samples of which it is told who served them" 0 "$got" ;;
    esac
}

# details_check JFR: how many descriptors the selector has (its own, by which it is woken), whose the Unix socket's other end is.
details_check() {
    query "$1" values $CAUSE_EVENT eventThread state detail >"$T/details"
    assert_eq "descriptors of the selector" "selects STATE_IO 1 descriptor" "$(grep '^selects STATE_IO' "$T/details" | sort -u)"
    # found out within a second of the first wait, and both ends are this JVM's
    grep -E '^(reads|polls) STATE_IO [^ ]*, peer ' "$T/details" >"$T/peers"
    assert_ge "waits for a TCP connection of which it is told whose the other end is" 2 "$(grep -c " of java, process $JVM_PID\(,\|\$\)" "$T/peers")"
    assert_eq "of others" 0 "$(grep ' of ' "$T/peers" | grep -cv " of java, process $JVM_PID\(,\|\$\)")"
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
        # the programs that tell who serves come when the recording has begun: on a busy machine seconds later
        "$GNOMON" record -q -p "$JVM_PID" -d $([ $engine = switch ] && echo 6s || echo 2s) --wall-engine=$engine -o "$jfr" || fail "record"
        causes_check "$jfr"
        causes_shown "$jfr"
        jdk_check "$jfr"
        details_check "$jfr"
        served_check "$jfr" $engine
    done
    "$GNOMON" record -q -p "$JVM_PID" -d 1s --no-causes -o "$T/none-$version.jfr" || fail "record --no-causes"
    assert_eq "causes with --no-causes" 0 "$(weight "$T/none-$version.jfr" $CAUSE_EVENT)"
    assert_ge "wall samples with --no-causes" 100 "$(weight "$T/none-$version.jfr" $WALL_EVENT)"
    file_has "$JVM_OUT" ^FAIL && fail "$(grep ^FAIL "$JVM_OUT")"
    jvm_unharmed
    jvm_end
    jfr_readable "$T/causes-$version-switch.jfr"
}

# apart: who is asked has a network of its own, as a container has, and its files are not looked at: its end tells it.
apart() {
    local net=198.18.$(($$ % 256)) link=gn$$-$JVM_N server jfr port

    jvm_pipes
    unshare -n "$JDK/bin/java" -Xshare:auto -cp "$CLASSES" Apart serve 7777 <"$JVM_IN" >"$JVM_OUT" 2>"$JVM_ERR" {JVM_FD}>&- &
    server=$!
    CHILDREN+=("$server")
    jvm_ready Apart
    ip link add "${link}a" type veth peer name "${link}b" netns "$server" || fail "no link to the other network"
    ip addr add "$net.1/30" dev "${link}a" && ip link set "${link}a" up &&
        nsenter -t "$server" -n ip addr add "$net.2/30" dev "${link}b" &&
        nsenter -t "$server" -n ip link set "${link}b" up || fail "the link has no addresses"
    jvm_start Apart ask "$net.2" 7777
    until_true 60 file_has "$JVM_OUT" '^PORT ' || fail "nobody is asked: $(cat "$JVM_OUT")"
    port=$(sed -n 's/^PORT //p' "$JVM_OUT")
    jfr=$T/apart-$(jdk_version "$JDK").jfr
    "$GNOMON" record -q -p "$JVM_PID" -d 6s -o "$jfr" || fail "record"
    query "$jfr" values $CAUSE_EVENT eventThread samples kind cause detail | grep '^asks ' >"$T/asks"
    grep -E "^asks [0-9]+ TCP $net\.2:7777 $net\.1:$port, peer $net\.2:7777, other end: java, process $server, thread [0-9]+, serves-$port\$" \
        "$T/asks" >"$T/told"
    told_ge "$(cat "$T/asks")" "$(awk '{ n += $2 } END { print n + 0 }' "$T/told")"
    assert_eq "others" 0 "$(grep ', thread ' "$T/asks" | grep -vcxFf "$T/told")"
    jvm_unharmed
    jvm_end
    kill "$server" && pid_gone "$server" 60 # and with it its network ends, and so the link
}

for_one_jdk causes_io
for_any_jdk apart
