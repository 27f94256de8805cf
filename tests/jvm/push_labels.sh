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
        MY_SECRET=hunter2 jvm_start Idle 1 1
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
    jvm_start Idle 1 1
    called option
    assert_match "labels by an option" 'service_name=sam' <(echo "$LABELS")
}

# The program itself says that it is the shop.
context() {
    JVM_OPTS="-XX:+UseSerialGC"
    OTEL_SERVICE_NAME=notthis jvm_start ContextLoad still
    called context
    assert_match "labels by the process context" 'service_name=shop' <(echo "$LABELS")
}

context_classes ContextLoad
every() {
    environment
    option
    context
}
for_one_jdk every
note "process context, environment, options"
