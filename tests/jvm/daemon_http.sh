#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gnomon-http: what a daemon is asked by HTTP, with a token and without; who has none, what makes no sense and what is
# hostile (long heads, slow clients, those that go away) is refused or cut off, and the next one is answered; the program
# has no rights.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/daemon.sh"
need_root
need_gnomon status
need_cmd curl

REC=$T/recordings
SOCK=$T/run/gnomon.sock
# which nobody runs, though the build may lie where only root gets at
DEN=$(mktemp -d /var/lib/gnomon-test.XXXXXX) || fail "no directory in /var/lib"
REMOVE+=("$DEN")
chmod 755 "$DEN"
cp "$GNOMON" "$BUILD/gnomon-http" "$DEN" || fail "no copy of the programs"
HTTP=$DEN/gnomon-http
GROUP=daemon
TOKEN=$T/token


# http_start OPTION...: sets SERVER, its process, and URL.
http_start() {
    emptied "$T/http.err"
    "$HTTP" --listen 127.0.0.1:0 --socket "$SOCK" "$@" </dev/null >"$T/http.out" 2>"$T/http.err" &
    SERVER=$!
    CHILDREN+=("$SERVER")
    until_true 60 file_has "$T/http.err" 'http://' || fail "gnomon-http does not start: $(cat "$T/http.err")"
    URL=$(grep -o 'http://[0-9.:]*' "$T/http.err")
}

# got STATUS PATH [OPTION...]: the body is in $T/body, the head in $T/head.
got() {
    local want=$1 path=$2 status

    shift 2
    status=$(curl -s -m 200 -o "$T/body" -D "$T/head" -w '%{http_code}' "${WITH[@]}" "$@" "$URL$path")
    assert_eq "status of $path $*" "$want" "$status" "$(head -c 2000 "$T/body" | tr -d '\0')"
}

# Not where it would be open to all, or have rights.
refusals() {
    local path=$T/short

    for args in "--listen 0.0.0.0:0" "--listen 127.0.0.1" "--listen 127.0.0.1:0 more" "--token-file $T/none" "--nonsense"; do
        # shellcheck disable=SC2086
        "$HTTP" --socket "$SOCK" $args >"$T/out" 2>"$T/err"
        assert_eq "exit code of $args" 2 $?
    done
    "$HTTP" --socket "$SOCK" --listen 0.0.0.0:0 2>"$T/err"
    assert_match "why" "without a token nobody but this machine may ask" "$T/err"
    echo 0123456789abcdef0123456789abcdef >"$path"
    chmod 644 "$path"
    "$HTTP" --socket "$SOCK" --token-file "$path" 2>"$T/err"
    assert_eq "exit code of a token that others may read" 2 $?
    "$HTTP" --socket "$T/nowhere" 2>"$T/err"
    assert_eq "exit code without a daemon" 3 $?
    python3 -c 'import socket, sys, os; os.umask(0o177); socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$T/roots"
    "$HTTP" --socket "$T/roots" 2>"$T/err"
    assert_eq "exit code where the daemon listens to root alone" 4 $?
    assert_match "what it says" "give it a 'group'" "$T/err"
}

# Nobody, of the daemon's group, without a capability.
no_rights() {
    local status=/proc/$SERVER/status

    assert_eq "its user" "65534 65534 65534 65534" "$(awk '$1 == "Uid:" { print $2, $3, $4, $5 }' "$status")"
    assert_eq "its group" "$GID $GID $GID $GID" "$(awk '$1 == "Gid:" { print $2, $3, $4, $5 }' "$status")"
    assert_eq "its other groups" "" "$(awk '$1 == "Groups:" { $1 = ""; print $0 }' "$status" | tr -d ' ')"
    assert_eq "its capabilities" "0000000000000000 0000000000000000 0000000000000000" \
        "$(awk '/^Cap(Inh|Prm|Eff):/ { print $2 }' "$status" | xargs)"
    assert_eq "no new privileges" 1 "$(awk '$1 == "NoNewPrivs:" { print $2 }' "$status")"
}

# Each of what may be asked, as gnomon itself says it.
answers() {
    WITH=(-H "Authorization: Bearer $(cat "$TOKEN")")
    is_sampled() { got 200 /metrics && awk '/^gnomon_jvm_samples_total/ && $NF > 50 { hit = 1 } END { exit !hit }' "$T/body"; }
    until_true 90 is_sampled || fail "it is not sampled: $(cat "$T/daemon.err")"
    assert_match "type of metrics" '^Content-Type: text/plain; version=0.0.4' "$T/head"
    "$GNOMON" status --metrics --socket "$SOCK" >"$T/metrics"
    assert_eq "names of metrics" "$(sed -n 's/^# TYPE //p' "$T/metrics")" "$(sed -n 's/^# TYPE //p' "$T/body")"
    got 200 /status
    assert_match "type of status" '^Content-Type: application/json' "$T/head"
    assert_eq "the daemon's process" "$DAEMON" "$(python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])' <"$T/body")"
    got 200 /jvms
    assert_eq "the JVMs" "[$PID]" "$(python3 -c 'import json, sys; print([j["pid"] for j in json.load(sys.stdin)])' <"$T/body")"
    got 200 "/dump?jvm=$PID&last=1m"
    assert_match "a file to keep" '^Content-Disposition: attachment; filename="gnomon.jfr"' "$T/head"
    mv "$T/body" "$T/dump.jfr"
    jfr_silent "$JDK" summary "$T/dump.jfr"
    assert_ge "samples of the busy thread in it" 10 "$(weight "$T/dump.jfr" $CPU_EVENT thread=busy-thread-number-1)"
    got 200 /flame?last=5m
    assert_match "type of a page" '^Content-Type: text/html' "$T/head"
    assert_match "its policy" "^Content-Security-Policy: default-src 'none'" "$T/head"
    assert_match "a page" '<html' "$T/body"
    assert_match "all of it" '</html>' "$T/body"
    got 200 /status -I
    jvm_unharmed
}

start_stop() {
    got 200 "/stop?jvm=$PID" -X POST
    not_there() { got 200 /jvms && ! grep -q '"pid"' "$T/body"; }
    until_true 60 not_there || fail "it is still recorded"
    got 404 "/stop?jvm=$PID" -X POST
    got 200 "/start?jvm=$PID" -X POST
    is_there() { got 200 /jvms && grep -q "\"pid\": $PID," "$T/body"; }
    until_true 60 is_there || fail "it is not recorded again: $(cat "$T/daemon.err")"
    got 404 "/start?jvm=$$" -X POST # no JVM
    assert_match "why" "is not a JVM" "$T/body"
    got 404 /start?jvm=999999999 -X POST
}

# How often it is sampled, for a time and as usual again.
set_rates() {
    got 200 "/set?jvm=$PID&cpu=2ms&no-wall=yes&for=600s" -X POST
    got 200 /jvms
    assert_match "its CPU interval" '"cpu_interval_ns": 2000000,' "$T/body"
    assert_match "its wall interval" '"wall_interval_ns": 0,' "$T/body"
    assert_match "who wants it so" '"rate_by": "command",' "$T/body"
    got 200 "/set?jvm=$PID&usual=yes" -X POST
    got 200 /jvms
    assert_match "who wants it so then" '"rate_by": "configuration",' "$T/body"
    got 400 "/set?jvm=$PID" -X POST
    assert_match "why" "nothing to set" "$T/body"
    got 400 "/set?jvm=$PID&cpu=soon" -X POST
    got 400 "/set?jvm=$PID&no-cpu=perhaps" -X POST
    assert_match "why" "'no-cpu' is yes or no" "$T/body"
    got 400 "/set?cpu=1ms" -X POST
    got 405 "/set?jvm=$PID&cpu=1ms"
    got 404 "/set?jvm=999999999&cpu=1ms" -X POST
}

# What makes no sense is answered by what is wrong with it.
nonsense() {
    got 404 /
    got 404 /status/../../etc/passwd --path-as-is
    got 405 "/start?jvm=$PID"
    got 405 /status -X POST
    got 405 /status -X DELETE
    got 400 /start -X POST
    got 400 /status?jvm=1
    got 400 "/dump?last=5m&last=6m"
    got 400 "/dump?last=nonsense"
    got 400 "/dump?jvm=%00"
    got 400 "/dump?jvm=a%0ab"
    got 400 "/dump?jvm=$(printf 'x%.0s' {1..300})"
    got 404 "/dump?jvm=--help"
    got 404 "/dump?jvm=$PID&from=2020-01-01T00:00&to=2020-01-01T01:00"
    assert_match "why" "has nothing of that time" "$T/body"
    got 413 "/start?jvm=$PID" -d x=1
    got 413 "/start?jvm=$PID" -X POST -T /dev/zero -H 'Transfer-Encoding: chunked'
}

tokens() {
    local right

    right=$(cat "$TOKEN")
    WITH=()
    for path in /status /nowhere "/start?jvm=$PID"; do
        got 401 "$path"
        assert_match "what is wanted" '^WWW-Authenticate: Bearer' "$T/head"
    done
    got 401 /status -H "Authorization: Bearer ${right%?}"
    got 401 /status -H "Authorization: Bearer ${right}0"
    got 401 /status -H "Authorization: Bearer "
    got 401 /status -u "any:$right"
    got 401 "/stop?jvm=$PID" -d "$(head -c 100000 /dev/zero | tr '\0' x)"
    got 200 /status -H "Authorization: Bearer $right" -H 'Host: gnomon.example.org'
    WITH=(-H "Authorization: Bearer $right")
}

# What is too long is refused; who sends a byte now and then, opens what connections there are, or goes away before the
# answer holds up nobody for longer than ten seconds.
hostile() {
    got 431 /status -H "X-Long: $(head -c 30000 /dev/zero | tr '\0' x)"
    got 414 "/status?$(head -c 30000 /dev/zero | tr '\0' x)"
    HOST=${URL#http://} timeout 100 python3 - <<'END' || fail "hostile clients"
import os, random, socket, time
host, port = os.environ["HOST"].split(":")
def connected():
    s = socket.create_connection((host, int(port)), timeout=60)
    return s
for i in range(20):                       # no HTTP at all
    s = connected()
    s.sendall(random.Random(i).randbytes(3000))
    s.close()
slow = [connected() for i in range(64)]   # a byte now and then: all connections that there may be
begin, open_ = time.monotonic(), True
for s in slow:
    s.sendall(b"GET /status HTTP/1.1\r\nX: ")
while slow and time.monotonic() - begin < 60:
    time.sleep(0.5)
    for s in slow[:]:
        try:
            s.sendall(b"x")
            s.setblocking(False)
            if s.recv(1000) == b"":
                raise ConnectionError
        except BlockingIOError:
            s.setblocking(True)
        except OSError:
            s.close()
            slow.remove(s)
assert not slow, "%d slow clients are still there" % len(slow)
END
    got 200 /status
    for ((i = 0; i < 5; i++)); do # gone before the answer
        curl -s -m 0.05 -o /dev/null "${WITH[@]}" "$URL/flame?last=5m"
    done
    curl -s "${WITH[@]}" "$URL/dump" | head -c 1000 >/dev/null
    until_true 60 no_runs || fail "what nobody waits for runs on: $(cat /proc/"$SERVER"/task/*/children)"
    got 200 /status
    got 200 /flame?last=1m
}
no_runs() { [ -z "$(cat /proc/"$SERVER"/task/*/children)" ]; }

# Without a token: this machine, but no page of somewhere else in a browser on it.
without_token() {
    http_start
    WITH=()
    got 200 /status
    got 200 /status -H 'Host: localhost'
    got 403 /status -H 'Host: evil.example.org'
    got 403 "/stop?jvm=$PID" -X POST -H 'Origin: http://evil.example.org'
    got 200 /jvms
    assert_match "it is still recorded" "\"pid\": $PID," "$T/body"
}

# The daemon may go and come.
without_daemon() {
    daemon_stop
    got 503 /status
    assert_match "why" 'no gnomon daemon listens' "$T/body"
    daemon_start
    answered() { [ "$(curl -s -m 60 -o /dev/null -w '%{http_code}' "$URL/status")" = 200 ]; }
    until_true 60 answered || fail "no answer of the next daemon"
}

own_jar Idle
JDK=$(jdk_newest)
JVM_OPTS="-Xshare:auto -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx64m"
jvm_start -jar "$OWN_JAR" 2 1 30
PID=$JVM_PID
GID=$(getent group $GROUP | cut -d: -f3)
(umask 077 && openssl rand -hex 32 >"$TOKEN")
printf '%s\n' "directory = $REC" "socket = $SOCK" "group = $GROUP" "chunk-time = 2s" "min-free = 0" "no-vitals = yes" \
    "record = no" "[mine]" "name = $OWN_NAME.jar" >"$CONF"
daemon_start
refusals
http_start --token-file "$TOKEN"
no_rights
answers
start_stop
set_rates
nonsense
tokens
hostile
kill -TERM "$SERVER"
pid_gone "$SERVER" 60 || fail "gnomon-http does not end"
wait "$SERVER"
assert_eq "exit code of gnomon-http" 0 $? "$(cat "$T/http.err")"
without_token
without_daemon
daemon_stop
jvm_unharmed
