#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What programs are called when their profiles are sent: by their process context, their environment, their options, in this
# order, and with which labels; nothing else of an environment is recorded or sent.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/context.sh"
. "$(dirname "$0")/push.sh"
need_root
need_gnomon push

# called WHAT OPTION...: the JVM is recorded as NAME.jfr, and sent to the server NAME meanwhile; the labels are in LABELS
called() {
    NAME=$1-$(jdk_version "$JDK")
    push_server "$NAME"
    "$GNOMON" record "$JVM_PID" -d 1 --push "$URL" "${@:2}" -o "$T/$NAME.jfr" >"$T/out" 2>&1 || fail "record --push: $(cat "$T/out")"
    LABELS=$(taken "$NAME" 'print(*sorted({f"{k}={v}" for t in ALL for k, v in t["labels"].items() if k != "__name__"}), sep="; ")')
    ! grep -q hunter2 "$T/$NAME/taken" "$T/$NAME.jfr" || fail "what is nobody's business is recorded or sent"
    jvm_end
}

environment() {
    JVM_OPTS="-XX:+UseSerialGC -Dotel.service.name=notthis"
    OTEL_RESOURCE_ATTRIBUTES='deployment.environment.name=te%20st,service.name=frodo,api.key=hunter2,k8s.pod.name=p-1,k8s.pod.uid=' \
        MY_SECRET=hunter2 jvm_start Idle 1 1 30
    called environment --relabel k8s_pod_name=pod --relabel none=any -l zone=b
    assert_eq "labels by the environment" "deployment_environment_name=te st; pod=p-1; service_name=frodo; zone=b" \
        "$(sed 's/container_[a-z]*=[^;]*; //g' <<<"$LABELS")"
    push_server "again-$NAME"
    pushed "$T/$NAME.jfr" -l deployment_environment_name= --to "$URL"
    assert_eq "labels of the file, of which one is dropped" "k8s_pod_name=p-1; service_name=frodo" \
        "$(taken "again-$NAME" 'print(*sorted({f"{k}={v}" for t in ALL for k, v in t["labels"].items() if k[0] != "_" and k[:4] != "cont"}), sep="; ")')"
}

option() {
    JVM_OPTS="-XX:+UseSerialGC -Dspring.application.name=notthis -Dotel.service.name=sam"
    jvm_start Idle 1 1 30
    called option
    assert_match "labels by an option" 'service_name=sam' <(echo "$LABELS")
}

# links SERVER: trace and span ids of the samples that it took, each pair once
links() {
    taken "$1" 'print(*sorted({" ".join(p.split("=")[1] for k in ("trace_id", "span_id") for p in s.split(" ") if p.startswith(k + "="))
        for t in ALL for s in t["sums"] if "_id=" in s}), sep="; ")'
}

# Samples have the ids that the recording's contexts have, also when the file is sent later; none of them when not wanted.
spans_sent() {
    local want

    want=$(query "$T/$NAME.jfr" values gnomon.Context traceId spanId | grep -Ex '[0-9a-f]{32} [0-9a-f]{16}' | sort -u | paste -sd';' | sed 's/;/; /g')
    assert_match "ids of the recording" '^[0-9a-f]{32} [0-9a-f]{16}' <(echo "$want")
    assert_eq "ids sent while it was recorded" "$want" "$(links "$NAME")"
    push_server "ids-$NAME"
    pushed "$T/$NAME.jfr" --to "$URL"
    assert_eq "ids sent of the file" "$want" "$(links "ids-$NAME")"
    push_server "none-$NAME"
    pushed "$T/$NAME.jfr" --no-spans --to "$URL"
    assert_eq "ids that were not wanted" "" "$(links "none-$NAME")"
    assert_eq "time, with ids and without" "$(ns_of "none-$NAME")" "$(ns_of "ids-$NAME")"
}
ns_of() { taken "$1" 'print(sum(t["total"][0] for t in ALL))'; }

# The program itself says that it is the shop.
context() {
    JVM_OPTS="-XX:+UseSerialGC"
    OTEL_SERVICE_NAME=notthis jvm_start ContextLoad still
    called context
    assert_match "labels by the process context" 'service_name=shop' <(echo "$LABELS")
    spans_sent
}

context_classes ContextLoad
every() {
    environment
    option
    context
}
for_any_jdk every
note "process context, environment, options"
