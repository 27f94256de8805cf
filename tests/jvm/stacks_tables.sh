#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Unwind tables of live targets: one that is too large, has too many rules, or makes no sense costs the
# stacks of its library alone; it is given back when its process ends; and copies of a file share one.
# in make check-all
# overlaps (long)
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
[ "$(uname -m)" = x86_64 ] || skip "norules.c is for x86_64"
JDK=$(jdk_newest)
GN_VERBOSE=-vv
classes

# lib KIND: libKIND.so
lib() {
    (cd "$T" && ${CC:-gcc} -O2 -w -shared -fPIC -fomit-frame-pointer -fno-asynchronous-unwind-tables \
        -fno-unwind-tables -fno-stack-protector -Wl,--traditional-format -D"${1^^}" \
        -o "lib$1.so" "$LIB_DIR/norules.c" "$LIB_DIR/tables.S" 2>"$T/cc") || fail "lib$1.so: $(cat "$T/cc")"
}

# last FIELD: of the last line about tables: 3 files, 6 MB
last() { grep 'unwind tables: ' "$GN_ERR" | tail -n 1 | sed 's/.*unwind/unwind/' | cut -d' ' -f"$1"; }

# shared: files whose table was another's.
shared() { sed -n 's/.*unwind tables made: \([0-9]*\) files shared.*/\1/p' "$GN_ERR" | tail -n 1; }

# whole FILE: percent of its CPU samples whose stack is complete
whole() {
    jfr_print "$1" gnomon.StackQuality |
        awk '$1 == "kind" { cpu = /cpu/ }
             cpu && $1 == "samples" { n += $3 } cpu && $1 == "complete" { c += $3 }
             END { printf "%.2f\n", n ? 100 * c / n : 0 }'
}

# named_below FILE METHOD: percent of the burning threads' time that METHOD called
named_below() {
    "$GNOMON" render "$1" -f collapsed --dim cpu -t 'burns-*' |
        awk -v method="$2" '{ all += $NF } index($0, method) { good += $NF }
            END { printf "%.2f\n", all ? 100 * good / all : 0 }'
}

# copy_start: the same JDK by another file, as containers of copies of an image have.
copy_start() {
    local lib=$JDK/lib/server/libjvm.so

    cp "$lib" "$T/libjvm.so"
    mkdir -p "$T/other/bin"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nexec unshare -m sh -c '\''mount --bind "$1" "$2" && shift 2 && exec "$@"'\'' - %s %s %s/bin/java "$@"\n' \
        "$T/libjvm.so" "$lib" "$JDK" >"$T/other/bin/java"
    chmod 755 "$T/other/bin/java"
    JDK=$T/other jvm_start Tables idle
    grep -q "$T/libjvm.so" "/proc/$JVM_PID/mountinfo" || fail "it does not have the copy"
}

# all_refused: of all hostile ones it is said.
all_refused() {
    grep -q 'librules.so. has more unwind rules' "$GN_ERR" && grep -q 'librows.so. is too large' "$GN_ERR"
}

# settled: none has come or gone for two seconds.
settled() {
    local n

    n=$(last 3)
    sleep 2
    [ "$(last 3)" = "$n" ]
}
# given_back: what only processes had that have ended. The library whose table makes no sense had one, of
# frame pointers, and so had the one of too many rules.
given_back() { [ "$(last 3)" = $((full - 2)) ]; }

declare -A sick
out=$T/out
mkdir "$out"
yes "$(printf '\x41\x0e\x10\x41\x0e\x18')" | tr -d '\n' | head -c 12890000 >"$T/rows.bin"
jvm_start Tables idle
well=$JVM_PID
for kind in garbage rules rows; do
    lib $kind
    jvm_start Tables "$T/lib$kind.so"
    sick[$kind]=$JVM_PID
done
gnomon_start "$out" --name Tables --cpu 5ms
until_true 60 all_refused || fail "not all of the hostile libraries are refused: $(cat "$GN_ERR")"
until_true 60 settled
full=$(last 3)
# One after the other: what the last leaves is given back later than what the first does.
for pid in "${sick[@]}"; do
    kill "$pid"
    pid_gone "$pid" 60 || fail "a JVM does not end"
done
until_true 60 given_back || fail "tables of $full files, and $(last 3) after their processes' ends"
until_true 60 settled
left=$(last 3)
copy_start
until_true 60 test -f "$out/Tables-$JVM_PID.jfr" || fail "the JVM that started later is not found"
until_true 60 settled
note "tables of $full files, of $left without the hostile ones, then of $(last 3), $(shared) shared, $(last 6) MB"
gnomon_stop

assert_eq "tables, when there are copies of files" "$left" "$(last 3)"
assert_ge "files that share one" 1 "$(shared)"
assert_match "a warning" 'librules.so. has more unwind rules than fit' "$GN_ERR"
assert_match "a warning" 'unwind table of .*librows.so. is too large' "$GN_ERR"
for pid in $well $JVM_PID; do
    # on a busy machine some are not read in time
    assert_ge "percent of complete stacks of the others" 90 "$(whole "$out/Tables-$pid.jfr")"
    strict assert_ge "percent of complete stacks of the others" 99 "$(whole "$out/Tables-$pid.jfr")"
done
for kind in "${!sick[@]}"; do
    named=$(named_below "$out/Tables-${sick[$kind]}.jfr" NoRules.burns)
    assert_ge "$kind: percent of its library's stacks that have their caller" 60 "$named"
    strict assert_ge "$kind: percent of its library's stacks that have their caller" 95 "$named"
done
softly_end
