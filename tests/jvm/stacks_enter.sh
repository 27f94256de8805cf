#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compiled code with frame pointers calls an interpreted method all the time: wherever a sample finds
# the thread, in an adapter, or where the interpreter has no frame yet or no more, no caller is left out.
# overlaps
. "$(dirname "$0")/lib.sh"
need_root
need_gnomon record

enter() {
    local jfr=$T/enter.jfr

    JVM_OPTS="-Xshare:auto -XX:+PreserveFramePointer -XX:CompileCommand=quiet
        -XX:CompileCommand=exclude,Enter.leafy -XX:CompileCommand=exclude,Enter.run
        -XX:CompileCommand=dontinline,Enter.*" jvm_start Enter
    recorded_for 2000 1 "$jfr" -p "$JVM_PID" --cpu 1ms --wall 1ms --force
    jvm_unharmed
    jvm_end
    "$GNOMON" render "$jfr" -f collapsed -t enter >"$T/stacks" || fail "render fails"
    awk '
        {
            time = $NF
            calls = ""
            n = split($0, f, ";")
            for (i = 1; i <= n; i++)
                if (match(f[i], /^Enter\.(run|top|mid|leafy)/))
                    calls = calls substr(f[i], 7, RLENGTH - 6) " "
            if (calls == "")
                next
            all += time
            if (/caller guessed/)
                guessed += time
            else if (index("run top mid leafy ", calls) != 1)
                { print "not a path: " $0; wrong += time }
            if (/Enter.mid;(Enter.leafy|.jvm.)/)
                entered += time
        }
        END {
            printf "%.0f ms in it, %.0f in or before the interpreted method, %.3f%% guessed\n", all / 1e6, entered / 1e6,
                all ? 100 * guessed / all : 0
            exit wrong || guessed * 200 >= all || entered < 2e7
        }' "$T/stacks" >"$T/check.out" || fail "$(tail -n 5 "$T/check.out")"
    note "$(tail -n 1 "$T/check.out")"
}

for_one_jdk enter
