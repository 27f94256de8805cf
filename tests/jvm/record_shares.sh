#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# CPU shares of three methods, from CPU samples: within 2 percentage points of a quiet machine's 3,000 samples, and
# within what fewer drawn allow.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

share() { calc "100 * $(weight "$1" $CPU_EVENT 'thread=split-worker-.*' "frame=$2") / $3"; }

# shares CASE OPTIONS...: JVM options.
shares() {
    local label jfr n m

    label="$(jdk_version "$JDK") $1"
    jfr=$T/${label// /-}.jfr
    shift
    JVM_OPTS="$*" jvm_start Split 3 $CPU_EACH
    gnomon_start "$jfr" -p "$JVM_PID" --cpu 5ms $CPU_ALONE
    jvm_go
    jvm_done
    gnomon_stop
    jvm_unharmed
    jfr_readable "$jfr"
    n=$(weight "$jfr" $CPU_EVENT 'thread=split-worker-.*')
    assert_ge "samples" $((CPU_EACH * 3 / 5 * 9 / 10)) "$n"
    for m in price parse digest; do
        # by the method itself or the loop below it, whichever frames there are
        share_near "shares $label" "on CPU in Split.$m" "$(truth Split.$m 2)" \
            "$(share "$jfr" "Split\\.$m.*" "$n")" "$n"
    done
    jvm_end
}

CPU_EACH=${QUIET:+5500}
: "${CPU_EACH:=1000}"
frame_pointers() {
    JDK=$(jdk_oldest)
    shares frame-pointers -XX:+PreserveFramePointer -XX:CompileCommand=quiet '-XX:CompileCommand=dontinline,Split::*'
}
[ -n "${QUIET:-}" ] && n=2 || n=1
if [ -n "${ACCURACY_SOME:-}" ]; then
    for_one_jdk shares plain
else
    some_of $n eval 'for_one_jdk shares plain' frame_pointers
fi
softly_end
