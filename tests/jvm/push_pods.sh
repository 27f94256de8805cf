#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What pods are called where they are sent: by a kubelet of our own (tests/push/kubelet.py), which wants its token, and by a file;
# by the pod's uid and by the container's id. One that refuses, lies or is somebody else keeps nothing from being sent.
# overlaps
# in make check-all
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/push.sh"
need_root
need_gnomon push
need_cmd openssl

UID_OF_POD=4d3c9a52-6cf2-4c0f-9a3b-0d6f4f6d1a01
CONTAINER=$(printf '%064d' 7)
kubelet_starts() {
    mkdir "$T/node"
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$T/key.pem" -out "$T/ca.pem" -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost >/dev/null 2>&1 || fail "openssl"
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$T/other.key" -out "$T/other.pem" -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost >/dev/null 2>&1 || fail "openssl"
    printf 'to.ken\n' >"$T/token"
    echo other >"$T/wrong"
    cat >"$T/node/pods" <<END
{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[
 {"metadata":{"name":"other-0","namespace":"else","uid":"11111111-6cf2-4c0f-9a3b-0d6f4f6d1a01"},"spec":{"nodeName":"n-1"}},
 {"metadata":{"name":"shop-6d4cf56db6-x2x9z","namespace":"market","uid":"$UID_OF_POD",
   "labels":{"app.kubernetes.io/name":"shop\u0020\"1\"","pod-template-hash":"6d4cf56db6","secret":"hunter2"},
   "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"shop-6d4cf56db6","controller":true}]},
  "spec":{"nodeName":"n-1","containers":[{"name":"main","env":[{"name":"PASSWORD","value":"hunter2"}]}]},
  "status":{"phase":"Running","containerStatuses":[{"name":"main","containerID":"containerd://$CONTAINER"}]}}]}
END
    python3 "$ROOT/tests/push/kubelet.py" "$T/node" "$T/ca.pem" "$T/key.pem" to.ken >"$T/kubelet.log" 2>&1 &
    CHILDREN+=("$!")
    until_true 60 test -s "$T/node/port" || fail "the kubelet does not start: $(cat "$T/kubelet.log")"
    KUBELET=https://localhost:$(cat "$T/node/port")/pods
}

# called NAME OPTION...: what the JVM's profiles say of its pod
called() {
    push_server "$1"
    "$GNOMON" record "$JVM_PID" -d 1 --push "$URL" "${@:2}" -o "$T/$1.jfr" >"$T/$1.out" 2>&1 || fail "$1: $(cat "$T/$1.out")"
    assert_ge "profiles of $1" 2 "$(lines "$1" taken)" # it may have got no CPU
    ! grep -q hunter2 "$T/$1/taken" || fail "what is nobody's business is sent"
    LABELS=$(taken "$1" 'print(*sorted({f"{k}={v}" for t in ALL for k, v in t["labels"].items() if k[:3] in ("k8s", "pod")}), sep="; ")')
}
warned() { assert_match "what is said of $1" "what pods are called is not known: $2" "$T/$1.out"; }

# idle_in ATTRIBUTES: a JVM that says so of itself
idle_in() {
    JVM_OPTS="-XX:+UseSerialGC -Xmx64m"
    OTEL_RESOURCE_ATTRIBUTES=$1 jvm_start Idle 1 1 30
}

KNOWN="k8s_deployment_name=shop; k8s_namespace_name=market; k8s_node_name=n-1"
kubelet_starts
JDK=$(jdk_newest)
idle_in "k8s.pod.uid=$UID_OF_POD,k8s.pod.name=lie"
with=(--pods "$KUBELET" --pods-token "$T/token" --pods-ca "$T/ca.pem")
called kubelet "${with[@]}" --pod-label app.kubernetes.io/name --pod-label none --relabel k8s_pod_name=pod
assert_eq "by the kubelet" "$KNOWN; k8s_pod_label_app_kubernetes_io_name=shop \"1\"; k8s_pod_uid=$UID_OF_POD; pod=shop-6d4cf56db6-x2x9z" "$LABELS"
assert_eq "what was asked for" /pods "$(sort -u "$T/node/asked")"
! grep -q 'to\.ken' "$T/kubelet.out" || fail "the token is told"

own="k8s_pod_name=lie; k8s_pod_uid=$UID_OF_POD"
called refused --pods "$KUBELET" --pods-token "$T/wrong" --pods-ca "$T/ca.pem"
assert_eq "by nobody, with a wrong token" "$own" "$LABELS"
warned refused "it answers 401"
called somebody --pods "$KUBELET" --pods-token "$T/token" --pods-ca "$T/other.pem"
assert_eq "by nobody, where it is somebody else" "$own" "$LABELS"
warned somebody ".*certificate"
called gone --pods https://localhost:1/pods --pods-ca "$T/ca.pem" --timeout 2s
warned gone ".*onnect"
cp "$T/node/pods" "$T/list"
head -c 1000000 /dev/urandom >"$T/node/pods"
called nonsense "${with[@]}"
assert_eq "by nobody, where it is no list" "$own" "$LABELS"
warned nonsense "it is no list of pods"
jvm_end

idle_in "container.id=$CONTAINER"
called file --pods "$T/list"
assert_eq "by a file" "k8s_container_name=main; $KNOWN; k8s_pod_name=shop-6d4cf56db6-x2x9z; k8s_pod_uid=$UID_OF_POD" "$LABELS"
WANT=$LABELS
# the file, sent later with what is known then
push_server later
pushed "$T/file.jfr" --pods "$T/list" --pod-label app.kubernetes.io/name --to "$URL"
LABELS=$(taken later 'print(*sorted({f"{k}={v}" for t in ALL for k, v in t["labels"].items() if k[:3] in ("k8s", "pod")}), sep="; ")')
assert_eq "by a file, of a file" "$WANT" "$(sed 's/k8s_pod_label_[^;]*; //' <<<"$LABELS")"
assert_match "by a file, of a file" 'k8s_pod_label_app_kubernetes_io_name=shop "1"' <(echo "$LABELS")
run_push "$T/file.jfr" --pods "$T/none" --to "$URL"
assert_eq "exit code of push and a file that is not there" 7 $RC
run_push "$T/file.jfr" --pod-label any --to "$URL"
assert_eq "exit code of push and a pod's label without pods" 2 $RC
"$GNOMON" record "$JVM_PID" -d 1 --push "$URL" --pods http://localhost:1/pods -o "$T/none.jfr" >"$T/out" 2>&1
assert_eq "exit code of a kubelet that is asked in the open" 2 $?
"$GNOMON" record "$JVM_PID" -d 1 --push "$URL" --pods "$T/none" -o "$T/none.jfr" >"$T/out" 2>&1
assert_eq "exit code of a file that is not there" 7 $?
jvm_unharmed
jvm_end
note "by the kubelet and a file, by uid and container; refused, somebody else, gone, nonsense"
