#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Not root: an ordinary user with those capabilities that `doctor` calls needed, and that for other
# users' memory, records the JVM of another user, with its names. Recordings are readable by who asked for them, alone.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
need_cmd setpriv

DEN=$(mktemp -d /var/lib/gnomon-test.XXXXXX) || fail "no directory in /var/lib"
REMOVE+=("$DEN")
cp "$GNOMON" "$DEN/gnomon" && chmod 755 "$DEN" "$DEN/gnomon"
mkdir "$DEN/own" && chown 65534:65534 "$DEN/own"

# as_user CAPABILITIES COMMAND...: of uid 65534, with "+bpf,+perfmon" and the like, and no others
as_user() {
    local caps=$1

    shift
    setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="$caps" --ambient-caps="$caps" "$@"
}

modes() { stat -c '%u:%g %a' "$1"; }

# without them all are missed, which tells which they are
as_user -all "$DEN/gnomon" doctor >"$T/doctor" 2>&1
needed=$(awk '$1 == "missing" && $2 ~ /^CAP_/ { printf "%s+%s", s, tolower(substr($2, 5)); s = "," }' "$T/doctor")
note "needed: $needed"
[[ $needed == *bpf*perfmon* ]] || fail "doctor names no capabilities: $(cat "$T/doctor")"
as_user "$needed" true || skip "these capabilities cannot be given: $needed"

jvm_start Idle 3 0
file_has "$T/doctor" 'degraded  *CAP_DAC_READ_SEARCH' || fail "doctor says nothing of other users' memory"
for caps in "$needed,+dac_read_search" "$needed,+dac_read_search,+checkpoint_restore"; do
    as_user "$caps" "$DEN/gnomon" doctor >"$T/doctor" 2>&1
    grep -E '^ *missing +CAP_' "$T/doctor" && fail "doctor misses what it has"
    as_user "$caps" "$DEN/gnomon" record -q --force -p "$JVM_PID" -d 2s -o "$DEN/own/user.jfr" 2>"$T/err" ||
        fail "an ordinary user with $caps cannot record: $(cat "$T/err")"
    assert_eq "owner and mode" "65534:65534 600" "$(modes "$DEN/own/user.jfr")"
    assert_ge "wall samples" 20 "$(weight "$DEN/own/user.jfr" $WALL_EVENT)"
    assert_ge "of them with Java frames" 20 "$(weight "$DEN/own/user.jfr" $WALL_EVENT 'frame=Harness\.await')"
done

# root has its own, and who came by sudo has his
"$GNOMON" record -q -p "$JVM_PID" -d 300ms -o "$T/root.jfr" || fail "root cannot record"
assert_eq "owner and mode of root's" "0:0 600" "$(modes "$T/root.jfr")"
SUDO_UID=1234 SUDO_GID=1235 "$GNOMON" record -q -p "$JVM_PID" -d 300ms -o "$T/sudo.jfr" || fail "no record"
assert_eq "owner and mode under sudo" "1234:1235 600" "$(modes "$T/sudo.jfr")"
SUDO_UID=x SUDO_GID=-1 "$GNOMON" record -q -p "$JVM_PID" -d 300ms -o "$T/odd.jfr" || fail "no record"
assert_eq "owner and mode with an odd sudo" "0:0 600" "$(modes "$T/odd.jfr")"
jvm_unharmed
