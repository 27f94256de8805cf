#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tests/peers/publishers.sh
#
# What tracers publish of their spans, read by `gnomon record` and held against what their own API says: README.md beside this
# file. Fetches what is not in GNOMON_PEERS (default /var/cache/gnomon-peers). Root, for a recording.
PEERS=$(cd "$(dirname "$0")" && pwd)
. "$PEERS/../jvm/lib.sh"
. "$PEERS/jars.sh"
need_root
need_gnomon requests
need_cmd mvn
need_cmd python3
CACHE=${GNOMON_PEERS:-/var/cache/gnomon-peers}
mkdir -p "$CACHE" || fail "cannot make '$CACHE'"
exec 8>"$CACHE/lock-publishers"
flock 8
JARS=$CACHE/publishers

# nobody listens there: the tracers say so in their logs, and publish all the same
export DD_TRACE_AGENT_URL=http://127.0.0.1:9 DD_INSTRUMENTATION_TELEMETRY_ENABLED=false DD_REMOTE_CONFIGURATION_ENABLED=false
DATADOG="-javaagent:$JARS/dd-java-agent-1.68.1.jar -Ddd.service=traced -Ddd.profiling.enabled=true -Ddd.profiling.start-delay=1
    -Ddd.profiling.start-force-first=true -Ddd.trace.methods=Traced[serve,query]"
ELASTIC="-javaagent:$JARS/elastic-apm-agent-1.55.1.jar -Delastic.apm.universal_profiling_integration_enabled=true -Dhex=true
    -Delastic.apm.server_url=http://127.0.0.1:9 -Delastic.apm.cloud_provider=NONE -Delastic.apm.log_level=ERROR
    -Delastic.apm.trace_methods=Traced#serve,Traced#query"

# the SDK itself, and gnomon-context.jar's GnomonSpanProcessor
OTEL="-Dotel=true"

contexts_come() {
    "$GNOMON" record -q -p "$JVM_PID" -d 1s --force -o "$T/first.jfr" && "$GNOMON" requests "$T/first.jfr" >/dev/null 2>&1
}

# published NAME platform|virtual OPTIONS [ENDPOINT]: records a program with that tracer once it publishes
published() {
    local jfr=$T/$1-$2-$(jdk_version "$JDK").jfr said within with outside outside_with known unknown

    JVM_OPTS=$3 jvm_start Traced "$T/said" "$2"
    until_true 20 contexts_come || fail "$1 publishes nothing: $(tail -n 5 "$JVM_ERR")"
    "$GNOMON" record -q -p "$JVM_PID" -d 5s -o "$jfr" || fail "record"
    jvm_end
    until_true 30 test -s "$T/said" || fail "Traced says nothing: $(tail -n 5 "$JVM_ERR")"
    said=$("$(jdk_newest)/bin/java" -cp "$CLASSES" TracedCheck "$jfr" "$T/said" 2>"$T/wrong") || fail "TracedCheck: $(cat "$T/wrong")"
    rm "$T/said"
    note "$(basename "$jfr"): $said"
    head -c 3000 "$T/wrong"
    read -r _ within _ with _ outside _ outside_with _ known _ unknown <<<"$said"
    assert_ge "samples within a span" 20 "$within"
    assert_eq "of these with a context" "$within" "$with"
    assert_ge "samples outside" 5 "$outside"
    assert_eq "of these with a context" 0 "$outside_with"
    assert_ge "contexts that the tracer said" 20 "$known"
    assert_eq "contexts that it did not" 0 "$unknown"
    [ $# -lt 4 ] || endpoint_is "$jfr" "$4"
}

# endpoint_is RECORDING NAME: all requests are to that endpoint, whatever they do on other threads
endpoint_is() {
    local got

    got=$("$GNOMON" requests "$1" --json -n 100000 | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(",".join(e["endpoint"] or "-" for e in r["endpoints"]), sum(q["threads"] > 1 for q in r["slowest"]))')
    assert_eq "endpoints" "$2" "${got% *}"
    assert_ge "requests with several threads" 5 "${got##* }"
}

every() {
    published datadog platform "$DATADOG"
    [ "$JDK" = "$(jdk_newest)" ] || return 0
    published elastic platform "$ELASTIC"
    published otel platform "$OTEL" 'GET /traced'
    [ "$(jdk_version "$JDK")" -lt 25 ] || published datadog virtual "$DATADOG"
    [ "$(jdk_version "$JDK")" -lt 25 ] || published otel virtual "$OTEL" 'GET /traced'
}

fetch_jars publishers "$JARS"
classes
mkdir "$T/java"
cp -r "$CLASSES/." "$T/java"
SDK=$(printf '%s:' "$JARS"/opentelemetry-*.jar)
[ -e "$BUILD/gnomon-context.jar" ] || skip "no gnomon-context.jar was built (no JDK)"
"$(jdk_oldest)/bin/javac" --release 17 -cp "$SDK$BUILD/gnomon-context.jar" -d "$T/java" "$PEERS"/publishers/*.java || fail "the programs do not compile"
CLASSES=$T/java:$JARS/apm-agent-api-1.52.0.jar:$SDK$T/gnomon-context.jar
cp "$BUILD/gnomon-context.jar" "$T"
chmod -R a+rX "$T/java"
for_each_jdk every
