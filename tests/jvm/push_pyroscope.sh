#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `gnomon push` against a server of our own that takes what Grafana Pyroscope takes, and no more (tests/push/pyroscope.py):
# sums, periods, labels, limits, credentials, TLS, a proxy, what doctor says of it. The recordings' contents are known. No root.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/push.sh"
need_gnomon push

# sums SERVER NAME: nanoseconds in all and period of a profile's name; each a line
sums() { taken "$1" 'print(sum(t["total"][0] for t in ALL if t["labels"]["__name__"] == "'"$2"'"))'; }
periods() { taken "$1" 'print(*sorted({(t["types"][0], t["period_type"], t["period"]) for t in ALL}))'; }

recording normal
CPU=$((N_CPU * 10000000)) OFF=$((52 * 20 * 800 / 64 * 1000000)) # as in read_pprof.sh

exact() {
    push_server exact
    pushed "$T/normal.jfr" --idle --to "$URL"
    assert_eq "process_cpu" $CPU "$(sums exact process_cpu)"
    assert_eq "off_cpu" $OFF "$(sums exact off_cpu)"
    assert_eq "wall" $((CPU + OFF)) "$(sums exact wall)"
    assert_eq "types and periods" "('cpu/nanoseconds', 'cpu/nanoseconds', 10000000) \
('off_cpu/nanoseconds', 'off_cpu/nanoseconds', 20000000) ('wall/nanoseconds', 'wall/nanoseconds', 20000000)" "$(periods exact)"
    assert_eq "labels" "Main" "$(taken exact 'print(*sorted({t["labels"]["service_name"] for t in ALL}))')"
    assert_eq "labels of samples" "state thread_group" \
        "$(taken exact 'print(*sorted({p.split("=")[0] for t in ALL for s in t["sums"] for p in s.split(" ") if "=" in p}))')"
    assert_eq "refused" 0 "$(lines exact refused)"
    "$GNOMON" push "$T/normal.jfr" --idle --dim cpu --dim off --by-thread -l env=test -l a.b=c --service shop --to "$URL/" \
        >"$T/out" 2>&1 || fail "push: $(cat "$T/out")"
    assert_eq "labels as told" "{'__name__': 'off_cpu', 'a_b': 'c', 'env': 'test', 'service_name': 'shop'}" \
        "$(taken exact 'print([t["labels"] for t in ALL if "env" in t["labels"] and t["labels"]["__name__"] == "off_cpu"][0])')"
    assert_eq "a label for each thread" True "$(taken exact 'print(any(" thread=" in s for t in ALL for s in t["sums"]))')"
    [ ! -s "$T/out" ] || grep -q '^sent 2 profiles' "$T/out" || fail "it says: $(cat "$T/out")"
}

# what is cut into windows adds up; these recordings do not say their interval, which is the JDK's then
windows() {
    push_server windows
    recording chunks
    pushed "$T/chunks.jfr" --idle --window 1s --dim cpu --to "$URL"
    assert_eq "process_cpu of chunks" $((N_CPU * 20000000)) "$(sums windows process_cpu)"
    [ "$(lines windows taken)" -gt 1 ] || fail "$(lines windows taken) profile of two windows"
    for kind in deep names; do
        recording $kind
        pushed "$T/$kind.jfr" --idle --dim cpu --service "$kind" --to "$URL"
        assert_eq "process_cpu of $kind" $((N_CPU * 20000000)) "$(taken windows \
            'print(sum(t["total"][0] for t in ALL if t["labels"]["service_name"] == "'$kind'"))')"
    done
    assert_eq "refused" 0 "$(lines windows refused)"
}

old() {
    push_server old
    recording normal old $(($(date +%s) - 7200))
    run_push "$T/old.jfr" --to "$URL"
    assert_eq "exit code of what is too old" 6 $RC
    grep -q 'too old' "$T/out" && grep -q -- --max-age "$T/out" || fail "it says: $(cat "$T/out")"
    assert_eq "seen" 0 "$(lines old seen)"
    run_push "$T/old.jfr" --max-age 0 --to "$URL"
    assert_eq "exit code where the server says so" 6 $RC
    grep -q 'outside of the time window' "$T/out" || fail "it does not have the server's words: $(cat "$T/out")"
}

credentials() {
    echo 'user:pass word' >"$T/login"
    printf 'to.ken\n' >"$T/token"
    push_server tenant --expect 'X-Scope-OrgID: team' --expect 'X-A: b c'
    pushed "$T/normal.jfr" --tenant team --header 'X-A: b c' --to "$URL"
    run_push "$T/normal.jfr" --to "$URL"
    assert_eq "exit code without" 6 $RC
    grep -q 'refused with 401' "$T/out" || fail "it says: $(cat "$T/out")"
    push_server basic --expect "Authorization: Basic $(printf 'user:pass word' | base64)"
    pushed "$T/normal.jfr" --basic "$T/login" --to "$URL"
    push_server bearer --expect 'Authorization: Bearer to.ken'
    pushed "$T/normal.jfr" --bearer "$T/token" --to "$URL"
}

# key and certificate NAME for HOST, signed by ca.*
certificate() {
    openssl req -newkey rsa:2048 -nodes -keyout "$T/$1.key" -out "$T/$1.csr" -subj "/CN=$2" >/dev/null 2>&1 &&
        openssl x509 -req -in "$T/$1.csr" -CA "$T/ca.pem" -CAkey "$T/ca.key" -CAcreateserial -days 2 -out "$T/$1.pem" \
            -extfile <(echo "subjectAltName=DNS:$2") >/dev/null 2>&1 || fail "openssl"
}

tls() {
    need_cmd openssl
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$T/ca.key" -out "$T/ca.pem" -days 2 -subj /CN=ca >/dev/null 2>&1 ||
        fail "openssl"
    certificate right localhost
    certificate wrong elsewhere
    certificate client someone
    push_server right --tls "$T/right.pem" "$T/right.key"
    pushed "$T/normal.jfr" --ca "$T/ca.pem" --to "${URL/http:/https:}"
    gone_wrong "a certificate that nobody trusts" "$T/normal.jfr" --to "${URL/http:/https:}"
    push_server wrong --tls "$T/wrong.pem" "$T/wrong.key"
    gone_wrong "a certificate of another host" "$T/normal.jfr" --ca "$T/ca.pem" --to "${URL/http:/https:}"
    pushed "$T/normal.jfr" --insecure --to "${URL/http:/https:}"
    push_server mutual --tls "$T/right.pem" "$T/right.key" "$T/ca.pem"
    pushed "$T/normal.jfr" --ca "$T/ca.pem" --cert "$T/client.pem" --key "$T/client.key" --to "${URL/http:/https:}"
    # how a connection ends that a server gives up depends on what came first
    run_push "$T/normal.jfr" --ca "$T/ca.pem" --to "${URL/http:/https:}" --finish 1s
    assert_eq "exit code without a certificate of the client" 6 $RC
    grep -q 'not sent yet' "$T/out" || fail "it says: $(cat "$T/out")"
    assert_eq "profiles taken with it" 3 "$(lines mutual taken)"
}

# gone_wrong WHAT ARG...: nothing is sent, and the reason is said
gone_wrong() {
    run_push "${@:2}" --finish 1s
    assert_eq "exit code of $1" 6 $RC
    grep -Eqi 'certificate|ssl|tls|alert' "$T/out" || fail "$1: it says: $(cat "$T/out")"
}

# the request goes to the proxy with the whole URL
proxy() {
    push_server proxy
    pushed "$T/normal.jfr" --proxy "$URL" --to http://pyroscope.invalid:4040
    assert_eq "what the proxy is asked for" http://pyroscope.invalid:4040/push.v1.PusherService/Push \
        "$(python3 -c 'import json, sys; print(json.loads(next(open(sys.argv[1])))["path"])' "$T/proxy/seen")"
}

# misused CODE WORDS ARG...
misused() {
    run_push "${@:3}"
    assert_eq "exit code of push ${*:3}" "$1" $RC
    grep -q -- "$2" "$T/out" || fail "push ${*:3}: it says: $(cat "$T/out")"
}

# asked CODE WORDS ARG...: what doctor says of a server
asked() {
    timeout 300 "$GNOMON" doctor "${@:3}" >"$T/out" 2>&1
    assert_eq "exit code of doctor ${*:3}" "$1" $? "$(cat "$T/out")"
    grep -q -- "$2" "$T/out" || fail "doctor ${*:3}: it says: $(cat "$T/out")"
}

# An empty profile is sent, and what the server says is told, at once.
doctor() {
    push_server asked --expect 'X-Scope-OrgID: team'
    asked 0 'ok  *takes profiles  *an empty one' --to "$URL" --tenant team -l env=test
    assert_eq "what it was sent" "[0] {'__name__': 'process_cpu', 'env': 'test', 'service_name': 'gnomon'}" \
        "$(taken asked 'print(ALL[0]["total"], ALL[0]["labels"])')"
    asked 6 'refused with 401.*X-Scope-OrgID is None' --to "$URL"
    asked 6 '-> it wants to know who sends' --to "pyroscope+$URL"
    mode asked status 429
    asked 6 'answered 429' --to "$URL" --tenant team
    asked 6 '"can_push": false' --to "$URL" --tenant team --json
    asked 6 'is a server there' --to http://localhost:1
    asked 2 'no URL of a server' --to localhost
}

misuse() {
    printf '\n' >"$T/empty"
    misused 2 'no recording given' --to http://localhost:1
    misused 2 'no server given' "$T/normal.jfr"
    misused 2 'no URL of a server' "$T/normal.jfr" --to localhost:1
    misused 2 'which everybody can see' "$T/normal.jfr" --to http://me:secret@localhost:1
    misused 2 'is no label' "$T/normal.jfr" --to http://localhost:1 -l =x
    misused 2 'is no header' "$T/normal.jfr" --to http://localhost:1 --header nothing
    echo '-----BEGIN CERTIFICATE-----' >"$T/half.pem"
    misused 2 'go together' "$T/normal.jfr" --to http://localhost:1 --cert "$T/half.pem" --finish 1s
    misused 7 "cannot read '$T/none'" "$T/normal.jfr" --to http://localhost:1 --bearer "$T/none"
    misused 7 'has nothing' "$T/normal.jfr" --to http://localhost:1 --bearer "$T/empty"
    misused 7 "$T/none.jfr" "$T/none.jfr" --to http://localhost:1 --finish 1s
    misused 2 'none of cpu, wall and off' "$T/normal.jfr" --to http://localhost:1 --dim mem --finish 1s
}

exact
windows
old
credentials
proxy
doctor
misuse
tls
note "sums, windows, credentials, TLS, a proxy, and doctor --to"
