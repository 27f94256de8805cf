#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/bench/causes_cost.sh [SECONDS [ROUNDS]]            (4; 5; as root)
#
# What it costs to tell what threads wait for: the same programs with causes and with --no-causes, in turns. THREADS (40)
# threads that ask each other by connections (`asks`), that park until another wakes them (`wakes`), that wait for two locks
# (`locks`), or that nap (`naps`: nothing is told of them). CPU and wall time at 10 ms. Of each BPF program the nanoseconds
# of a run and how many there were a second; of all of them the share of a core; and the bytes of the file. Medians of
# all rounds; CASES: only these. BPF is timed by the kernel meanwhile, which costs each run of a program two looks at the clock, for all alike.
. "$(dirname "$0")/lib.sh"
need_gnomon record

seconds=${1:-4} rounds=${2:-5}
THREADS=${THREADS:-40} JDK=${JDK:-$(jdk_newest)}
machine | sed 's/^/  /'
primitives "$T/primitives" || fail "the host's primitives cannot be measured"
primitives_table "$T/primitives"

# window CASE with|without
window() {
    local m=$T/meter option=

    [ "$2" = with ] || option=--no-causes
    GN_SETTLE=0 gnomon_start "$T/x.jfr" --force -p "$JVM_PID" --cpu 10ms --wall 10ms $option
    sleep 1.5 # it has chosen its clocks, and all of its programs are there
    "$METER" -p "$JVM_PID" -c "$GN_PID" -b -o "$m" -- sleep "$seconds"
    gnomon_stop
    awk -v c="$1" -v w="$2" -v s="$seconds" -v bytes="$(stat -c %s "$T/x.jfr")" '
        $1 == "bpf_prog" && $4 { ns[$2] += $3; runs[$2] += $4; all += $3 }
        END {
            for (p in ns)
                if (p ~ /^(wall_switch|switch_walk|wall_waking|waking_walk|remote_tick|lock_tick|ticker_at|groups_look)$/)
                    print c, p, w, ns[p] / runs[p], runs[p] / s
            print c, "all", w, all / s / 1e7, bytes / (s + 1.5)
        }' "$m" >>"$T/windows"
}

rounds_of() {
    local i

    jvm_start Rests "$1" "$THREADS"
    sleep 3 # its code is compiled
    for ((i = 0; i < rounds; i++)); do
        window "$1" with
        window "$1" without
    done
    jvm_end
}

# mid CASE PROGRAM with|without COLUMN
mid() { awk -v c="$1" -v p="$2" -v w="$3" -v n="$4" '$1 == c && $2 == p && $3 == w { print $n }' "$T/windows" | median; }

told() {
    local c p a b

    cut -d' ' -f1,2 "$T/windows" | sort -u | while read -r c p; do
        a=$(mid "$c" "$p" with 4) b=$(mid "$c" "$p" without 4)
        if [ "$p" = all ]; then
            printf '  %-6s %-12s %8.3f%% of a core, without causes %8.3f%%; %7.0f bytes a second, without %7.0f (%+.0f%%)\n' \
                "$c" "$p" "$a" "$b" "$(mid "$c" all with 5)" "$(mid "$c" all without 5)" \
                "$(calc "100 * ($(mid "$c" all with 5) / $(mid "$c" all without 5) - 1)")"
        else
            printf '  %-6s %-12s %8.0f ns a run, %7.0f runs a second; without causes %8.0f ns, %7.0f\n' "$c" "$p" \
                "$a" "$(mid "$c" "$p" with 5)" "${b:-0}" "$(mid "$c" "$p" without 5)"
        fi
    done
}

for c in ${CASES:-asks wakes locks naps}; do rounds_of "$c"; done
told
echo "  load after: $(cut -d' ' -f1-3 /proc/loadavg)"
