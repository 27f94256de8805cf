#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/stack_cost.sh [SECONDS]
#
# What a CPU sample costs: the mean run time of the program that takes it (the kernel's BPF
# statistics), for a thread in the same mixed stack of some 45 frames over and over, and in ever
# other ones; on every JDK. No method is twice in a stack: recursion costs less. Also the verifier's share of its limit. Fails beyond 3 us and 4 us.
. "$(dirname "$0")/lib.sh"
need_gnomon record

seconds=${1:-5}
stats=/proc/sys/kernel/bpf_stats_enabled
was=$(cat $stats)
trap 'rc=$?; echo "$was" >$stats; (exit $rc); cleanup' EXIT
machine | sed 's/^/  /'

${CC:-gcc} -O2 -I"$ROOT" -o "$T/progs" "$ROOT/tools/kernels/progs.c" -l:libbpf.a -l:libelf.a -l:libz.a ||
    fail "the lister of BPF programs does not compile"
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

cost() {
    local home=$1 what=$2 most=$3 jfr=$T/$2.jfr runs ns depth

    [ -p "$T/in" ] || mkfifo "$T/in"
    exec {JVM_FD}<>"$T/in" # never at its end
    emptied "$T/$what.out"
    # shellcheck disable=SC2046
    "$home/bin/java" $(printf -- '-XX:CompileCommand=%s ' quiet \
        'dontinline,Stacks::*' 'dontinline,Calls::*' 'exclude,Stacks::interpreted*') -cp "$T" Stacks "$what" \
        <"$T/in" >"$T/$what.out" {JVM_FD}>&- &
    JVM_PID=$!
    CHILDREN+=("$JVM_PID")
    until_true 20 file_has "$T/$what.out" READY || fail "the program does not start"
    sleep 2
    "$GNOMON" record -p "$JVM_PID" -d "$((seconds + 2))s" --cpu 1ms --wall 1s --force -o "$jfr" \
        </dev/null >/dev/null 2>"$T/err" &
    CHILDREN+=("$!")
    sleep $((seconds + 1))
    "$T/progs" >"$T/$what.progs"
    wait $! || fail "gnomon: $(cat "$T/err")"
    kill "$JVM_PID"
    exec {JVM_FD}>&-
    # ours is that which ran: another recording may wait beside us
    read -r runs ns < <(awk -F'\t' '$1 == "thread_clock" && $6 >= runs { runs = $6; ns = $7 }
        END { print runs + 0, ns + 0 }' "$T/$what.progs")
    assert_ge "samples" $((seconds * 500)) "${runs:-0}"
    depth=$("$GNOMON" render "$jfr" -f collapsed -t stacks | awk '{ n += $NF * split($0, f, ";"); w += $NF }
        END { printf "%.0f", w ? n / w : 0 }')
    printf '  JDK %-3s %-6s stack of %3d frames: %5d ns a sample (%d samples, bound %d)\n' \
        "$(jdk_version "$home")" "$what" "$depth" "$ns" "$runs" "$most"
    [ "$ns" -le "$most" ] || bad=1
}

bad=0
echo 1 >$stats
while read -r home; do
    cost "$home" same 3000
    cost "$home" other 4000
done < <(jdks)
awk -F'\t' '$2 > 1000 { printf "  %-16s verifier %7d instructions, %5.2f%% of its limit\n", $1, $2, $3 }' \
    "$T/other.progs" | sort -u
[ $bad = 0 ] || fail "a sample costs too much"
