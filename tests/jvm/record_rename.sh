#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A thread that names itself anew: its samples have the name it had, with few threads beside it and
# with many, which are listed at once (LIST_THREADS of user/naming/resolver.c).
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

rename() {
    local jfr=$T/rename-$1.jfr i n all known

    jvm_start Rename "$1" 4 300
    gnomon_start "$jfr" -p "$JVM_PID" --cpu 5ms --no-wall
    jvm_go
    jvm_done
    gnomon_stop
    # Whoever names comes too late for a name on a machine that is busy enough, and then the kernel's, of 15 bytes,
    # is all that is known. No sample has a name that was given later.
    all=$(weight "$jfr" $CPU_EVENT "thread=now-called-numb")
    known=$all
    softly assert_between "samples under the kernel's name alone, beside $1 threads" 0 $((4 * 90)) "$all"
    strict assert_near "samples under the kernel's name alone, beside $1 threads" 0 "$all" 1
    for i in 1 2 3 4; do
        n=$(weight "$jfr" $CPU_EVENT "thread=now-called-number-$i")
        all=$((all + n))
        softly assert_between "samples under name $i, beside $1 threads" 0 90 "$n"
        strict assert_near "samples under name $i, beside $1 threads" 60 "$n" 6
    done
    softly assert_ge "samples under a whole name, beside $1 threads" 1 $((all - known))
    softly assert_between "samples under one of them, beside $1 threads" 200 280 "$all"
    softly assert_between "threads of those names, beside $1" 0 1 \
        "$("$GNOMON" summary "$jfr" | awk '$1 == "now-called-number-#" { n = $2 } END { print n + 0 }')"
    jvm_end
}

JDK=$(jdk_oldest)
rename 5
rename 200
softly_end
