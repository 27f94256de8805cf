#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tests/peers/prometheus.sh
#
# Debian's Prometheus scrapes gnomon-http, with its token, and answers every question of the dashboard. Exit code 77, and
# why, where something is missing.
PEERS=$(cd "$(dirname "$0")" && pwd)
. "$PEERS/../jvm/lib.sh"
need_root
need_gnomon status
for c in prometheus promtool curl; do need_cmd $c; done

SOCK=$T/gnomon.sock
DASHBOARD=$ROOT/user/service/grafana.json

# port_free: one that nobody has now
port_free() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

daemon_start() {
    printf '%s\n' "directory = $T/recordings" "socket = $SOCK" "group = daemon" "min-free = 0" "record = no" \
        "[mine]" "name = $OWN_NAME.jar" >"$T/gnomon.conf"
    "$GNOMON" daemon --config "$T/gnomon.conf" </dev/null >"$T/daemon.out" 2>"$T/daemon.err" &
    CHILDREN+=("$!")
    until_true 120 file_has "$T/daemon.err" 'recording into' || fail "the daemon: $(cat "$T/daemon.err")"
    (umask 077 && openssl rand -hex 32 >"$T/token")
    "$BUILD/gnomon-http" --listen 127.0.0.1:0 --socket "$SOCK" --token-file "$T/token" </dev/null >/dev/null 2>"$T/http.err" &
    CHILDREN+=("$!")
    until_true 60 file_has "$T/http.err" 'http://' || fail "gnomon-http: $(cat "$T/http.err")"
    AT=$(grep -o '127.0.0.1:[0-9]*' "$T/http.err")
}

prometheus_start() {
    printf '%s\n' "global: {scrape_interval: 1s}" "scrape_configs:" "- job_name: gnomon" \
        "  authorization: {credentials_file: $T/token}" "  static_configs: [{targets: ['$AT']}]" \
        "- job_name: wrong" "  metrics_path: /metrics" "  authorization: {credentials: wrong}" \
        "  static_configs: [{targets: ['$AT']}]" >"$T/prometheus.yml"
    promtool check config "$T/prometheus.yml" >"$T/out" 2>&1 || fail "promtool: $(cat "$T/out")"
    PROMETHEUS=127.0.0.1:$(port_free)
    prometheus --config.file="$T/prometheus.yml" --storage.tsdb.path="$T/tsdb" --web.listen-address="$PROMETHEUS" \
        </dev/null >"$T/prometheus.log" 2>&1 &
    CHILDREN+=("$!")
}

# asked EXPRESSION: values of its answer, one a line
asked() {
    curl -s -m 60 --data-urlencode "query=$1" "http://$PROMETHEUS/api/v1/query" |
        python3 -c 'import json, sys
a = json.load(sys.stdin)
assert a["status"] == "success", a
print("\n".join(r["value"][1] for r in a["data"]["result"]))' 2>"$T/err"
}
is() { [ "$(asked "$1")" = "$2" ]; }

# Each question has an answer, and each an answer of something but those of what this machine may not have.
dashboard_answered() {
    local expr none=0 n=0

    python3 - "$DASHBOARD" <<'END' >"$T/exprs" || fail "the dashboard"
import json, sys
for p in json.load(open(sys.argv[1]))["panels"]:
    for t in p.get("targets", []):
        print(t["expr"].replace("$jvm", ".*").replace("$__rate_interval", "10s"))
END
    while read -r expr; do
        asked "$expr" >"$T/values" || fail "'$expr': $(cat "$T/err")"
        n=$((n + 1))
        grep -q . "$T/values" && continue
        none=$((none + 1))
        [[ $expr == *thrott* || $expr == *group_memory* || $expr == *lost_total* ]] || fail "no answer to '$expr'"
    done <"$T/exprs"
    note "$n questions of the dashboard, $none of them without an answer here"
    assert_ge questions 20 "$n"
}

own_jar Collect
JDK=$(jdk_newest)
JVM_OPTS="-XX:+UseSerialGC -Xmx64m" jvm_start -jar "$OWN_JAR" 40 5 400
daemon_start
curl -s -m 60 -H "Authorization: Bearer $(cat "$T/token")" "http://$AT/metrics" | promtool check metrics >"$T/out" 2>&1 ||
    fail "promtool: $(cat "$T/out")"
prometheus_start
until_true 120 is 'up{job="gnomon"}' 1 || fail "it does not scrape: $(tail -n 5 "$T/prometheus.log")"
until_true 120 is 'up{job="wrong"}' 0 || fail "a wrong token is let in"
until_true 120 is 'count(gnomon_jvm_start_time_seconds)' 1 || fail "no JVM: $(cat "$T/daemon.err")"
collects() { awk -v v="$(asked 'sum(increase(gnomon_jvm_collections_total[10s]))')" 'BEGIN { exit !(v > 1) }'; }
until_true 120 collects || fail "no collections: $(asked gnomon_jvm_collections_total)"
dashboard_answered
