#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/fuzzlinks.sh [--self-test] OBJECTS
#
# Holds the FUZZ-LINK lines of tests/fuzz against the objects of the build (build/obj): what a file that a fuzzer takes in
# calls or reads has to stand in a file that it takes in, too. Fuzzers are built by CI alone, by a compiler of their own;
# without this, a line that has to grow with a file is missed until then. Says what a line lacks, and exit code 1 then.
# What the fuzzer's own source calls is not looked at. --self-test leaves a file out, and fails unless that is said.
set -u
cd "$(dirname "$0")/.." || exit 1

# symbols OBJECTS: "FILE SYMBOL KIND" of each, the file as in its source's path without the suffix. The agent is another
# program, with names of its own.
symbols() {
    (cd "$1" && find user -name '*.o' ! -path 'user/agent/*' -print0 | xargs -0 nm -A -g) |
        awk '{ split($1, at, ":"); sub(/\.o$/, "", at[1]); print at[1], $NF, $(NF - 1) }'
}

# taken: "FUZZER FILE" for each file of its lines, and "FUZZER =SYMBOL" for what it and its helpers define themselves
taken() {
    local fuzzer files own

    for fuzzer in tests/fuzz/fuzz_*.c; do
        # shellcheck disable=SC2046
        files=$(printf '%s\n' $(sed -n 's,^// FUZZ-LINK: ,,p' "$fuzzer"))
        own=$(grep '^tests/' <<<"$files")
        # shellcheck disable=SC2086
        { grep '^user/' <<<"$files" | sed 's/\.[cS]$//'; sed -nE 's/^[a-z][^=;(]*[ *]([a-z_0-9]+)\(.*/=\1/p' "$fuzzer" $own; } |
            sed "s,^,$fuzzer ,"
    done
}

# lacking OBJECTS [EXCEPT]: what each line lacks, as if the file EXCEPT stood in none
lacking() {
    awk -v except="${2:-}" '
        FNR == 1 { part++ }
        part == 1 && $3 ~ /[Uw]/ { uses[$1] = uses[$1] " " $2; next }
        part == 1 { home[$2] = $1; next }
        $2 == except { next }
        $2 ~ /^=/ { own[$1, substr($2, 2)] = 1; next }
        { has[$1, $2] = 1; fuzzer[++n] = $1; file[n] = $2 }
        END {
            for (i = 1; i <= n; i++) {
                m = split(uses[file[i]], what, " ")
                for (j = 1; j <= m; j++) {
                    from = home[what[j]]
                    if (from && !has[fuzzer[i], from] && !own[fuzzer[i], what[j]])
                        print fuzzer[i] ": lacks " from ", of which " file[i] " uses " what[j]
                }
            }
        }' <(symbols "$1") <(taken) | sort -u
}

if [ "${1:-}" = --self-test ]; then
    [[ $(lacking "$2" user/base/fdmsg) == *'lacks user/base/fdmsg, of which user/broker/broker uses '* ]] && exit
    echo "fuzzlinks.sh: did not say that user/base/fdmsg is left out"
    exit 1
fi
said=$(lacking "$1")
[ -z "$said" ] || { echo "$said"; exit 1; }
