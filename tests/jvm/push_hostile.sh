#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Servers that are slow, gone, broken or hostile: what they did not take stays in the spool and is sent later, each payload
# once; one that is never taken keeps no other back; who sends has no rights. Root: as nobody.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/push.sh"
need_gnomon push
recording normal
KINDS=(process_cpu off_cpu wall)

# kept NAME MODE WORDS: nothing is sent, the reason is said, all of it is in the spool; and goes out when the server is well
kept() {
    local OUT=$T/$1.out URL spool=$T/spool-$1

    URL=http://localhost:$(cat "$T/$1/port")
    run_push "$T/normal.jfr" --to "$URL" --spool "$spool" --timeout 1s --finish 2s
    assert_eq "exit code with '$2'" 6 $RC "$(cat "$OUT")"
    grep -Eq "$3" "$OUT" || fail "$2: it says: $(cat "$OUT")"
    grep -q '3 kept in the spool' "$OUT" || fail "$2: it says: $(cat "$OUT")"
    assert_eq "payloads kept with '$2'" 3 "$(find "$spool" -name '*.payload' | wc -l)"
    assert_eq "taken with '$2'" 0 "$(lines "$1" taken)"
    mode "$1" ok
    pushed --to "$URL" --spool "$spool"
    assert_eq "taken after '$2'" "off_cpu process_cpu wall" "$(taken "$1" 'print(*sorted(t["labels"]["__name__"] for t in ALL))')"
    assert_eq "payloads left after '$2'" 0 "$(find "$spool" -name '*.payload' | wc -l)"
}

# what the server has answered 200 to is taken, whatever comes behind
taken_all_the_same() {
    push_server "$1"
    mode "$1" "$1"
    pushed "$T/normal.jfr" --to "$URL" --timeout 60s
    assert_eq "requests" 3 "$(lines "$1" seen)"
}

nobody_there() {
    run_push "$T/normal.jfr" --to http://localhost:1 --finish 1s
    assert_eq "exit code where nobody listens" 6 $RC
    grep -qi "connect" "$T/out" && grep -q '3 given up' "$T/out" && grep -q 'is a server there' "$T/out" || fail "it says: $(cat "$T/out")"
}

# 500 for ever to one of them: the others go out, each once
poisoned() {
    local name

    push_server poisoned
    for name in "${KINDS[@]}"; do
        mode poisoned poison "$name"
        rm -f "$T/poisoned/taken"
        run_push "$T/normal.jfr" --to "$URL" --finish 1s
        assert_eq "exit code where $name is poison" 6 $RC
        grep -q 'poison' "$T/out" || fail "it says: $(cat "$T/out")"
        assert_eq "taken beside $name" 2 "$(lines poisoned taken)"
    done
}

# A web server that is no server of profiles: its page is told as text, also where it says that all is well
pages() {
    local status

    push_server pages
    for status in 200 404; do
        mode pages page $status
        run_push "$T/normal.jfr" --to "$URL"
        assert_eq "exit code of a page with $status" 6 $RC "$(cat "$OUT")"
        grep -q "refused with $status: .*: Not here Try elsewhere .$" "$OUT" || fail "it says: $(cat "$OUT")"
        grep -q 'Pyroscope listens at port 4040' "$OUT" || fail "it says: $(cat "$OUT")"
        grep -q '3 of 3 profiles not taken' "$OUT" || fail "it says: $(cat "$OUT")"
    done
}

# what a server asks for with Retry-After is waited for; another payload does not go before
patient() {
    push_server patient
    mode patient status 503 20
    run_push "$T/normal.jfr" --to "$URL" --finish 5s
    assert_eq "exit code where it is to wait for longer than it may" 6 $RC "$(cat "$OUT")"
    assert_eq "requests while it was to wait" 1 "$(lines patient seen)"
    grep -q '3 given up' "$OUT" || fail "it says: $(cat "$OUT")"
}

# What lay in the spool for more than an hour is not sent, and counted; what is younger is.
aged() {
    local spool=$T/spool-aged f n=0

    run_push "$T/normal.jfr" --to http://localhost:1 --finish 0s --spool "$spool"
    assert_eq "exit code where nobody listens" 6 $RC "$(cat "$OUT")"
    for f in "$spool/"*.payload; do
        n=$((n + 1))
        [ $n -gt 2 ] || python3 -c '
import re, sys
b = open(sys.argv[1], "rb").read()
was = int(re.search(rb"\ntime (\d+)\n", b)[1])
open(sys.argv[1], "r+b").write(b.replace(b"\ntime %d\n" % was, b"\ntime %d\n" % (was - 3700 * 10**9), 1))' "$f"
    done
    assert_eq "payloads kept" 3 $n
    push_server aged
    run_push --to "$URL" --spool "$spool"
    assert_eq "exit code where some are too old" 6 $RC "$(cat "$OUT")"
    grep -q '2 of 3 profiles not taken: 0 refused, 2 too old' "$OUT" || fail "it says: $(cat "$OUT")"
    assert_eq "requests" 1 "$(lines aged seen)"
    assert_eq "taken" 1 "$(lines aged taken)"
    assert_eq "payloads left" 0 "$(find "$spool" -name '*.payload' | wc -l)"
}

# the credentials go nowhere else
redirected() {
    local elsewhere

    push_server elsewhere
    elsewhere=$URL
    push_server redirected
    mode redirected redirect "$elsewhere/"
    echo token >"$T/bearer"
    run_push "$T/normal.jfr" --to "$URL" --bearer "$T/bearer"
    assert_eq "exit code" 6 $RC
    grep -q 'refused with 307' "$T/out" || fail "it says: $(cat "$T/out")"
    assert_eq "requests elsewhere" 0 "$(lines elsewhere seen)"
}

# the sender while it waits for a server: no right is left
rights() {
    local pid sender

    push_server rights
    mode rights hang
    "$GNOMON" push "$T/normal.jfr" --to "$URL" --timeout 60s --finish 60s >"$T/out" 2>&1 &
    pid=$!
    CHILDREN+=("$pid")
    until_true 60 test -s "$T/rights/seen" || fail "it does not send"
    sender=$(cat "/proc/$pid/task/$pid/children")
    sender=${sender% }
    assert_eq "the sender" gnomon-send "$(cat "/proc/$sender/comm")"
    grep -Eq '^CapEff:\s0+$' "/proc/$sender/status" && grep -Eq '^CapPrm:\s0+$' "/proc/$sender/status" &&
        grep -Eq '^NoNewPrivs:\s1' "/proc/$sender/status" || fail "$(grep -E 'Cap|NoNew' "/proc/$sender/status")"
    [ "$(id -u)" != 0 ] || grep -Eq '^Uid:\s65534\s65534\s65534\s65534' "/proc/$sender/status" || fail "$(grep Uid "/proc/$sender/status")"
    tr '\0' ' ' <"/proc/$sender/cmdline" | grep -q "$URL" && fail "the URL is on the sender's command line"
    # who is interrupted leaves neither a process nor a file
    kill -INT "$pid"
    pid_gone "$pid" 60 || fail "it does not end"
    pid_gone "$sender" 60 || fail "the sender does not end"
}

# at once, since they wait most of the time
KEPT=('status 429' 'status 503' 'status 500' 'status 408' reset hang drip)
TRIES=()
for m in "${KEPT[@]}"; do
    push_server "${m/ /-}"
    mode "${m/ /-}" "$m"
done
for m in "${KEPT[@]}"; do
    case $m in
    status*) words="answered ${m#* }" ;;
    reset) words='not sent yet' ;;
    *) words='time' ;;
    esac
    kept "${m/ /-}" "$m" "$words" &
    TRIES+=("$!")
done
for p in "${TRIES[@]}"; do wait "$p" || fail "see above"; done
taken_all_the_same huge
taken_all_the_same endless
nobody_there
pages
patient
aged
poisoned
redirected
rights
note "Retry-After, what grew old in the spool, 429, 503, 500, 408, resets, hanging, huge and endless answers, poison, redirections"
