#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/accuracy/reservoir.sh [SECONDS [N]]                (20 16; as root)
#
# `--sample-threads N` of 200 pool threads beside the full recording: each pool's share of the waiting
# time, as `gnomon render` scales it up, within 3 standard errors of what is true (50, 30, 15 and 5%
# of the threads wait in a method of their own), and the whole of it.
. "$(dirname "$0")/lib.sh"
"$GNOMON" record --help | grep -q -- '--sample-threads N' || skip "gnomon has no option --sample-threads yet"
[ "$PROFILER" = gnomon ] || skip "of gnomon only"
D=${1:-20}
N=${2:-16}

# pools NAME: "method weight" off CPU, by our own reader.
pools() {
    "$GNOMON" render "$T/$1.jfr" -f collapsed --dim off -t 'pool-thread-*' >"$T/$1.folded" ||
        fail "render fails"
    awk '{ w = $NF; if (match($0, /Pool\.(idle|query|call|write)/)) n[substr($0, RSTART, RLENGTH)] += w }
        END { for (m in n) print m, n[m] }' "$T/$1.folded"
}

# A draw's length: the first of interval, twice interval, ... of 250 ms or more, at least 8 times.
draws() { awk -v d="$D" -v ms="$WALL_MS" 'BEGIN { for (e = 8 * ms; e < 250;) e *= 2; print d * 1000 / e }'; }

# estimates CASE THREADS: "what|expected|measured|unit|se" for each pool. Threads are drawn without
# replacement, anew at each draw.
estimates() {
    awk -v n="$2" -v draws="$(draws)" '
        BEGIN { want["Pool.idle"] = 50; want["Pool.query"] = 30; want["Pool.call"] = 15; want["Pool.write"] = 5 }
        { got[$1] = $2; all += $2 }
        END {
            for (m in want) {
                p = want[m] / 100
                se = 100 * sqrt(p * (1 - p) / (n * draws) * (200 - n) / 199)
                printf "%s|%.3f|%.3f|%%|%.4f\n", m, want[m], 100 * got[m] / all, se
            }
        }' "$T/$1.pools"
}

sum() { awk '{ n += $2 } END { print n }' "$T/$1.pools"; }

jvm_start Pool 200
measured full "$D" Pool --no-cpu --wall ${WALL_MS}ms
measured drawn "$D" Pool --no-cpu --wall ${WALL_MS}ms --sample-threads "$N"
jvm_end
for name in full drawn; do
    pools $name >"$T/$name.pools"
done
heading
rows full 1 < <(estimates full 200)
while IFS='|' read -r what expected measured unit se; do
    row "$N of 200" "$what" "$expected" "$measured" "$unit" "$se" "$(calc "3 * $se")"
done < <(estimates drawn "$N")
seconds() { awk '$1 == "wall_ns" { print $2 / 1e9 }' "$T/$1.meter"; }
# Of the process's threads some 10% are not of the pools: how many of the N are varies.
se=$(calc "100 * sqrt(0.11 / ($N * $(draws)))")
row "$N of 200" "all, scaled up, per second" "$(calc "$(sum full) / $(seconds full)")" \
    "$(calc "$(sum drawn) / $(seconds drawn)")" "" - "$(calc "3 * $se")" percent
note "bytes: $(stat -c %s "$T/full.jfr") full, $(stat -c %s "$T/drawn.jfr") with $N"
verdicts_end
