#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/workloads/tomcat_contained.sh
#
# Tomcat 10 under load, on the host and then in a container (runc: process 1 of another user, all
# namespaces of its own, read-only root): the ten frames on top of most CPU samples of each, and how
# many they have in common. A frame that one run has in its ten and the other just below counts as
# common when the counts differ by no more than chance would have it (3 standard errors).
# WORKLOAD_SECONDS: see lib.sh.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../../../tests/jvm/container.sh"
. "$(dirname "$0")/tomcat_lib.sh"
need_cmd runc

# tops NAME [COMMAND...]: "COUNT FRAME", most first; COMMAND runs wrk where the server is.
tops() {
    local name=$1

    shift
    tomcat_load $((WORKLOAD_SECONDS + 15)) "$@"
    sleep 10 # compiled by then
    "$GNOMON" record -p "$JVM_PID" -d "${WORKLOAD_SECONDS}s" --cpu 1ms --force -o "$T/$name.jfr" \
        </dev/null 2>"$T/err" || fail "gnomon: $(cat "$T/err")"
    wait "$LOAD_PID"
    query "$T/$name.jfr" $CPU_EVENT leaf 'thread=http-nio.*' | sort -k1,1nr >"$T/$name.top"
    note "$name: $(grep '^Requests/sec' "$T/load.out"), $(awk '{ n += $1 } END { print n }' \
        "$T/$name.top") CPU samples of its workers"
}

tomcat_prepare
classes
JDK=$(jdk_oldest)
java_start "${TOMCAT_ARGS[@]}"
tops host
kill "$JVM_PID"
pid_gone "$JVM_PID" 20 || fail "it does not end"

chmod -R a+rwX "$TOMCAT"
RESOURCES='"memory":{"limit":2147483648}'
# the same path in both, or the command lines would differ
MORE_MOUNTS=("$(bind "$TOMCAT" "$TOMCAT" rw)")
container_run host 0 "$JDK/bin/java" "${TOMCAT_ARGS[@]}"
assert_eq "its pid inside" 1 "$(awk '/^NSpid:/ { print $NF }' "/proc/$JVM_PID/status")"
tops container nsenter -t "$JVM_PID" -n
no_traces

awk '
    FNR == 1 { file++ }
    { count = $1; sub(/^[0-9]+ /, ""); n[file, $0] = count; sum[file] += count }
    FNR <= 10 { top[file, FNR] = $0 }
    END {
        printf "  %-6s %-60s %-6s %s\n", "host", "", "container", ""
        for (i = 1; i <= 10; i++)
            printf "  %5.2f%% %-60.60s %5.2f%% %.60s\n", 100 * n[1, top[1, i]] / sum[1], top[1, i],
                100 * n[2, top[2, i]] / sum[2], top[2, i]
        for (f = 1; f <= 2; f++) {
            g = 3 - f
            last = n[g, top[g, 10]] / sum[g]
            for (i = 1; i <= 10; i++) {
                s = n[g, top[f, i]] / sum[g]
                if (s >= last) same[f]++
                else if (last - s <= 3 * sqrt((last + s) / sum[g])) near[f]++
                else printf "  not in the other: %s (%.2f%% against %.2f%% of the tenth)\n",
                    top[f, i], 100 * s, 100 * last
            }
        }
        printf "  in common: %d of 10, and %d within chance of it\n", same[1], near[1]
        exit !(same[1] + near[1] == 10 && same[2] + near[2] == 10)
    }' "$T/host.top" "$T/container.top" || fail "the top ten differ"
