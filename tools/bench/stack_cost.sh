#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/stack_cost.sh [SECONDS [ROUNDS [GNOMON...]]]        (5; 1; the one that was built; as root)
#
# What a CPU sample costs: the mean run time of the program that takes it (the kernel's BPF
# statistics), for a thread in the same mixed stack of some 45 frames over and over, and in ever
# other ones; warm, and cold: the thread walks through 64 MB between two samples. On every JDK; of several
# binaries in turns, the median of the rounds. No method is twice in a stack: recursion costs less. The host's
# primitives, measured in the same run, are printed before, and each cost as a multiple of two of them: of a
# read of 1 KiB of user memory, and of a look-up in a hash that is in no cache. Also the verifier's share of its
# limit. Fails where a warm sample of the last binary takes more than 3 us (the same) or 4 us (others).
. "$(dirname "$0")/lib.sh"
need_gnomon record

seconds=${1:-5} rounds=${2:-1}
shift $(($# < 2 ? $# : 2))
BINARIES=()
for b in "${@:-$GNOMON}"; do BINARIES+=("$(realpath "$b")"); done
machine | sed 's/^/  /'

${CC:-gcc} -O2 -I"$ROOT" -o "$T/progs" "$ROOT/tools/kernels/progs.c" -l:libbpf.a -l:libelf.a -l:libz.a ||
    fail "the lister of BPF programs does not compile"
primitives "$T/primitives" || fail "the host's primitives cannot be measured"
primitives_table "$T/primitives"

# calls: a class of 30 levels of two methods each, which call either of the next level by a bit of `way`.
calls() {
    local i other

    echo 'final class Calls { static void first(int way) { a29(way); Stacks.sum++; }'
    for i in {0..29}; do
        for name in a b; do
            other=$([ $name = a ] && echo b || echo a)
            printf 'static void %s(int way) { %s Stacks.sum%s; }\n' "$name$i" "$(
                [ "$i" = 0 ] && echo 'Stacks.leaf(way);' ||
                    echo "if ((way & 1) == 0) $name$((i - 1))(way >> 1); else $other$((i - 1))(way >> 1);"
            )" "$([ $name = a ] && echo ++ || echo --)"
        done
    done
    echo '}'
}

calls >"$T/Calls.java"
"$(jdk_oldest)/bin/javac" -d "$T" "$ROOT/tools/bench/stacks/Stacks.java" \
    "$T/Calls.java" || fail "Stacks does not compile"

has_clocks() { find "/proc/$1/fd" -lname '*perf_event*' 2>/dev/null | grep -q .; }

# sample GNOMON MS: the mean of one recording at an interval of MS into ns, how many into runs.
sample() {
    "$1" record -p "$JVM_PID" -d 1h --cpu "$2ms" --wall 1s --force -o "$T/x.jfr" \
        </dev/null >/dev/null 2>"$T/err" &
    local pid=$!

    CHILDREN+=("$pid")
    until_true 20 has_clocks "$pid" || fail "gnomon does not begin: $(cat "$T/err")"
    sleep 0.7 # threads have been sampled some times
    "$METER" -p "$JVM_PID" -c "$pid" -b -o "$T/meter" -- sleep "$seconds"
    "$T/progs" >"$T/progs.out"
    kill -INT "$pid"
    wait "$pid" || fail "gnomon: $(cat "$T/err")"
    read -r runs ns < <(awk '$1 == "bpf_prog" && $2 == "thread_clock" { runs += $4; ns += $3 }
        END { print runs + 0, runs ? int(ns / runs) : 0 }' "$T/meter")
    assert_ge "samples" $((seconds * 100 / $2)) "$runs" # a loaded machine gives little CPU time
}

# cost JDK same|other warm|cold BOUND (0: none)
cost() {
    local home=$1 what=$2 heat=$3 most=$4 ms=1 b i depth mid

    [ "$heat" = warm ] || ms=50
    [ -p "$T/in" ] || mkfifo "$T/in"
    exec {JVM_FD}<>"$T/in" # never at its end
    emptied "$T/out"
    # shellcheck disable=SC2046
    "$home/bin/java" $(printf -- '-XX:CompileCommand=%s ' quiet \
        'dontinline,Stacks::*' 'dontinline,Calls::*' 'exclude,Stacks::interpreted*') -cp "$T" Stacks "$what" "$heat" \
        <"$T/in" >"$T/out" {JVM_FD}>&- &
    JVM_PID=$!
    CHILDREN+=("$JVM_PID")
    until_true 20 file_has "$T/out" READY || fail "the program does not start"
    sleep 2
    rm -f "$T"/ns.*
    for ((i = 0; i < rounds; i++)); do
        for b in "${!BINARIES[@]}"; do
            sample "${BINARIES[b]}" $ms
            echo "$ns" >>"$T/ns.$b"
        done
    done
    kill "$JVM_PID"
    exec {JVM_FD}>&-
    depth=$("$GNOMON" render "$T/x.jfr" -f collapsed -t stacks | awk '{ n += $NF * split($0, f, ";"); w += $NF }
        END { printf "%.0f", w ? n / w : 0 }')
    for b in "${!BINARIES[@]}"; do
        mid=$(median <"$T/ns.$b")
        printf '  JDK %-3s %-6s%s stack of %3d frames: %5d ns a sample%s%s\n' "$(jdk_version "$home")" "$what" \
            "$([ "$heat" = cold ] && echo ' cold')" "$depth" "${mid%.*}" "$(times "$T/primitives" "$mid")" \
            "$([ ${#BINARIES[@]} = 1 ] || echo ", binary $((b + 1)) ($(tr '\n' ' ' <"$T/ns.$b" | sed 's/ $//'))")"
    done
    [ "$most" = 0 ] || [ "${mid%.*}" -le "$most" ] || bad=1
}

bad=0
while read -r home; do
    cost "$home" same warm 3000
    cost "$home" other warm 4000
    cost "$home" same cold 0
    cost "$home" other cold 0
done < <(jdks)
awk -F'\t' '$2 > 1000 { printf "  %-16s verifier %7d instructions, %5.2f%% of its limit\n", $1, $2, $3 }' \
    "$T/progs.out" | sort -u
[ $bad = 0 ] || fail "a sample costs too much"
