#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Virtual threads, JDK 21 and later: their stacks end, marked, where the frames on the carrier's
# stack end (often only the topmost one or two are there, their callers in the heap), or go on to the
# carrier's start; each frame has the caller that the program gives it. A carrier's samples are of the
# virtual thread that it runs, by name and id. JDK 21 of the tree of tree.sh is used when that
# is there.
# overlaps (long)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/tree.sh"
need_root
need_gnomon record
ONE_CARRIER='-Djdk.virtualThreadScheduler.parallelism=2' # pinned has the other
# where nothing is above; where the callers are in the heap still
BASE='(gnomon).[base of a virtual thread]'
HEAP='(gnomon).[callers in the Java heap]'
classes

# Every stack with one of the program's methods; wrong ones are printed.
judge() {
    awk -v base="$BASE" -v heap="$HEAP" '
        function wrong(why) { print why ": " $0; bad = 1 }
        {
            n = split($0, f, ";")
            sub(/ [0-9]+$/, "", f[n])
            sub(/ [0-9]+$/, "")
            at = 0
            for (i = 1; i <= n; i++)
                if (f[i] ~ /^Virtual\.(burn|live|pinned)/) {
                    seen[f[i] ~ /burn/ ? "burn" : f[i] ~ /pinned/ ? "pinned" : "live"]++
                    if (f[i] ~ /burn|pinned/ && f[i - 1] !~ /^Virtual\.(burn|live)/ && f[i - 1] != heap)
                        wrong("no caller of the program")
                    if (f[i] ~ /live/ && !at && i > 1 && f[i - 1] != heap &&
                        f[i - 1] !~ /lambda|[Rr]un/)
                        wrong("not its caller")
                    at = i
                }
            if (at && (index($0, base) || index($0, heap))) marked++
            if (index($0, base) && f[1] != base) wrong("a base that is not at the base")
            if (index($0, heap) && f[1] != heap) wrong("callers in the heap, and others")
            if (f[1] == base && f[2] !~ /VirtualThread|Continuation/) wrong("not what is at a base")
            if (f[1] == heap) cut++
        }
        END {
            printf "%d stacks in burn, %d pinned, %d end at the base or in the heap, in all %d there\n",
                seen["burn"], seen["pinned"], marked, cut
            exit bad || seen["burn"] < 20 || marked < 20 || !cut
        }' "$1"
}

# recorded LABEL: JVM_PID runs it.
recorded() {
    local jfr=$T/virtual-$1.jfr whole line

    cpu_spent 300
    recorded_for 800 1 "$jfr" -p "$JVM_PID" --cpu 1ms --wall 5ms
    jvm_unharmed
    ended
    # a line for CPU samples and one for wall samples: the worse
    grep -aE '^ +(CPU|wall) +[0-9.]+% ' "$GN_ERR" >"$T/stacks"
    assert_eq "lines about stacks" 2 "$(wc -l <"$T/stacks")"
    whole=$(while read -r line; do
        grep -aoE "[0-9.]+% (complete|at a virtual thread's base|cut where a virtual|kernel only)" <<<"$line" |
            awk '{ n += $1 } END { print n + 0 }'
    done <"$T/stacks" | sort -n | head -n 1)
    note "JDK $1:" $(cut -c 1-120 "$T/stacks")
    assert_ge "percent of stacks with a known end" 97 "$whole"
    strict assert_ge "percent of stacks with a known end" 99.5 "$whole"
    "$GNOMON" render "$jfr" -f collapsed >"$T/collapsed" || fail "render"
    judge "$T/collapsed" >"$T/judged" || fail "JDK $1: $(head -c 3000 "$T/judged")"
    note "$(cat "$T/judged")"
    jfr_readable "$jfr"
}

# Threads of samples, one line each: number, name, "virtual" or "-". CPU samples, or the ticks of
# wall samples.
threads_of() {
    jfr_print "$2" "$1" | awk '
        /sampledThread = / {
            name = $0
            sub(/^[^"]*"/, "", name)
            sub(/" \(.*/, "", name)
            name = name "\t" (/, virtual\)/ ? "virtual" : "-")
        }
        /^ *samples = / { n = $3 }
        /^}/ { count[name] += n ? n : 1; n = 0 }
        END { for (t in count) print count[t] "\t" t }'
}

# shares_of_virtual: "name|expected|measured|samples" of CPU samples by name, as VirtualNames has them
# use the CPU (5:3:2:1), then "carriers|percent" of those that name none, and "pinned|ticks".
shares_of_virtual() {
    awk -F '\t' '
        FILENAME ~ /cpu$/ && $3 == "virtual" { cpu[$2] += $1; all += $1 }
        FILENAME ~ /cpu$/ && $2 ~ /^ForkJoinPool-1-/ { carrier += $1 }
        FILENAME ~ /wall$/ && $3 == "virtual" && $2 == "pinned" { pinned += $1 }
        function share(name, parts, called) {
            printf "%s|%.3f|%.3f|%d\n", called, 100 * parts / 11, 100 * cpu[name] / all, all
        }
        END {
            if (!all) exit 1
            share("alpha", 5, "alpha")
            share("beta", 3, "beta")
            share("\316\263\303\244mma\360\237\230\200", 2, "a name of other letters")
            share("", 1, "no name")
            printf "carriers|%.3f\npinned|%d\n", 100 * carrier / all, pinned
        }' "$T/cpu" "$T/wall"
}

# named LABEL: the identity of the virtual threads of VirtualNames, which JVM_PID runs.
named() {
    local jfr=$T/named-$1.jfr who want got n seconds=${QUIET:+4} begun most

    : "${seconds:=2}"
    cpu_spent 300
    begun=$EPOCHREALTIME
    "$GNOMON" record -p "$JVM_PID" -d "${seconds}s" --cpu 1ms --wall 5ms -o "$jfr" </dev/null >"$T/out" \
        2>"$T/err" || fail "gnomon: $(cat "$T/err")"
    most=$(since "$begun")
    jvm_unharmed
    ended
    threads_of jdk.ExecutionSample "$jfr" >"$T/cpu"
    threads_of profiler.WallClockSample "$jfr" >"$T/wall"
    shares_of_virtual >"$T/shares" ||
        fail "JDK $1: no virtual thread on a sample: $(head -n 20 "$T/cpu")"
    while IFS='|' read -r who want got n; do
        case $who in
        carriers)
            softly assert_near "virtual $1: percent of samples that name a carrier" 0 "$want" 5
            strict assert_near "virtual $1: percent of samples that name a carrier" 0 "$want" 2
            told "virtual $1" "samples that name a carrier" 0 "$want" % - 2
            ;;
        pinned)
            softly assert_between "virtual $1: ticks of the pinned thread" $((seconds * 190)) "$(calc "$most / 5")" "$want"
            strict assert_near "virtual $1: ticks of the pinned thread" $((seconds * 200)) "$want" 20
            told "virtual $1" "ticks of the pinned thread" $((seconds * 200)) "$want" ticks - 2.5 percent
            ;;
        *) share_near "virtual $1" "CPU samples of $who" "$want" "$got" "$n" ;;
        esac
    done <"$T/shares"
    jfr_readable "$jfr"
}

ended() {
    exec {JVM_FD}>&-
    kill "$JVM_PID"
    pid_gone "$JVM_PID" 60 || fail "the JVM does not end"
}

named_with() {
    JVM_OPTS="$ONE_CARRIER -XX:+Use$1GC" jvm_start VirtualNames
    named "$(jdk_version "$JDK")-$1"
}

host() {
    JVM_OPTS='' jvm_start Virtual
    recorded "$(jdk_version "$JDK")"
    some_of 1 named_with Serial Z
}

if tree_wanted; then
    jdk21=$(tree_home 21)
    JAVA_HOMES="$(jdks | tr '\n' ' ') $jdk21"
fi
[ "$(jdk_version "$(jdk_newest)")" -ge 21 ] || skip "no JDK 21 or later"
while read -r JDK; do
    [ "$(jdk_version "$JDK")" -lt 21 ] || host
done < <(jdks)
softly_end
