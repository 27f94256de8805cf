#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each sample inside a scope has that scope's context in the recording, and none another's or any outside: platform threads by
# switches and by scans, and with --isolate; virtual threads; as the JDK's parser reads it.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/context.sh"
. "$(dirname "$0")/tree.sh"

need_root
need_gnomon record
context_classes ContextScopes ContextCheck

# recorded NAME OPTION...
recorded() {
    local jfr=$T/$1-$(jdk_version "$JDK").jfr said

    shift
    jvm_wake
    "$GNOMON" record -q -p "$JVM_PID" -d 2s -o "$jfr" "$@" || fail "record"
    jvm_rest
    served "$(jdk_newest)" main ContextCheck "$jfr" || fail "ContextCheck: $(cat "$SERVED.err")"
    cp "$SERVED.err" "$T/wrong"
    said=$(cat "$SERVED.out")
    note "$(basename "$jfr"): $said"
    read -r _ inside _ own _ another _ _ _ with _ said _ had _ <<<"$said"
    assert_ge "samples inside" 10 "$inside"
    [ ! -s "$T/wrong" ] || head -c 4000 "$T/wrong"
    assert_eq "of these with their own context" "$inside" "$own"
    assert_eq "with another's" 0 "$another"
    assert_eq "outside, with any" 0 "$with"
    assert_eq "samples by the events" "$had" "$said"
    "$GNOMON" requests "$jfr" >"$T/requests" || fail "requests"
    assert_eq "samples of requests" "$had" "$(sed -n 's/.* were seen, by \([0-9,]*\) samples.$/\1/p' "$T/requests" | tr -d ,)"
    assert_eq "endpoints" "GET /cart POST /pay" "$(sed '/^The slowest/,$d' "$T/requests" | grep -oE '(GET|POST) /[a-z]+' | sort | xargs)"
}

# With --only-context there are wall samples of threads in a scope alone; all others are counted.
only() {
    local jfr=$T/only-$1-$(jdk_version "$JDK").jfr

    recorded "only-$1" --only-context --wall-engine="$1"
    assert_eq "wall samples of other threads" 0 \
        "$(query "$jfr" $WALL_EVENT thread | awk '$2 !~ /^scope-/ { n += $1 } END { print n + 0 }')"
    assert_ge "wall samples left out of the main thread" 85 "$(query "$jfr" values gnomon.SamplesLost eventThread reason lostSamples |
        awk '$1 == "main" && /left out/ { n += $NF } END { print n + 0 }')"
}

every() {
    jvm_start ContextScopes platform 4
    recorded switch
    only switch
    jvm_wake
    jvm_unharmed
    jvm_end
    [ "$JDK" != "$(jdk_newest)" ] || READERS=all jfr_readable "$T/switch-$(jdk_version "$JDK").jfr"
    [ "$(jdk_version "$JDK")" -ge 21 ] || return 0
    jvm_start ContextScopes virtual 4
    recorded virtual
    jvm_wake
    jvm_unharmed
    jvm_end
}

alike() {
    jvm_start ContextScopes platform 4
    some_of 1 eval 'recorded scan --wall-engine=scan' 'recorded isolated --isolate' 'only scan'
    jvm_wake
    jvm_unharmed
    jvm_end
}

tree_make
JAVA_HOMES="$(jdks | tr '\n' ' ') $(tree_home 21)"
export JAVA_HOMES
for_one_jdk every
for_any_jdk alike
