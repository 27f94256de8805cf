#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A steady server against itself: two recordings of it differ by less than 3 points in every frame above 2%. At once, so
# that whatever else the machine does is in both; and by turns where nothing else is done (QUIET).
# in make check-all
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record
JDK=$(jdk_newest)
[ -n "$JDK" ] || skip "no JDK under /usr/lib/jvm, and JAVA_HOME is not set"
SHOP=$T/shop

# ---- the server, and who uses it ----
"$(jdk_oldest)/bin/javac" --release 17 -d "$SHOP" "$ROOT"/tools/demo/shop/*.java || fail "the shop does not compile"
"$JDK/bin/java" -Xmx256m -cp "$SHOP" shop.Server >"$T/server" 2>&1 &
JVM_PID=$! JVM_OUT=$T/server JVM_ERR=$T/server
CHILDREN+=("$JVM_PID")
jvm_ready shop
"$JDK/bin/java" -Xmx256m -cp "$SHOP" shop.Load "$(awk '/^READY/ { print $2 }' "$T/server")" 24 >"$T/load" 2>&1 &
CHILDREN+=($!)
until_true 120 file_has "$T/load" '^SERVED [1-9]' || fail "nobody is served: $(cat "$T/load")"
cpu_spent $([ -n "${QUIET:-}" ] && echo 15000 || echo 2000) # what is compiled is, by then

# ---- what differs ----

# shares "FILE ..." DIM RANGE...: "SELF TOTAL FRAME" a line, of all time in percent
shares() {
    # shellcheck disable=SC2086
    "$GNOMON" render $1 -f csv "${@:3}" 2>"$T/err" | awk -v dim="$2" '
        NR == 1 { n = split($0, v, ","); for (i = 2; i <= n; i++) at[v[i]] = i - 1; next }
        {
            match($0, /",[0-9,]*$/)
            name = substr($0, 2, RSTART - 2)
            split(substr($0, RSTART + 2), v, ",")
            self[name] = v[at[dim "_self_ns"]] + 0; total[name] = v[at[dim "_total_ns"]] + 0
            all += self[name]
        }
        END { for (f in total) if (total[f]) printf "%.4f %.4f %s\n", 100 * self[f] / all, 100 * total[f] / all, f }'
}

# begun FILE: when, in ms, as its first chunk has it
begun() { echo $(($(od -An -tu8 --endian=big -j32 -N8 "$1") / 1000000)); }

# fact "FILE ..." NAME: a number that `render -f xml` tells of all
# shellcheck disable=SC2086
fact() { "$GNOMON" render $1 -f xml 2>"$T/err" | sed -n "s/^<profile.* $2=\"\([0-9]*\)\".*/\1/p"; }

# compared SAMPLES: the shares in $T/a and $T/b above 2%, the one that differs most first, into $T/both. Fails where one
# differs by 3 points and what 4 standard errors of so many samples allow.
compared() {
    awk -v n="$1" '
        function judge(kind, f, x, y,   p, off) {
            if (x <= 2 && y <= 2) return
            p = (x + y) / 200
            off = x > y ? x - y : y - x
            printf "%.4f %s of %s: %.2f%% and %.2f%%, bound %.2f\n", off, kind, f, x, y, 3 + 400 * sqrt(2 * p * (1 - p) / n)
        }
        { f = $0; sub(/^[^ ]* [^ ]* /, "", f); self[f, FILENAME] = $1; total[f, FILENAME] = $2; seen[f] = 1 }
        END {
            for (f in seen) {
                judge("self", f, self[f, ARGV[1]] + 0, self[f, ARGV[2]] + 0)
                judge("total", f, total[f, ARGV[1]] + 0, total[f, ARGV[2]] + 0)
            }
        }' "$T/a" "$T/b" | sort -rg >"$T/both"
    awk '$1 >= $NF' "$T/both" >"$T/far"
    [ ! -s "$T/far" ]
}

# alike WHAT DIM SAMPLES [FROM TO]: recordings A (from FROM ms to TO ms) and B.
alike() {
    local what=$1 worst frames of

    shares "$A" "$2" ${4:+--from "$4ms" --to "$5ms"} >"$T/a"
    shares "$B" "$2" >"$T/b"
    compared "$3" || softly fail "$what: $(cat "$T/far")"
    frames=$(wc -l <"$T/both")
    read -r worst of <"$T/both"
    assert_ge "$what: shares above 2%" 20 "$frames"
    note "$what: $frames shares above 2%; the worst differs by $worst points: $of"
    strict assert_between "$what: points by which the worst share differs" 0 3 "$worst"
    told "steady server" "$what: the worst of $frames shares" 0 "$worst" points - 3
}

# Of the wall so many samples are meant as one of 20 ms each is worth: ticks within one wait are not independent.
both_alike() {
    alike "$1, CPU" cpu $(($(fact "$B" cpu_ns) / 2000000)) "${@:2}"
    alike "$1, wall" wall $(($(fact "$B" wall_ns) / 20000000)) "${@:2}"
}

# The table that people read: nor does a row of it change by as much. (What was recorded before the other began is in it,
# so that this is for a quiet machine.)
diff_alike() {
    local most

    "$GNOMON" diff "$A" "$B" -D "$1" -n 100000 >"$T/diff" || fail "gnomon diff fails"
    most=$(awk '$1 ~ /^[0-9.]+%$/ && ($1 + 0 > 2 || $2 + 0 > 2) { d = $3 + 0; print d < 0 ? -d : d }' "$T/diff" | sort -g | tail -n 1)
    note "diff -D $1: the largest change of a row above 2% is ${most:=0} points"
    strict assert_between "diff -D $1: the largest change" 0 3 "$most"
}

# ---- at once ----
A=$T/a.jfr B=$T/b.jfr
gnomon_start "$T/a.jfr" -p "$JVM_PID" --cpu 2ms --wall 5ms
first=$GN_PID
gnomon_start "$T/b.jfr" -p "$JVM_PID" --cpu 2ms --wall 5ms
cpu_spent $([ -n "${QUIET:-}" ] && echo 15000 || echo 3000)
gnomon_stop
GN_PID=$first
gnomon_stop
from=$(($(begun "$T/b.jfr") - $(begun "$T/a.jfr")))
both_alike "at once" $from $((from + $(fact "$B" duration_ns) / 1000000))

diff_alike cpu
diff_alike off

# ---- it can fail: what one of them lacks is found ----
shares "$A" cpu >"$T/a"
shares "$B" cpu -x java.util.regex.Pattern >"$T/b"
compared 100000 && softly fail "nothing differs without java.util.regex"

# ---- by turns, since what a machine does beside it changes ----
if [ -n "${QUIET:-}" ]; then
    A='' B=''
    for i in 1 2 3 4; do
        for jfr in a b; do
            "$GNOMON" record -q -p "$JVM_PID" --cpu 2ms --wall 5ms -d 8 -o "$T/$jfr$i.jfr" </dev/null ||
                fail "gnomon record fails"
        done
        A+=" $T/a$i.jfr" B+=" $T/b$i.jfr"
    done
    both_alike "by turns"
fi
jvm_unharmed
softly_end
