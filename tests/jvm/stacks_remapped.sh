#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Another library comes to where one was that was closed: no address is new, but its samples are its own.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

lib() { ${CC:-gcc} -O1 -w -shared -fPIC "$@" "$LIB_DIR/remapped.c" || fail "remapped.c does not compile"; }
lib -o "$T/libhost.so"
lib -DWORK=alpha -o "$T/libalpha.so"
lib -DWORK=omega -o "$T/libomega.so"

ms_of() { awk -v name="$1" 'index($0, name) { n += $NF } END { printf "%.0f", n / 1e6 }' "$T/stacks"; }

JDK=$(jdk_newest)
jfr=$T/remapped.jfr
jvm_start Remapped "$T/libhost.so" "$T/libalpha.so" "$T/libomega.so"
gnomon_start "$jfr" -p "$JVM_PID" --cpu 5ms $CPU_ALONE
jvm_go
until_true 300 grep -qE 'SAME|OTHER' "$JVM_OUT" || fail "the libraries were not both run"
gnomon_stop
jvm_unharmed
grep -q OTHER "$JVM_OUT" && skip "this loader puts the second library elsewhere"
jvm_end
"$GNOMON" render "$jfr" -f collapsed --dim cpu -t remapped >"$T/stacks" || fail "render"
both=$(calc "$(ms_of libalpha.so.alpha) + $(ms_of libomega.so.omega)")
note "alpha $(ms_of libalpha.so.alpha) ms, omega $(ms_of libomega.so.omega) ms"
# 1 s of CPU time and 3; that there is another library is seen once a second
share=$(calc "100 * $(ms_of libomega.so.omega) / $both")
assert_between "of what they used, omega's share" 35 85 "$share"
strict assert_between "of what they used, omega's share" 45 80 "$share"
assert_match "omega is called by" 'Remapped.work;libhost.so.Java_Remapped_work;libomega.so.omega' "$T/stacks"
softly_end
