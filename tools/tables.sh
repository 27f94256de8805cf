#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tools/tables.sh
#
# That the table of tests/jvm/README.md has every test, and a claim of each. Says what differs; exit code 1 then.
cd "$(dirname "$0")/.." || exit 1

# scripts: those that tools/check.sh runs.
scripts() {
    local f

    for f in tests/jvm/[a-z]*_*.sh; do
        [ ! -x "$f" ] || basename "$f" .sh
    done | sort
}

# rows: tests of the table that have a claim.
rows() { sed -n 's/^| `\([a-z0-9_]*\)` | .* |$/\1/p' tests/jvm/README.md | sort; }

diff <(scripts) <(rows) >/dev/null && exit
diff <(scripts) <(rows) | sed -n 's/^< \(.*\)/tests\/jvm\/README.md: no line for \1/p; s/^> \(.*\)/tests\/jvm\/README.md: no test \1, or two lines for it/p'
exit 1
