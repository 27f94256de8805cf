#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Samples of virtual threads are of those whose methods they show, while a collector moves the threads' objects
# and names: ZGC, by both engines, G1, Serial; JDK 21 of the tree of tree.sh, too, when that is there.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tree.sh"
need_root
need_gnomon record
classes

number() { awk -v k="$1" '$1 == k { print $2 }' "$T/seen"; }

virtual_names() {
    local jfr all

    [ "$(jdk_version "$JDK")" -ge 21 ] || return 0
    jfr=$T/$(jdk_version "$JDK")-$1.jfr
    JVM_OPTS="-Xmx128m -Djdk.virtualThreadScheduler.parallelism=4 -XX:+$1" jvm_start VirtualMove
    "$GNOMON" record "${@:2}" -p "$JVM_PID" -d 2s --cpu 2ms --wall 2ms --force -o "$jfr" </dev/null >"$T/out" 2>"$T/err" ||
        fail "gnomon: $(cat "$T/err")"
    jvm_unharmed
    jvm_end
    served "$(jdk_newest)" main VirtualMove "$jfr" || fail "$(cat "$SERVED.err")"
    cp "$SERVED.out" "$T/seen"
    cp "$SERVED.err" "$T/names"
    all=$(awk '{ n += $2 } END { print n }' "$T/seen")
    note "$*: $(paste -sd ' ' "$T/seen")"
    assert_ge "samples" 50 "$all"
    assert_eq "samples with another's name ($(head -n 20 "$T/names"))" 0 "$(number wrong)"
    # the others have none, or the carrier's
    assert_ge "samples with their name" $((all / 2)) "$(number right)"
    strict assert_ge "samples with their name" $((all * 8 / 10)) "$(number right)"
}

JAVA_HOMES=$(for h in $(jdks) $([ ! -d "$TREE" ] || tree_home 21); do
    [ "$(jdk_version "$h")" -lt 21 ] || echo "$h"
done | tr '\n' ' ')
export JAVA_HOMES
some_of 1 eval 'for_one_jdk virtual_names UseZGC' 'for_one_jdk virtual_names UseZGC --wall-engine=scan'
JDK=$(jdk_newest)
[ -z "${EVERY_JDK:-}" ] || virtual_names UseG1GC
[ -z "${EVERY_JDK:-}" ] || virtual_names UseSerialGC
softly_end
