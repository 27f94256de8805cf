#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A thread that names itself anew: its samples have the name it had, with few threads beside it and
# with many, which are listed at once (LIST_THREADS of user/naming/resolver.c).
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

rename() {
    local jfr=$T/rename-$1.jfr

    jvm_start Rename "$1" 4 300
    gnomon_start "$jfr" -p "$JVM_PID" --cpu 5ms --no-wall
    jvm_go
    jvm_done
    gnomon_stop
    for i in 1 2 3 4; do
        n=$(weight "$jfr" $CPU_EVENT "thread=now-called-number-$i")
        softly assert_between "samples under name $i, beside $1 threads" 30 90 "$n"
        strict assert_near "samples under name $i, beside $1 threads" 60 "$n" 6
    done
    softly assert_eq "threads of those names, beside $1" 1 \
        "$("$GNOMON" summary "$jfr" | awk '$1 == "now-called-number-#" { print $2 }')"
    jvm_end
}

JDK=$(jdk_oldest)
rename 5
rename 200
softly_end
