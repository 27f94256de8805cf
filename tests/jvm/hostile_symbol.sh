#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C++ symbols that would keep the demangler busy for ever without a word: they stay mangled, the JVM beside has
# all of its samples, and the recording ends when it is told to.
# overlaps
. "$(dirname "$0")/lib.sh"
. "$LIB_DIR/hostile.sh"

# seq N: a substitution's number, to the base of 36
seq_id() {
    local d=0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ n=$1 s=

    while :; do
        s=${d:n % 36:1}$s
        n=$((n / 36))
        [ $n = 0 ] && break
    done
    echo "$s"
}

# evil: f<Dp B<A<int, int>, A<S2, S2>, A<S3, S3>, ...>>: each level names the one before twice, and a pack is looked
# for in all of it, 2^60 steps.
evil() {
    local s=_Z1${1}IDp1BI1AIiiE i

    for ((i = 2; i < 62; i++)); do s+=S1_IS$(seq_id $i)_S$(seq_id $i)_E; done
    echo "${s}EEvv"
}

attacker_build
victim_start
libs=()
for i in e f g; do
    elf "evil$i.so" symbol "$(evil "$i")"
    libs+=("$DEN/evil$i.so")
done
attack burn "${libs[@]}"
record_all
victim_done
victim_whole
mine=$(find "$T/all" -name "*-$ATTACKER.jfr")
assert_ge "samples of the symbols" 1 "$(weight "$mine" $CPU_EVENT 'frame=evil.*_Z.*1AIiiE.*')"
jvm_end
