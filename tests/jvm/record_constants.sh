#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the JVM is called, its threads' groups and its hidden classes are in a recording as they are in
# the one that the JVM makes of itself at the same time: with its names from its memory, and of what was
# launched. Without names the JVM is still called so, since that stands in its library.
# overlaps
# in make check-all
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

# facts FILE: what the JVM is called
facts() { query "$1" show jdk.JVMInformation | grep -E '^ *(jvmName|jvmVersion|pid) ='; }

groups() { query "$1" $CPU_EVENT groups 'thread=of-.*' | cut -d' ' -f2- | sort; }

# lambdas FILE: the names of lambdas' classes. JDK 17 writes "A$$Lambda$1+0x2/3", where 3 is a hash that
# only the object tells; later ones "A$$Lambda/0x2".
lambdas() {
    query "$1" $CPU_EVENT frame 'thread=of-.*' | sed -n 's/^[0-9]* \(Constants\$\$Lambda.*\)\.run$/\1/p' |
        sed 's/+\(0x[0-9a-f]*\)\.[0-9]*$/.\1/' | sort -u
}

both() {
    local own="-XX:StartFlightRecording=filename=$T/own.jfr,settings=profile" want said

    rm -f "$T"/*.jfr
    JVM_OPTS="$own" JVM_READY=60 jvm_start Constants
    gnomon_start "$T/named.jfr" -p "$JVM_PID"
    "$GNOMON" record --jvm none -p "$JVM_PID" -d 1s -o "$T/nameless.jfr" </dev/null >"$T/out" 2>&1 ||
        fail "gnomon: $(cat "$T/out")"
    jvm_go
    jvm_done 60
    gnomon_stop
    jvm_end 60

    said=$("$JDK/bin/java" -Xinternalversion | head -n 1)
    want=$(facts "$T/own.jfr")
    [[ $want == *"$said"* ]] || fail "the JVM says '$said', and then '$want'"
    assert_eq "what the JVM is called" "$want" "$(facts "$T/named.jfr")"
    assert_eq "what it is called by its library" "$want" "$(facts "$T/nameless.jfr")"

    want=$(groups "$T/own.jfr")
    assert_eq "groups that the JVM knows of" 3 "$(wc -l <<<"$want")" "$want"
    assert_eq "groups" "$want" "$(groups "$T/named.jfr")"
    note "groups: $(tail -n 1 <<<"$want")"

    want=$(lambdas "$T/own.jfr")
    assert_ge "lambdas that the JVM tells of" 2 "$(wc -l <<<"$want")"
    assert_eq "lambdas' classes" "$want" "$(lambdas "$T/named.jfr")"
    note "lambdas: $(head -n 1 <<<"$want")"

    printf 'go\nend\n' | "$GNOMON" record -o "$T/launched.jfr" -- "$JDK/bin/java" -cp "$CLASSES" \
        Constants >"$T/out" 2>"$T/err" || fail "gnomon: $(cat "$T/err")"
    [[ $(facts "$T/launched.jfr") == *"$said"* ]] || fail "launched: $(facts "$T/launched.jfr")"
    query "$T/launched.jfr" show jdk.NativeLibrary | grep -q '/libjvm.so"$' ||
        fail "no libjvm.so among the libraries of what was launched"
}

for_one_jdk both
