#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tests/peers/otlp.sh
#
# What `gnomon push --protocol otlp` sends, held against the published definitions and the protocol's rules
# (tests/push/otlp.py), and taken by a real OpenTelemetry collector: README.md beside this file. Fetches what is not in
# GNOMON_PEERS (default /var/cache/gnomon-peers). Root, for a recording.
PEERS=$(cd "$(dirname "$0")" && pwd)
. "$PEERS/../jvm/lib.sh"
. "$PEERS/../jvm/context.sh"
. "$PEERS/../jvm/push.sh"
need_root
need_gnomon push
need_cmd go
CACHE=${GNOMON_PEERS:-/var/cache/gnomon-peers}
mkdir -p "$CACHE" || fail "cannot make '$CACHE'"
exec 8>"$CACHE/lock-otlp"
flock 8
umask 022

# ---- what is fetched -----------------------------------------------------------------------

fetch_python() {
    cmp -s "$PEERS/python/requirements.txt" "$CACHE/python/done" && return
    rm -rf "$CACHE/python"
    python3 -m venv "$CACHE/python" && "$CACHE/python/bin/pip" -q install --no-deps -r "$PEERS/python/requirements.txt" \
        >"$T/pip" 2>&1 || fail "pip: $(tail -n 5 "$T/pip") (apt-get install python3-venv)"
    cp "$PEERS/python/requirements.txt" "$CACHE/python/done"
}

# The collector's own builder, which writes its go.mod; a Go from before 1.21 fetches no newer one.
fetch_collector() {
    local version

    version=$(sed -n 's/.*otlpreceiver //p' "$PEERS/collector/builder.yaml")
    cmp -s "$PEERS/collector/builder.yaml" "$CACHE/collector/builder.yaml" && [ -x "$CACHE/collector/otelcol/otelcol" ] && return
    rm -rf "$CACHE/collector" && mkdir "$CACHE/collector"
    export GOMODCACHE=$CACHE/go GOCACHE=$CACHE/go-build GOFLAGS=-modcacherw
    (cd "$CACHE/collector" && cp "$PEERS/collector/builder.yaml" try.yaml &&
        go run "go.opentelemetry.io/collector/cmd/builder@$version" --config try.yaml && mv try.yaml builder.yaml) \
        >"$T/go" 2>&1 || fail "the collector does not build: $(tail -n 5 "$T/go")"
}

otlp() { "$CACHE/python/bin/python" "$ROOT/tests/push/otlp.py" "$@"; }

# ---- what is sent --------------------------------------------------------------------------

# judge_serves: the validator as a server; its URL in URL
judge_serves() {
    mkdir "$T/judge"
    "$CACHE/python/bin/python" "$ROOT/tests/push/otlp.py" serve "$T/judge" >"$T/judge.log" 2>&1 8>&- &
    CHILDREN+=("$!")
    until_true 60 test -s "$T/judge/port" || fail "the validator does not start: $(cat "$T/judge.log")"
    JUDGE=http://localhost:$(cat "$T/judge/port")
}

# The programs: those of the tests, with contexts, and Mixed.
programs() {
    context_classes ContextLoad
    "$(jdk_oldest)/bin/javac" --release 17 -cp "$CLASSES" -d "$CLASSES" "$PEERS/Mixed.java" || fail "Mixed.java"
    chmod -R a+rX "$CLASSES"
    classes() { :; } # they are there
}

recorded_mixed() {
    jvm_start Mixed
    rm -f "$T/judge/"*.pb
    "$GNOMON" record -p "$JVM_PID" -d 6 --push "otlp+$JUDGE" --push-window 2s -o "$T/mixed.jfr" >"$T/said" 2>&1 ||
        fail "gnomon: $(cat "$T/said")"
    LIVE=$(otlp sums "$T/judge/"*.pb | cut -d' ' -f1,2)
    echo end >&"$JVM_FD"
    exec {JVM_FD}>&-
}

# valid NAME CPU-NS OFF-NS: the recording keeps to every rule, and its requests have these sums
valid() {
    rm -f "$T/judge/"*.pb
    pushed "$T/$1.jfr" --idle --protocol otlp --window 2s --to "$JUDGE"
    assert_eq "sums of $1" "$(expected "$2" "$3")" "$(otlp sums "$T/judge/"*.pb | cut -d' ' -f1,2)"
    note "ok   $1, $(find "$T/judge" -name '*.pb' | wc -l) requests"
}
# expected CPU-NS OFF-NS: as the validator says it
expected() {
    [ "$2" = 0 ] || echo "off_cpu/nanoseconds $2"
    [ "$1" = 0 ] || echo "samples/count $1"
}

# A program with contexts, sent while it is recorded: its requests' links are the recording's ids, and a file's, too.
spans() {
    local want

    JVM_OPTS="-XX:+UseSerialGC" jvm_start ContextLoad still
    rm -f "$T/judge/"*.pb
    "$GNOMON" record "$JVM_PID" -d 3 --push "otlp+$JUDGE" -l env=test -o "$T/spans.jfr" >"$T/said" 2>&1 || fail "gnomon: $(cat "$T/said")"
    jvm_end
    want=$(query "$T/spans.jfr" values gnomon.Context traceId spanId | grep -Ex '[0-9a-f]{32} [0-9a-f]{16}' | sort -u)
    [ -n "$want" ] || fail "the recording has no ids"
    assert_eq "links of what was sent while it was recorded" "$want" "$(otlp links "$T/judge/"*.pb)"
    rm -f "$T/judge/"*.pb
    pushed "$T/spans.jfr" --protocol otlp -l env=test --to "$JUDGE"
    assert_eq "links" "$want" "$(otlp links "$T/judge/"*.pb)"
    assert_eq "what the process is" "env=test
process.pid=$JVM_PID
process.runtime.name=$(query "$T/spans.jfr" values jdk.JVMInformation jvmName | sort -u)
process.runtime.version=$("$(jdk_newest)/bin/java" -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java.runtime.version = //p')
service.name=shop" "$(otlp resources "$T/judge/"*.pb | grep -v ^container)"
    mkdir "$T/kept"
    cp "$T/judge/"*.pb "$T/kept"
    note "ok   links of $(wc -l <<<"$want") spans"
}

# builds FILE: its mappings are those files of the process that have code in its stacks, by their own build ids
builds() {
    local name id path

    [[ $(otlp builds "$T/judge/"*.pb) == *libjvm.so\ * ]] || fail "no mapping of libjvm.so: $(otlp builds "$T/judge/"*.pb)"
    while read -r name id; do
        path=$(query "$1" values jdk.NativeLibrary name | grep -F "/$name" | grep -x ".*/$name" | head -n 1)
        assert_eq "build id of '$name'" "$(readelf -n "$path" | sed -n 's/.*Build ID: //p')" "$id"
    done < <(otlp builds "$T/judge/"*.pb)
    note "ok   $(otlp builds "$T/judge/"*.pb | wc -l) builds"
}

can_fail() {
    local f

    mkdir "$T/spoilt"
    otlp spoil "$T/spoilt" "$T/judge/"*.pb "$T/kept/"*.pb || fail "nothing to spoil"
    for f in "$T/spoilt/"*.pb; do
        ! otlp check "$f" >/dev/null || fail "nothing is wrong with $(basename "$f" .pb)"
    done
    note "ok   $(find "$T/spoilt" -name '*.pb' | wc -l) spoilt requests are refused"
    touch "$T/judge/mode"
    run_push "$T/normal.jfr" --protocol otlp --to "$JUDGE"
    assert_eq "exit code where all is rejected" 6 $RC
    grep -q 'rejected: as the test wants it' "$T/out" || fail "it says: $(cat "$T/out")"
    rm "$T/judge/mode"
}

# ---- a collector ---------------------------------------------------------------------------

collector_said() { file_has "$T/collector.log" 'Everything is ready' || pid_ended "$1"; }
collector_takes() {
    local port

    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    cat >"$T/collector.yaml" <<END
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:$port"}}}}
exporters: {file: {path: "$T/collected.json"}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [file]}}
END
    "$CACHE/collector/otelcol/otelcol" --config "$T/collector.yaml" --feature-gates=service.profilesSupport >"$T/collector.log" 2>&1 8>&- &
    CHILDREN+=("$!")
    until_true 120 collector_said "${CHILDREN[-1]}" && file_has "$T/collector.log" 'Everything is ready' || fail "the collector does not start: $(tail -n 5 "$T/collector.log")"
    pushed "$T/mixed.jfr" --idle --protocol otlp --window 2s --to "http://localhost:$port"
    kill -TERM "${CHILDREN[-1]}"
    pid_gone "${CHILDREN[-1]}" 60 || fail "the collector does not end"
    assert_eq "what the collector has" "$(expected "$1" "$2")" "$(otlp collected "$T/collected.json" | cut -d' ' -f1,2)"
    note "ok   a collector has all of it"
}

fetch_python
fetch_collector 8>&- &
FETCH=$!
judge_serves
recording normal
# the recordings that do not say their interval are of 20 ms
valid normal $((N_CPU * 10000000)) $((52 * 20 * 800 / 64 * 1000000))
for kind in chunks deep names; do
    recording $kind
    valid $kind $((N_CPU * 20000000)) 0
done
programs
spans
recorded_mixed
rm "$T/judge/"*.pb
pushed "$T/mixed.jfr" --protocol otlp --window 2s --to "$JUDGE"
assert_eq "sums of what was sent while it was recorded" "$(otlp sums "$T/judge/"*.pb | cut -d' ' -f1,2)" "$LIVE"
CPU=$(($(weight "$T/mixed.jfr" "$CPU_EVENT") * 10000000)) OFF=$(($(weight "$T/mixed.jfr" "$WALL_EVENT") * 20000000))
valid mixed "$CPU" "$OFF"
assert_eq "time queued" $(($(weight "$T/mixed.jfr" "$WALL_EVENT" state=STATE_QUEUED) * 20000000)) "$(otlp queued "$T/judge/"*.pb)"
builds "$T/mixed.jfr"
can_fail
wait "$FETCH" || fail "see above"
collector_takes "$CPU" "$OFF"
