#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: tests/browser/run.sh [SCREENSHOT_DIR]
#
# Renders recordings of known size and uses the pages as a person does, in a headless Chromium; no
# root. Then the figures: 1,000,000 samples in 100,000 stacks become a flame graph in 2 s and
# 300 MB, and the page opens and reacts in 1 s, where QUIET is set (`make accuracy`; SLACK multiplies the times);
# else the times are told.
# Exit code 77, and why, where there is no Chromium or no node.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build}
gnomon=$BUILD/gnomon
SLACK=${SLACK:-1}
shots=${1:-}

CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
export CHROMIUM
[ -n "$CHROMIUM" ] || { echo 'skip: no chromium (apt-get install chromium)'; exit 77; }
command -v node >/dev/null || { echo 'skip: no node (apt-get install nodejs)'; exit 77; }

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export TMPDIR=$tmp # Chromium leaves directories there
failed=0

# use NAME: opens the page
use() {
    echo "== $1"
    [ -z "$shots" ] || mkdir -p "$shots/$1"
    timeout 600 node tests/browser/page.mjs "$tmp/$1.html" ${shots:+"$shots/$1"} || failed=1
}

gen() { "$BUILD/tools/bench/jfrgen" "$@"; }

gen 20000 2000 30 20 1 >"$tmp/a.jfr" && gen 20000 2000 30 20 2 >"$tmp/b.jfr" || exit 1
"$gnomon" render "$tmp/a.jfr" -o "$tmp/flame.html" || exit 1
"$gnomon" render "$tmp/a.jfr" -f timeline -o "$tmp/timeline.html" || exit 1
"$gnomon" diff "$tmp/a.jfr" "$tmp/b.jfr" -o "$tmp/diff.html" || exit 1
for page in flame diff; do
    echo "== trees of $page"
    node tests/browser/tree.mjs "$tmp/$page.html" || failed=1
done
for page in flame timeline diff; do use $page; done

gen 1000000 100000 60 200 >"$tmp/big.jfr" || exit 1
start=${EPOCHREALTIME/./}
# all of its address space, and so its memory
(ulimit -v $((300 * 1024)) && exec "$gnomon" render "$tmp/big.jfr" -o "$tmp/big.html") || failed=1
took=$(((${EPOCHREALTIME/./} - start) / 1000))
result=ok
bound=$((2000 * SLACK)) page=$((1000 * SLACK))
[ -n "${QUIET:-}" ] || bound=600000 page=120000
[ $took -le $bound ] || { result=FAIL; failed=1; }
printf '%-4s 1,000,000 samples rendered in %d ms (bound %d), within 300 MB\n' $result $took $bound
export PAGE_MS=$page
use big
exit $failed
