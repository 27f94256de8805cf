#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gnomon doctor: agrees with what this kernel and this user can do.
# overlaps
. "$(dirname "$0")/lib.sh"

need_gnomon doctor

status() { awk -v n="\"$1\"," '$1 == "\"name\":" { it = ($0 ~ n "$") }
    it && $1 == "\"status\":" { gsub(/[",]/, "", $2); print $2; exit }' "$T/doctor.json"; }

# As nobody, or as whoever we are: nothing can be tried, and it says so with exit code 4.
as=()
if [ "$(id -u)" = 0 ]; then
    need_cmd setpriv
    as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    install -m 755 "$GNOMON" "$T/gnomon"
    GNOMON_ANY=$T/gnomon
fi
"${as[@]}" "${GNOMON_ANY:-$GNOMON}" doctor --json >"$T/doctor.json" 2>"$T/err"
assert_eq "exit code without privileges" 4 $?
assert_empty "stderr" "$T/err"
assert_eq "CAP_BPF without privileges" missing "$(status CAP_BPF)"
assert_eq "sched_switch without privileges" unknown "$(status tp_btf/sched_switch)"

"${as[@]}" "${GNOMON_ANY:-$GNOMON}" doctor >"$T/doctor.txt" 2>&1
assert_match "the text" "missing +CAP_BPF" "$T/doctor.txt"
grep -q $'\033' "$T/doctor.txt" && fail "colors in a file"

[ "$(id -u)" = 0 ] || exit 0
JDK=$(jdk_newest)
[ -n "$JDK" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"
JVM_OPTS="-Xmx64m -XX:+DisableAttachMechanism" jvm_start Idle 1 0
"$GNOMON" doctor --json >"$T/doctor.json" 2>"$T/err"
assert_eq "exit code as root" 0 $? "$(grep -B 2 missing "$T/doctor.json")"
for hook in tp_btf/sched_switch tp_btf/task_newtask iter/task bpf_get_stack "ring buffer" \
    "per-thread CPU clock"; do
    assert_eq "$hook as root" ok "$(status "$hook")"
done
"$GNOMON" doctor >"$T/doctor.txt" 2>&1
assert_match "the JVM" "^JVM $JVM_PID: Idle, JDK $(jdk_version "$JDK")" "$T/doctor.txt"
sed -n "/^JVM $JVM_PID:/,/^\$/p" "$T/doctor.txt" >"$T/jvm.txt"
assert_match "its attach" "degraded +attach +.*DisableAttachMechanism" "$T/jvm.txt"
assert_match "its memory" "ok +vmstructs" "$T/jvm.txt"
jvm_end
