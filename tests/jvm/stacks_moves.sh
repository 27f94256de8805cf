#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compiled code that moves the stack pointer within its frame, between pushing something and popping
# it: its callers are found all the same, each of them, and none is guessed.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

# moves OPTION THREADS: with this JVM option; of these threads there are samples.
moves() {
    local jfr=$T/moves.jfr

    JVM_OPTS="-Xshare:auto $1 -XX:CompileCommand=quiet -XX:CompileCommand=dontinline,Moves.*" jvm_start Moves
    recorded_for 1200 1 "$jfr" -p "$JVM_PID" --cpu 1ms --no-wall --force
    jvm_unharmed
    jvm_end
    "$GNOMON" render "$jfr" -f collapsed --by-thread -t compare -t index -t constant -t pack -t casts \
        >"$T/stacks" || fail "render fails"
    awk -v of="$2" '
        {
            thread = substr($0, 2, index($0, "]") - 2)
            time = $NF
            all += time
            seen[thread]
            if (!/^[^;]*;libc.so.6.(__)?clone3?;.*java.lang.Thread.run;/ || /caller guessed/)
                bad += time
            else if (index($0, "Moves.run;") && match($0, /Moves\.(compare|index|constant|pack|casts)[; ]/) &&
                substr($0, RSTART + 6, RLENGTH - 7) == thread)
                whole += time
            else if (/Moves\.(compare|index|constant|pack|casts)[; ]/)
                { print "not a path: " $0; wrong += time }
        }
        END {
            n = split(of, t, " ")
            for (i = 1; i <= n; i++)
                if (!(t[i] in seen))
                    { print "no sample of " t[i]; wrong++ }
            printf "%.0f ms, %.0f of them in what moves sp; %.2f%% not whole, or guessed\n", all / 1e6, whole / 1e6,
                all ? 100 * bad / all : 0
            exit wrong || bad * 25 > all || whole < 5e7
        }' "$T/stacks" >"$T/check.out" || fail "$(tail -n 5 "$T/check.out")"
    note "$(tail -n 1 "$T/check.out")"
}

for_one_jdk moves -XX:+TieredCompilation "compare index constant pack casts"
for_one_jdk moves -XX:TieredStopAtLevel=1 casts
